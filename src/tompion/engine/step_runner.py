"""Runs steps in transactions that hold the lease."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tompion.engine.context import EngineContext
from tompion.engine.lease import Lease
from tompion.engine.steps.result import StepResult
from tompion.engine.steps.transactional import TransactionalStep
from tompion.engine.store_future import await_store
from tompion.store.base import Store, Transaction, Work


class StepRunner:
    """Runs the steps of one engine that claim runs.

    The transaction of a step locks the lease, runs the step, writes notifications for late starts, and executes
    transactional runs.
    """

    def __init__(
        self, store: Store, context: EngineContext, lease: Lease, transactional: TransactionalStep | None = None
    ) -> None:
        self._store = store
        self._context = context
        self._lease = lease
        self._transactional = transactional
        self._open = asyncio.Event()
        self._open.set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._running = 0

    async def run(self, step: Work[StepResult], *, exclusive: bool = False) -> StepResult:
        """Run a step under a valid lease. Only the task inside :meth:`exclusive` may set ``exclusive``."""
        if not exclusive:
            await self._open.wait()
        self._running += 1
        self._idle.clear()
        try:
            while True:
                number = self._context.number
                result = await await_store(self._store.write(self.in_transaction(step)))
                if result is not None:
                    return result
                await self._lease.replace(number)  # the instance has lost its lease
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    async def renew_lease(self) -> None:
        """Renew the lease, or register again if it was lost."""
        await self._lease.renew()

    @asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        """Wait until no step runs and keep others from starting, so that every claim has been applied."""
        self._open.clear()
        try:
            await self._idle.wait()
            yield
        finally:
            self._open.set()

    def in_transaction(self, step: Work[StepResult]) -> Work[StepResult | None]:
        """Return the work of a step under the lease. Without the lease it changes nothing and returns None."""

        def run_leased(transaction: Transaction) -> StepResult | None:
            if not transaction.lease_hold(self._context.number):
                return None
            result = step(transaction)
            self._context.notifications.notify_late_launches(transaction, result.launches, result.now_ms)
            if self._transactional is not None:
                self._transactional.execute_inline(transaction, result)
            return result

        return run_leased
