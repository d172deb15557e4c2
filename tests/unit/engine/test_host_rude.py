"""Functions that do what no function should, and engines that are kept busy: everything still has its outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from foliot.clock import pause
from foliot.launch.base import Ended, Launch
from foliot.operations import control
from tests.unit.engine.kit import World


class Rude(BaseException):
    """Nothing that `except Exception` would catch."""


async def raises_rudely(launch: Launch) -> Ended:
    raise Rude("no")


async def cancels_itself(launch: Launch) -> Ended:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await pause(1)
    return Ended()


async def cancels_everybody(launch: Launch) -> Ended:
    for task in asyncio.all_tasks():
        if task.get_name().startswith("foliot"):
            task.cancel()
    await pause(1)
    return Ended()


@pytest.mark.parametrize("function", [raises_rudely, cancels_itself, cancels_everybody])
def test_whatever_a_function_does_it_has_an_outcome_and_the_engine_goes_on(
    world: World, function: Callable[[Launch], Coroutine[Any, Any, Ended]]
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
    world.plan = lambda launch: (600.0 if launch.schedule_id == "long" else 0.2, Ended())

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
    world.plan = lambda launch: (20.0 if launch.schedule_id == "long" else 2.0, Ended())

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
