"""The loops of an engine, which run until it stops, whoever cancels them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeAlias

from tompion.engine.telemetry.events import EngineEvents

RETRY_DELAY_S = 0.05
"""After how long a loop that was cancelled begins again; a loop of events that is closing is closed by then."""
Work: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


class Supervisor:
    """Tasks that nobody but the engine may end: a function that cancels all tasks meets these, too."""

    def __init__(self, stopping: asyncio.Event, probe: EngineEvents) -> None:
        """Take what says that the engine stops."""
        self._stopping = stopping
        self._probe = probe
        self.tasks: list[asyncio.Task[None]] = []

    def run(self, work: Work) -> None:
        """Begin a loop."""
        task = asyncio.get_running_loop().create_task(work(), name=f"tompion{work.__name__}")
        self.tasks.append(task)
        task.add_done_callback(partial(self._ended, work))

    async def ended(self) -> None:
        """Wait until all of them have ended."""
        await asyncio.gather(*list(self.tasks), return_exceptions=True)

    def _ended(self, work: Work, task: asyncio.Task[None]) -> None:
        self.tasks.remove(task)
        if task.cancelled() and not self._stopping.is_set():
            self._probe.warn(f"somebody cancelled {task.get_name()}, a task of the engine; it begins again")
            task.get_loop().call_later(RETRY_DELAY_S, self._again, work)

    def _again(self, work: Work) -> None:
        if not self._stopping.is_set():
            self.run(work)
