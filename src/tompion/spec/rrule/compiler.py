"""RFC 5545 recurrence rules, compiled to arithmetic.

The RFC describes a rule as a loop: walk the periods of FREQ from DTSTART, INTERVAL at a time. In each, some BY… parts
*expand* the set and others *limit* it, and BYSETPOS selects from the result. This module does not walk from DTSTART.
The result of that loop can be searched directly, because each part restricts one of three things:

days
    BYMONTH, BYMONTHDAY, BYYEARDAY, BYWEEKNO and BYDAY each select days. Expanding and limiting give the same set. They
    are evaluated for a whole month at once, as a mask with bit 0 for the 1st. Years that start on the same weekday and
    have the same leap years around them have the same masks. INTERVAL of YEARLY and MONTHLY skips whole months.
    INTERVAL of WEEKLY and DAILY is a pattern of bits over the month.
times
    From DAILY upwards, BYHOUR × BYMINUTE × BYSECOND are the same times on each of these days: a plain ``Wall``.
periods
    HOURLY, MINUTELY and SECONDLY have a grid of periods, DTSTART + k × INTERVAL. Days, clock and grid advance past each
    other until they agree. If grid and clock rarely meet, Euclid's algorithm finds the k, or proves that no k exists.

BYSETPOS within a day or less selects from a constant list, so it is applied once, here. For weeks, months and years it
counts the bits in the masks of the period, which is taken whole even if DTSTART is in its middle.

Parts that the rule leaves open (the weekday of WEEKLY, the hour of DAILY) come from DTSTART, which is an occurrence
only if the rule selects it. ``YEARLY;BYWEEKNO=20`` without BYDAY means all seven days of the week.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import compress

from tompion.spec.calendar.days import ALL_WEEKDAYS, DAY, HORIZON, MONTH_OF_DAY
from tompion.spec.calendar.times import (
    DayTimes,
    SparseTimes,
    bits_of,
    select_times,
)
from tompion.spec.calendar.wall_clock import NoWall, Wall, WallClock
from tompion.spec.rrule.days import RuleDays, first_day
from tompion.spec.rrule.grid import Grid
from tompion.spec.rrule.parse import (
    SUB_DAILY,
    WEEKDAYS,
    RruleParts,
    mask_of,
    positions_to_indexes,
    read_rrule,
    week_of,
    with_start_defaults,
)

FLOOR = -2 * DAY
CEILING = HORIZON + 2 * DAY
"""Wall times outside of these bounds are never needed, because every offset from UTC is smaller than two days."""


def parse_rrule(text: str, *, start: int | None = None, to_local: Callable[[int], int] = int) -> Rrule:
    """Compile a rule.

    ``start`` is the wall time that replaces a missing DTSTART. Without it the rule is anchored on 1970-01-01.
    ``to_local`` converts an instant to a wall time, for an UNTIL that ends in Z. By default the zone is UTC.
    """
    rule = read_rrule(text, start)
    until = to_local(rule.until) if rule.until is not None and rule.until_utc else rule.until
    return Rrule(rule.parts, rule.start, until, rule.timezone)


class Rrule:
    """The wall times of one rule.

    ``parts`` are the parts as written and checked. ``anchor`` is the wall time from which the rule counts, and
    ``anchored`` is true if it was given (by DTSTART or by the caller). ``until`` is the last wall time allowed.
    ``timezone`` is the zone of DTSTART, if it names one.
    """

    __slots__ = ("_count", "_first", "_last", "_pattern", "anchor", "anchored", "parts", "timezone", "wildcard")

    def __init__(self, parts: RruleParts, start: int | None, until: int | None, timezone: str | None) -> None:
        self.parts: RruleParts = parts
        self.anchor: int = 0 if start is None else start
        self.anchored: bool = start is not None
        self.timezone: str | None = timezone
        self.wildcard: bool = parts["FREQ"] in SUB_DAILY
        self._pattern = _compile(parts, self.anchor)
        # Nothing occurs before _first or after _last. A search without a result moves them closer together, so that
        # an impossible rule is searched only once. Results do not depend on it.
        self._first = max(self.anchor, FLOOR)
        self._last = CEILING if until is None else min(until, CEILING)
        self._count = parts.get("COUNT", 0)

    def next_local(self, local: int) -> int | None:
        """Return the first wall time later than ``local``."""
        if self._count:
            self._apply_count()
        after = max(local, self._first - 1)
        if after >= self._last:
            return None
        match = self._pattern.next_local(after)
        if match is None or match > self._last:
            self._last = after
            return None
        return match

    def prev_local(self, local: int) -> int | None:
        """Return the last wall time earlier than ``local``."""
        if self._count:
            self._apply_count()
        before = min(local, self._last + 1)
        if before <= self._first:
            return None
        match = self._pattern.prev_local(before)
        if match is None or match < self._first:
            self._first = before
            return None
        return match

    def _apply_count(self) -> None:
        """Replace COUNT by the wall time of its last occurrence."""
        last = self._first - 1
        for _ in range(self._count):
            match = self._pattern.next_local(last)
            if match is None:
                break
            last = match
        self._last = min(last, self._last)
        self._count = 0


def _compile(parts: RruleParts, anchor: int) -> WallClock:
    """Return the wall times of a rule without its beginning and end."""
    frequency = parts["FREQ"]
    parts = with_start_defaults(parts, anchor)
    positions = parts.get("BYSETPOS", ())
    hours = mask_of(parts.get("BYHOUR", range(24)))
    minutes = mask_of(parts.get("BYMINUTE", range(60)))
    # 60 is a leap second, which the RFC treats as 59 in systems without leap seconds.
    seconds = mask_of(min(second, 59) for second in parts.get("BYSECOND", range(60)))
    days = RuleDays(parts, anchor)
    if frequency in SUB_DAILY:
        depth = ("HOURLY", "MINUTELY", "SECONDLY").index(frequency) + 1
        weekdays = mask_of(WEEKDAYS.index(name) for _, name in parts.get("BYDAY", ())) or ALL_WEEKDAYS
        grid = Grid(anchor, parts.get("INTERVAL", 1), weekdays, (hours, minutes, seconds)[:depth])
        inside = _list_times(select_times(seconds if depth < 3 else 1, minutes if depth < 2 else 1, 1), positions)
        return _PeriodWall(days, grid, grid.mirror(), inside) if inside else NoWall(wildcard=True)
    times = select_times(seconds, minutes, hours)
    if not positions:
        return Wall(times, days, wildcard=False)
    if frequency == "DAILY":
        picked = _list_times(times, positions)
        return Wall(SparseTimes(picked), days, wildcard=False) if picked else NoWall(wildcard=False)
    listed = _list_times(times)
    needed = (min(abs(at) for at in positions) - 1) // len(listed) + 1
    if frequency == "WEEKLY" and needed > len(parts["BYDAY"]):
        return NoWall(wildcard=False)
    if frequency == "MONTHLY":
        days.min_days = needed
    return _PickedWall(days, listed, parts)


def _list_times(times: DayTimes, positions: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Return the times, or those that BYSETPOS selects."""
    listed = times.seconds[:-1] if isinstance(times, SparseTimes) else tuple(compress(range(DAY), times.flags()))
    return tuple([listed[index] for index in positions_to_indexes(positions, len(listed))]) if positions else listed


@dataclass(slots=True)
class _PickedWall:
    """The times that BYSETPOS selects in each week, month or year."""

    days: RuleDays
    times: tuple[int, ...]
    parts: RruleParts
    wildcard: bool = False

    def next_local(self, local: int) -> int | None:
        day = self.days.next_day(local // DAY)
        while day is not None:
            first, length = self._period(day)
            for picked in self._picks(first, length):
                if picked > local:
                    return picked
            day = self.days.next_day(first + length)
        return None

    def prev_local(self, local: int) -> int | None:
        day = self.days.prev_day(local // DAY)
        while day is not None:
            first, length = self._period(day)
            for picked in reversed(self._picks(first, length)):
                if picked < local:
                    return picked
            day = self.days.prev_day(first - 1)
        return None

    def _period(self, day: int) -> tuple[int, int]:
        """Return the first day and the length of the period of a day."""
        if self.parts["FREQ"] == "WEEKLY":
            return week_of(day, self.parts), 7
        month, months = MONTH_OF_DAY[day], 1
        if self.parts["FREQ"] == "YEARLY":
            month, months = month - month % 12, 12
        first = first_day(month)
        return first, first_day(month + months) - first

    def _picks(self, first: int, length: int) -> list[int]:
        mask, times = self.days.span(first, length), self.times
        indexes = positions_to_indexes(self.parts["BYSETPOS"], mask.bit_count() * len(times))
        days = bits_of(mask) if indexes else ()
        return [(first + days[index // len(times)]) * DAY + times[index % len(times)] for index in indexes]


@dataclass(slots=True)
class _PeriodWall:
    """The same offsets inside every period of a grid whose day is selected."""

    days: RuleDays
    grid: Grid
    backwards: Grid
    inside: tuple[int, ...]
    wildcard: bool = True

    def next_local(self, local: int) -> int | None:
        inside, per_day = self.inside, self.grid.per_day
        period, offset = divmod(local, self.grid.unit)
        if offset >= inside[-1]:
            period, offset = period + 1, -1
        candidate = self.grid.first_from(period)
        while candidate is not None:
            day = self.days.next_day(candidate // per_day)
            if day is None:
                return None
            if day == candidate // per_day:
                return candidate * self.grid.unit + inside[0 if candidate > period else bisect_right(inside, offset)]
            candidate = self.grid.first_from(day * per_day)
        return None

    def prev_local(self, local: int) -> int | None:
        inside, per_day = self.inside, self.grid.per_day
        period, offset = divmod(local, self.grid.unit)
        if offset <= inside[0]:
            period, offset = period - 1, self.grid.unit
        candidate = self._last_to(period)
        while candidate is not None:
            day = self.days.prev_day(candidate // per_day)
            if day is None:
                return None
            if day == candidate // per_day:
                return (
                    candidate * self.grid.unit + inside[-1 if candidate < period else bisect_left(inside, offset) - 1]
                )
            candidate = self._last_to((day + 1) * per_day - 1)
        return None

    def _last_to(self, period: int) -> int | None:
        """Search in the mirrored grid, where period p is at -1 - p."""
        mirrored = self.backwards.first_from(-1 - period)
        return None if mirrored is None else -1 - mirrored
