"""An event loop with virtual time, which moves only when no task can run."""

from __future__ import annotations

import asyncio
from typing import Any

MAX_BUSY_ROUNDS = 3_000


class Stuck(RuntimeError):
    """Virtual time cannot move: all tasks wait for each other, or one never waits."""


class _VirtualSelector:
    """Selector that moves the virtual time instead of waiting for a timeout."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._busy_rounds = 0

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise Stuck("deadlock: every task waits for another")
        self._busy_rounds = 0 if timeout > 0 else self._busy_rounds + 1
        if self._busy_rounds > MAX_BUSY_ROUNDS:
            raise Stuck(f"busy for {MAX_BUSY_ROUNDS} rounds without passing time: a loop makes no progress")
        self._loop.pass_time(timeout)
        return []


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs tasks in virtual time from second 0, always in the same order, without sockets and threads."""

    def __init__(self) -> None:
        self._virtual = 0.0
        self._selector = _VirtualSelector(self)
        super().__init__()

    def time(self) -> float:
        """Return the virtual time, in seconds."""
        return self._virtual

    def pass_time(self, seconds: float) -> None:
        """Move the virtual time forward."""
        self._virtual += max(0.0, seconds)

    def _process_events(self, event_list: list[Any]) -> None:
        """Do nothing. There are no events."""

    def _write_to_self(self) -> None:
        """Do nothing. The loop never blocks in a selector."""
