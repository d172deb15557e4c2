"""The interface of compiled specs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Trace(NamedTuple):
    """The origin of a tick: the wall time that its rule names, and the effect of DST.

    ``dst_adjustment`` is ``""``, ``gap`` (the wall time does not exist), ``first_pass`` or ``second_pass`` (it occurs
    twice).
    """

    local: int
    dst_adjustment: str


class Ticks:
    """An ordered set of instants, searched by arithmetic and never from its beginning.

    Results depend on the spec, the time zone tables and the argument only.
    """

    __slots__ = ()

    def next_epoch(self, after: int) -> int | None:
        """Return the first tick later than ``after``, or ``None`` if no tick follows before the year 2201."""
        raise NotImplementedError

    def prev_epoch(self, before: int) -> int | None:
        """Return the last tick earlier than ``before``, or ``None`` if no tick precedes it since 1970."""
        raise NotImplementedError

    def trace(self, tick: int) -> Trace | None:
        """Return the origin of a tick, or ``None`` if the instant is not a tick."""
        raise NotImplementedError

    def at_or_after(self, instant: int) -> int | None:
        """Return the first tick at or after an instant from which ticks are allowed again."""
        return self.next_epoch(instant - 1)

    def between_epochs(self, start: int, end: int) -> Iterator[int]:
        """Yield the ticks from ``start`` to ``end``, both included."""
        tick = self.next_epoch(start - 1)
        while tick is not None and tick <= end:
            yield tick
            tick = self.next_epoch(tick)
