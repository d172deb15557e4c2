"""Maps wall times to instants across clock changes.

Within a segment of constant offset, wall times map to instants by subtraction. Nearly every search ends inside one
segment, and that is the fast path: one bisection, one lookup, one comparison. The careful path is taken when the result
is beyond a change of offset or next to one. In segment *i*, which begins at instant *s* after a change from offset *a*
to offset *b*, the ticks are

* every matching wall time, minus the second pass of the hour that *s* repeated (if the rule selects only the first) and
  minus the first pass of the hour that the *next* change will repeat (if it selects only the second)
* if *s* made a gap of at most three hours: for ``catch_up``, *s* itself if any lost wall time matches, for ``shift``,
  each lost wall time minus *a*, which is the instant it would have been without the change

Crossing many changes costs no more than crossing one. If a segment has no match, the next matching wall time determines
the next segment to search.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from tompion.spec.calendar.days import DAY, FIRST_DAY, HORIZON, MONTH_OF_DAY, MONTHS, SHAPE
from tompion.spec.calendar.times import SparseTimes
from tompion.spec.calendar.wall_clock import DailyWall, DatedWall, DenseWall, WallClock
from tompion.spec.ticks import Ticks, Trace
from tompion.spec.zone.dst import MAX_GAP, DstRule
from tompion.spec.zone.tables import FOREVER, Zone


class ZoneShift(NamedTuple):
    """The effect of one transition on a source: lost or repeated wall times, and the resulting ticks."""

    gap: bool
    locals: tuple[int, ...]
    ticks: tuple[int, ...]


class WallSource(Ticks):
    """Ticks in one zone: a wall clock, a zone and a DST rule, all immutable and shared."""

    __slots__ = ("_rule", "_wall", "_zone")

    @property
    def zone(self) -> Zone:
        """The zone of the wall times."""
        return self._zone

    @property
    def wildcard(self) -> bool:
        """The DST class."""
        return self._wall.wildcard

    def __init__(self, wall: WallClock, zone: Zone, rule: DstRule) -> None:
        self._wall = wall
        self._zone = zone
        self._rule = rule

    def next_epoch(self, after: int) -> int | None:
        """Return the first tick later than ``after``."""
        zone = self._zone
        piece = bisect_right(zone.cuts, after)
        offset = zone.cut_offsets[piece]
        if zone.cut_limits[piece] > 0:
            local = self._wall.next_local(after + offset)
            if local is None:
                return None
            tick = local - offset
            return tick if tick < zone.cut_limits[piece] else self._next_across(local, tick, after)
        return self._next_careful(after)

    def prev_epoch(self, before: int) -> int | None:
        """Return the last tick earlier than ``before``."""
        before = min(before, HORIZON)
        segment = self._zone.segment_at(before - 1)
        while before > 0:
            tick = self._last_in(segment, before)
            if tick is not None:
                return tick if tick >= 0 else None
            if segment == 0:
                return None
            before = min(before, self._zone.begin_of(segment))
            segment = self._segment_before(segment)
        return None

    def trace(self, tick: int) -> Trace | None:
        """Return the origin of a tick, or ``None`` if it is not a tick of this source."""
        zone, wall = self._zone, self._wall
        segment = zone.segment_at(tick)
        local = tick + zone.offsets[segment]
        if self._first_in(segment, tick - 1) != tick:
            return None
        if wall.next_local(local - 1) == local:
            if local < self._repeated_until(segment):
                return Trace(local, "second_pass")
            if tick >= self._first_pass_from(segment):
                return Trace(local, "first_pass")
            return Trace(local, "")
        # The tick replaces a wall time that the transition into this segment skipped.
        lost_from = zone.begin_of(segment) + zone.offsets[segment - 1]
        if self._rule.gap == "shift":
            return Trace(tick + zone.offsets[segment - 1], "gap")
        return Trace(wall.next_local(lost_from - 1) or lost_from, "gap")

    def clock_change(self, segment: int, max_locals: int) -> ZoneShift | None:
        """Return the wall times that the transition into a segment skips or repeats. Without any, return ``None``.

        At most ``max_locals`` wall times are read, because every second of an hour would be 3,600.
        """
        zone = self._zone
        instant, before, after = zone.begin_of(segment), zone.offsets[segment - 1], zone.offsets[segment]
        low, high = instant + min(before, after), instant + max(before, after)
        locals_: list[int] = []
        local = self._wall.next_local(low - 1)
        while local is not None and local < high and len(locals_) < max_locals:
            locals_.append(local)
            local = self._wall.next_local(local)
        if not locals_:
            return None
        if after > before:
            return ZoneShift(True, tuple(locals_), self._replacements(segment, locals_))
        firsts = [local - before for local in locals_] if self._rule.overlap != "second" else []
        seconds = [local - after for local in locals_] if self._rule.overlap != "first" else []
        return ZoneShift(False, tuple(locals_), (*firsts, *seconds))

    def _replacements(self, segment: int, lost: list[int]) -> tuple[int, ...]:
        """Return the ticks that replace lost wall times."""
        if self._gap(segment) is None:
            return ()
        if self._rule.gap == "catch_up":
            return (self._zone.begin_of(segment),)
        return tuple(local - self._zone.offsets[segment - 1] for local in lost)

    def _next_across(self, local: int, guess: int, after: int) -> int | None:
        """Return the tick of a wall time beyond a change of offset if it is undisturbed, otherwise search carefully.

        The search must begin in an undisturbed piece. Then nothing can match between it and ``local``, the next wall
        time.
        """
        zone = self._zone
        piece = bisect_right(zone.cuts, guess)
        tick = local - zone.cut_offsets[piece]
        if zone.cuts[piece - 1] <= tick < zone.cut_limits[piece]:
            return tick
        return self._next_careful(after)

    def _next_careful(self, after: int) -> int | None:
        """Return the next tick near a transition, segment by segment."""
        zone = self._zone
        after = max(after, -1)
        segment = zone.segment_at(after)
        while True:
            tick = self._first_in(segment, after)
            if tick is not None:
                return tick if tick < HORIZON else None
            after = max(after, zone.end_of(segment) - 1)
            if after >= HORIZON - 1:
                return None
            local = self._wall.next_local(after + zone.offsets[segment] - DAY)
            if local is None:
                return None
            segment = max(segment + 1, bisect_right(zone.local_highs, local))
            after = max(after, zone.begin_of(segment) - 1)

    def _first_in(self, segment: int, after: int) -> int | None:
        """Return the first tick of a segment later than ``after``."""
        zone, wall = self._zone, self._wall
        offset = zone.offsets[segment]
        begin, end = zone.begin_of(segment), zone.end_of(segment)
        floor = max(after, begin - 1)
        best = end
        at_gap = self._gap_tick(segment, floor)
        if at_gap is not None:
            best = min(best, at_gap)
        if self._rule.overlap == "first":
            floor = max(floor, self._repeated_until(segment) - offset - 1)
        local = wall.next_local(floor + offset)
        if local is not None:
            if self._rule.overlap == "second":
                end = self._first_pass_from(segment)
            if local - offset < end:
                best = min(best, local - offset)
        return best if best < zone.end_of(segment) else None

    def _last_in(self, segment: int, before: int) -> int | None:
        """Return the last tick of a segment earlier than ``before``."""
        zone, wall = self._zone, self._wall
        offset = zone.offsets[segment]
        begin, ceiling = zone.begin_of(segment), min(before, zone.end_of(segment))
        best = -FOREVER
        at_gap = self._gap_tick_before(segment, ceiling)
        if at_gap is not None:
            best = at_gap
        if self._rule.overlap == "second":
            ceiling = min(ceiling, self._first_pass_from(segment))
        local = wall.prev_local(ceiling + offset)
        if local is not None:
            if self._rule.overlap == "first":
                begin = max(begin, self._repeated_until(segment) - offset)
            if local - offset >= begin:
                best = max(best, local - offset)
        return best if best > -FOREVER else None

    def _segment_before(self, segment: int) -> int:
        """Return the latest earlier segment in which a wall time can match."""
        zone = self._zone
        local = self._wall.prev_local(zone.begin_of(segment) + max(zone.offsets[segment - 1 : segment + 1]) + DAY)
        if local is None:
            return 0
        return min(segment - 1, bisect_right(zone.local_highs, local + DAY))

    def _repeated_until(self, segment: int) -> int:
        """Return the wall time up to which a segment repeats the previous one."""
        zone = self._zone
        if segment == 0 or zone.offsets[segment - 1] <= zone.offsets[segment]:
            return -FOREVER
        return zone.begin_of(segment) + zone.offsets[segment - 1]

    def _first_pass_from(self, segment: int) -> int:
        """Return the instant from which the next segment repeats the wall times of a segment."""
        zone = self._zone
        if segment == len(zone.starts):
            return FOREVER
        return zone.end_of(segment) + min(0, zone.offsets[segment + 1] - zone.offsets[segment])

    def _gap(self, segment: int) -> tuple[int, int] | None:
        """Return the lost wall times if a segment begins with a gap whose times are not skipped."""
        if segment == 0 or self._rule.gap == "skip":
            return None
        before, after = self._zone.offsets[segment - 1 : segment + 1]
        if not 0 < after - before <= MAX_GAP:
            return None
        begin = self._zone.begin_of(segment)
        return begin + before, begin + after

    def _gap_tick(self, segment: int, after: int) -> int | None:
        """Return the first instant later than ``after`` that replaces a lost wall time."""
        lost = self._gap(segment)
        if lost is None:
            return None
        begin, offset = self._zone.begin_of(segment), self._zone.offsets[segment - 1]
        if self._rule.gap == "catch_up":
            if after >= begin:
                return None
            local = self._wall.next_local(lost[0] - 1)
            return begin if local is not None and local < lost[1] else None
        local = self._wall.next_local(max(lost[0] - 1, after + offset))
        return local - offset if local is not None and local < lost[1] else None

    def _gap_tick_before(self, segment: int, before: int) -> int | None:
        """Return the last instant earlier than ``before`` that replaces a lost wall time."""
        lost = self._gap(segment)
        if lost is None:
            return None
        begin, offset = self._zone.begin_of(segment), self._zone.offsets[segment - 1]
        if self._rule.gap == "catch_up":
            if before <= begin:
                return None
            local = self._wall.prev_local(lost[1])
            return begin if local is not None and local >= lost[0] else None
        local = self._wall.prev_local(min(lost[1], before + offset))
        return local - offset if local is not None and local >= lost[0] else None


class DailySource(WallSource):
    """The fast path for the same times every day."""

    __slots__ = ("_seconds",)

    def __init__(self, wall: DailyWall, zone: Zone, rule: DstRule) -> None:
        self._wall = wall
        self._zone = zone
        self._rule = rule
        assert isinstance(wall.times, SparseTimes)
        self._seconds = wall.times.seconds

    def next_epoch(self, after: int) -> int | None:
        """Return the first tick later than ``after``."""
        zone = self._zone
        piece = bisect_right(zone.cuts, after)
        second = (after + zone.cut_offsets[piece]) % DAY
        seconds = self._seconds
        tick = after - second + seconds[bisect_right(seconds, second)]
        if tick < zone.cut_limits[piece]:
            return tick
        return self._next_careful(after)


class DenseSource(WallSource):
    """The fast path for more than one time per minute, every day."""

    __slots__ = ("_first", "_flags")

    def __init__(self, wall: DenseWall, zone: Zone, rule: DstRule) -> None:
        self._wall = wall
        self._zone = zone
        self._rule = rule
        self._flags = wall.times.flags()
        self._first = wall.times.first

    def next_epoch(self, after: int) -> int | None:
        """Return the first tick later than ``after``."""
        zone = self._zone
        piece = bisect_right(zone.cuts, after)
        second = (after + zone.cut_offsets[piece]) % DAY
        at = self._flags.find(1, second + 1)
        tick = after - second + (at if at >= 0 else self._first + DAY)
        if tick < zone.cut_limits[piece]:
            return tick
        return self._next_careful(after)


class DatedSource(WallSource):
    """The fast path for the same times on the days of a table."""

    __slots__ = ("_seconds", "_table")

    def __init__(self, wall: DatedWall, zone: Zone, rule: DstRule) -> None:
        self._wall = wall
        self._zone = zone
        self._rule = rule
        assert isinstance(wall.times, SparseTimes)
        self._seconds = wall.times.seconds
        self._table = wall.days.table

    def next_epoch(self, after: int) -> int | None:
        """Return the first tick later than ``after``."""
        zone = self._zone
        piece = bisect_right(zone.cuts, after)
        limit = zone.cut_limits[piece]
        if limit < 0:
            return self._next_careful(after)
        offset = zone.cut_offsets[piece]
        day, second = divmod(after + offset, DAY)
        seconds, table = self._seconds, self._table
        month = MONTH_OF_DAY[day]
        mask = table[SHAPE[month]] >> day - FIRST_DAY[month]
        if mask & 1:
            at = seconds[bisect_right(seconds, second)]
            if at < DAY:
                tick = after - second + at
                return tick if tick < limit else self._next_careful(after)
        mask &= -2
        if mask:
            day += (mask & -mask).bit_length() - 1
        else:
            for later in range(month + 1, MONTHS):
                mask = table[SHAPE[later]]
                if mask:
                    day = FIRST_DAY[later] + (mask & -mask).bit_length() - 1
                    break
            else:
                return None
        local = day * DAY + seconds[0]
        tick = local - offset
        return tick if tick < limit else self._next_across(local, tick, after)


def wall_source(wall: WallClock, zone: Zone, rule: DstRule) -> WallSource:
    """Return the fastest source for a wall clock."""
    if isinstance(wall, DailyWall):
        return DailySource(wall, zone, rule)
    if isinstance(wall, DenseWall):
        return DenseSource(wall, zone, rule)
    if isinstance(wall, DatedWall):
        return DatedSource(wall, zone, rule)
    return WallSource(wall, zone, rule)
