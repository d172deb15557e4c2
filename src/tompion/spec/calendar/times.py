"""Times of day of a rule.

There are two forms with one interface. Up to one time per minute, it is a sorted tuple that is bisected. If there are
more, it is one byte for each of the 86,400 seconds, searched with ``bytes.find``, which is faster than any structure in
Python. Both are shared between all rules with the same times.
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
"""Up to this many times a day, the sorted tuple is smaller and faster."""

INTERNED_SPARSE = 4_096
INTERNED_DENSE = 256
"""Number of distinct sets of times that are cached."""


class SparseTimes:
    """A sorted tuple of at least one distinct second of the day.

    ``seconds`` ends with a sentinel, the first time of the *next* day, so that a bisection always has a result.
    """

    __slots__ = ("first", "last", "seconds")

    def __init__(self, seconds: Sequence[int]) -> None:
        self.seconds: tuple[int, ...] = (*seconds, seconds[0] + DAY)
        self.first: int = seconds[0]
        self.last: int = seconds[-1]

    def after(self, second: int) -> int | None:
        """Return the first time of this day later than ``second``."""
        time = self.seconds[bisect_right(self.seconds, second)]
        return time if time < DAY else None

    def before(self, second: int) -> int | None:
        """Return the last time of this day earlier than ``second``."""
        index = bisect_left(self.seconds, second)
        return self.seconds[index - 1] if index else None

    def flags(self) -> bytes:
        """Return the same times as one byte per second."""
        flags = bytearray(DAY)
        for second in self.seconds[:-1]:
            flags[second] = 1
        return bytes(flags)


class DenseTimes:
    """One byte, 0 or 1, for each second of the day. At least one is 1."""

    __slots__ = ("_flags", "first", "last")

    def __init__(self, flags: bytes) -> None:
        self._flags = flags
        self.first: int = flags.find(1)
        self.last: int = flags.rfind(1)

    def after(self, second: int) -> int | None:
        """Return the first time of this day later than ``second``."""
        time = self._flags.find(1, second + 1)
        return time if time >= 0 else None

    def before(self, second: int) -> int | None:
        """Return the last time of this day earlier than ``second``."""
        time = self._flags.rfind(1, 0, max(second, 0))
        return time if time >= 0 else None

    def flags(self) -> bytes:
        """Return the same times as one byte per second."""
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
    """Return the times of day that three fields select. Each is a bit mask with bit 0 for 0."""
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
            return SparseTimes(range(within_hour[0], DAY, step))  # even steps can be built by range() alone
        return SparseTimes([base + inside for base in range(0, DAY, 3600) for inside in within_hour])
    return SparseTimes([hour * 3600 + inside for hour in bits_of(hours) for inside in within_hour])


@lru_cache(maxsize=INTERNED_DENSE)
def _dense(seconds: int, minutes: int, hours: int) -> DenseTimes:
    minute_row = bytes(seconds >> second & 1 for second in range(60))
    hour_row = b"".join(minute_row if minutes >> minute & 1 else bytes(60) for minute in range(60))
    return DenseTimes(b"".join(hour_row if hours >> hour & 1 else bytes(3600) for hour in range(24)))


def without_times(times: DayTimes, removed: tuple[DayTimes, ...]) -> DayTimes | None:
    """Return the times without others, or ``None`` if no time is left."""
    if not removed:
        return times
    left = int.from_bytes(times.flags(), "little")
    for other in removed:
        left &= ~int.from_bytes(other.flags(), "little")
    return _intern(left.to_bytes(DAY, "little")) if left else None


@lru_cache(maxsize=INTERNED_DENSE)
def times_modulo(remainder: int, divisor: int) -> DayTimes:
    """Return the times of day with a given remainder. The divisor must divide a day."""
    return _intern((bytes(remainder) + b"\x01" + bytes(divisor - remainder - 1)) * (DAY // divisor))


@lru_cache(maxsize=INTERNED_SPARSE)
def are_disjoint(first: DayTimes, second: DayTimes) -> bool:
    """Return whether two sets of times have no time in common."""
    return not int.from_bytes(first.flags(), "little") & int.from_bytes(second.flags(), "little")


@lru_cache(maxsize=INTERNED_DENSE)
def _intern(flags: bytes) -> DayTimes:
    if flags.count(1) > MAX_SPARSE:
        return DenseTimes(flags)
    return SparseTimes([second for second, flag in enumerate(flags) if flag])
