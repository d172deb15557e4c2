"""Combines sources: unions, bounds and exclusion windows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from heapq import heapify, heappop, heapreplace

from tompion.spec.calendar.days import HORIZON
from tompion.spec.ticks import Ticks, Trace


class UnionTicks(Ticks):
    """Every tick of any source. The same instant from two sources is one tick."""

    __slots__ = ("_sources",)

    def __init__(self, sources: tuple[Ticks, ...]) -> None:
        self._sources = sources

    def next_epoch(self, after: int) -> int | None:
        """Return the first tick later than ``after``."""
        first = None
        for source in self._sources:
            tick = source.next_epoch(after)
            if tick is not None and (first is None or tick < first):
                first = tick
        return first

    def prev_epoch(self, before: int) -> int | None:
        """Return the last tick earlier than ``before``."""
        last = None
        for source in self._sources:
            tick = source.prev_epoch(before)
            if tick is not None and (last is None or tick > last):
                last = tick
        return last

    def trace(self, tick: int) -> Trace | None:
        """Return the origin of a tick. A source that names it directly precedes one that DST moved onto it."""
        traces = [trace for source in self._sources if (trace := source.trace(tick)) is not None]
        return min(traces, key=lambda trace: trace.dst_adjustment == "gap", default=None)

    def between_epochs(self, start: int, end: int) -> Iterator[int]:
        """Yield the ticks from ``start`` to ``end``. Each source is advanced only when its tick has passed."""
        waiting = [
            (tick, place)
            for place, source in enumerate(self._sources)
            if (tick := source.next_epoch(start - 1)) is not None
        ]
        heapify(waiting)
        while waiting and waiting[0][0] <= end:
            tick = waiting[0][0]
            yield tick
            while waiting and waiting[0][0] == tick:
                place = waiting[0][1]
                following = self._sources[place].next_epoch(tick)
                if following is None:
                    heappop(waiting)
                else:
                    heapreplace(waiting, (following, place))


class BoundedTicks(Ticks):
    """Ticks from ``start`` to ``end``, both included, and outside of all windows.

    Windows include their beginning and not their end. They may overlap.
    """

    __slots__ = ("_begins", "_end", "_ends", "_inner", "_start")

    def __init__(self, inner: Ticks, start: int, end: int, windows: list[tuple[int, int]]) -> None:
        self._inner = inner
        self._start = start
        self._end = end
        merged = _merge(windows)
        self._begins = tuple(begin for begin, _end in merged)
        self._ends = tuple(end for _begin, end in merged)

    @property
    def unbounded(self) -> bool:
        """True if there are no bounds and no windows."""
        return self._start <= 0 and self._end >= HORIZON and not self._begins

    def next_epoch(self, after: int) -> int | None:
        """Return the first tick later than ``after``."""
        tick = self._inner.next_epoch(after)
        if tick is not None and tick < self._start:
            tick = self._inner.at_or_after(self._start)
        while tick is not None and (window := self._window_at(tick)) is not None:
            tick = self._inner.at_or_after(self._ends[window])
        return tick if tick is not None and tick <= self._end else None

    def prev_epoch(self, before: int) -> int | None:
        """Return the last tick earlier than ``before``."""
        tick = self._inner.prev_epoch(min(before, self._end + 1))
        while tick is not None and (window := self._window_at(tick)) is not None:
            tick = self._inner.prev_epoch(self._begins[window])
        return tick if tick is not None and tick >= self._start else None

    def between_epochs(self, start: int, end: int) -> Iterator[int]:
        """Yield the ticks from ``start`` to ``end``, both included."""
        start, end = max(start, self._start), min(end, self._end)
        while start <= end:
            window = self._window_at(start)
            if window is not None:
                start = self._ends[window]
                continue
            following = bisect_right(self._begins, start)
            until = self._begins[following] if following < len(self._begins) else end + 1
            yield from self._inner.between_epochs(start, min(end, until - 1))
            start = until

    def trace(self, tick: int) -> Trace | None:
        """Return the origin of a tick."""
        return self._inner.trace(tick) if self.admits(tick) else None

    def admits(self, instant: int) -> bool:
        """Return whether an instant is within the bounds and outside of all windows."""
        return self._start <= instant <= self._end and self._window_at(instant) is None

    def _window_at(self, tick: int) -> int | None:
        index = bisect_right(self._begins, tick) - 1
        return index if index >= 0 and tick < self._ends[index] else None


def _merge(windows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(windows):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif begin < end:
            merged.append((begin, end))
    return merged
