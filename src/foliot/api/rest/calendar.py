"""Coming ticks as an iCalendar feed (RFC 5545), for the calendars that people look at anyway."""

from __future__ import annotations

from datetime import datetime

from foliot.model.coming import Coming, ComingTick

LONGEST_LINE = 75
"""In octets; longer ones are folded."""
ESCAPED = str.maketrans({"\\": "\\\\", ";": "\\;", ",": "\\,", "\n": "\\n"})


def feed(coming: Coming, namespace: str, now: datetime) -> str:
    """Return the text of the feed."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Foliot//coming ticks//EN", "CALSCALE:GREGORIAN"]
    lines += [f"X-WR-CALNAME:{_text(f'Foliot {namespace}')}"]
    for tick in coming.ticks:
        lines += _event(tick, namespace, now)
    lines.append("END:VCALENDAR")
    return "".join(f"{part}\r\n" for line in lines for part in _folded(line))


def _event(tick: ComingTick, namespace: str, now: datetime) -> list[str]:
    stamp = f"{tick.scheduled_for:%Y%m%dT%H%M%SZ}"
    return [
        "BEGIN:VEVENT",
        f"UID:{_text(f'{namespace}/{tick.schedule_id}/{stamp}@foliot')}",
        f"DTSTAMP:{now:%Y%m%dT%H%M%SZ}",
        f"DTSTART:{stamp}",
        f"SUMMARY:{_text(tick.schedule_id)}",
        "TRANSP:TRANSPARENT",
        "END:VEVENT",
    ]


def _text(value: str) -> str:
    return "".join(each for each in value if each.isprintable() or each == "\n").translate(ESCAPED)


def _folded(line: str) -> list[str]:
    """Break a line so that no part is too long, and no character is cut in two."""
    parts, part, size = [], "", 0
    for each in line:
        width = len(each.encode())
        if size + width > LONGEST_LINE:
            parts.append(part)
            part, size = " ", 1
        part += each
        size += width
    return [*parts, part]
