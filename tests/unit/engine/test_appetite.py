"""Instances that have taken more than they can look after, and the way out of it."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.unit.engine.kit import World
from tests.unit.engine.test_host_slow import Slow
from tompion.config.settings import Settings
from tompion.engine.limits import AdaptiveConcurrencyLimit
from tompion.executors.base import Completed
from tompion.operations.runs import read
from tompion.operations.schedules import control
from tompion.runtime.clock import pause

BACKLOG = 200
SETTINGS = Settings(tick_ms=200, lock_ttl_ms=2_000, heartbeat_ms=600, sweep_ms=1_000, max_pickups=1_000, max_threads=10)
COST_S = 0.05
"""How much longer everything takes an instance for each run that it executes."""
TURN_S = 0.5
AT_A_TIME = 20
"""So many of the runs that an instance holds are executed at a time; the others wait for their turn."""


class Laden(Slow):
    """The store of an instance on a machine that is too small: the more it executes, the longer everything takes."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.engine = world.engine(SETTINGS, store=self)

    @property
    def seconds(self) -> float:
        return 0.001 + len(self.engine.launcher.active) * COST_S

    @seconds.setter
    def seconds(self, _: float) -> None:
        """It follows from what is executed."""


def with_backlog(world: World) -> None:
    """So much is to be done when the engines begin that no one of them can do it under one lease."""
    world.create(cron="0 0 1 1 *", overlap_policy="allow")
    for number in range(BACKLOG):
        world.ask(control.trigger, "report", request_id=f"trigger-{number}")
    world.plan = lambda _: (TURN_S, Completed())
    world.executor.max_active = AT_A_TIME


def outcomes(world: World) -> Counter[str]:
    return Counter(run.state for run in world.ask(read.runs, "report", limit=1_000).items)


def tell(world: World, seconds: float) -> list[Laden]:
    laden = [Laden(world), Laden(world)]

    async def story() -> None:
        for each in laden:
            await each.engine.start()
        await pause(seconds)

    world.run(story)
    return laden


def test_whoever_loses_a_lease_with_full_hands_takes_less(world: World) -> None:
    """Two workers on a machine that was too busy took a backlog from each other for ever.

    Each took all there was, was so busy with it that it could not prolong its lease, lost everything to the other,
    and so on: 58,000 launches, 2,200 of which counted.
    """
    with_backlog(world)
    tell(world, 60)
    assert outcomes(world) == {"SUCCESS": BACKLOG}
    assert len(world.executor.executions) < 8 * BACKLOG


def test_without_that_the_same_story_has_no_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AdaptiveConcurrencyLimit, "on_lease_lost", lambda self, held: None)
    with_backlog(world)
    tell(world, 60)
    assert outcomes(world) == {"ENQUEUED": BACKLOG}


def test_an_instance_gets_its_appetite_back(world: World) -> None:
    with_backlog(world)
    laden = tell(world, 60)
    assert [each.engine.context.concurrency.limit for each in laden] == [SETTINGS.max_active_launches] * 2


def after_beats(appetite: AdaptiveConcurrencyLimit, beats: int) -> int:
    for _ in range(beats):
        appetite.on_lease_renewed()
    return appetite.limit


def test_a_quarter_of_what_was_too_much_and_half_as_much_again_with_each_heartbeat() -> None:
    appetite = AdaptiveConcurrencyLimit(8, 1_000)
    appetite.on_lease_lost(8)
    assert appetite.limit == 1_000, "so few can always be executed: it was not that"
    appetite.on_lease_lost(200)
    assert appetite.limit == 50
    appetite.on_lease_lost(300)  # more than it may take by now: what it held before
    assert appetite.limit == 12
    assert [after_beats(appetite, 1) for _ in range(3)] == [18, 27, 41]
    for _ in range(20):
        appetite.on_lease_lost(9)
    assert appetite.limit == 8
    assert after_beats(appetite, 30) == 1_000
    assert AdaptiveConcurrencyLimit(32, 5).limit == 5
