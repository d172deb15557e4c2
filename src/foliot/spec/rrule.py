"""RFC 5545 recurrence rules, compiled to arithmetic.

The RFC describes a rule as a loop: walk the periods of FREQ from DTSTART, INTERVAL at a time; in each, let some BY… parts
*expand* the set and others *limit* it; keep what BYSETPOS picks.  Nothing here walks from DTSTART.  What that loop would
produce is a set that can be asked directly, because each part restricts one of three things:

days
    BYMONTH, BYMONTHDAY, BYYEARDAY, BYWEEKNO and BYDAY say something about a day, and expanding or limiting by them gives
    the same set.  They are evaluated for a whole month at once, as a mask with bit 0 for the 1st; a year has the same
    masks as every other that starts on the same weekday and has its leap years in the same places.  INTERVAL of YEARLY
    and MONTHLY leaves whole months out; that of WEEKLY and DAILY is a pattern of bits laid over the month.
times
    From DAILY upwards, BYHOUR × BYMINUTE × BYSECOND are the same times on each of these days: a plain ``Wall``.
periods
    HOURLY, MINUTELY and SECONDLY have a grid of periods, DTSTART + k × INTERVAL.  Days, clock and grid leap over each other
    until they agree.  Where grid and clock rarely or never meet, Euclid's algorithm says at which k, or that they do not.

BYSETPOS within a day or less picks from a list that never changes, so it is applied once, here.  For weeks, months and
years it counts the bits in the masks of the period.

What the rule does not say (the weekday of WEEKLY, the hour of DAILY) comes from DTSTART, which is an occurrence only if the
rule selects it.  ``YEARLY;BYWEEKNO=20`` without BYDAY means all seven days of the week.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import lru_cache
from itertools import compress
from math import gcd

from foliot.spec.days import ALL_WEEKDAYS, DAY, HORIZON, MONTH_OF_DAY, Days, days_from_civil
from foliot.spec.daytimes import ALL_HOURS, ALL_MINUTES, DayTimes, SparseTimes, bits_of, select_times
from foliot.spec.rrule_parse import EPOCH_ORDINAL, SUB_DAILY, WEEKDAYS, RruleParts, read_rrule
from foliot.spec.wall import NoWall, Wall, WallClock

FLOOR = -2 * DAY
CEILING = HORIZON + 2 * DAY
"""Wall times outside of these are never asked for: every offset from UTC is smaller than two days."""

MAX_LEAPS = 8
"""After so many leaps of grid and clock over each other without a meeting, the meeting is computed."""

MAX_TRIED_READINGS = 512
"""Up to so many clock readings are tried to find out which weekdays a grid can reach."""

_MONTH_STARTS = (
    (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365),
    (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335, 366),
)
_REPEATED_WEEKLY = sum(1 << 7 * week for week in range(6))
_EVERY_CLOCK = (ALL_HOURS, ALL_MINUTES, ALL_MINUTES)


def _unchanged(epoch: int) -> int:
    return epoch


def parse_rrule(text: str, *, start: int | None = None, to_local: Callable[[int], int] = _unchanged) -> Rrule:
    """Compile a rule.

    ``start`` is the wall time that stands in for a missing DTSTART; without it the rule is anchored on 1970-01-01.
    ``to_local`` turns an instant into a wall time, for an UNTIL that ends in Z.
    """
    read = read_rrule(text, start)
    until = read.until
    if until is not None and read.until_utc:
        until = to_local(until)
    return Rrule(read.parts, read.start, until, read.timezone)


class Rrule:
    """The wall times that one rule names.

    ``parts`` are the parts as written, ``anchor`` is the wall time the rule counts from, ``anchored`` says whether that was
    given (by DTSTART or by the caller), and ``timezone`` is the zone that DTSTART names, if it names one.
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
    hours, minutes = _bits(parts.get("BYHOUR", ())), _bits(parts.get("BYMINUTE", ()))
    # 60 is a leap second: the RFC asks those who have none to read it as 59.
    seconds = _bits(min(second, 59) for second in parts.get("BYSECOND", ()))
    positions = parts.get("BYSETPOS", ())
    of_anchor = (1 << anchor % DAY // 3600, 1 << anchor % 3600 // 60, 1 << anchor % 60)
    if parts["FREQ"] in SUB_DAILY:
        return _compile_periods(parts, anchor, (hours, minutes, seconds), of_anchor)
    days = _RuleDays(parts, anchor)
    times = select_times(seconds or of_anchor[2], minutes or of_anchor[1], hours or of_anchor[0])
    if not positions:
        return Wall(times, days, wildcard=False)
    if parts["FREQ"] != "DAILY":
        return _PickedWall(days, _listed(times), parts)
    picked = _picked(_listed(times), positions)
    return Wall(SparseTimes(picked), days, wildcard=False) if picked else NoWall(wildcard=False)


def _compile_periods(parts: RruleParts, anchor: int, clock: tuple[int, ...], of_anchor: tuple[int, ...]) -> WallClock:
    """Return the wall times of HOURLY, MINUTELY and SECONDLY; both clocks are masks of hours, minutes and seconds."""
    depth = ("HOURLY", "MINUTELY", "SECONDLY").index(parts["FREQ"]) + 1
    unit = 60 ** (3 - depth)
    limits = tuple(mask or every for mask, every in zip(clock[:depth], _EVERY_CLOCK, strict=False))
    grid = _Grid(anchor // unit, parts.get("INTERVAL", 1), limits)
    # What is finer than the period repeats in each: the clock stands at 0 in all that is not.
    inside_clock = [1] * depth + [mask or own for mask, own in zip(clock[depth:], of_anchor[depth:], strict=True)]
    inside: tuple[int, ...] = _listed(select_times(*reversed(inside_clock)))
    if "BYSETPOS" in parts:
        inside = _picked(inside, parts["BYSETPOS"])
    return (
        _PeriodWall(_RuleDays(parts, anchor, grid.weekdays()), grid, unit, inside) if inside else NoWall(wildcard=True)
    )


def _listed(times: DayTimes) -> tuple[int, ...]:
    return times.seconds[:-1] if isinstance(times, SparseTimes) else tuple(compress(range(DAY), times.flags()))


def _picked(times: tuple[int, ...], positions: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([times[index] for index in _chosen(positions, len(times))])


def _chosen(positions: tuple[int, ...], size: int) -> list[int]:
    """Return the indexes that BYSETPOS picks from ``size`` things."""
    return sorted({index for index in _indexes(positions, size) if 0 <= index < size})


def _indexes(numbers: Iterable[int], size: int) -> list[int]:
    """Turn numbers that count from 1, or backwards from -1, into indexes; too large a number gives one out of range."""
    return [number - 1 if number > 0 else size + number for number in numbers]


def _bits(indexes: Iterable[int], length: int = 60) -> int:
    """Return a mask with these bits; those outside of its length are left out."""
    mask = 0
    for index in indexes:
        if 0 <= index < length:
            mask |= 1 << index
    return mask


# --- days -------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def _year(year: int) -> tuple[int, int, tuple[int, ...]]:
    """Return the day of 1 January, the kind of year, and where its months start.  Years are counted from 1970.

    Two years of a kind start on the same weekday and have their leap years in the same places.
    """
    first, after = days_from_civil(1970 + year, 1, 1), days_from_civil(1971 + year, 1, 1)
    leap, leap_before = after - first - 365, first - days_from_civil(1969 + year, 1, 1) - 365
    leap_after = days_from_civil(1972 + year, 1, 1) - after - 365
    return first, (first + 3) % 7 << 3 | leap << 2 | leap_before << 1 | leap_after, _MONTH_STARTS[leap]


def _first_day(month: int) -> int:
    first, _, starts = _year(month // 12)
    return first + starts[month % 12]


def _week_of(day: int, parts: RruleParts) -> int:
    """Return the first day of the week that a day is in."""
    return day - (day + 3 - WEEKDAYS.index(parts.get("WKST", "MO"))) % 7


class _RuleDays(Days):
    """The days that a rule selects.  Like its parent it counts months from January 1970."""

    __slots__ = ("_block", "_calendar", "_interval", "_origin", "_width")

    def __init__(self, parts: RruleParts, anchor: int, weekdays: int = ALL_WEEKDAYS) -> None:
        """``weekdays`` are those that the rule can reach, bit 0 for Monday."""
        super().__init__(())
        day = anchor // DAY
        start = date.fromordinal(day + EPOCH_ORDINAL)
        frequency = parts["FREQ"]
        self._calendar = _Calendar(_with_days_of(start, parts), weekdays)
        self._interval = 1 if frequency in SUB_DAILY else parts.get("INTERVAL", 1)
        # YEARLY and MONTHLY select every _interval-th block of _block months, WEEKLY and DAILY of _width days.
        self._block = {"YEARLY": 12, "MONTHLY": 1}.get(frequency, 0)
        self._width = 7 if frequency == "WEEKLY" else 1
        if self._block:
            self._origin = ((start.year - 1970) * 12 + start.month - 1) // self._block
        else:
            self._origin = _week_of(day, parts) if frequency == "WEEKLY" else day

    def mask(self, month: int) -> int:
        """Return the selected days of a month, bit 0 for the 1st."""
        year, index = divmod(month, 12)
        first, kind, starts = _year(year)
        mask = self._calendar.mask(kind, index)
        if self._interval == 1 or not mask:
            return mask
        if self._block:
            return 0 if (month // self._block - self._origin) % self._interval else mask
        cycle = self._interval * self._width
        return mask & _blocks(self._width, cycle, (self._origin - first - starts[index]) % cycle)

    def span(self, first: int, length: int) -> int:
        """Return the selected days among ``length`` days from ``first`` on, bit 0 for the first of them."""
        mask = 0
        month = MONTH_OF_DAY[first]
        while (shift := _first_day(month) - first) < length:
            mask |= self.mask(month) << shift if shift >= 0 else self.mask(month) >> -shift
            month += 1
        return mask & (1 << length) - 1


def _with_days_of(start: date, parts: RruleParts) -> RruleParts:
    """Add what the rule leaves open: without a part that selects days, they are those of DTSTART."""
    filled = parts.copy()
    if not any(name in parts for name in ("BYWEEKNO", "BYYEARDAY", "BYMONTHDAY", "BYDAY")):
        if parts["FREQ"] == "WEEKLY":
            filled["BYDAY"] = ((0, WEEKDAYS[start.weekday()]),)
        elif parts["FREQ"] in {"MONTHLY", "YEARLY"}:
            filled["BYMONTHDAY"] = (start.day,)
            if parts["FREQ"] == "YEARLY":
                filled.setdefault("BYMONTH", (start.month,))
    return filled


@lru_cache(maxsize=1_024)
def _blocks(width: int, cycle: int, offset: int) -> int:
    """Return a month of bits in which a block of ``width`` ones begins at ``offset`` and every ``cycle`` bits."""
    block = (1 << width) - 1
    mask = block >> cycle - offset  # the one that began before the month
    while offset < 31:
        mask |= block << offset
        offset += cycle
    return mask


class _Calendar:
    """Which days the BY… parts select, whatever INTERVAL says: a mask for each month of each kind of year."""

    __slots__ = ("_masks", "_nth", "_parts", "_weekdays")

    def __init__(self, parts: RruleParts, weekdays: int) -> None:
        self._parts = parts
        days = [(nth, WEEKDAYS.index(name)) for nth, name in parts.get("BYDAY", ())]
        self._weekdays = _bits(weekday for nth, weekday in days if not nth) & weekdays
        self._nth = tuple((nth, weekday) for nth, weekday in days if nth)
        self._masks: dict[int, int] = {}

    def mask(self, kind: int, month: int) -> int:
        """Return the days of a month (0 for January) in a kind of year."""
        key = kind * 12 + month
        mask = self._masks.get(key)
        if mask is None:
            mask = self._masks[key] = self._evaluate(kind, month)
        return mask

    def _evaluate(self, kind: int, month: int) -> int:
        parts = self._parts
        if "BYMONTH" in parts and month + 1 not in parts["BYMONTH"]:
            return 0
        starts = _MONTH_STARTS[kind >> 2 & 1]
        start, length = starts[month], starts[month + 1] - starts[month]
        weekday = ((kind >> 3) + start) % 7
        mask = (1 << length) - 1
        if "BYMONTHDAY" in parts:
            mask &= _bits(_indexes(parts["BYMONTHDAY"], length), length)
        if "BYYEARDAY" in parts:
            mask &= _bits((index - start for index in _indexes(parts["BYYEARDAY"], starts[12])), length)
        if "BYDAY" in parts:
            in_year = parts["FREQ"] == "YEARLY" and "BYMONTH" not in parts
            first, size = (-start, starts[12]) if in_year else (0, length)
            numbered = _bits((_nth_day(nth, day, first, size, weekday) for nth, day in self._nth), length)
            mask &= self._weekdays * _REPEATED_WEEKLY >> weekday | numbered
        if "BYWEEKNO" in parts:
            mask &= self._weeks(kind, start, length)
        return mask

    def _weeks(self, kind: int, start: int, length: int) -> int:
        """Return the days of a month that lie in the weeks of BYWEEKNO.

        A week belongs to the year that has its fourth day, and is week n if that is the n-th such day of the year.
        """
        week_start = WEEKDAYS.index(self._parts.get("WKST", "MO"))
        sizes = [365 + (kind >> bit & 1) for bit in (1, 2, 0)]  # the year before, this one, the year after
        offsets = (-sizes[0], 0, sizes[1])
        mask = 0
        earliest = start - 7 + (week_start + 3 - (kind >> 3) - start) % 7
        for fourth in range(earliest, start + length + 3, 7):
            year = 0 if fourth < 0 else 1 if fourth < sizes[1] else 2
            number, first = divmod(fourth - offsets[year], 7)
            weeks = (sizes[year] - 1 - first) // 7 + 1
            if not {number + 1, number - weeks}.isdisjoint(self._parts["BYWEEKNO"]):
                mask |= _bits(range(fourth - 3 - start, fourth + 4 - start), length)
        return mask


def _nth_day(nth: int, weekday: int, first: int, size: int, weekday_of_month: int) -> int:
    """Return the n-th such weekday among ``size`` days from ``first`` on, counted from the 1st of a month.

    ``first`` is 0 for the month itself and negative for the beginning of its year.  Less than ``first``: there is none.
    """
    if nth > 0:
        day = first + (weekday - weekday_of_month - first) % 7 + 7 * (nth - 1)
    else:
        last = first + size - 1
        day = last - (weekday_of_month + last - weekday) % 7 + 7 * (nth + 1)
    return day if first <= day < first + size else first - 1


# --- BYSETPOS over several days ---------------------------------------------------------------------------------


class _PickedWall:
    """What BYSETPOS picks from the times of each week, month or year."""

    __slots__ = ("_days", "_parts", "_positions", "_times", "wildcard")

    def __init__(self, days: _RuleDays, times: tuple[int, ...], parts: RruleParts) -> None:
        self.wildcard = False
        self._days = days
        self._times = times
        self._parts = parts
        # A week never has more to offer than this; a position beyond it would be looked for in 12 000 weeks.
        most = len(times) * (len(parts.get("BYDAY", (0,))) if parts["FREQ"] == "WEEKLY" else 366)
        self._positions = tuple(at for at in parts["BYSETPOS"] if -most <= at <= most)

    def next_local(self, local: int) -> int | None:
        day = self._days.next_day(local // DAY) if self._positions else None
        while day is not None:
            first, length = self._period(day)
            for picked in self._picks(first, length):
                if picked > local:
                    return picked
            day = self._days.next_day(first + length)
        return None

    def prev_local(self, local: int) -> int | None:
        day = self._days.prev_day(local // DAY) if self._positions else None
        while day is not None:
            first, length = self._period(day)
            for picked in reversed(self._picks(first, length)):
                if picked < local:
                    return picked
            day = self._days.prev_day(first - 1)
        return None

    def _period(self, day: int) -> tuple[int, int]:
        """Return the first day and the length of the period that a day is in."""
        if self._parts["FREQ"] == "WEEKLY":
            return _week_of(day, self._parts), 7
        month, months = MONTH_OF_DAY[day], 1
        if self._parts["FREQ"] == "YEARLY":
            month, months = month - month % 12, 12
        first = _first_day(month)
        return first, _first_day(month + months) - first

    def _picks(self, first: int, length: int) -> list[int]:
        mask = self._days.span(first, length)
        chosen = _chosen(self._positions, mask.bit_count() * len(self._times))
        if not chosen:
            return []
        days = bits_of(mask)
        return [
            (first + days[index // len(self._times)]) * DAY + self._times[index % len(self._times)] for index in chosen
        ]


# --- periods shorter than a day ---------------------------------------------------------------------------------


class _PeriodWall:
    """The same offsets inside every period of a grid whose day is selected."""

    __slots__ = ("_backwards", "_days", "_grid", "_inside", "_unit", "wildcard")

    def __init__(self, days: _RuleDays, grid: _Grid, unit: int, inside: tuple[int, ...]) -> None:
        self.wildcard = True
        self._days = days
        self._grid = grid
        self._backwards = grid.mirrored()
        self._unit = unit
        self._inside = inside

    def next_local(self, local: int) -> int | None:
        inside, per_day = self._inside, self._grid.per_day
        period, offset = divmod(local, self._unit)
        if offset >= inside[-1]:
            period, offset = period + 1, -1
        found = self._grid.first_from(period)
        while found is not None:
            day = self._days.next_day(found // per_day)
            if day is None:
                return None
            if day == found // per_day:
                return found * self._unit + inside[0 if found > period else bisect_right(inside, offset)]
            found = self._grid.first_from(day * per_day)
        return None

    def prev_local(self, local: int) -> int | None:
        inside, per_day = self._inside, self._grid.per_day
        period, offset = divmod(local, self._unit)
        if offset <= inside[0]:
            period, offset = period - 1, self._unit
        found = self._last_to(period)
        while found is not None:
            day = self._days.prev_day(found // per_day)
            if day is None:
                return None
            if day == found // per_day:
                return found * self._unit + inside[-1 if found < period else bisect_left(inside, offset) - 1]
            found = self._last_to((day + 1) * per_day - 1)
        return None

    def _last_to(self, period: int) -> int | None:
        """Look into the mirror, where period p is seen at -1 - p."""
        found = self._backwards.first_from(-1 - period)
        return None if found is None else -1 - found


class _Grid:
    """The periods anchor + k × step at which the clock shows an allowed hour, minute and second.

    ``clock`` has a mask of allowed values for each unit, from the hour down to the unit of the periods.
    """

    __slots__ = ("_anchor", "_clock", "_readings", "_step", "_unit", "per_day")

    def __init__(self, anchor: int, step: int, clock: tuple[int, ...]) -> None:
        self._anchor = anchor
        self._step = step
        self._clock = clock
        self._unit = 60 ** (3 - len(clock))
        self.per_day = DAY // self._unit
        every = clock == _EVERY_CLOCK[: len(clock)]
        self._readings = None if every else select_times(*reversed((*clock, 1, 1)[:3]))

    def mirrored(self) -> _Grid:
        """Return the same grid with time running backwards: the last reading of a day becomes its first."""
        tops = (23, 59, 59)
        clock = tuple(_bits(top - at for at in bits_of(mask)) for top, mask in zip(tops, self._clock, strict=False))
        return _Grid(-1 - self._anchor, self._step, clock)

    def first_from(self, period: int) -> int | None:
        """Return the first period of the grid, at or after ``period``, that the clock allows."""
        found = period + (self._anchor - period) % self._step
        if self._readings is None:
            return found
        for _ in range(MAX_LEAPS):
            day, reading = divmod(found, self.per_day)
            second = self._readings.after(reading * self._unit - 1)
            allowed = day * self.per_day + (self._readings.first + DAY if second is None else second) // self._unit
            if allowed == found:
                return found
            found = allowed + (self._anchor - allowed) % self._step
        steps = _steps_to_clock(found, self._step, self._clock)
        return None if steps is None else found + steps * self._step

    def weekdays(self) -> int:
        """Return the weekdays that the grid can reach, bit 0 for Monday; all of them in case of doubt.

        A step that is a multiple of 7 keeps each reading of the clock on one weekday for ever, because no day has a
        multiple of 7 periods.
        """
        common = gcd(self._step, self.per_day)
        readings: Sequence[int] = range(self._anchor % common, self.per_day, common)
        if self._step % 7 or len(readings) > MAX_TRIED_READINGS:
            return ALL_WEEKDAYS
        if self._readings is not None:
            flags = self._readings.flags()
            readings = [at for at in readings if flags[at * self._unit]]
        days = (day for day in range(7) for at in readings if (day * self.per_day + at - self._anchor) % 7 == 0)
        return _bits((day + 3) % 7 for day in days)


def _steps_to_clock(period: int, step: int, clock: tuple[int, ...]) -> int | None:
    """Return the smallest k for which the clock allows period + k × step; ``None`` if it never does.

    While the finest unit is restricted, it is fixed: those k that give it one allowed value are a grid of their own in the
    next coarser unit.  Once it is free, the allowed readings are a few spans, and Euclid finds the way into each.
    """
    if len(clock) > 1 and clock[-1] != ALL_MINUTES:
        cycle = 60 // gcd(step, 60)
        found = []
        for k in range(cycle):
            coarse, value = divmod(period + k * step, 60)
            if clock[-1] >> value & 1:
                more = _steps_to_clock(coarse, step * cycle // 60, clock[:-1])
                if more is not None:
                    found.append(k + more * cycle)
        return min(found, default=None)
    per_day = 24 * 60 ** (len(clock) - 1)
    ways = [
        _steps_into(step % per_day, per_day, (first - period) % per_day, (last - period) % per_day)
        for first, last in _spans(clock)
    ]
    return min((steps for steps in ways if steps is not None), default=None)


@lru_cache(maxsize=256)
def _spans(clock: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Return the allowed readings of a clock, in its finest unit, as spans without gaps; both ends are included."""
    width = 1
    while len(clock) > 1 and clock[-1] == ALL_MINUTES:
        clock, width = clock[:-1], width * 60
    readings = list(bits_of(clock[0]))
    if len(clock) > 1:
        readings = [hour * 60 + minute for hour in readings for minute in bits_of(clock[1])]
    firsts = [at for index, at in enumerate(readings) if index == 0 or readings[index - 1] != at - 1]
    lasts = [at for index, at in enumerate(readings, 1) if index == len(readings) or readings[index] != at + 1]
    return tuple((first * width, (last + 1) * width - 1) for first, last in zip(firsts, lasts, strict=True))


def _steps_into(step: int, modulus: int, low: int, high: int) -> int | None:
    """Return the smallest k ≥ 0 with low ≤ k × step mod modulus ≤ high, by Euclid's descent; ``None`` if there is none."""
    if low == 0 or low > high:  # it begins inside
        return 0
    if step == 0:
        return None
    k = -(-low // step)
    if k * step <= high:
        return k
    wraps = _steps_into(modulus % step, step, -high % step, -low % step)
    return None if wraps is None else -(-(low + wraps * modulus) // step)
