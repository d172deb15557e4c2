"""Coming ticks as an iCalendar feed (RFC 5545), for the calendars that people look at anyway."""

from __future__ import annotations

from datetime import datetime

from tompion.model.insight import CalendarFeed, UpcomingTick

MAX_LINE_BYTES = 75
"""In octets; longer ones are folded."""
MORE = "This schedule goes on; its later ticks are not in this calendar."
ESCAPED = str.maketrans({"\\": "\\\\", ";": "\\;", ",": "\\,", "\n": "\\n"})


def feed(coming: CalendarFeed, namespace: str, now: datetime) -> str:
    """Return the text of the feed; the last event of a schedule that has more says so."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Tompion//upcoming ticks//EN", "CALSCALE:GREGORIAN"]
    lines += [f"X-WR-CALNAME:{_text(f'Tompion {namespace}')}"]
    if said := _said(coming):
        lines += [f"X-WR-CALDESC:{_text(said)}", f"X-TOMPION-INCOMPLETE:{_text(said)}"]
    last = {tick.schedule_id: tick for tick in coming.ticks if tick.schedule_id in coming.truncated}
    for tick in coming.ticks:
        lines += _event(tick, namespace, now, is_last=last.get(tick.schedule_id) is tick)
    lines.append("END:VCALENDAR")
    return "".join(f"{part}\r\n" for line in lines for part in _folded(line))


def _said(coming: CalendarFeed) -> str:
    """Return what is left out, if anything is."""
    many = len(coming.truncated)
    more = [f"{many} {'schedule has' if many == 1 else 'schedules have'} more ticks than are here"] if many else []
    more += ["there are more schedules than are here"] if coming.omitted else []
    return "; ".join(more)


def _event(tick: UpcomingTick, namespace: str, now: datetime, *, is_last: bool) -> list[str]:
    stamp = f"{tick.scheduled_for:%Y%m%dT%H%M%SZ}"
    more = [f"DESCRIPTION:{_text(MORE)}"] if is_last else []
    return [
        "BEGIN:VEVENT",
        f"UID:{_text(f'{namespace}/{tick.schedule_id}/{stamp}@tompion')}",
        f"DTSTAMP:{now:%Y%m%dT%H%M%SZ}",
        f"DTSTART:{stamp}",
        f"SUMMARY:{_text(tick.schedule_id)}{' …' if is_last else ''}",
        *more,
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
        if size + width > MAX_LINE_BYTES:
            parts.append(part)
            part, size = " ", 1
        part += each
        size += width
    return [*parts, part]
