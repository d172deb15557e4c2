"""Schedules that are all due at once, and an executor that says when it has launched them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tompion.config.settings import Settings
from tompion.executors.base import Accepted, Completed, RunContext
from tompion.operations.context import OperationContext
from tompion.operations.schedules import crud
from tompion.store.base import Store, Transaction
from tompion.testing.clock import ManualClock
from tompion.testing.executor import RecordingExecutor

SECONDS = 120
"""After which a test gives up waiting."""
BEGIN = 1_800_000_030.0  # 2027-01-15T08:00:30Z
UNTIL_DUE_S = 31.0


class Executor(RecordingExecutor):
    """Remembers what it has executed, and says when that was so many schedules."""

    def __init__(self, clock: ManualClock, expected: int) -> None:
        super().__init__(clock.now, lambda _: (0.0, Completed()))
        self._expected = expected
        self._enough = asyncio.Event()

    async def run(self, dag: Any, meta: RunContext) -> Completed | Accepted:
        ended = await super().run(dag, meta)
        if len({each.launch.schedule_id for each in self.executions}) == self._expected:
            self._enough.set()
        return ended

    async def launched(self) -> list[RunContext]:
        """Wait for the last of them; return all launches."""
        async with asyncio.timeout(SECONDS):
            await self._enough.wait()
        return [each.launch for each in self.executions]


def create_due(store: Store, number: int) -> set[str]:
    """Create schedules that have one tick a day, a little after the beginning; return their ids."""
    names = {f"at-{each}" for each in range(number)}

    def create(transaction: Transaction) -> None:
        for name in names:
            crud.create(OperationContext(transaction, Settings()), name, cron="1 8 * * *", function="tasks:work")

    store.write(create).result(SECONDS)
    return names


def asked(store: Store, operation: Callable[..., Any], *args: Any) -> Any:
    """Return what an operation that only reads answers."""
    return store.read(lambda transaction: operation(OperationContext(transaction, Settings()), *args)).result(SECONDS)
