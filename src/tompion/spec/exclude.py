"""Compiles exclusions, each kind in the layer where it costs least.

Dates and holidays become bits of the day masks, calendars become days and times to remove, and windows become sorted
instants. The caller passes the named calendars.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tompion.errors import InvalidSpec, display
from tompion.model.spec import CalendarDocument, Dialect, ExcludeDocument, NamedCalendar, WindowDocument
from tompion.spec.calendar.days import Days
from tompion.spec.calendar.structured import calendar_rule
from tompion.spec.calendar.times import DayTimes
from tompion.spec.calendar.wall_clock import NOTHING_EXCLUDED, Exclusions
from tompion.spec.datetime_text import first_instant, last_instant, read_day, read_moment
from tompion.spec.zone.tables import Zone, load_zone

Calendars = Mapping[str, NamedCalendar]


class CompiledExclusions(NamedTuple):
    """Exclusions by wall time, and windows of instants."""

    by_wall: Exclusions
    windows: list[tuple[int, int]]


def compile_exclusions(
    exclude: ExcludeDocument, zone: Zone, dialect: Dialect, schedule_id: str, calendars: Calendars
) -> CompiledExclusions:
    """Compile all exclusions of a spec. Raises :class:`InvalidSpec` for an unknown calendar."""
    dates = {read_day(text, field=f"exclude.dates[{index}]") for index, text in enumerate(exclude.dates)}
    windows = [_window(window, zone, f"exclude.windows[{index}]") for index, window in enumerate(exclude.windows)]
    for place, holidays in enumerate(exclude.holidays):
        dates |= {read_day(text, field=f"exclude.holidays[{place}].dates") for text in holidays.dates or ()}
    for place, name in enumerate(exclude.named):
        calendar = _find_calendar(name, calendars, f"exclude.named[{place}]")
        own_zone = load_zone(calendar.timezone) if calendar.timezone else zone
        if own_zone is zone:
            dates |= {read_day(text, field=f"calendar {display(name)}") for text in calendar.dates}
        else:  # a day of another zone is a window in this one
            windows += [
                _window(WindowDocument(text, text), own_zone, f"calendar {display(name)}") for text in calendar.dates
            ]
        windows += [_window(window, own_zone, f"calendar {display(name)}") for window in calendar.windows]
    excluded = tuple(
        _excluded_calendar(calendar, dialect, schedule_id, f"exclude.calendars[{index}]")
        for index, calendar in enumerate(exclude.calendars)
    )
    by_wall = Exclusions(frozenset(dates), excluded) if dates or excluded else NOTHING_EXCLUDED
    return CompiledExclusions(by_wall, windows)


def _excluded_calendar(
    calendar: CalendarDocument, dialect: Dialect, schedule_id: str, path: str
) -> tuple[Days, DayTimes | None]:
    try:
        rule = calendar_rule(calendar, dialect, excluding=True)
    except InvalidSpec as error:
        raise error.located(field=path) from None
    whole_day = rule.second.full and rule.minute.full and rule.hour.full
    return rule.dates.days_for(schedule_id), None if whole_day else rule.clock.times_for(schedule_id)


def _window(window: WindowDocument, zone: Zone, path: str) -> tuple[int, int]:
    """Return the first instant of a window and the first one after it."""
    begin_moment = read_moment(window.begin, field=f"{path}.from")
    end_moment = read_moment(window.end, field=f"{path}.to")
    begin = first_instant(begin_moment, zone)
    end = first_instant(end_moment, zone)
    if end_moment.kind != "instant":  # a wall time that occurs twice has passed only after its second occurrence
        end = last_instant(end_moment, zone) + (end_moment.kind == "day" or end_moment.fraction)
    in_gap = begin_moment.kind == end_moment.kind == "wall" and begin_moment.seconds < end_moment.seconds
    if end < begin or (end == begin and not in_gap):  # wall times inside a DST gap are an empty window, not an error
        problem = f"the window ends at {window.end}, before it begins at {window.begin}"
        if end_moment.seconds >= begin_moment.seconds:
            problem = f"the window from {window.begin} to {window.end} is empty"
        raise InvalidSpec(problem, field=path, expected="from before to")
    return begin, end


def _find_calendar(name: str, calendars: Calendars, path: str) -> NamedCalendar:
    if name not in calendars:
        names = ", ".join(sorted(calendars)) or "no calendar was passed"
        raise InvalidSpec(
            f"unknown calendar {display(name)}", field=path, expected=f"one of the named calendars ({names})"
        )
    return calendars[name]
