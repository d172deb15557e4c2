"""The sources of ticks that are not days × times: intervals, fixed delays and one-shots."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from math import gcd

from tompion.spec.calendar.days import DAY, HORIZON
from tompion.spec.calendar.times import DayTimes, disjoint, times_modulo
from tompion.spec.calendar.wall_clock import Wall, WallClock, none_allowed
from tompion.spec.ticks import Ticks, Trace
from tompion.spec.zone.tables import Zone


class IntervalTicks(Ticks):
    """Every so many seconds, counted from the Unix epoch: no zone, no state, no drift."""

    __slots__ = ("_zone", "every", "offset")

    def __init__(self, every: int, offset: int, zone: Zone) -> None:
        """The zone only serves to say what the clock on the wall shows."""
        self.every = every
        self.offset = offset % every
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
        """Say what the clock on the wall shows at a tick."""
        if (tick - self.offset) % self.every:
            return None
        return Trace(tick + self._zone.offset_at(tick), "")


class FixedDelayTicks(Ticks):
    """A fixed delay after the end of the previous run: ask for the tick after that end.

    The one rule whose ticks are not fixed beforehand; it has no past, so ``prev_epoch`` knows nothing.
    """

    __slots__ = ("_delay", "_zone")

    def __init__(self, delay: int, zone: Zone) -> None:
        """Take the delay in seconds."""
        self._delay = delay
        self._zone = zone

    def next_epoch(self, after: int) -> int | None:
        """Return when the next run is due if the previous one ended at ``after``."""
        tick = max(after, 0) + self._delay
        return tick if tick < HORIZON else None

    def at_or_after(self, instant: int) -> int | None:
        """Return the instant itself: a run whose delay is over has only waited for it."""
        return instant if instant < HORIZON else None

    def prev_epoch(self, before: int) -> int | None:
        """There is no telling: it depends on when runs ended."""
        return None

    def trace(self, tick: int) -> Trace | None:
        """Say what the clock on the wall shows."""
        return Trace(tick + self._zone.offset_at(tick), "")


class InstantTicks(Ticks):
    """One-shots: a sorted list of instants."""

    __slots__ = ("_instants", "_zone")

    def __init__(self, instants: tuple[int, ...], zone: Zone) -> None:
        """Take instants in any order."""
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
        """Say what the clock on the wall shows at a tick."""
        index = bisect_left(self._instants, tick)
        if index == len(self._instants) or self._instants[index] != tick:
            return None
        return Trace(tick + self._zone.offset_at(tick), "")


class ListedWall:
    """One-shots given as wall times: the zone's rules decide which instants they are."""

    __slots__ = ("_locals", "wildcard")

    def __init__(self, locals_: tuple[int, ...]) -> None:
        """Take wall times in any order."""
        self._locals = tuple(sorted(set(locals_)))
        self.wildcard = False

    def next_local(self, local: int) -> int | None:
        """Return the first wall time later than ``local``."""
        index = bisect_right(self._locals, local)
        return self._locals[index] if index < len(self._locals) else None

    def prev_local(self, local: int) -> int | None:
        """Return the last wall time earlier than ``local``."""
        index = bisect_left(self._locals, local)
        return self._locals[index - 1] if index else None


class AllowedTicks(Ticks):
    """The ticks of a source without a zone of its own that fall on allowed wall times.

    Inside one segment wall time and instants advance together, so a stretch of excluded wall times is leapt over as a
    whole, and so is a day on which none of an interval's times is allowed.
    """

    __slots__ = ("_allowed", "_inner", "_zone")

    def __init__(self, inner: Ticks, allowed: WallClock, zone: Zone) -> None:
        """``allowed`` names every wall time that is not excluded."""
        self._inner = inner
        self._allowed = allowed
        self._zone = zone

    def next_epoch(self, after: int) -> int | None:
        """Return the first allowed tick later than ``after``."""
        zone = self._zone
        if self._hopeless():
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
            if around is None:  # nothing is allowed any more, not even what a change of offset might repeat
                return None
            ahead = zone.end_of(segment)
            if allowed is not None:
                if none_allowed(self._times(offset), self._allowed, local // DAY):
                    allowed = max(allowed, (local // DAY + 1) * DAY)
                ahead = min(ahead, tick + allowed - local)
            if around > local:  # whole segments may lie in between
                ahead = max(ahead, tick + around - local - 2 * DAY)
            tick = self._inner.at_or_after(ahead)
        return None

    def prev_epoch(self, before: int) -> int | None:
        """Return the last allowed tick earlier than ``before``."""
        zone = self._zone
        if self._hopeless():
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
        """Say where an allowed tick comes from."""
        return self._inner.trace(tick) if self.next_epoch(tick - 1) == tick else None

    def _times(self, offset: int) -> DayTimes:
        """Return the times of day at which ticks can be while an offset holds.

        An interval's are the same modulo what it and a day have in common.
        """
        if not isinstance(self._inner, IntervalTicks):
            return times_modulo(0, 1)
        common = gcd(self._inner.every, DAY)
        return times_modulo((self._inner.offset + offset) % common, common)

    def _hopeless(self) -> bool:
        """Whether ticks and allowed times of day can never meet, so that nobody needs to look."""
        allowed = self._allowed
        if not isinstance(allowed, Wall):
            return False
        return all(disjoint(self._times(offset), allowed.times) for offset in set(self._zone.offsets))
