"""Supervised loops: restarted if user code cancels them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeAlias

from tompion.engine.telemetry.events import EngineEvents

RESTART_S = 0.05
"""Delay before a cancelled loop starts again. An event loop that is closing is closed by then."""
LoopFunction: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


class Supervisor:
    """Runs the loops of an engine until it stops. A function that cancels all tasks does not end them."""

    def __init__(self, stopping: asyncio.Event, events: EngineEvents) -> None:
        self._stopping = stopping
        self._events = events
        self.tasks: list[asyncio.Task[None]] = []

    def run(self, function: LoopFunction) -> None:
        """Start a loop."""
        task = asyncio.get_running_loop().create_task(function(), name=f"tompion-{function.__name__}")
        self.tasks.append(task)
        task.add_done_callback(partial(self._on_end, function))

    async def wait_ended(self) -> None:
        """Wait until all loops have ended."""
        await asyncio.gather(*list(self.tasks), return_exceptions=True)

    def _on_end(self, function: LoopFunction, task: asyncio.Task[None]) -> None:
        self.tasks.remove(task)
        if task.cancelled() and not self._stopping.is_set():
            self._events.warn(f"{task.get_name()}, a task of the engine, was cancelled by other code and is restarted")
            task.get_loop().call_later(RESTART_S, self._restart, function)

    def _restart(self, function: LoopFunction) -> None:
        if not self._stopping.is_set():
            self.run(function)
