"""RFC 5545 recurrence rules, compiled to arithmetic.

The RFC describes a rule as a loop: walk the periods of FREQ from DTSTART, INTERVAL at a time; in each, let some BY…
parts *expand* the set and others *limit* it; keep what BYSETPOS picks.  Nothing here walks from DTSTART.  What that
loop would produce is a set that can be asked directly, because each part restricts one of three things:

days
    BYMONTH, BYMONTHDAY, BYYEARDAY, BYWEEKNO and BYDAY each say something about a day: expanding and limiting give the
    same set.  They are evaluated for a whole month at once, as a mask with bit 0 for the 1st; a year has the same masks
    as any other that starts on the same weekday and has its leap years in the same places.  INTERVAL of YEARLY and
    MONTHLY leaves whole months out; that of WEEKLY and DAILY is a pattern of bits laid over the month.
times
    From DAILY upwards, BYHOUR × BYMINUTE × BYSECOND are the same times on each of these days: a plain ``Wall``.
periods
    HOURLY, MINUTELY and SECONDLY have a grid of periods, DTSTART + k × INTERVAL.  Days, clock and grid leap over each
    other until they agree; where grid and clock hardly ever meet, Euclid's algorithm finds the k, or that none exists.

BYSETPOS within a day or less picks from a list that never changes, so it is applied once, here.  For weeks, months and
years it counts the bits in the masks of the period, which is taken whole even where DTSTART is in its middle.

What the rule leaves open (the weekday of WEEKLY, the hour of DAILY) comes from DTSTART, which is an occurrence only if
the rule selects it.  ``YEARLY;BYWEEKNO=20`` without BYDAY means all seven days of the week.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from calendar import isleap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import compress
from math import gcd

from tompion.spec.calendar.days import ALL_WEEKDAYS, DAY, HORIZON, MONTH_OF_DAY, Days, days_from_civil
from tompion.spec.calendar.times import (
    ALL_HOURS,
    ALL_MINUTES,
    ALL_SECONDS,
    DayTimes,
    SparseTimes,
    bits_of,
    select_times,
)
from tompion.spec.calendar.wall_clock import NoWall, Wall, WallClock
from tompion.spec.rrule.parse import (
    EPOCH_ORDINAL,
    SUB_DAILY,
    WEEKDAYS,
    RruleParts,
    chosen,
    chosen_mask,
    completed,
    mask_of,
    nth_mask,
    read_rrule,
    week_of,
)

FLOOR = -2 * DAY
CEILING = HORIZON + 2 * DAY
"""Wall times outside of these are never asked for: every offset from UTC is smaller than two days."""

MAX_LEAPS = 8
"""After so many leaps of grid and clock over each other without a meeting, the meeting is computed."""

_MONTH_STARTS = (
    (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365),
    (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335, 366),
)
_REPEATED_WEEKLY = sum(1 << 7 * week for week in range(6))
_EVERY_CLOCK = (ALL_HOURS, ALL_MINUTES, ALL_SECONDS)
_SPAN = re.compile(rb"\x01+")


def parse_rrule(text: str, *, start: int | None = None, to_local: Callable[[int], int] = int) -> Rrule:
    """Compile a rule.

    ``start`` is the wall time that stands in for a missing DTSTART; without it the rule is anchored on 1970-01-01.
    ``to_local`` turns an instant into a wall time, for an UNTIL that ends in Z; by default the zone is UTC.
    """
    read = read_rrule(text, start)
    until = to_local(read.until) if read.until is not None and read.until_utc else read.until
    return Rrule(read.parts, read.start, until, read.timezone)


class Rrule:
    """The wall times that one rule names.

    ``parts`` are the parts as written, ``anchor`` is the wall time the rule counts from, ``anchored`` says whether that
    was given (by DTSTART or by the caller), and ``timezone`` is the zone that DTSTART names, if it names one.
    """

    __slots__ = ("_count", "_first", "_last", "_pattern", "anchor", "anchored", "parts", "timezone", "wildcard")

    def __init__(self, parts: RruleParts, start: int | None, until: int | None, timezone: str | None) -> None:
        """Compile parts that have been checked; ``until`` is the last wall time allowed."""
        self.parts = parts
        self.anchor = 0 if start is None else start
        self.anchored = start is not None
        self.timezone = timezone
        self.wildcard = parts["FREQ"] in SUB_DAILY
        self._pattern = _compile(parts, self.anchor)
        # Nothing occurs before _first or after _last.  A search that finds nothing moves them closer together, so that
        # an impossible rule is searched once; no answer depends on it.
        self._first = max(self.anchor, FLOOR)
        self._last = CEILING if until is None else min(until, CEILING)
        self._count = parts.get("COUNT", 0)

    def next_local(self, local: int) -> int | None:
        """Return the first wall time later than ``local``."""
        if self._count:
            self._count_out()
        after = max(local, self._first - 1)
        if after >= self._last:
            return None
        found = self._pattern.next_local(after)
        if found is None or found > self._last:
            self._last = after
            return None
        return found

    def prev_local(self, local: int) -> int | None:
        """Return the last wall time earlier than ``local``."""
        if self._count:
            self._count_out()
        before = min(local, self._last + 1)
        if before <= self._first:
            return None
        found = self._pattern.prev_local(before)
        if found is None or found < self._first:
            self._first = before
            return None
        return found

    def _count_out(self) -> None:
        """Replace COUNT by the wall time of its last occurrence."""
        last = self._first - 1
        for _ in range(self._count):
            found = self._pattern.next_local(last)
            if found is None:
                break
            last = found
        self._last = min(last, self._last)
        self._count = 0


def _compile(parts: RruleParts, anchor: int) -> WallClock:
    """Return the wall times of a rule without its beginning and end."""
    frequency = parts["FREQ"]
    parts = completed(parts, anchor)
    positions = parts.get("BYSETPOS", ())
    hours = mask_of(parts.get("BYHOUR", range(24)))
    minutes = mask_of(parts.get("BYMINUTE", range(60)))
    # 60 is a leap second: the RFC asks those who have none to read it as 59.
    seconds = mask_of(min(second, 59) for second in parts.get("BYSECOND", range(60)))
    days = _RuleDays(parts, anchor)
    if frequency in SUB_DAILY:
        depth = ("HOURLY", "MINUTELY", "SECONDLY").index(frequency) + 1
        weekdays = mask_of(WEEKDAYS.index(name) for _, name in parts.get("BYDAY", ())) or ALL_WEEKDAYS
        grid = _Grid(anchor, parts.get("INTERVAL", 1), weekdays, (hours, minutes, seconds)[:depth])
        inside = _listed(select_times(seconds if depth < 3 else 1, minutes if depth < 2 else 1, 1), positions)
        return _PeriodWall(days, grid, grid.mirrored(), inside) if inside else NoWall(wildcard=True)
    times = select_times(seconds, minutes, hours)
    if not positions:
        return Wall(times, days, wildcard=False)
    if frequency == "DAILY":
        picked = _listed(times, positions)
        return Wall(SparseTimes(picked), days, wildcard=False) if picked else NoWall(wildcard=False)
    listed = _listed(times)
    needed = (min(abs(at) for at in positions) - 1) // len(listed) + 1
    if frequency == "WEEKLY" and needed > len(parts["BYDAY"]):
        return NoWall(wildcard=False)
    if frequency == "MONTHLY":
        days.fewest = needed
    return _PickedWall(days, listed, parts)


def _listed(times: DayTimes, positions: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Return the times, or those of them that BYSETPOS picks."""
    listed = times.seconds[:-1] if isinstance(times, SparseTimes) else tuple(compress(range(DAY), times.flags()))
    return tuple([listed[index] for index in chosen(positions, len(listed))]) if positions else listed


@lru_cache(maxsize=512)
def _year(year: int) -> tuple[int, int, tuple[int, ...]]:
    """Return the day of 1 January, the kind of year, and where its months start.  Years are counted from 1970.

    Two years of a kind start on the same weekday and have their leap years in the same places.
    """
    year += 1970
    first = days_from_civil(year, 1, 1)
    kind = (first + 3) % 7 << 3 | isleap(year) << 2 | isleap(year - 1) << 1 | isleap(year + 1)
    return first, kind, _MONTH_STARTS[isleap(year)]


def _first_day(month: int) -> int:
    first, _, starts = _year(month // 12)
    return first + starts[month % 12]


class _RuleDays(Days):
    """The days that a rule selects.  Like its parent it counts months from January 1970."""

    __slots__ = (
        "_block",
        "_interval",
        "_kinds",
        "_masks",
        "_nth",
        "_origin",
        "_parts",
        "_weekdays",
        "_width",
        "fewest",
    )

    def __init__(self, parts: RruleParts, anchor: int) -> None:
        super().__init__(())
        self._parts = parts
        self.fewest = 0  # a month in which fewer days are selected has none, because BYSETPOS would find nothing in it
        by_day = [(nth, WEEKDAYS.index(name)) for nth, name in parts.get("BYDAY", ())]
        self._weekdays = mask_of(weekday for nth, weekday in by_day if not nth)
        self._nth = tuple((nth, weekday) for nth, weekday in by_day if nth)
        self._masks: dict[int, int] = {}
        self._kinds = -1 if "BYWEEKNO" in parts else ~3  # only weeks look into the years before and after
        frequency = parts["FREQ"]
        self._interval = 1 if frequency in SUB_DAILY else parts.get("INTERVAL", 1)
        # YEARLY and MONTHLY select every _interval-th block of _block months, WEEKLY and DAILY of _width days.
        self._block = {"YEARLY": 12, "MONTHLY": 1}.get(frequency, 0)
        self._width = 7 if frequency == "WEEKLY" else 1
        day = anchor // DAY
        start = date.fromordinal(day + EPOCH_ORDINAL)
        if self._block:
            self._origin = ((start.year - 1970) * 12 + start.month - 1) // self._block
        else:
            self._origin = week_of(day, parts) if frequency == "WEEKLY" else day

    def mask(self, month: int) -> int:
        """Return the selected days of a month, bit 0 for the 1st."""
        year, index = divmod(month, 12)
        first, kind, starts = _year(year)
        blocks = -1
        if self._interval > 1 and self._block:
            if (month // self._block - self._origin) % self._interval:
                return 0
        elif self._interval > 1:
            cycle = self._interval * self._width
            offset = (self._origin - first - starts[index]) % cycle
            if 31 <= offset <= cycle - self._width:  # the month lies between two blocks
                return 0
            blocks = _blocks(self._width, cycle, offset)
        key = (kind & self._kinds) * 12 + index
        mask = self._masks.get(key)
        if mask is None:
            mask = self._masks[key] = self._evaluate(kind, index)
        return mask & blocks

    def span(self, first: int, length: int) -> int:
        """Return the selected days among ``length`` days from ``first`` on, bit 0 for the first of them."""
        mask = 0
        month = MONTH_OF_DAY[first]
        while (shift := _first_day(month) - first) < length:
            mask |= self.mask(month) << shift if shift >= 0 else self.mask(month) >> -shift
            month += 1
        return mask & (1 << length) - 1

    def _evaluate(self, kind: int, month: int) -> int:
        """Return what the BY… parts select in a month (0 for January) of a kind of year, whatever INTERVAL says."""
        parts = self._parts
        if "BYMONTH" in parts and month + 1 not in parts["BYMONTH"]:
            return 0
        starts = _MONTH_STARTS[kind >> 2 & 1]
        start, length = starts[month], starts[month + 1] - starts[month]
        weekday = ((kind >> 3) + start) % 7
        mask = (1 << length) - 1
        if "BYMONTHDAY" in parts:
            mask &= chosen_mask(parts["BYMONTHDAY"], length)
        if "BYYEARDAY" in parts:
            mask &= chosen_mask(parts["BYYEARDAY"], starts[12]) >> start
        if "BYDAY" in parts:
            in_year = parts["FREQ"] == "YEARLY" and "BYMONTH" not in parts
            first, size, skipped = (kind >> 3, starts[12], start) if in_year else (weekday, length, 0)
            mask &= self._weekdays * _REPEATED_WEEKLY >> weekday | nth_mask(self._nth, first, size) >> skipped
        if "BYWEEKNO" in parts and mask:
            mask &= self._weeks(kind, start, length)
        return mask if mask.bit_count() >= self.fewest else 0

    def _weeks(self, kind: int, start: int, length: int) -> int:
        """Return the days of a month that lie in the weeks of BYWEEKNO.

        A week belongs to the year that has its fourth day, and is week n if that is the n-th such day of the year.
        """
        wanted, week_start = self._parts["BYWEEKNO"], WEEKDAYS.index(self._parts.get("WKST", "MO"))
        sizes = [365 + (kind >> bit & 1) for bit in (1, 2, 0)]  # the year before, this one, the year after
        offsets = (-sizes[0], 0, sizes[1])
        mask = 0
        earliest = start - 7 + (week_start + 3 - (kind >> 3) - start) % 7
        for fourth in range(earliest, start + length + 3, 7):
            year = 0 if fourth < 0 else 1 if fourth < sizes[1] else 2
            number, first = divmod(fourth - offsets[year], 7)
            weeks = (sizes[year] - 1 - first) // 7 + 1
            if number + 1 in wanted or number - weeks in wanted:
                mask |= ALL_WEEKDAYS << fourth - start + 7
        return mask >> 10  # three days from the beginning of a week to its fourth, and seven so as not to shift by less


@lru_cache(maxsize=1_024)
def _blocks(width: int, cycle: int, offset: int) -> int:
    """Return a month of bits in which a block of ``width`` ones begins at ``offset`` and every ``cycle`` bits."""
    block = (1 << width) - 1
    mask = block >> cycle - offset  # the one that began before the month
    for start in range(offset, 31, cycle):
        mask |= block << start
    return mask


@dataclass(slots=True)
class _PickedWall:
    """What BYSETPOS picks from the times of each week, month or year."""

    days: _RuleDays
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
        """Return the first day and the length of the period that a day is in."""
        if self.parts["FREQ"] == "WEEKLY":
            return week_of(day, self.parts), 7
        month, months = MONTH_OF_DAY[day], 1
        if self.parts["FREQ"] == "YEARLY":
            month, months = month - month % 12, 12
        first = _first_day(month)
        return first, _first_day(month + months) - first

    def _picks(self, first: int, length: int) -> list[int]:
        mask, times = self.days.span(first, length), self.times
        indexes = chosen(self.parts["BYSETPOS"], mask.bit_count() * len(times))
        days = bits_of(mask) if indexes else ()
        return [(first + days[index // len(times)]) * DAY + times[index % len(times)] for index in indexes]


@dataclass(slots=True)
class _PeriodWall:
    """The same offsets inside every period of a grid whose day is selected."""

    days: _RuleDays
    grid: _Grid
    backwards: _Grid
    inside: tuple[int, ...]
    wildcard: bool = True

    def next_local(self, local: int) -> int | None:
        inside, per_day = self.inside, self.grid.per_day
        period, offset = divmod(local, self.grid.unit)
        if offset >= inside[-1]:
            period, offset = period + 1, -1
        found = self.grid.first_from(period)
        while found is not None:
            day = self.days.next_day(found // per_day)
            if day is None:
                return None
            if day == found // per_day:
                return found * self.grid.unit + inside[0 if found > period else bisect_right(inside, offset)]
            found = self.grid.first_from(day * per_day)
        return None

    def prev_local(self, local: int) -> int | None:
        inside, per_day = self.inside, self.grid.per_day
        period, offset = divmod(local, self.grid.unit)
        if offset <= inside[0]:
            period, offset = period - 1, self.grid.unit
        found = self._last_to(period)
        while found is not None:
            day = self.days.prev_day(found // per_day)
            if day is None:
                return None
            if day == found // per_day:
                return found * self.grid.unit + inside[-1 if found < period else bisect_left(inside, offset) - 1]
            found = self._last_to((day + 1) * per_day - 1)
        return None

    def _last_to(self, period: int) -> int | None:
        """Look into the mirror, where period p is seen at -1 - p."""
        found = self.backwards.first_from(-1 - period)
        return None if found is None else -1 - found


class _Grid:
    """The periods anchor + k × step at which the clock shows an allowed weekday, hour, minute and second.

    ``clock`` has a mask of allowed values for each unit, from the hour down to the unit of the periods; ``weekdays`` is
    one too, with bit 0 for Monday.
    """

    __slots__ = ("_anchor", "_clock", "_readings", "_step", "_waits", "_weekdays", "per_day", "unit")

    def __init__(self, anchor: int, step: int, weekdays: int, clock: tuple[int, ...]) -> None:
        self.unit = (3600, 60, 1)[len(clock) - 1]
        self.per_day = DAY // self.unit
        self._anchor = anchor // self.unit
        self._step = step
        self._clock = clock
        self._weekdays = weekdays
        free = weekdays == ALL_WEEKDAYS and clock == _EVERY_CLOCK[: len(clock)]
        self._readings = None if free else select_times(*reversed((*clock, 1, 1)[:3]))
        # For each day of a week that begins, like 1970, on a Thursday: how many days until one that is allowed.
        self._waits = tuple(next(n for n in range(7) if weekdays >> (day + 3 + n) % 7 & 1) for day in range(7))

    def mirrored(self) -> _Grid:
        """Return the same grid with time running backwards: the last reading of a day becomes its first."""
        last = (23, 59, 59)
        clock = tuple(mask_of(top - at for at in bits_of(mask)) for top, mask in zip(last, self._clock, strict=False))
        weekdays = mask_of((5 - weekday) % 7 for weekday in bits_of(self._weekdays))
        return _Grid(-1 - self._anchor * self.unit, self._step, weekdays, clock)

    def first_from(self, period: int) -> int | None:
        """Return the first period of the grid, at or after ``period``, that the clock allows."""
        found = period + (self._anchor - period) % self._step
        if self._readings is None:
            return found
        for _ in range(MAX_LEAPS):
            day, reading = divmod(found, self.per_day)
            wait = self._waits[day % 7]
            second = None if wait else self._readings.after(reading * self.unit - 1)
            if second is None:
                day, second = day + (wait or 1), self._readings.first
            allowed = day * self.per_day + second // self.unit
            if allowed == found:
                return found
            found = allowed + (self._anchor - allowed) % self._step
        steps = _steps_to_clock(found, self._step, self._weekdays, self._clock)
        return None if steps is None else found + steps * self._step


def _steps_to_clock(period: int, step: int, weekdays: int, clock: tuple[int, ...]) -> int | None:
    """Return the smallest k for which the clock allows period + k × step; ``None`` if it never does.

    While the finest unit is restricted, it is fixed: those k that give it one allowed value are a grid of their own in
    the next coarser unit.  Once it is free, the allowed readings are a few spans, and Euclid finds the way into each.
    """
    if len(clock) > 1 and clock[-1] != ALL_MINUTES:
        cycle = 60 // gcd(step, 60)
        found = []
        for k in range(cycle):
            coarse, value = divmod(period + k * step, 60)
            if clock[-1] >> value & 1:
                more = _steps_to_clock(coarse, step * cycle // 60, weekdays, clock[:-1])
                if more is not None:
                    found.append(k + more * cycle)
        return min(found, default=None)
    per_day = modulus = DAY // (3600, 60, 1)[len(clock) - 1]
    days: Sequence[int] = (0,)
    if weekdays != ALL_WEEKDAYS:
        modulus, days = 7 * per_day, [(weekday + 4) % 7 * per_day for weekday in bits_of(weekdays)]
    ways = [
        _steps_into(step % modulus, modulus, (day + first - period) % modulus, (day + last - period) % modulus)
        for day in days
        for first, last in _spans(clock)
    ]
    return min((steps for steps in ways if steps is not None), default=None)


@lru_cache(maxsize=256)
def _spans(clock: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Return the allowed readings of a clock, in its finest unit, as spans without gaps; both ends are included."""
    unit = 60 ** (3 - len(clock))
    flags = select_times(*reversed((*clock, ALL_MINUTES, ALL_MINUTES)[:3])).flags()
    return tuple((span.start() // unit, (span.end() - 1) // unit) for span in _SPAN.finditer(flags))


def _steps_into(step: int, modulus: int, low: int, high: int) -> int | None:
    """Return the smallest k ≥ 0 with low ≤ k × step mod modulus ≤ high, by Euclid's descent; ``None`` for none."""
    if low == 0 or low > high:  # it begins inside
        return 0
    if step == 0:
        return None
    k = -(-low // step)
    if k * step <= high:
        return k
    wraps = _steps_into(modulus % step, step, -high % step, -low % step)
    return None if wraps is None else -(-(low + wraps * modulus) // step)
