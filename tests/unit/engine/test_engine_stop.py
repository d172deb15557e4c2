"""A real engine in virtual time: graceful stop, runs that are handed back, and lost workers."""

from __future__ import annotations

from tests.unit.engine.harness import EngineHarness, kill
from tompion.executors.base import Completed
from tompion.runtime.clock import pause


def test_stop_hands_back_active_runs(harness: EngineHarness) -> None:
    """The next engine has them at once, with the same key, and does not wait for the lease."""
    harness.create(cron="1 8 * * *")
    harness.plan = lambda launch: (600.0 if launch.attempt == 1 else 0.0, Completed())

    async def scenario() -> None:
        first = harness.engine()
        await first.start()
        await pause(40)
        await first.stop(5)
        await harness.engine().start()
        await pause(1)

    harness.run(scenario)
    first, second = (execution.launch for execution in harness.executor.executions)
    assert (first.idempotency_key, first.attempt, second.attempt) == (second.idempotency_key, 1, 2)
    assert harness.states() == ["08:01 SUCCESS"]


def test_stop_hands_back_the_run_that_its_last_outcome_started(harness: EngineHarness) -> None:
    """A run ends while the engine stops. Another engine starts the queued one at once."""
    harness.create(cron="1-2 8 * * *", overlap_policy="queue")
    harness.plan = lambda launch: (65.0 if launch.run_at.minute == 1 else 0.0, Completed())

    async def scenario() -> None:
        first = harness.engine()
        await first.start()
        await pause(92)
        await first.stop(10)
        assert len(harness.executor.executions) == 1
        assert first.launcher.active == {}
        await harness.engine().start()
        await pause(1)

    harness.run(scenario)
    assert harness.states() == ["08:01 SUCCESS", "08:02 SUCCESS"]


def test_run_fails_after_it_has_lost_too_many_workers(harness: EngineHarness) -> None:
    """It was claimed ten times, and each time the worker died."""
    harness.create(cron="1 8 * * *")
    harness.plan = lambda _: (1e6, Completed())

    async def scenario() -> None:
        for _ in range(11):
            engine = harness.engine()
            await engine.start()
            await pause(200)  # the lease of the previous engine, and a margin
            await kill(engine)
        await harness.engine().start()
        await pause(130)

    harness.run(scenario)
    assert harness.states() == ["08:01 FAILED worker_lost"]
    assert len(harness.executor.executions) == 10


def test_run_that_was_handed_back_many_times_succeeds(harness: EngineHarness) -> None:
    """Twelve deployments in a row stop gracefully and hand the run back. None of them counts as a lost worker."""
    harness.create(cron="1 8 * * *")
    harness.plan = lambda launch: (1e6 if launch.attempt < 12 else 1.0, Completed())

    async def scenario() -> None:
        for _ in range(12):
            engine = harness.engine()
            await engine.start()
            await pause(40)
            await engine.stop(0)

    harness.run(scenario)
    assert harness.states() == ["08:01 SUCCESS"]


def test_engine_can_be_stopped_twice(harness: EngineHarness) -> None:
    async def scenario() -> None:
        engine = harness.engine()
        await engine.start()
        await engine.stop()
        await engine.stop()

    harness.run(scenario)
