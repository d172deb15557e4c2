"""Heartbeats on PostgreSQL: a lease is renewed even if its instance always claims runs under it."""

from __future__ import annotations

import asyncio
from threading import Event, Semaphore

import pytest

from tests.conformance.engine.kit import SECONDS, UNTIL_DUE_S, SignallingExecutor, create_due, read
from tompion.config.settings import Settings
from tompion.engine.engine import Engine
from tompion.engine.finder import MAX_FIRES_AHEAD
from tompion.engine.steps.result import StepResult
from tompion.operations.runs.read import runs
from tompion.store.base import Transaction, Work
from tompion.store.postgres.driver import PostgresStore
from tompion.testing.clock import ManualClock

pytestmark = pytest.mark.server

BATCH = 3
SCHEDULES = BATCH * (1 + MAX_FIRES_AHEAD)
SETTINGS = Settings(fire_batch=BATCH, tick_ms=50, heartbeat_ms=20)
LEASE_MS = SETTINGS.lock_ttl_ms
HOLDERS = MAX_FIRES_AHEAD + 1
"""The transactions that hold the lease while they are open: the fires ahead, and the outcomes of the first fire."""


class BusyEngine:
    """Keeps the transactions of an engine open once they hold its lease, except the first."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._in_transaction, self._renew = engine.runner.in_transaction, engine.lease.renew
        self._first = True
        self._opened = Semaphore(0)
        self._release = Event()
        self._renewed = asyncio.Event()
        engine.runner.in_transaction = self._held_open  # type: ignore[method-assign]  # a wrapper that waits
        engine.lease.renew = self._renew_and_signal  # type: ignore[method-assign]  # a wrapper that signals

    def _held_open(self, step: Work[StepResult]) -> Work[StepResult | None]:
        fenced = self._in_transaction(step)
        if self._first:
            self._first = False
            return fenced

        def held_open(transaction: Transaction) -> StepResult | None:
            answer = fenced(transaction)
            self._opened.release()
            assert self._release.wait(SECONDS)
            return answer

        return held_open

    async def _renew_and_signal(self) -> int:
        live = await self._renew()
        self._renewed.set()
        return live

    async def wait_for_transaction(self) -> None:
        """Wait for one more transaction that holds the lease."""
        assert await asyncio.to_thread(self._opened.acquire, timeout=SECONDS), "too few transactions hold the lease"

    async def wait_for_heartbeat(self) -> None:
        """Wait for a heartbeat that starts after this call."""
        for _ in range(2):  # the first may have started before the clock was advanced
            self._renewed.clear()
            async with asyncio.timeout(SECONDS):
                await self._renewed.wait()

    def release(self) -> None:
        self._release.set()


async def run_engine(store: PostgresStore, clock: ManualClock) -> list[str]:
    """Advance the clock by three lease times while transactions hold the lease. Return the launched schedules."""
    executor = SignallingExecutor(clock, SCHEDULES)
    engine = Engine(store, {"function": executor}, clock=clock, settings=SETTINGS)
    busy = BusyEngine(engine)
    await engine.start()
    number = engine.context.number
    clock.advance(UNTIL_DUE_S)
    try:
        for _ in range(HOLDERS):
            await busy.wait_for_transaction()
        for _ in range(3):
            clock.advance(LEASE_MS / 1000 - 1)
            await busy.wait_for_heartbeat()
            expired = store.write(lambda t: t.rows("lease_list_expired", {"now_ms": t.now_ms() + LEASE_MS - 1}))
            assert expired.result(SECONDS) == []
    finally:
        busy.release()
    launched = await executor.wait_for_launches()
    await engine.stop()
    assert engine.context.number == number
    assert {launch.attempt for launch in launched} == {1}
    return sorted(launch.schedule_id for launch in launched)


def test_heartbeat_does_not_wait_for_transactions_that_hold_the_lease(
    postgres: PostgresStore, clock: ManualClock
) -> None:
    """A heartbeat that waited for a shared lock of these transactions would let a busy instance lose its runs."""
    names = create_due(postgres, SCHEDULES)
    assert asyncio.run(run_engine(postgres, clock)) == sorted(names)
    for name in names:
        assert [run.status for run in read(postgres, runs, name).items] == ["SUCCESS"]
