"""Heartbeats on PostgreSQL: a lease is prolonged however busy its instance is with taking runs under it."""

from __future__ import annotations

import asyncio
from threading import Event, Semaphore

import pytest

from tests.conformance.engine.kit import SECONDS, UNTIL_DUE_S, Executor, asked, create_due
from tompion.config.settings import Settings
from tompion.engine.engine import Engine
from tompion.engine.finder import MAX_FIRES_AHEAD
from tompion.engine.steps.result import StepResult
from tompion.operations.runs import read
from tompion.store.base import Transaction, Work
from tompion.store.postgres.driver import PostgresStore
from tompion.testing.clock import ManualClock

pytestmark = pytest.mark.server

BATCH = 3
SCHEDULES = BATCH * (1 + MAX_FIRES_AHEAD)
SETTINGS = Settings(fire_batch=BATCH, tick_ms=50, heartbeat_ms=20)
LEASE_MS = SETTINGS.lock_ttl_ms
HOLDERS = MAX_FIRES_AHEAD + 1
"""The fires ahead, and the outcomes of the first: each of them holds the lease for as long as it is open."""


class Busy:
    """An engine whose transactions stay open once they hold its lease, all but the first."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._leading, self._beat = engine.runner.in_transaction, engine.lease.renew
        self._first = True
        self._opened = Semaphore(0)
        self._leave = Event()
        self._beaten = asyncio.Event()
        engine.runner.in_transaction = self._held_open  # type: ignore[method-assign]  # the same, for longer
        engine.lease.renew = self._noticed  # type: ignore[method-assign]  # the same, and says so

    def _held_open(self, step: Work[StepResult]) -> Work[StepResult | None]:
        led = self._leading(step)
        if self._first:
            self._first = False
            return led

        def held_open(transaction: Transaction) -> StepResult | None:
            answer = led(transaction)
            self._opened.release()
            assert self._leave.wait(SECONDS)
            return answer

        return held_open

    async def _noticed(self) -> int:
        live = await self._beat()
        self._beaten.set()
        return live

    async def opened(self) -> None:
        """Wait for one more transaction that holds the lease."""
        assert await asyncio.to_thread(self._opened.acquire, timeout=SECONDS), "there were not so many"

    async def beaten(self) -> None:
        """Wait for a heartbeat that begins from now on."""
        for _ in range(2):  # one may be under way, with a time that is over
            self._beaten.clear()
            async with asyncio.timeout(SECONDS):
                await self._beaten.wait()

    def leave(self) -> None:
        self._leave.set()


async def told(store: PostgresStore, clock: ManualClock) -> list[str]:
    """Let three leases pass while transactions hold the first; return the schedules that were launched."""
    executor = Executor(clock, SCHEDULES)
    engine = Engine(store, {"function": executor}, clock=clock, settings=SETTINGS)
    busy = Busy(engine)
    await engine.start()
    number = engine.context.number
    clock.advance(UNTIL_DUE_S)
    try:
        for _ in range(HOLDERS):
            await busy.opened()
        for _ in range(3):
            clock.advance(LEASE_MS / 1000 - 1)
            await busy.beaten()
            lapsed = store.write(lambda t: t.rows("lease_list_expired", {"now_ms": t.now_ms() + LEASE_MS - 1}))
            assert lapsed.result(SECONDS) == []
    finally:
        busy.leave()
    launched = await executor.launched()
    await engine.stop()
    assert engine.context.number == number
    assert {launch.attempt for launch in launched} == {1}
    return sorted(launch.schedule_id for launch in launched)


def test_a_heartbeat_waits_for_nobody_who_holds_the_lease(postgres: PostgresStore, clock: ManualClock) -> None:
    """Were it to wait for a lock that there is always somebody to share, a busy instance would lose its runs."""
    names = create_due(postgres, SCHEDULES)
    assert asyncio.run(told(postgres, clock)) == sorted(names)
    for name in names:
        assert [run.state for run in asked(postgres, read.runs, name).items] == ["SUCCESS"]
