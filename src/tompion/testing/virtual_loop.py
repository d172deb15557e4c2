"""An event loop whose time moves only when there is nothing left to do: an hour passes in a moment."""

from __future__ import annotations

import asyncio
from typing import Any

BUSY_ROUNDS = 3_000


class Stuck(RuntimeError):
    """Virtual time has come to an end: nobody will move it on."""


class _Skipping:
    """Stands where a selector would: instead of waiting for a timeout, it lets that much time pass."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._still = 0

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise Stuck("nothing will ever happen again: every task waits for another")
        self._still = 0 if timeout > 0 else self._still + 1
        if self._still > BUSY_ROUNDS:
            raise Stuck(f"busy for {BUSY_ROUNDS} rounds and no time has passed: some loop makes no progress")
        self._loop.pass_time(timeout)
        return []


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs tasks in virtual time, always in the same order; knows no sockets and no threads."""

    def __init__(self) -> None:
        """Begin at second 0."""
        self._virtual = 0.0
        self._selector = _Skipping(self)
        super().__init__()

    def time(self) -> float:
        """Return the virtual time, in seconds."""
        return self._virtual

    def pass_time(self, seconds: float) -> None:
        """Let time pass."""
        self._virtual += max(0.0, seconds)

    def _process_events(self, event_list: list[Any]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Nobody sleeps who would have to be woken."""
