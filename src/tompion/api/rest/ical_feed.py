"""Upcoming ticks as an iCalendar feed (RFC 5545)."""

from __future__ import annotations

from datetime import datetime

from tompion.model.insight import CalendarFeed, UpcomingTick

MAX_LINE_BYTES = 75
"""Longer lines are folded."""
MORE_TICKS = "This schedule has more ticks. They are not in this calendar."
ESCAPES = str.maketrans({"\\": "\\\\", ";": "\\;", ",": "\\,", "\n": "\\n"})


def ical_feed(upcoming: CalendarFeed, namespace: str, now: datetime) -> str:
    """Return the text of the feed. The last event of a truncated schedule has a remark."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Tompion//upcoming ticks//EN", "CALSCALE:GREGORIAN"]
    lines += [f"X-WR-CALNAME:{_escape(f'Tompion {namespace}')}"]
    if remark := _incomplete_remark(upcoming):
        lines += [f"X-WR-CALDESC:{_escape(remark)}", f"X-TOMPION-INCOMPLETE:{_escape(remark)}"]
    last = {tick.schedule_id: tick for tick in upcoming.ticks if tick.schedule_id in upcoming.truncated}
    for tick in upcoming.ticks:
        lines += _event(tick, namespace, now, is_last=last.get(tick.schedule_id) is tick)
    lines.append("END:VCALENDAR")
    return "".join(f"{part}\r\n" for line in lines for part in _fold(line))


def _incomplete_remark(upcoming: CalendarFeed) -> str:
    """Return a remark about ticks and schedules that are not in the feed."""
    count = len(upcoming.truncated)
    remarks = (
        [f"{count} {'schedule has' if count == 1 else 'schedules have'} more ticks than are here"] if count else []
    )
    remarks += ["there are more schedules than are here"] if upcoming.omitted else []
    return "; ".join(remarks)


def _event(tick: UpcomingTick, namespace: str, now: datetime, *, is_last: bool) -> list[str]:
    """Return the lines of one tick. The last event of a truncated feed mentions that there are more."""
    stamp = f"{tick.run_at:%Y%m%dT%H%M%SZ}"
    description = [f"DESCRIPTION:{_escape(MORE_TICKS)}"] if is_last else []
    return [
        "BEGIN:VEVENT",
        f"UID:{_escape(f'{namespace}/{tick.schedule_id}/{stamp}@tompion')}",
        f"DTSTAMP:{now:%Y%m%dT%H%M%SZ}",
        f"DTSTART:{stamp}",
        f"SUMMARY:{_escape(tick.schedule_id)}{' …' if is_last else ''}",
        *description,
        "TRANSP:TRANSPARENT",
        "END:VEVENT",
    ]


def _escape(text: str) -> str:
    return "".join(char for char in text if char.isprintable() or char == "\n").translate(ESCAPES)


def _fold(line: str) -> list[str]:
    """Split a line into parts of at most ``MAX_LINE_BYTES``, without splitting a character."""
    parts, part, size = [], "", 0
    for char in line:
        width = len(char.encode())
        if size + width > MAX_LINE_BYTES:
            parts.append(part)
            part, size = " ", 1
        part += char
        size += width
    return [*parts, part]
