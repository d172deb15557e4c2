"""How many runs an executor, and each of its targets, has at a time.  Whoever finds no room waits his turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class ExecutorSlots:
    """The bounds of one executor.

    A place at the target is taken before one at the executor: whoever waits for a slow target is in nobody's way.
    """

    def __init__(self, most: int, most_per_target: int) -> None:
        """Take both bounds; 0 is none."""
        self._most_per_target = most_per_target
        self._all = asyncio.Semaphore(most) if most else None
        self._targets: dict[str, _Target] = {}

    @asynccontextmanager
    async def place(self, target: str, waits: Callable[[bool], None]) -> AsyncIterator[None]:
        """Wait for a place, saying so, and keep it."""
        async with self._at(target, waits), _taken(self._all, waits):
            yield

    @asynccontextmanager
    async def _at(self, name: str, waits: Callable[[bool], None]) -> AsyncIterator[None]:
        if not self._most_per_target:
            yield
            return
        target = self._targets.setdefault(name, _Target(self._most_per_target))
        target.users += 1
        try:
            async with _taken(target.places, waits):
                yield
        finally:
            target.users -= 1
            if not target.users:
                del self._targets[name]


class _Target:
    """The places at one target, and how many have or want one: nobody remembers a target that has none."""

    def __init__(self, most: int) -> None:
        self.places = asyncio.Semaphore(most)
        self.users = 0


@asynccontextmanager
async def _taken(places: asyncio.Semaphore | None, waits: Callable[[bool], None]) -> AsyncIterator[None]:
    if places is None:
        yield
        return
    if places.locked():
        waits(True)
        await places.acquire()
        waits(False)
    else:
        await places.acquire()
    try:
        yield
    finally:
        places.release()


class AdaptiveConcurrencyLimit:
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


class CatchupRateLimiter:
    """So many a second, and no more than a second's worth at once."""

    def __init__(self, rate_per_s: int) -> None:
        """Take the rate of the whole fleet."""
        self._rate = rate_per_s
        self._tokens = float(rate_per_s)
        self._at: float | None = None
        self.instances = 1

    def available(self, now: float) -> int:
        """Return what may be used at a moment (of a clock that only moves forward)."""
        rate = self._rate / max(1, self.instances)
        if self._at is not None:
            self._tokens = min(max(1.0, rate), self._tokens + (now - self._at) * rate)
        self._at = now
        return int(self._tokens)

    def use(self, number: int) -> None:
        """Take from the bucket."""
        self._tokens -= number
