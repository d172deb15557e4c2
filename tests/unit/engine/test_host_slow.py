"""A real engine in virtual time, on a store that takes its time, or with another clock than its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from tests.unit.engine.kit import BEGIN, LoopClock, World
from tompion.config.settings import Settings
from tompion.executors.base import Completed
from tompion.operations.schedules import backfills
from tompion.runtime.clock import pause
from tompion.store.base import Store, Work


class Slow(Store):
    """A store whose every transaction takes so many seconds."""

    is_out_of_process = True

    def __init__(self, world: World) -> None:
        self._world = world
        self.seconds = 0.001

    def write(self, work: Work[Any]) -> Future[Any]:
        return self._later(self._world.store.write, work)

    def read(self, work: Work[Any]) -> Future[Any]:
        return self._later(self._world.store.read, work)

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        return self._world.store.subscribe(wake)

    def close(self) -> None:
        """It is the world's."""

    def _later(self, call: Callable[[Work[Any]], Future[Any]], work: Work[Any]) -> Future[Any]:
        future: Future[Any] = Future()

        def arrive() -> None:
            answer = call(work)
            error = answer.exception()
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(answer.result())

        self._world.loop.call_later(self.seconds, arrive)
        return future


@pytest.mark.parametrize("seconds", [1, 10, 20, 28])
def test_a_lease_is_not_lost_because_everything_takes_its_time(world: World, seconds: float) -> None:
    """One loop looked after runs, swept and prolonged the lease: four slow transactions were too many."""
    world.create(cron="1 8 * * *")
    world.plan = lambda _: (600.0, Completed())
    slow = Slow(world)

    async def story() -> None:
        await world.engine(store=slow).start()
        await pause(32)
        slow.seconds = seconds
        await world.engine().start()
        await pause(700)
        slow.seconds = 0.001

    world.run(story)
    assert [execution.launch.attempt for execution in world.executor.executions] == [1]


def test_ticks_go_before_the_largest_backfill(world: World) -> None:
    """From the moment of a tick until its launch nothing of a backfill is launched but the portion under way."""
    settings, ticking, end = Settings(), 5, BEGIN - 90
    world.create("past", paused=True, overlap_policy="allow")
    start = end - 60 * (settings.max_backfill_ticks - 1)
    world.ask(backfills.backfill, "past", start, end, overlap="allow")
    for number in range(ticking):
        world.create(f"tick-{number}", cron="* * * * * *", overlap_policy="allow")
    slow = Slow(world)
    slow.seconds = 0.02

    async def story() -> None:
        await world.engine(settings, store=slow).start()
        await pause(10.5)

    world.run(story)
    (backfill,) = world.ask(backfills.backfills, "past")
    assert backfill.total == settings.max_backfill_ticks
    assert backfill.state == "RUNNING", "there was something of it to be done all the time"
    past = [each.at for each in world.executor.executions if each.launch.schedule_id == "past"]
    ticks = [each for each in world.executor.executions if each.launch.schedule_id != "past"]
    assert len(past) > 1_000
    assert len(ticks) == ticking * 11
    for tick in ticks:
        due = tick.launch.scheduled_for.timestamp()
        assert sum(due < at <= tick.at for at in past) <= settings.backfills_per_iteration
        assert tick.at - due < 4 * slow.seconds, "what was under way, a look, and the tick's own transaction"


@pytest.mark.parametrize(("more_ms", "launches"), [(-1, 1), (2, 0)])
def test_a_clock_may_be_off_by_so_much(world: World, more_ms: int, launches: int) -> None:
    world.create(cron="1 8 * * *")
    settings, wrong = Settings(max_clock_skew_ms=5_000), LoopClock(world.loop)
    wrong.off = (settings.max_clock_skew_ms + more_ms) / 1000

    async def story() -> None:
        await world.engine(settings, clock=wrong).start()
        await pause(40)

    world.run(story)
    assert len(world.executor.executions) == launches
