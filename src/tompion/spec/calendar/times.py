"""At which seconds of a day: the time-of-day half of a rule.

Two forms, one contract.  Up to one time a minute, a sorted tuple that is bisected; denser than that, a byte for each
of the 86,400 seconds, searched by ``bytes.find``, which the C library does faster than any structure in Python.  Both
are shared between all rules that name the same times.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache

from tompion.spec.calendar.days import DAY

ALL_SECONDS = (1 << 60) - 1
ALL_MINUTES = ALL_SECONDS
ALL_HOURS = (1 << 24) - 1

MAX_SPARSE = 1_440
"""Up to so many times a day the sorted tuple is the smaller and faster form."""

INTERNED_SPARSE = 4_096
INTERNED_DENSE = 256
"""How many distinct sets of times are shared; beyond that the least used are built anew."""


class SparseTimes:
    """A sorted tuple of seconds of the day.

    ``seconds`` ends with a sentinel, the first time of the *next* day, so that a bisection always finds an answer.
    """

    __slots__ = ("first", "last", "seconds")

    def __init__(self, seconds: Sequence[int]) -> None:
        """Take sorted, distinct seconds; at least one."""
        self.seconds = (*seconds, seconds[0] + DAY)
        self.first = seconds[0]
        self.last = seconds[-1]

    def after(self, second: int) -> int | None:
        """Return the first time of this day later than ``second``."""
        found = self.seconds[bisect_right(self.seconds, second)]
        return found if found < DAY else None

    def before(self, second: int) -> int | None:
        """Return the last time of this day earlier than ``second``."""
        index = bisect_left(self.seconds, second)
        return self.seconds[index - 1] if index else None

    def flags(self) -> bytes:
        """Return the same times as one byte a second."""
        flags = bytearray(DAY)
        for second in self.seconds[:-1]:
            flags[second] = 1
        return bytes(flags)


class DenseTimes:
    """One byte for each second of the day."""

    __slots__ = ("_flags", "first", "last")

    def __init__(self, flags: bytes) -> None:
        """Take 86,400 bytes of 0 or 1; at least one 1."""
        self._flags = flags
        self.first = flags.find(1)
        self.last = flags.rfind(1)

    def after(self, second: int) -> int | None:
        """Return the first time of this day later than ``second``."""
        found = self._flags.find(1, second + 1)
        return found if found >= 0 else None

    def before(self, second: int) -> int | None:
        """Return the last time of this day earlier than ``second``."""
        found = self._flags.rfind(1, 0, max(second, 0))
        return found if found >= 0 else None

    def flags(self) -> bytes:
        """Return the same times as one byte a second."""
        return self._flags


DayTimes = SparseTimes | DenseTimes


@lru_cache(maxsize=INTERNED_SPARSE)
def bits_of(mask: int) -> tuple[int, ...]:
    """Return the positions of the set bits, lowest first."""
    positions = []
    while mask:
        lowest = mask & -mask
        positions.append(lowest.bit_length() - 1)
        mask ^= lowest
    return tuple(positions)


def select_times(seconds: int, minutes: int, hours: int) -> DayTimes:
    """Return the times of day that three fields select; each is a bit mask with bit 0 for 0."""
    if seconds.bit_count() * minutes.bit_count() * hours.bit_count() <= MAX_SPARSE:
        return _sparse(seconds, minutes, hours)
    return _dense(seconds, minutes, hours)


@lru_cache(maxsize=INTERNED_SPARSE)
def _sparse(seconds: int, minutes: int, hours: int) -> SparseTimes:
    at_second = bits_of(seconds)
    if len(at_second) == 1:
        within_hour = [minute * 60 + at_second[0] for minute in bits_of(minutes)]
    else:
        within_hour = [minute * 60 + second for minute in bits_of(minutes) for second in at_second]
    if hours == ALL_HOURS:
        step = 3600 // len(within_hour)
        if within_hour == [*range(within_hour[0], 3600, step)] and len(within_hour) * step == 3600:
            return SparseTimes(range(within_hour[0], DAY, step))  # an even cadence needs no arithmetic of ours
        return SparseTimes([base + inside for base in range(0, DAY, 3600) for inside in within_hour])
    return SparseTimes([hour * 3600 + inside for hour in bits_of(hours) for inside in within_hour])


@lru_cache(maxsize=INTERNED_DENSE)
def _dense(seconds: int, minutes: int, hours: int) -> DenseTimes:
    minute_row = bytes(seconds >> second & 1 for second in range(60))
    hour_row = b"".join(minute_row if minutes >> minute & 1 else bytes(60) for minute in range(60))
    return DenseTimes(b"".join(hour_row if hours >> hour & 1 else bytes(3600) for hour in range(24)))


def without_times(times: DayTimes, taken: tuple[DayTimes, ...]) -> DayTimes | None:
    """Return the times that are left when others are taken away; ``None`` when nothing is."""
    if not taken:
        return times
    left = int.from_bytes(times.flags(), "little")
    for other in taken:
        left &= ~int.from_bytes(other.flags(), "little")
    return _interned(left.to_bytes(DAY, "little")) if left else None


@lru_cache(maxsize=INTERNED_DENSE)
def times_modulo(remainder: int, divisor: int) -> DayTimes:
    """Return the times of day with a given remainder; the divisor divides a day."""
    return _interned((bytes(remainder) + b"\x01" + bytes(divisor - remainder - 1)) * (DAY // divisor))


@lru_cache(maxsize=INTERNED_SPARSE)
def disjoint(first: DayTimes, second: DayTimes) -> bool:
    """Whether two sets of times have none in common."""
    return not int.from_bytes(first.flags(), "little") & int.from_bytes(second.flags(), "little")


@lru_cache(maxsize=INTERNED_DENSE)
def _interned(flags: bytes) -> DayTimes:
    if flags.count(1) > MAX_SPARSE:
        return DenseTimes(flags)
    return SparseTimes([second for second, flag in enumerate(flags) if flag])
