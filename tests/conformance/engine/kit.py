"""Schedules that are due at the same time, and an executor that signals when it has launched them."""

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
"""Timeout of every wait."""
START_S = 1_800_000_030.0  # 2027-01-15T08:00:30Z
UNTIL_DUE_S = 31.0


class SignallingExecutor(RecordingExecutor):
    """An executor that records its runs, and signals when it has launched the expected number of schedules."""

    def __init__(self, clock: ManualClock, expected: int) -> None:
        super().__init__(clock.now, lambda _: (0.0, Completed()))
        self._expected = expected
        self._all_launched = asyncio.Event()

    async def run(self, dag: Any, run_context: RunContext) -> Completed | Accepted:
        result = await super().run(dag, run_context)
        if len({execution.launch.schedule_id for execution in self.executions}) == self._expected:
            self._all_launched.set()
        return result

    async def wait_for_launches(self) -> list[RunContext]:
        """Wait until the expected number of schedules was launched, and return all launches."""
        async with asyncio.timeout(SECONDS):
            await self._all_launched.wait()
        return [execution.launch for execution in self.executions]


def create_due(store: Store, number: int) -> set[str]:
    """Create schedules with one tick a day, shortly after the start of the test, and return their ids."""
    names = {f"at-{index}" for index in range(number)}

    def create(transaction: Transaction) -> None:
        for name in names:
            crud.create(OperationContext(transaction, Settings()), name, cron="1 8 * * *", function="tasks:work")

    store.write(create).result(SECONDS)
    return names


def read(store: Store, operation: Callable[..., Any], *args: Any) -> Any:
    """Return the result of an operation that only reads."""
    return store.read(lambda transaction: operation(OperationContext(transaction, Settings()), *args)).result(SECONDS)
