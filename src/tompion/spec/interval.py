"""Sources of ticks that are not days × times: intervals, fixed delays and one-shots."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from math import gcd

from tompion.spec.calendar.days import DAY, HORIZON
from tompion.spec.calendar.times import DayTimes, are_disjoint, times_modulo
from tompion.spec.calendar.wall_clock import Wall, WallClock, none_allowed
from tompion.spec.ticks import Ticks, Trace
from tompion.spec.zone.tables import Zone


class IntervalTicks(Ticks):
    """Ticks at a fixed interval, counted from the Unix epoch, without drift.

    The zone is used only to return wall times.
    """

    __slots__ = ("_zone", "every", "offset")

    def __init__(self, every: int, offset: int, zone: Zone) -> None:
        self.every: int = every
        self.offset: int = offset % every
        self._zone = zone

    def next_epoch(self, after: int) -> int | None:
        """Return the first tick later than ``after``."""
        tick = ((max(after, -1) - self.offset) // self.every + 1) * self.every + self.offset
        return tick if tick < HORIZON else None

    def prev_epoch(self, before: int) -> int | None:
        """Return the last tick earlier than ``before``."""
        tick = ((min(before, HORIZON) - 1 - self.offset) // self.every) * self.every + self.offset
        return tick if tick >= 0 else None

    def trace(self, tick: int) -> Trace | None:
        """Return the wall time of a tick."""
        if (tick - self.offset) % self.every:
            return None
        return Trace(tick + self._zone.offset_at(tick), "")


class FixedDelayTicks(Ticks):
    """Ticks at a fixed delay after the end of the previous run. ``next_epoch`` takes that end.

    These are the only ticks that are not known in advance. They have no past, so ``prev_epoch`` returns ``None``.
    """

    __slots__ = ("_delay", "_zone")

    def __init__(self, delay: int, zone: Zone) -> None:
        self._delay = delay
        self._zone = zone

    def next_epoch(self, after: int) -> int | None:
        """Return the next tick if the previous run ended at ``after``."""
        tick = max(after, 0) + self._delay
        return tick if tick < HORIZON else None

    def at_or_after(self, instant: int) -> int | None:
        """Return the instant itself, because a run whose delay has passed was only waiting for it."""
        return instant if instant < HORIZON else None

    def prev_epoch(self, before: int) -> int | None:
        """Return ``None``: earlier ticks depend on the ends of runs."""
        return None

    def trace(self, tick: int) -> Trace | None:
        """Return the wall time of a tick."""
        return Trace(tick + self._zone.offset_at(tick), "")


class InstantTicks(Ticks):
    """One-shots: a sorted list of instants."""

    __slots__ = ("_instants", "_zone")

    def __init__(self, instants: tuple[int, ...], zone: Zone) -> None:
        self._instants = tuple(sorted(set(instants)))
        self._zone = zone

    def next_epoch(self, after: int) -> int | None:
        """Return the first tick later than ``after``."""
        index = bisect_right(self._instants, max(after, -1))
        return self._instants[index] if index < len(self._instants) and self._instants[index] < HORIZON else None

    def prev_epoch(self, before: int) -> int | None:
        """Return the last tick earlier than ``before``."""
        index = bisect_left(self._instants, min(before, HORIZON))
        return self._instants[index - 1] if index and self._instants[index - 1] >= 0 else None

    def trace(self, tick: int) -> Trace | None:
        """Return the wall time of a tick."""
        index = bisect_left(self._instants, tick)
        if index == len(self._instants) or self._instants[index] != tick:
            return None
        return Trace(tick + self._zone.offset_at(tick), "")


class ListedWall:
    """One-shots given as wall times. The zone's rules map them to instants."""

    __slots__ = ("_locals", "wildcard")

    def __init__(self, locals_: tuple[int, ...]) -> None:
        self._locals = tuple(sorted(set(locals_)))
        self.wildcard: bool = False

    def next_local(self, local: int) -> int | None:
        """Return the first wall time later than ``local``."""
        index = bisect_right(self._locals, local)
        return self._locals[index] if index < len(self._locals) else None

    def prev_local(self, local: int) -> int | None:
        """Return the last wall time earlier than ``local``."""
        index = bisect_left(self._locals, local)
        return self._locals[index - 1] if index else None


class AllowedTicks(Ticks):
    """The ticks of a source without wall times of its own, at allowed wall times only.

    Inside one segment wall time and instants advance together, so a range of excluded wall times is skipped as a whole,
    and so is a day on which none of an interval's times is allowed. ``allowed`` has every wall time that is not
    excluded.
    """

    __slots__ = ("_allowed", "_inner", "_zone")

    def __init__(self, inner: Ticks, allowed: WallClock, zone: Zone) -> None:
        self._inner = inner
        self._allowed = allowed
        self._zone = zone

    def next_epoch(self, after: int) -> int | None:
        """Return the first allowed tick later than ``after``."""
        zone = self._zone
        if self._never_meets():
            return None
        tick = self._inner.next_epoch(after)
        while tick is not None:
            segment = zone.segment_at(tick)
            offset = zone.offsets[segment]
            local = tick + offset
            allowed = self._allowed.next_local(local - 1)
            if allowed == local:
                return tick
            around = self._allowed.next_local(local - 2 * DAY)
            if around is None:  # no wall time is allowed after this, not even one that a clock change repeats
                return None
            ahead = zone.end_of(segment)
            if allowed is not None:
                if none_allowed(self._times(offset), self._allowed, local // DAY):
                    allowed = max(allowed, (local // DAY + 1) * DAY)
                ahead = min(ahead, tick + allowed - local)
            if around > local:  # there may be whole segments in between
                ahead = max(ahead, tick + around - local - 2 * DAY)
            tick = self._inner.at_or_after(ahead)
        return None

    def prev_epoch(self, before: int) -> int | None:
        """Return the last allowed tick earlier than ``before``."""
        zone = self._zone
        if self._never_meets():
            return None
        tick = self._inner.prev_epoch(before)
        while tick is not None:
            segment = zone.segment_at(tick)
            offset = zone.offsets[segment]
            local = tick + offset
            allowed = self._allowed.prev_local(local + 1)
            if allowed == local:
                return tick
            around = self._allowed.prev_local(local + 2 * DAY)
            if around is None:
                return None
            behind = zone.begin_of(segment) - 1
            if allowed is not None:
                if none_allowed(self._times(offset), self._allowed, local // DAY):
                    allowed = min(allowed, local // DAY * DAY - 1)
                behind = max(behind, tick - (local - allowed))
            if around < local:
                behind = min(behind, tick - (local - around) + 2 * DAY)
            tick = self._inner.prev_epoch(behind + 1)
        return None

    def trace(self, tick: int) -> Trace | None:
        """Return the origin of an allowed tick."""
        return self._inner.trace(tick) if self.next_epoch(tick - 1) == tick else None

    def _times(self, offset: int) -> DayTimes:
        """Return the times of day at which ticks can be while an offset holds.

        Those of an interval are equal modulo the greatest common divisor of the interval and a day.
        """
        if not isinstance(self._inner, IntervalTicks):
            return times_modulo(0, 1)
        common = gcd(self._inner.every, DAY)
        return times_modulo((self._inner.offset + offset) % common, common)

    def _never_meets(self) -> bool:
        """Return whether ticks and allowed times of day can never meet."""
        allowed = self._allowed
        if not isinstance(allowed, Wall):
            return False
        return all(are_disjoint(self._times(offset), allowed.times) for offset in set(self._zone.offsets))
