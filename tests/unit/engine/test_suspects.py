"""A real engine in virtual time: runs that kill their worker, and the runs beside them."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import pairwise

from tests.unit.engine.harness import EngineHarness, kill
from tompion.config.settings import Settings
from tompion.executors.base import Completed, RunContext
from tompion.model.run import SUSPECT_PICKUPS
from tompion.runtime.clock import pause, wait

INNOCENT = [f"innocent-{number}" for number in range(20)]
SETTINGS = Settings(tick_ms=200, lock_ttl_ms=3_000, heartbeat_ms=1_000, max_pickups=4)
CRASHES = 6


def crash_workers(harness: EngineHarness, innocent_s: float = 0.5, settings: Settings = SETTINGS) -> None:
    """Run one worker after another. The run of the schedule `poison` kills its worker as soon as it is launched."""
    killed = asyncio.Event()

    def plan(launch: RunContext) -> tuple[float, Completed]:
        if launch.schedule_id != "poison":
            return innocent_s, Completed()
        killed.set()
        return 1e6, Completed()

    harness.plan = plan
    for name in ("poison", *INNOCENT):
        harness.create(name, cron="1 8 * * *")

    async def scenario() -> None:
        for _ in range(CRASHES):
            engine = harness.engine(settings)
            await engine.start()
            if await wait(killed, 60 + len(INNOCENT) * (innocent_s + 1)):
                await kill(engine)
                killed.clear()
                await pause(settings.lock_ttl_ms / 1000 + 1)

    harness.run(scenario)


def test_run_that_kills_its_worker_fails_no_run_beside_it(harness: EngineHarness) -> None:
    """Regression: all runs of a lost worker were launched again together, until all of them had failed."""
    crash_workers(harness)
    assert {name: harness.states(name) for name in INNOCENT} == {name: ["08:01 SUCCESS"] for name in INNOCENT}
    assert harness.states("poison") == ["08:01 FAILED worker_lost"]


def test_innocent_run_is_executed_at_most_once_more_than_a_run_becomes_suspect(harness: EngineHarness) -> None:
    crash_workers(harness)
    executions = Counter(execution.launch.schedule_id for execution in harness.executor.executions)
    assert {executions[name] for name in INNOCENT} == {SUSPECT_PICKUPS + 1}
    assert executions["poison"] == SETTINGS.max_pickups


def test_suspects_are_launched_one_at_a_time_after_the_outcome_of_the_last(harness: EngineHarness) -> None:
    crash_workers(harness)
    suspects = [
        execution
        for execution in harness.executor.executions
        if execution.launch.attempt > SUSPECT_PICKUPS and execution.launch.schedule_id != "poison"
    ]
    starts = [execution.at for execution in suspects]
    assert len(starts) == len(INNOCENT)
    assert min(later - earlier for earlier, later in pairwise(starts)) >= 0.5
    assert starts[-1] - starts[0] < len(INNOCENT), "the next suspect does not wait for the next poll"


def test_suspect_that_waits_long_is_no_zombie(harness: EngineHarness) -> None:
    """A worker executes suspects for hours, one at a time. The others wait in a queue that is served."""
    settings = Settings(
        tick_ms=1_000, lock_ttl_ms=3_000, heartbeat_ms=1_000, max_pickups=4, sweep_ms=5_000, zombie_after_ms=30_000
    )
    crash_workers(harness, innocent_s=100.0, settings=settings)
    assert {name: harness.states(name) for name in INNOCENT} == {name: ["08:01 SUCCESS"] for name in INNOCENT}
