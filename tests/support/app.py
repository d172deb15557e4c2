"""Tompion with executors of the test, and methods that wait for its runs."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from typing import Any, ClassVar

from tompion import AsyncTompion
from tompion.config.settings import Settings
from tompion.engine.engine import Engine
from tompion.engine.telemetry.events import Event
from tompion.executors.base import Executor
from tompion.model.run import FINAL
from tompion.model.schedule import Run
from tompion.runtime.clock import SystemClock

SECONDS = 120
"""Timeout of every wait."""
QUICK = Settings(tick_ms=50, launch_retry_ms=10)


class Home(AsyncTompion):
    """Tompion in this process. Its engine has the given executors, and closes them."""

    newest: ClassVar[Home | None] = None

    def __init__(self, store: str, executors: dict[str, Executor], settings: Settings = QUICK, **other: Any) -> None:
        self.events: list[Event] = []
        self.engine: Engine | None = None
        self._happened = asyncio.Event()
        self._executor_instances = executors
        Home.newest = self
        super().__init__(store, settings=settings, listener=self._listen, **other)
        self._check_target = None  # the executors of the test are not configured

    def _listen(self, event: Event) -> None:
        self.events.append(event)
        self._happened.set()

    def _engine(self) -> Engine:
        assert self._store is not None
        self.engine = Engine(
            self._store,
            self._executor_instances,
            clock=SystemClock(),
            settings=self._settings,
            queues=self._queues,
            name=f"{socket.gethostname()}:{os.getpid()}",
            events=self._events,
        )
        return self.engine

    async def wait_for_events(self, kind: str, schedule_id: str, count: int = 1) -> list[Event]:
        """Wait until a number of events of one kind exist for a schedule, and return them."""

        def matching() -> list[Event]:
            return [event for event in self.events if (event.kind, event.schedule_id) == (kind, schedule_id)]

        await self._until(lambda: len(matching()) >= count)
        return matching()

    async def wait_until_final(self, run: Run) -> Run:
        """Wait until a run has a final state, and return it."""
        async with asyncio.timeout(SECONDS):
            while (current := await self.runs.get(run.run_id)).status not in FINAL:
                self._happened.clear()
                await asyncio.wait({asyncio.ensure_future(self._happened.wait())}, timeout=0.2)
        return current

    async def trigger_and_wait(self, schedule_id: str, **trigger: Any) -> Run:
        """Trigger a schedule, and wait until the run has a final state."""
        return await self.wait_until_final(await self.trigger(schedule_id, **trigger))

    async def _until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(SECONDS):
            while not condition():
                self._happened.clear()
                await self._happened.wait()
