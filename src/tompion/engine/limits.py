"""Limits: concurrent runs per executor, target and instance, and the rate of catch-up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class ExecutorSlots:
    """Concurrency limits of one executor and of each of its targets. Callers wait in FIFO order. 0 is no limit.

    A slot of the target is acquired before one of the executor, so waiting for a slow target blocks no other target.
    """

    def __init__(self, max_active: int, max_per_target: int) -> None:
        self._max_per_target = max_per_target
        self._executor = asyncio.Semaphore(max_active) if max_active else None
        self._targets: dict[str, _TargetSlots] = {}

    @asynccontextmanager
    async def acquire(self, target: str, on_wait: Callable[[bool], None]) -> AsyncIterator[None]:
        """Hold a slot. ``on_wait(True)`` is called before waiting for one, and ``on_wait(False)`` after it."""
        async with self._target_slot(target, on_wait), _hold(self._executor, on_wait):
            yield

    @asynccontextmanager
    async def _target_slot(self, name: str, on_wait: Callable[[bool], None]) -> AsyncIterator[None]:
        """Hold a slot of a target. The last user removes the target's slots."""
        if not self._max_per_target:
            yield
            return
        target = self._targets.setdefault(name, _TargetSlots(self._max_per_target))
        target.users += 1
        try:
            async with _hold(target.slots, on_wait):
                yield
        finally:
            target.users -= 1
            if not target.users:
                del self._targets[name]


class _TargetSlots:
    """Slots of one target, and the number of attempts that hold or await one. A target without any is deleted."""

    def __init__(self, max_active: int) -> None:
        self.slots = asyncio.Semaphore(max_active)
        self.users = 0


@asynccontextmanager
async def _hold(slots: asyncio.Semaphore | None, on_wait: Callable[[bool], None]) -> AsyncIterator[None]:
    """Hold a slot. ``on_wait`` is called when a wait begins and ends."""
    if slots is None:
        yield
        return
    if slots.locked():
        on_wait(True)
        await slots.acquire()
        on_wait(False)
    else:
        await slots.acquire()
    try:
        yield
    finally:
        slots.release()


class AdaptiveConcurrencyLimit:
    """Concurrency limit of one instance. It shrinks after a lost lease and grows with each heartbeat.

    An instance with more runs than it can handle misses its heartbeats and loses its lease.
    """

    def __init__(self, minimum: int, maximum: int) -> None:
        self._minimum = min(minimum, maximum)
        self._maximum = maximum
        self.limit: int = maximum

    def on_lease_lost(self, held: int) -> None:
        """Shrink to a quarter. If only a few runs were held, they were not the cause, and nothing changes."""
        if held > self._minimum:
            self.limit = max(self._minimum, min(self.limit, held) // 4)

    def on_lease_renewed(self) -> None:
        """Grow by half."""
        self.limit = min(self._maximum, self.limit + (self.limit + 1) // 2)


class CatchupRateLimiter:
    """Token bucket for catch-up runs. It holds the tokens of one second. All live instances share the rate."""

    def __init__(self, rate_per_s: int) -> None:
        self._rate = rate_per_s
        self._tokens = float(rate_per_s)
        self._filled_s: float | None = None
        self.instances = 1

    def available(self, now_s: float) -> int:
        """Return the number of tokens at an instant of a monotonic clock."""
        rate = self._rate / max(1, self.instances)
        if self._filled_s is not None:
            self._tokens = min(max(1.0, rate), self._tokens + (now_s - self._filled_s) * rate)
        self._filled_s = now_s
        return int(self._tokens)

    def use(self, tokens: int) -> None:
        """Take tokens from the bucket."""
        self._tokens -= tokens
