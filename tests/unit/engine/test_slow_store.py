"""A real engine in virtual time, on a slow store or with a wrong clock."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from tests.unit.engine.harness import BEGIN, EngineHarness, LoopClock
from tompion.config.settings import Settings
from tompion.executors.base import Completed
from tompion.operations.schedules import backfills
from tompion.runtime.clock import pause
from tompion.store.base import Store, Work


class SlowStore(Store):
    """A store whose transactions each take some seconds."""

    is_out_of_process = True

    def __init__(self, harness: EngineHarness) -> None:
        self._harness = harness
        self.seconds = 0.001

    def write(self, work: Work[Any]) -> Future[Any]:
        return self._later(self._harness.store.write, work)

    def read(self, work: Work[Any]) -> Future[Any]:
        return self._later(self._harness.store.read, work)

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        return self._harness.store.subscribe(wake)

    def close(self) -> None:
        """Do nothing. The harness closes the store."""

    def _later(self, call: Callable[[Work[Any]], Future[Any]], work: Work[Any]) -> Future[Any]:
        future: Future[Any] = Future()

        def arrive() -> None:
            answer = call(work)
            error = answer.exception()
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(answer.result())

        self._harness.loop.call_later(self.seconds, arrive)
        return future


@pytest.mark.parametrize("seconds", [1, 10, 20, 28])
def test_slow_store_does_not_cost_the_lease(harness: EngineHarness, seconds: float) -> None:
    """One loop checked runs, swept and renewed the lease. Four slow transactions were too many."""
    harness.create(cron="1 8 * * *")
    harness.plan = lambda _: (600.0, Completed())
    slow = SlowStore(harness)

    async def scenario() -> None:
        await harness.engine(store=slow).start()
        await pause(32)
        slow.seconds = seconds
        await harness.engine().start()
        await pause(700)
        slow.seconds = 0.001

    harness.run(scenario)
    assert [execution.launch.attempt for execution in harness.executor.executions] == [1]


def test_ticks_start_before_the_rest_of_a_large_backfill(harness: EngineHarness) -> None:
    """Between a tick and its launch, no run of a backfill starts, except those of the batch in flight."""
    settings, ticking, end = Settings(), 5, BEGIN - 90
    harness.create("past", paused=True, overlap_policy="allow")
    start = end - 60 * (settings.max_backfill_ticks - 1)
    harness.call(backfills.backfill, "past", start, end, overlap="allow")
    for number in range(ticking):
        harness.create(f"tick-{number}", cron="* * * * * *", overlap_policy="allow")
    slow = SlowStore(harness)
    slow.seconds = 0.02

    async def scenario() -> None:
        await harness.engine(settings, store=slow).start()
        await pause(10.5)

    harness.run(scenario)
    (backfill,) = harness.call(backfills.backfills, "past")
    assert backfill.total == settings.max_backfill_ticks
    assert backfill.status == "RUNNING", "there was something of it to be done all the time"
    past = [execution.at for execution in harness.executor.executions if execution.launch.schedule_id == "past"]
    ticks = [execution for execution in harness.executor.executions if execution.launch.schedule_id != "past"]
    assert len(past) > 1_000
    assert len(ticks) == ticking * 11
    for tick in ticks:
        due = tick.launch.run_at.timestamp()
        assert sum(due < at <= tick.at for at in past) <= settings.backfills_per_iteration
        assert tick.at - due < 4 * slow.seconds, "what was under way, a look, and the tick's own transaction"


@pytest.mark.parametrize(("more_ms", "launches"), [(-1, 1), (2, 0)])
def test_clock_skew_up_to_the_limit_is_accepted(harness: EngineHarness, more_ms: int, launches: int) -> None:
    harness.create(cron="1 8 * * *")
    settings, wrong = Settings(max_clock_skew_ms=5_000), LoopClock(harness.loop)
    wrong.off = (settings.max_clock_skew_ms + more_ms) / 1000

    async def scenario() -> None:
        await harness.engine(settings, clock=wrong).start()
        await pause(40)

    harness.run(scenario)
    assert len(harness.executor.executions) == launches
