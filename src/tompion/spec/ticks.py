"""What every compiled spec can be asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Trace(NamedTuple):
    """Where a tick comes from: the wall time that its rule names and, where DST had a hand in it, what it did.

    ``dst_adjustment`` is ``""``, ``gap`` (the wall time does not exist), ``first_pass`` or ``second_pass`` (it occurs twice).
    """

    local: int
    dst_adjustment: str


class Ticks:
    """An ordered set of instants, asked by arithmetic and never walked from its beginning.

    The answers depend on the spec, the time zone tables and the argument; nothing is remembered between two calls.
    """

    __slots__ = ()

    def next_epoch(self, after: int) -> int | None:
        """Return the first tick later than ``after``, or ``None`` if there is none before the year 2201."""
        raise NotImplementedError

    def prev_epoch(self, before: int) -> int | None:
        """Return the last tick earlier than ``before``, or ``None`` if there is none since 1970."""
        raise NotImplementedError

    def trace(self, tick: int) -> Trace | None:
        """Say where a tick comes from; ``None`` if it is not a tick."""
        raise NotImplementedError

    def at_or_after(self, instant: int) -> int | None:
        """Return the first tick that is not before an instant from which ticks are allowed again."""
        return self.next_epoch(instant - 1)

    def between_epochs(self, start: int, end: int) -> Iterator[int]:
        """Yield the ticks from ``start`` to ``end``, both included."""
        tick = self.next_epoch(start - 1)
        while tick is not None and tick <= end:
            yield tick
            tick = self.next_epoch(tick)
