"""Functions that do what no function should, and engines that are kept busy: everything still has its outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.unit.engine.kit import World, die
from tompion.executors.base import Completed, Executor, RunContext
from tompion.operations.resources import targets
from tompion.operations.schedules import control
from tompion.runtime.clock import pause


class Rude(BaseException):
    """Nothing that `except Exception` would catch."""


class Misbehaving(Executor):
    """Executes runs in a way of the test's choice."""

    def __init__(self, way: Callable[[RunContext], Coroutine[Any, Any, Completed]]) -> None:
        self._way = way

    async def run(self, dag: Any, meta: RunContext) -> Completed:
        return await self._way(meta)


async def raises_rudely(launch: RunContext) -> Completed:
    raise Rude("no")


async def cancels_itself(launch: RunContext) -> Completed:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await pause(1)
    return Completed()


async def cancels_everybody(launch: RunContext) -> Completed:
    for task in asyncio.all_tasks():
        if task.get_name().startswith("tompion"):
            task.cancel()
    await pause(1)
    return Completed()


@pytest.mark.parametrize("function", [raises_rudely, cancels_itself, cancels_everybody])
def test_whatever_a_function_does_it_has_an_outcome_and_the_engine_goes_on(
    world: World, function: Callable[[RunContext], Coroutine[Any, Any, Completed]]
) -> None:
    world.create()
    world.executor.run = function  # type: ignore[method-assign,assignment]  # another function in its place

    async def story() -> None:
        await world.engine().start()
        await pause(100)

    world.run(story)
    assert world.states() == ["08:01 FAILED", "08:02 FAILED"]


def test_runs_are_known_to_be_executing_however_busy_the_engine_is(world: World) -> None:
    """Outcomes came so often that nobody ever looked; a run that nobody knows to be executing cannot be cancelled."""
    world.create("long", cron="1 8 * * *")
    world.create("short", intervals=[1], overlap_policy="allow")
    world.plan = lambda launch: (600.0 if launch.schedule_id == "long" else 0.2, Completed())

    async def story() -> None:
        await world.engine().start()
        await pause(35)
        assert world.states("long") == ["08:01 STARTED"]
        world.ask(control.trigger, "long", overlap="cancel_other")
        await pause(5)

    world.run(story)
    assert world.states("long")[0] == "08:01 CANCELLED cancel_requested"


def test_outcomes_are_written_while_an_engine_stops(world: World) -> None:
    world.create("long", cron="1 8 * * *")
    world.create("short", cron="1 8 * * *")
    world.plan = lambda launch: (20.0 if launch.schedule_id == "long" else 2.0, Completed())

    async def story() -> None:
        engine = world.engine()
        await engine.start()
        await pause(31)
        stopping = asyncio.ensure_future(engine.stop(30))
        await pause(3)
        assert world.states("short") == ["08:01 SUCCESS"]
        assert world.states("long") == ["08:01 STARTED"] or world.states("long") == ["08:01 ENQUEUED"]
        await stopping
        assert world.states("long") == ["08:01 SUCCESS"]

    world.run(story)


@pytest.mark.parametrize("interrupted", ["cancelled", "lost", "by somebody else"])
def test_a_run_that_is_interrupted_before_its_first_step_has_an_end(world: World, interrupted: str) -> None:
    """A task that is cancelled before it began never runs: it stayed in flight for ever, and its schedule blocked."""
    engine = world.engine()
    launching, begin = engine.launcher, engine.launcher.start

    def start(launches: Any, now_ms: int) -> None:
        begin(launches, now_ms)
        launching.start = begin  # type: ignore[method-assign]  # only the first time
        for attempt in list(launching.active.values()):
            if interrupted == "cancelled":
                launching.cancel(attempt)
            elif interrupted == "lost":
                launching.drop([attempt.held])
            else:
                assert attempt.task is not None
                attempt.task.cancel()

    launching.start = start  # type: ignore[method-assign]  # what two answers in one turn of the loop do

    async def story() -> None:
        world.create(max_concurrent=5, overlap_policy="allow")
        await engine.start()
        await pause(40)
        assert not launching.active
        assert launching.idle.is_set()

    world.run(story)
    expected = {"cancelled": "CANCELLED cancel_requested", "by somebody else": "FAILED", "lost": "ENQUEUED"}
    assert world.states()[0].partition(" ")[2] == expected[interrupted]


def test_what_was_asked_to_end_is_not_tried_again(world: World) -> None:
    """A function that turns its cancellation into an error has failed; another try would undo the cancellation."""

    async def rude(launch: RunContext) -> Completed:
        try:
            await pause(1_000)
        except asyncio.CancelledError:
            raise ValueError("broke while cleaning up") from None
        return Completed()

    world.executors["function"] = Misbehaving(rude)
    engine = world.engine()

    async def story() -> None:
        world.create(cron="0 0 1 1 *", max_attempts=3, retry_delay_ms=30_000)
        await engine.start()
        world.ask(control.trigger, "report")
        await pause(5)
        world.ask(control.trigger, "report", overlap="cancel_other")
        await pause(5)

    world.run(story)
    first, second = world.states()
    assert first.endswith("FAILED cancel_requested")
    assert second.endswith(("STARTED", "ENQUEUED"))


@pytest.mark.parametrize("overlap", ["cancel_other", "terminate_other"])
def test_whoever_is_to_end_hears_of_it_at_once(world: World, overlap: str) -> None:
    """It was noticed at the next look, up to a second later: so long two runs went on side by side."""
    world.plan = lambda _: (1_000.0, Completed())
    engine = world.engine()

    async def story() -> None:
        world.create(cron="0 0 1 1 *")
        await engine.start()
        world.ask(control.trigger, "report")
        await pause(5.3)
        (first,) = engine.launcher.active
        world.ask(control.trigger, "report", overlap=overlap)
        await pause(0.1)
        assert first not in engine.launcher.active
        assert len(engine.launcher.active) == 1

    world.run(story)


@pytest.mark.parametrize(
    ("overlap", "expected"),
    [
        ("terminate_other", ["08:01 TERMINATED superseded", "08:02 SUCCESS"]),
        ("cancel_other", ["08:01 CANCELLED cancel_requested", "08:02 SUCCESS"]),
    ],
)
def test_what_is_released_and_ended_by_one_transaction_is_not_executed(
    world: World, overlap: str, expected: list[str]
) -> None:
    """What waited left the queue, the tick of the same moment ended it, and it was launched all the same.

    It was ended before it was active, so nobody stopped it: a run that was terminated went on beside the next one.
    """
    world.create(overlap_policy=overlap, cron=["1 8 * * *", "2 8 * * *"])
    world.plan = lambda _: (20.0, Completed())
    world.ask(targets.pause_target, queue="default")

    async def story() -> None:
        first = world.engine()
        await first.start()
        await pause(35)
        assert world.states() == ["08:01 BUFFERED target_paused"]
        await die(first)
        world.ask(targets.resume_target, queue="default")
        world.loop.pass_time(60)
        await world.engine().start()
        await pause(60)

    world.run(story)
    assert [each.launch.scheduled_for.minute for each in world.executor.executions] == [2]
    assert world.states() == expected
