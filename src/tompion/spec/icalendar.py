"""Imports a calendar of days off from an iCalendar file (RFC 5545).

An all-day event becomes dates, an event with times becomes a window. Recurring events are expanded for a bounded number
of years. Cancelled events are left out. The result is plain data that does not refer to the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tompion.encoding.instant import EPOCH, datetime_s, wall_datetime
from tompion.errors import InvalidSpec, display
from tompion.model.spec import NamedCalendar, WindowDocument
from tompion.spec.calendar.days import DAY, days_from_civil
from tompion.spec.datetime_text import Moment, first_instant
from tompion.spec.duration import parse_duration
from tompion.spec.rrule.compiler import parse_rrule
from tompion.spec.zone.tables import TZDATA_VERSION, load_zone

YEARS_AHEAD = 10
"""Recurring events are expanded up to this many years after the release of the time zone data."""


MAX_EVENTS = 20_000
"""Maximum number of dates and windows from one file."""

_LINE = re.compile(
    r"(?P<name>[A-Za-z0-9-]+)(?P<parameters>(?:;[^:;\"]*(?:\"[^\"]*\"[^:;\"]*)*)*):(?P<value>.*)", re.DOTALL
)
_STAMP = re.compile(r"(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})(Z)?)?", re.ASCII)
_FIRST, _LAST = (days_from_civil(year, 1, 1) * DAY for year in (2, 9_999))
"""Far enough inside the range of datetime for any offset."""


@dataclass(frozen=True, slots=True)
class _Stamp:
    """A point in an event: its wall time, whether it is a whole day, and its zone if it names one."""

    wall: int
    whole_day: bool
    zone: str | None

    def instant(self) -> int:
        """Return the instant of a point that names its zone."""
        return first_instant(Moment(self.wall, "wall"), load_zone(self.zone))

    def wall_in(self, zone: str | None) -> int:
        """Return the wall time at this point in another zone."""
        if zone == self.zone or zone is None or self.zone is None:
            return self.wall
        instant = self.instant()
        return instant + load_zone(zone).offset_at(instant)


@dataclass(slots=True)
class _Event:
    line: int
    start: _Stamp | None = None
    end: _Stamp | None = None
    duration_s: int | None = None
    rule: str | None = None
    summary: str = ""
    cancelled: bool = False
    uid: str = ""
    replaces: _Stamp | None = None
    added: list[_Stamp] = field(default_factory=list)
    skipped: list[_Stamp] = field(default_factory=list)


def read_icalendar(name: str, text: str, *, timezone: str | None = None, last_year: int | None = None) -> NamedCalendar:
    """Return the dates and windows of an iCalendar file as a calendar called ``name``.

    ``timezone`` is the zone of times without one. If it is ``None``, they follow the schedule that uses the calendar.
    Raises :class:`InvalidSpec`, with the line, for an invalid file.
    """
    if not isinstance(text, str):
        raise InvalidSpec(f"{display(text)} is not text", field="icalendar", expected="the text of an iCalendar file")
    until = days_from_civil((last_year or int(TZDATA_VERSION[:4]) + YEARS_AHEAD) + 1, 1, 1) * DAY
    dates: set[str] = set()
    windows: dict[WindowDocument, None] = {}
    count = 0
    for event in _without_replaced(list(_events(text.removeprefix("\ufeff")))):
        for start in () if event.cancelled else _starts(event, until):
            count += 1
            _add(event, start, dates, windows)
            if max(count, len(dates)) > MAX_EVENTS:
                raise _unreadable(event.line, f"more than {MAX_EVENTS} dates and windows")
    return NamedCalendar(name, tuple(sorted(dates)), tuple(windows), timezone)


def _without_replaced(events: list[_Event]) -> list[_Event]:
    """Remove from each series the occurrences that a separate event moves or cancels."""
    for changed in events:
        if changed.replaces is not None:
            for series in events:
                if series.replaces is None and series.uid == changed.uid:
                    series.skipped.append(changed.replaces)
    return events


def _add(event: _Event, start: _Stamp, dates: set[str], windows: dict[WindowDocument, None]) -> None:
    """Add the dates or the window of one occurrence."""
    length = _length(event)
    if not _FIRST <= start.wall <= start.wall + length < _LAST:
        raise _unreadable(event.line, "an event outside the years 2 to 9998")
    if start.whole_day:
        days = max(length // DAY, 1)
        if days > MAX_EVENTS:
            raise _unreadable(event.line, f"more than {MAX_EVENTS} dates")
        dates.update(wall_datetime(start.wall + day * DAY).date().isoformat() for day in range(days))
    elif length > 0:
        windows[WindowDocument(_text(start), _text(_end(event, start, length)), event.summary)] = None


def _end(event: _Event, start: _Stamp, length: int) -> _Stamp:
    """Return the end of an occurrence: the same wall time length as the first, unless it ends in another zone."""
    if event.end is None or event.end.zone in (None, start.zone) or start.zone is None:
        return _Stamp(start.wall + length, False, start.zone)
    return _Stamp(start.instant() + length, False, "UTC")


def _length(event: _Event) -> int:
    """Return the length of an event in seconds."""
    assert event.start is not None
    start, end = event.start, event.end
    if end is None:
        default = DAY if start.whole_day else 0
        return default if event.duration_s is None else event.duration_s
    if end.zone in (None, start.zone) or start.zone is None:
        length = end.wall - start.wall
    else:
        length = end.instant() - start.instant()
    if length < 0:
        raise _unreadable(event.line, "an event that ends before it begins")
    return length


def _text(stamp: _Stamp) -> str:
    """Return a point as ISO text: an instant if its zone is known, otherwise a wall time."""
    return wall_datetime(stamp.wall).isoformat() if stamp.zone is None else datetime_s(stamp.instant()).isoformat()


def _starts(event: _Event, until: int) -> Iterator[_Stamp]:
    """Yield the points at which an event begins."""
    start = event.start
    if start is None:
        raise _unreadable(event.line, "an event without DTSTART")
    skipped = {stamp.wall_in(start.zone) for stamp in event.skipped}
    yield from (stamp for stamp in event.added if stamp.wall_in(start.zone) not in skipped)
    if event.rule is None:
        if start.wall not in skipped:
            yield start
        return
    zone = load_zone(start.zone)
    try:
        rule = parse_rrule(event.rule, start=start.wall, to_local=lambda epoch: epoch + zone.offset_at(epoch))
    except InvalidSpec as error:
        raise _unreadable(event.line, f"RRULE: {error.problem}") from None
    wall = rule.next_local(start.wall - 1)
    while wall is not None and wall < until:
        if wall not in skipped:
            yield _Stamp(wall, start.whole_day, start.zone)
        wall = rule.next_local(wall)


def _events(text: str) -> Iterator[_Event]:
    """Yield the events of a calendar file."""
    event: _Event | None = None
    nested = 0  # an alarm inside an event has its own properties
    seen = False
    for number, line in _unfold(text):
        match = _LINE.fullmatch(line)
        if match is None:
            raise _unreadable(number, f"{display(line)} is not a property")
        name, value = match["name"].upper(), match["value"].strip()
        if name == "BEGIN":
            seen = seen or value.upper() == "VCALENDAR"
            nested += event is not None
            if value.upper() == "VEVENT" and event is None:
                event = _Event(number)
        elif name == "END":
            if event is not None and nested == 0:
                yield event
                event = None
            nested = max(nested - 1, 0)
        elif event is not None and nested == 0:
            _set(event, name, match["parameters"], value, number)
    if event is not None:
        raise _unreadable(event.line, "an event without END:VEVENT: the file is truncated")
    if not seen:
        raise _unreadable(1, "no BEGIN:VCALENDAR")


def _set(event: _Event, name: str, parameters: str, value: str, number: int) -> None:
    """Set the property of an event. Unknown properties are ignored."""
    if name == "DTSTART":
        event.start = _stamp(value, parameters, number)
    elif name == "DTEND":
        event.end = _stamp(value, parameters, number)
    elif name == "DURATION":
        try:
            event.duration_s = parse_duration(value.removeprefix("+"), field="DURATION")
        except InvalidSpec as error:
            raise _unreadable(number, str(error)) from None
    elif name == "RRULE":
        event.rule = value
    elif name == "EXDATE":
        event.skipped += [_stamp(part, parameters, number) for part in value.split(",")]
    elif name == "RDATE":
        event.added += [_stamp(part.partition("/")[0], parameters, number) for part in value.split(",")]
    elif name == "UID":
        event.uid = value
    elif name == "RECURRENCE-ID":
        event.replaces = _stamp(value, parameters, number)
    elif name == "SUMMARY":
        event.summary = re.sub(r"\\([,;\\])", r"\1", value)[:200]
    elif name == "STATUS":
        event.cancelled = value.upper() == "CANCELLED"


def _stamp(value: str, parameters: str, number: int) -> _Stamp:
    """Return a date or time of a calendar file."""
    match = _STAMP.fullmatch(value)
    if match is None:
        raise _unreadable(number, f"{display(value)} is not a date or time")
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    try:
        when = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC)  # a leap second is the 59th
    except ValueError:
        raise _unreadable(number, f"{display(value)} is not a date or time") from None
    whole_day = match[4] is None
    wall = int((when - EPOCH).total_seconds())
    if not _FIRST <= wall < _LAST:
        raise _unreadable(number, f"{display(value)} is outside the years 2 to 9998")
    return _Stamp(wall, whole_day, None if whole_day else _zone_name(match[7], parameters, number))


def _zone_name(utc: str | None, parameters: str, number: int) -> str | None:
    if utc:
        return "UTC"
    match = re.search(r";TZID=\"?([^;\"]+)", parameters, re.IGNORECASE)
    if match is None:
        return None
    try:
        return load_zone(match[1]).name
    except InvalidSpec as error:
        raise _unreadable(number, str(error)) from None


def _unfold(text: str) -> Iterator[tuple[int, str]]:
    """Yield the logical lines with their numbers. A line that begins with white space continues the one before."""
    parts: list[str] = []
    start = 1
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        if line[:1] in (" ", "\t"):
            parts.append(line[1:])
            continue
        if joined := "".join(parts).rstrip():
            yield start, joined
        parts, start = [line], number
    if joined := "".join(parts).rstrip():
        yield start, joined


def _unreadable(line: int, problem: str) -> InvalidSpec:
    return InvalidSpec(f"line {line}: {problem}", field="icalendar", expected="an iCalendar file (RFC 5545)")
