"""Importing a calendar of days off from an iCalendar file (RFC 5545).

An all-day event becomes dates, an event with times becomes a window, a recurring one is written out for a bounded
number of years.  Cancelled events are left out.  What comes back is plain data to be stored: nothing refers to the
file any more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from foliot.errors import InvalidSpec
from foliot.model.spec import NamedCalendar, WindowDocument
from foliot.spec.days import DAY, days_from_civil
from foliot.spec.duration import parse_duration
from foliot.spec.moment import Moment, first_instant
from foliot.spec.occurrence import utc_datetime, wall_datetime
from foliot.spec.rrule import parse_rrule
from foliot.spec.zone import TZDATA_VERSION, load_zone

YEARS_AHEAD = 10
"""How many years after the release of the time zone data recurring events are written out for."""

MAX_EVENTS = 20_000
"""The most dates and windows that one file may give."""

_LINE = re.compile(r"(?P<name>[A-Za-z0-9-]+)(?P<parameters>(?:;[^:;\"]*(?:\"[^\"]*\")?)*):(?P<value>.*)", re.DOTALL)
_STAMP = re.compile(r"(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})(Z)?)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Stamp:
    """A point in an event: seconds of wall time or UTC, whether it is a whole day, and the zone if it names one."""

    seconds: int
    whole_day: bool
    zone: str | None


@dataclass(slots=True)
class _Event:
    line: int
    start: _Stamp | None = None
    end: _Stamp | None = None
    duration_s: int | None = None
    rule: str | None = None
    summary: str = ""
    cancelled: bool = False
    skipped: set[int] = field(default_factory=set)


def read_icalendar(name: str, text: str, *, timezone: str | None = None, last_year: int | None = None) -> NamedCalendar:
    """Return the dates and windows of an iCalendar file as a calendar called ``name``.

    ``timezone`` is the zone of times that name none; without it they follow the schedule that uses the calendar.
    Raises :class:`InvalidSpec`, with the line, for a file that cannot be read.
    """
    until = days_from_civil((last_year or int(TZDATA_VERSION[:4]) + YEARS_AHEAD) + 1, 1, 1) * DAY
    dates: set[str] = set()
    windows: dict[WindowDocument, None] = {}
    for event in _events(text):
        if not event.cancelled:
            for start in _starts(event, until):
                _add(event, start, dates, windows)
                if len(dates) + len(windows) > MAX_EVENTS:
                    raise _unreadable(event.line, f"more than {MAX_EVENTS} dates and windows")
    return NamedCalendar(name, tuple(sorted(dates)), tuple(windows), timezone)


def _add(event: _Event, start: int, dates: set[str], windows: dict[WindowDocument, None]) -> None:
    assert event.start is not None
    length = _length(event)
    if event.start.whole_day:
        for day in range(start // DAY, max((start + length) // DAY, start // DAY + 1)):
            dates.add(wall_datetime(day * DAY).date().isoformat())
            if len(dates) > MAX_EVENTS:
                raise _unreadable(event.line, f"more than {MAX_EVENTS} dates")
    elif length > 0:
        begin, end = (_text(seconds, event.start.zone) for seconds in (start, start + length))
        windows[WindowDocument(begin, end, event.summary)] = None


def _length(event: _Event) -> int:
    assert event.start is not None
    if event.end is not None:
        return event.end.seconds - event.start.seconds
    if event.duration_s is not None:
        return event.duration_s
    return DAY if event.start.whole_day else 0


def _text(seconds: int, zone: str | None) -> str:
    """Return a point as ISO text: an instant if its zone is known, else a wall time."""
    if zone is None:
        return wall_datetime(seconds).isoformat()
    instant = first_instant(Moment(seconds, "wall"), load_zone(zone))
    return utc_datetime(instant).isoformat()


def _starts(event: _Event, until: int) -> Iterator[int]:
    """Yield the wall times at which an event begins."""
    if event.start is None:
        raise _unreadable(event.line, "an event without DTSTART")
    if event.rule is None:
        yield event.start.seconds
        return
    try:
        rule = parse_rrule(event.rule, start=event.start.seconds)
    except InvalidSpec as error:
        raise _unreadable(event.line, f"RRULE: {error.problem}") from None
    found = rule.next_local(event.start.seconds - 1)
    while found is not None and found < until:
        if found not in event.skipped:
            yield found
        found = rule.next_local(found)


def _events(text: str) -> Iterator[_Event]:
    event: _Event | None = None
    nested = 0  # an alarm inside an event has its own properties
    seen = False
    for number, line in _unfolded(text):
        match = _LINE.fullmatch(line)
        if match is None:
            raise _unreadable(number, f"{line[:40]!r} is not a property")
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
    if not seen:
        raise _unreadable(1, "no BEGIN:VCALENDAR")


def _set(event: _Event, name: str, parameters: str, value: str, number: int) -> None:
    if name == "DTSTART":
        event.start = _stamp(value, parameters, number)
    elif name == "DTEND":
        event.end = _stamp(value, parameters, number)
    elif name == "DURATION":
        try:
            event.duration_s = parse_duration(value, field="DURATION")
        except InvalidSpec as error:
            raise _unreadable(number, str(error)) from None
    elif name == "RRULE":
        event.rule = value
    elif name == "EXDATE":
        event.skipped |= {_stamp(part, parameters, number).seconds for part in value.split(",")}
    elif name == "SUMMARY":
        event.summary = re.sub(r"\\([,;\\])", r"\1", value)[:200]
    elif name == "STATUS":
        event.cancelled = value.upper() == "CANCELLED"


def _stamp(value: str, parameters: str, number: int) -> _Stamp:
    match = _STAMP.fullmatch(value)
    if match is None:
        raise _unreadable(number, f"{value[:40]!r} is not a date or time")
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second < 61):
        raise _unreadable(number, f"{value[:40]!r} is not a date or time")
    zone = re.search(r";TZID=\"?([^;\"]+)", parameters, re.IGNORECASE)
    name = "UTC" if match[7] else zone[1] if zone else None
    if name is not None:
        try:
            load_zone(name)
        except InvalidSpec as error:
            raise _unreadable(number, str(error)) from None
    seconds = days_from_civil(year, month, day) * DAY + hour * 3600 + minute * 60 + min(second, 59)
    return _Stamp(seconds, match[4] is None, None if match[4] is None else name)


def _unfolded(text: str) -> Iterator[tuple[int, str]]:
    """Yield the logical lines with their numbers: a line that begins with white space continues the one before."""
    current, start = "", 0
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        if line[:1] in (" ", "\t"):
            current += line[1:]
            continue
        if current:
            yield start, current
        current, start = line.rstrip(), number
    if current:
        yield start, current


def _unreadable(line: int, problem: str) -> InvalidSpec:
    return InvalidSpec(f"line {line}: {problem}", field="icalendar", expected="an iCalendar file (RFC 5545)")
