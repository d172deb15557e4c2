"""The periods of an HOURLY, MINUTELY or SECONDLY rule, and the arithmetic that finds the next allowed one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from math import gcd

from tompion.spec.calendar.days import ALL_WEEKDAYS, DAY
from tompion.spec.calendar.times import ALL_HOURS, ALL_MINUTES, ALL_SECONDS, bits_of, select_times
from tompion.spec.rrule.parse import mask_of

MAX_LEAPS = 8
"""After this many attempts of grid and clock to meet, the meeting is computed."""

_EVERY_CLOCK = (ALL_HOURS, ALL_MINUTES, ALL_SECONDS)
_RANGE = re.compile(rb"\x01+")


class Grid:
    """The periods anchor + k × step at which the clock has an allowed weekday, hour, minute and second.

    ``clock`` has a mask of allowed values for each unit, from the hour down to the unit of the periods. ``weekdays`` is
    a mask with bit 0 for Monday.
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
        # For each day of a week that begins on a Thursday, as 1970 does: the days until an allowed one.
        self._waits = tuple(next(n for n in range(7) if weekdays >> (day + 3 + n) % 7 & 1) for day in range(7))

    def mirror(self) -> Grid:
        """Return the same grid with time running backwards: the last reading of a day becomes its first."""
        last = (23, 59, 59)
        clock = tuple(mask_of(top - at for at in bits_of(mask)) for top, mask in zip(last, self._clock, strict=False))
        weekdays = mask_of((5 - weekday) % 7 for weekday in bits_of(self._weekdays))
        return Grid(-1 - self._anchor * self.unit, self._step, weekdays, clock)

    def first_from(self, period: int) -> int | None:
        """Return the first period of the grid, at or after ``period``, that the clock allows."""
        candidate = period + (self._anchor - period) % self._step
        if self._readings is None:
            return candidate
        for _ in range(MAX_LEAPS):
            day, reading = divmod(candidate, self.per_day)
            wait = self._waits[day % 7]
            second = None if wait else self._readings.after(reading * self.unit - 1)
            if second is None:
                day, second = day + (wait or 1), self._readings.first
            allowed = day * self.per_day + second // self.unit
            if allowed == candidate:
                return candidate
            candidate = allowed + (self._anchor - allowed) % self._step
        steps = _steps_to_clock(candidate, self._step, self._weekdays, self._clock)
        return None if steps is None else candidate + steps * self._step


def _steps_to_clock(period: int, step: int, weekdays: int, clock: tuple[int, ...]) -> int | None:
    """Return the smallest k for which the clock allows period + k × step, or ``None`` if it never does.

    While the finest unit is restricted, it is fixed: the k that give it one allowed value are a grid of their own in
    the next coarser unit. Once it is free, the allowed readings are a few ranges, and Euclid's algorithm finds the way
    into each.
    """
    if len(clock) > 1 and clock[-1] != ALL_MINUTES:
        cycle = 60 // gcd(step, 60)
        solutions = []
        for k in range(cycle):
            coarse, value = divmod(period + k * step, 60)
            if clock[-1] >> value & 1:
                more = _steps_to_clock(coarse, step * cycle // 60, weekdays, clock[:-1])
                if more is not None:
                    solutions.append(k + more * cycle)
        return min(solutions, default=None)
    per_day = modulus = DAY // (3600, 60, 1)[len(clock) - 1]
    days: Sequence[int] = (0,)
    if weekdays != ALL_WEEKDAYS:
        modulus, days = 7 * per_day, [(weekday + 4) % 7 * per_day for weekday in bits_of(weekdays)]
    steps_by_range = [
        _steps_into(step % modulus, modulus, (day + first - period) % modulus, (day + last - period) % modulus)
        for day in days
        for first, last in _ranges(clock)
    ]
    return min((steps for steps in steps_by_range if steps is not None), default=None)


@lru_cache(maxsize=256)
def _ranges(clock: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Return the allowed readings of a clock, in its finest unit, as ranges without gaps. Both ends are included."""
    unit = 60 ** (3 - len(clock))
    flags = select_times(*reversed((*clock, ALL_MINUTES, ALL_MINUTES)[:3])).flags()
    return tuple((match.start() // unit, (match.end() - 1) // unit) for match in _RANGE.finditer(flags))


def _steps_into(step: int, modulus: int, low: int, high: int) -> int | None:
    """Return the smallest k ≥ 0 with low ≤ k × step mod modulus ≤ high, by Euclid's descent, or ``None``."""
    if low == 0 or low > high:  # it begins inside the range
        return 0
    if step == 0:
        return None
    k = -(-low // step)
    if k * step <= high:
        return k
    wraps = _steps_into(modulus % step, step, -high % step, -low % step)
    return None if wraps is None else -(-(low + wraps * modulus) // step)
