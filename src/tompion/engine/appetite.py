"""How many runs an instance takes at a time: as many as it may, and less after it could not look after them.

An instance that is too busy to prolong its lease loses everything that it holds to others, who are as busy as it was.
If all of them took all there is, as soon as they can, the same runs would go round for ever and none would end.  So
whoever has lost a lease takes a quarter of what it held then, and half as much again with each heartbeat that comes in
time: sooner or later what it holds is little enough to be brought to its end.  A quarter, because a run that goes round
too often is taken for the cause (``max_pickups``).
"""

from __future__ import annotations


class Appetite:
    """The most runs that one instance executes at a time, just now."""

    def __init__(self, least: int, most: int) -> None:
        """Take what an instance can always execute, and the most there can ever be."""
        self._least = min(least, most)
        self._most = most
        self.limit = most

    def lost(self, held: int) -> None:
        """A lease was lost, with so many runs; with few of them it was not they that were too much."""
        if held > self._least:
            self.limit = max(self._least, min(self.limit, held) // 4)

    def kept(self) -> None:
        """A lease was prolonged."""
        self.limit = min(self._most, self.limit + (self.limit + 1) // 2)
