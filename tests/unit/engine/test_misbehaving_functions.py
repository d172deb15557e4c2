"""Functions that misbehave, and busy engines: every run still has an outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.unit.engine.harness import EngineHarness, kill
from tompion.executors.base import Completed, Executor, RunContext
from tompion.operations.resources import targets
from tompion.operations.schedules import control
from tompion.runtime.clock import pause


class UncatchableError(BaseException):
    """An error that ``except Exception`` does not catch."""


class Misbehaving(Executor):
    """Executes runs in the way that a test chooses."""

    def __init__(self, way: Callable[[RunContext], Coroutine[Any, Any, Completed]]) -> None:
        self._way = way

    async def run(self, dag: Any, run_context: RunContext) -> Completed:
        return await self._way(run_context)


async def raises_uncatchable(launch: RunContext) -> Completed:
    raise UncatchableError("no")


async def cancels_itself(launch: RunContext) -> Completed:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await pause(1)
    return Completed()


async def cancels_all_tasks(launch: RunContext) -> Completed:
    for task in asyncio.all_tasks():
        if task.get_name().startswith("tompion"):
            task.cancel()
    await pause(1)
    return Completed()


@pytest.mark.parametrize("function", [raises_uncatchable, cancels_itself, cancels_all_tasks])
def test_misbehaving_function_has_an_outcome_and_the_engine_continues(
    harness: EngineHarness, function: Callable[[RunContext], Coroutine[Any, Any, Completed]]
) -> None:
    harness.create()
    harness.executor.run = function  # type: ignore[method-assign,assignment]  # another function in its place

    async def scenario() -> None:
        await harness.engine().start()
        await pause(100)

    harness.run(scenario)
    assert harness.states() == ["08:01 FAILED", "08:02 FAILED"]


def test_busy_engine_marks_runs_as_started(harness: EngineHarness) -> None:
    """Regression: with frequent outcomes, runs were never marked. A run that is not STARTED cannot be cancelled."""
    harness.create("long", cron="1 8 * * *")
    harness.create("short", intervals=[1], overlap_policy="allow")
    harness.plan = lambda launch: (600.0 if launch.schedule_id == "long" else 0.2, Completed())

    async def scenario() -> None:
        await harness.engine().start()
        await pause(35)
        assert harness.states("long") == ["08:01 STARTED"]
        harness.call(control.trigger, "long", overlap="cancel_other")
        await pause(5)

    harness.run(scenario)
    assert harness.states("long")[0] == "08:01 CANCELLED cancel_requested"


def test_outcomes_are_written_while_an_engine_stops(harness: EngineHarness) -> None:
    harness.create("long", cron="1 8 * * *")
    harness.create("short", cron="1 8 * * *")
    harness.plan = lambda launch: (20.0 if launch.schedule_id == "long" else 2.0, Completed())

    async def scenario() -> None:
        engine = harness.engine()
        await engine.start()
        await pause(31)
        stopping = asyncio.ensure_future(engine.stop(30))
        await pause(3)
        assert harness.states("short") == ["08:01 SUCCESS"]
        assert harness.states("long") == ["08:01 STARTED"] or harness.states("long") == ["08:01 ENQUEUED"]
        await stopping
        assert harness.states("long") == ["08:01 SUCCESS"]

    harness.run(scenario)


@pytest.mark.parametrize("interrupted", ["cancelled", "lost", "by other code"])
def test_run_that_is_cancelled_before_its_first_step_ends(harness: EngineHarness, interrupted: str) -> None:
    """Regression: a task that is cancelled before its first step never runs, so its run stayed in flight."""
    engine = harness.engine()
    launcher, begin = engine.launcher, engine.launcher.start

    def start(launches: Any, now_ms: int) -> None:
        begin(launches, now_ms)
        launcher.start = begin  # type: ignore[method-assign]  # only the first time
        for attempt in list(launcher.active.values()):
            if interrupted == "cancelled":
                launcher.cancel(attempt)
            elif interrupted == "lost":
                launcher.drop([attempt.held])
            else:
                assert attempt.task is not None
                attempt.task.cancel()

    launcher.start = start  # type: ignore[method-assign]  # what two answers in one turn of the loop do

    async def scenario() -> None:
        harness.create(max_concurrent=5, overlap_policy="allow")
        await engine.start()
        await pause(40)
        assert not launcher.active
        assert launcher.idle.is_set()

    harness.run(scenario)
    expected = {"cancelled": "CANCELLED cancel_requested", "by other code": "FAILED", "lost": "ENQUEUED"}
    assert harness.states()[0].partition(" ")[2] == expected[interrupted]


def test_cancelled_run_is_not_retried(harness: EngineHarness) -> None:
    """A function that turns its cancellation into an error has failed. A retry would undo the cancellation."""

    async def rude(launch: RunContext) -> Completed:
        try:
            await pause(1_000)
        except asyncio.CancelledError:
            raise ValueError("broke while cleaning up") from None
        return Completed()

    harness.executors["function"] = Misbehaving(rude)
    engine = harness.engine()

    async def scenario() -> None:
        harness.create(cron="0 0 1 1 *", max_attempts=3, retry_delay_ms=30_000)
        await engine.start()
        harness.call(control.trigger, "report")
        await pause(5)
        harness.call(control.trigger, "report", overlap="cancel_other")
        await pause(5)

    harness.run(scenario)
    first, second = harness.states()
    assert first.endswith("FAILED cancel_requested")
    assert second.endswith(("STARTED", "ENQUEUED"))


@pytest.mark.parametrize("overlap", ["cancel_other", "terminate_other"])
def test_run_is_cancelled_at_once(harness: EngineHarness, overlap: str) -> None:
    """Regression: it was cancelled at the next check, up to a second later, and two runs overlapped."""
    harness.plan = lambda _: (1_000.0, Completed())
    engine = harness.engine()

    async def scenario() -> None:
        harness.create(cron="0 0 1 1 *")
        await engine.start()
        harness.call(control.trigger, "report")
        await pause(5.3)
        (first,) = engine.launcher.active
        harness.call(control.trigger, "report", overlap=overlap)
        await pause(0.1)
        assert first not in engine.launcher.active
        assert len(engine.launcher.active) == 1

    harness.run(scenario)


@pytest.mark.parametrize(
    ("overlap", "expected"),
    [
        ("terminate_other", ["08:01 TERMINATED superseded", "08:02 SUCCESS"]),
        ("cancel_other", ["08:01 CANCELLED cancel_requested", "08:02 SUCCESS"]),
    ],
)
def test_run_that_is_released_and_terminated_by_one_transaction_does_not_start(
    harness: EngineHarness, overlap: str, expected: list[str]
) -> None:
    """Regression: a queued run was released, terminated by the tick of the same transaction, and still launched.

    It was terminated before it was active, so no attempt could be cancelled, and it overlapped with the next run.
    """
    harness.create(overlap_policy=overlap, cron=["1 8 * * *", "2 8 * * *"])
    harness.plan = lambda _: (20.0, Completed())
    harness.call(targets.pause_target, queue="default")

    async def scenario() -> None:
        first = harness.engine()
        await first.start()
        await pause(35)
        assert harness.states() == ["08:01 BUFFERED target_paused"]
        await kill(first)
        harness.call(targets.resume_target, queue="default")
        harness.loop.pass_time(60)
        await harness.engine().start()
        await pause(60)

    harness.run(scenario)
    assert [execution.launch.run_at.minute for execution in harness.executor.executions] == [2]
    assert harness.states() == expected
