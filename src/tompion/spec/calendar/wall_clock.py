"""The wall times that a rule names, with no time zone in sight.

A *wall clock* answers two questions about wall times, counted in seconds as if they were UTC: which matching one comes
after a given one, and which came before.  Calendars and cron strings are days × times of day; RRULEs bring their own
arithmetic.  Exclusions are taken away here: whole days from the days, times of day from the times; only what is
neither (Fridays after 13:00) is looked at day by day.  None of it ever costs a step per tick.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, Protocol

from tompion.spec.calendar.days import DAY, EVERY_DAY, Days
from tompion.spec.calendar.times import (
    ALL_HOURS,
    ALL_MINUTES,
    ALL_SECONDS,
    INTERNED_SPARSE,
    DayTimes,
    SparseTimes,
    disjoint,
    select_times,
    without_times,
)


class WallClock(Protocol):
    """What names wall times."""

    wildcard: bool

    def next_local(self, local: int) -> int | None:
        """Return the first wall time later than ``local``."""
        ...

    def prev_local(self, local: int) -> int | None:
        """Return the last wall time earlier than ``local``."""
        ...


class Exclusions(NamedTuple):
    """What is taken away from wall times: single days, and pairs of days and times (``None``: the whole day)."""

    dates: frozenset[int] = frozenset()
    calendars: tuple[tuple[Days, DayTimes | None], ...] = ()


NOTHING_EXCLUDED = Exclusions()


class Wall:
    """Days × times of day, minus times on some of those days."""

    __slots__ = ("days", "partial", "times", "wildcard")

    def __init__(
        self, times: DayTimes, days: Days, wildcard: bool, partial: tuple[tuple[Days, DayTimes], ...] = ()
    ) -> None:
        """``partial`` holds the exclusions that are neither whole days nor the same times every day."""
        self.times = times
        self.days = days
        self.wildcard = wildcard
        self.partial = partial

    def times_on(self, day: int) -> DayTimes | None:
        """Return the times that are left on a matching day."""
        taken = tuple(times for days, times in self.partial if days.has(day))
        return _times_left(self.times, taken) if taken else self.times

    def next_local(self, local: int) -> int | None:
        """Return the first wall time later than ``local``."""
        day, second = divmod(local, DAY)
        found = self.days.next_day(day)
        while found is not None:
            times = self.times_on(found)
            if times is not None:
                at = times.first if found > day else times.after(second)
                if at is not None:
                    return found * DAY + at
            found = self.days.next_day(found + 1)
        return None

    def prev_local(self, local: int) -> int | None:
        """Return the last wall time earlier than ``local``."""
        day, second = divmod(local, DAY)
        found = self.days.prev_day(day)
        while found is not None:
            times = self.times_on(found)
            if times is not None:
                at = times.last if found < day else times.before(second)
                if at is not None:
                    return found * DAY + at
            found = self.days.prev_day(found - 1)
        return None


class DailyWall(Wall):
    """The same sparse times every day: the commonest rule, and the one the fast path knows best."""

    __slots__ = ()


class DenseWall(Wall):
    """Dense times every day."""

    __slots__ = ()


class DatedWall(Wall):
    """Sparse times on the days of a plain table: the second commonest."""

    __slots__ = ()


class NoWall:
    """A rule that names no wall time at all."""

    __slots__ = ("wildcard",)

    def __init__(self, wildcard: bool) -> None:
        """Keep the class of the rule that has become empty."""
        self.wildcard = wildcard

    def next_local(self, local: int) -> int | None:
        """There is none."""
        return None

    def prev_local(self, local: int) -> int | None:
        """There is none."""
        return None


class AllowedWall:
    """The wall times of a clock that are not excluded, found by letting it and the allowed times leap over each other.

    ``times`` are the times of day at which the clock can be at all.  A day on which none of them is allowed is leapt
    over as a whole; without that, every minute minus second 0 would be walked minute by minute.
    """

    __slots__ = ("_allowed", "_inner", "_times", "wildcard")

    def __init__(self, inner: WallClock, allowed: WallClock, times: DayTimes) -> None:
        """The DST class is the clock's own; ``allowed`` only says what is left."""
        self._inner = inner
        self._allowed = allowed
        self._times = times
        self.wildcard = inner.wildcard

    def next_local(self, local: int) -> int | None:
        """Return the first allowed wall time later than ``local``."""
        found = self._inner.next_local(local)
        while found is not None:
            allowed = self._allowed.next_local(found - 1)
            if allowed is None or allowed == found:
                return allowed
            if none_allowed(self._times, self._allowed, found // DAY):
                allowed = max(allowed, (found // DAY + 1) * DAY)
            found = self._inner.next_local(allowed - 1)
        return None

    def prev_local(self, local: int) -> int | None:
        """Return the last allowed wall time earlier than ``local``."""
        found = self._inner.prev_local(local)
        while found is not None:
            allowed = self._allowed.prev_local(found + 1)
            if allowed is None or allowed == found:
                return allowed
            if none_allowed(self._times, self._allowed, found // DAY):
                allowed = min(allowed, found // DAY * DAY - 1)
            found = self._inner.prev_local(allowed + 1)
        return None


def none_allowed(times: DayTimes, allowed: WallClock, day: int) -> bool:
    """Whether none of these times of day is allowed on a day."""
    if not isinstance(allowed, Wall):
        return False
    left = allowed.times_on(day)
    return left is None or disjoint(times, left)


@lru_cache(maxsize=INTERNED_SPARSE)
def wall(times: DayTimes, days: Days, wildcard: bool) -> Wall:
    """Return the shared wall clock of these days and times."""
    return _fitting(times, days)(times, days, wildcard)


def wall_without(times: DayTimes, days: Days, wildcard: bool, excluded: Exclusions) -> WallClock:
    """Return the wall clock of these days and times, minus what is excluded."""
    if excluded is NOTHING_EXCLUDED or not any(excluded):
        return wall(times, days, wildcard)
    whole_days = tuple(taken for taken, at in excluded.calendars if at is None)
    every_day = tuple(at for taken, at in excluded.calendars if at is not None and taken.every_day)
    partial = tuple((taken, at) for taken, at in excluded.calendars if at is not None and not taken.every_day)
    left = without_times(times, every_day)
    if left is None:
        return NoWall(wildcard)
    days = days.without(whole_days, excluded.dates)
    if partial:
        return Wall(left, days, wildcard, partial)
    return _fitting(left, days)(left, days, wildcard)


def every_second_without(excluded: Exclusions) -> WallClock:
    """Return all wall times that are not excluded."""
    return wall_without(select_times(ALL_SECONDS, ALL_MINUTES, ALL_HOURS), EVERY_DAY, True, excluded)


def _fitting(times: DayTimes, days: Days) -> type[Wall]:
    if not days.plain:
        return Wall
    sparse = isinstance(times, SparseTimes)
    if days.every_day:
        return DailyWall if sparse else DenseWall
    return DatedWall if sparse else Wall


@lru_cache(maxsize=INTERNED_SPARSE)
def _times_left(times: DayTimes, taken: tuple[DayTimes, ...]) -> DayTimes | None:
    return without_times(times, taken)
