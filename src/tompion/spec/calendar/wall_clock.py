"""The wall times that a rule names, without a time zone.

A *wall clock* finds the next or previous matching wall time, counted in seconds as if it were UTC. Calendars and cron
strings are days × times of day. RRULEs have their own arithmetic. Exclusions are applied here: whole days are removed
from the days, times of day from the times, and only exclusions that are neither (Fridays after 13:00) are checked day
by day. No operation takes a step per tick.
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
    are_disjoint,
    select_times,
    without_times,
)


class WallClock(Protocol):
    """A sequence of wall times."""

    wildcard: bool

    def next_local(self, local: int) -> int | None:
        """Return the first wall time later than ``local``."""
        ...

    def prev_local(self, local: int) -> int | None:
        """Return the last wall time earlier than ``local``."""
        ...


class Exclusions(NamedTuple):
    """Excluded wall times: single days, and pairs of days and times (``None`` for the whole day)."""

    dates: frozenset[int] = frozenset()
    calendars: tuple[tuple[Days, DayTimes | None], ...] = ()


NOTHING_EXCLUDED = Exclusions()


class Wall:
    """Days × times of day, minus times on some of those days.

    ``partial`` has the exclusions that are neither whole days nor the same times every day.
    """

    __slots__ = ("days", "partial", "times", "wildcard")

    def __init__(
        self, times: DayTimes, days: Days, wildcard: bool, partial: tuple[tuple[Days, DayTimes], ...] = ()
    ) -> None:
        self.times: DayTimes = times
        self.days: Days = days
        self.wildcard: bool = wildcard
        self.partial: tuple[tuple[Days, DayTimes], ...] = partial

    def times_on(self, day: int) -> DayTimes | None:
        """Return the times that remain on a matching day."""
        excluded = tuple(times for days, times in self.partial if days.has(day))
        return _times_left(self.times, excluded) if excluded else self.times

    def next_local(self, local: int) -> int | None:
        """Return the first wall time later than ``local``."""
        day, second = divmod(local, DAY)
        match = self.days.next_day(day)
        while match is not None:
            times = self.times_on(match)
            if times is not None:
                at = times.first if match > day else times.after(second)
                if at is not None:
                    return match * DAY + at
            match = self.days.next_day(match + 1)
        return None

    def prev_local(self, local: int) -> int | None:
        """Return the last wall time earlier than ``local``."""
        day, second = divmod(local, DAY)
        match = self.days.prev_day(day)
        while match is not None:
            times = self.times_on(match)
            if times is not None:
                at = times.last if match < day else times.before(second)
                if at is not None:
                    return match * DAY + at
            match = self.days.prev_day(match - 1)
        return None


class DailyWall(Wall):
    """The same sparse times every day: the most frequent rule, with the fastest path."""

    __slots__ = ()


class DenseWall(Wall):
    """Dense times every day."""

    __slots__ = ()


class DatedWall(Wall):
    """Sparse times on the days of a plain table: the second most frequent rule."""

    __slots__ = ()


class NoWall:
    """A rule without any wall time. It keeps the DST class of the rule."""

    __slots__ = ("wildcard",)

    def __init__(self, wildcard: bool) -> None:
        self.wildcard: bool = wildcard

    def next_local(self, local: int) -> int | None:
        """Return ``None``."""
        return None

    def prev_local(self, local: int) -> int | None:
        """Return ``None``."""
        return None


class AllowedWall:
    """The wall times of a clock that are not excluded.

    The clock and the allowed times advance past each other until they meet. ``times`` are the times of day at which the
    clock can be. A day on which none of them is allowed is skipped as a whole. Without that, a rule for every minute
    with second 0 excluded would be checked minute by minute.
    """

    __slots__ = ("_allowed", "_inner", "_times", "wildcard")

    def __init__(self, inner: WallClock, allowed: WallClock, times: DayTimes) -> None:
        self._inner = inner
        self._allowed = allowed
        self._times = times
        self.wildcard: bool = inner.wildcard

    def next_local(self, local: int) -> int | None:
        """Return the first allowed wall time later than ``local``."""
        candidate = self._inner.next_local(local)
        while candidate is not None:
            allowed = self._allowed.next_local(candidate - 1)
            if allowed is None or allowed == candidate:
                return allowed
            if none_allowed(self._times, self._allowed, candidate // DAY):
                allowed = max(allowed, (candidate // DAY + 1) * DAY)
            candidate = self._inner.next_local(allowed - 1)
        return None

    def prev_local(self, local: int) -> int | None:
        """Return the last allowed wall time earlier than ``local``."""
        candidate = self._inner.prev_local(local)
        while candidate is not None:
            allowed = self._allowed.prev_local(candidate + 1)
            if allowed is None or allowed == candidate:
                return allowed
            if none_allowed(self._times, self._allowed, candidate // DAY):
                allowed = min(allowed, candidate // DAY * DAY - 1)
            candidate = self._inner.prev_local(allowed + 1)
        return None


def none_allowed(times: DayTimes, allowed: WallClock, day: int) -> bool:
    """Return whether none of these times of day is allowed on a day."""
    if not isinstance(allowed, Wall):
        return False
    remaining = allowed.times_on(day)
    return remaining is None or are_disjoint(times, remaining)


@lru_cache(maxsize=INTERNED_SPARSE)
def wall(times: DayTimes, days: Days, wildcard: bool) -> Wall:
    """Return the shared wall clock of these days and times."""
    return _wall_class(times, days)(times, days, wildcard)


def wall_without(times: DayTimes, days: Days, wildcard: bool, excluded: Exclusions) -> WallClock:
    """Return the wall clock of these days and times without exclusions."""
    if excluded is NOTHING_EXCLUDED or not any(excluded):
        return wall(times, days, wildcard)
    whole_days = tuple(excluded_days for excluded_days, at in excluded.calendars if at is None)
    every_day = tuple(at for excluded_days, at in excluded.calendars if at is not None and excluded_days.every_day)
    partial = tuple(
        (excluded_days, at)
        for excluded_days, at in excluded.calendars
        if at is not None and not excluded_days.every_day
    )
    remaining = without_times(times, every_day)
    if remaining is None:
        return NoWall(wildcard)
    days = days.without(whole_days, excluded.dates)
    if partial:
        return Wall(remaining, days, wildcard, partial)
    return _wall_class(remaining, days)(remaining, days, wildcard)


def every_second_without(excluded: Exclusions) -> WallClock:
    """Return all wall times that are not excluded."""
    return wall_without(select_times(ALL_SECONDS, ALL_MINUTES, ALL_HOURS), EVERY_DAY, True, excluded)


def _wall_class(times: DayTimes, days: Days) -> type[Wall]:
    if not days.plain:
        return Wall
    sparse = isinstance(times, SparseTimes)
    if days.every_day:
        return DailyWall if sparse else DenseWall
    return DatedWall if sparse else Wall


@lru_cache(maxsize=INTERNED_SPARSE)
def _times_left(times: DayTimes, excluded: tuple[DayTimes, ...]) -> DayTimes | None:
    return without_times(times, excluded)
