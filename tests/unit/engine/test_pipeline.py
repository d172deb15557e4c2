"""Fires that overlap: while one batch is launched the next are fired, and what goes wrong with one is its own affair.

The schedules of these stories are due one second after another, and the engine sleeps until all of them are: a full
batch is two, so that six transactions or more follow each other, two of them ahead of what is being launched.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.delayed_store import WAY_S, BesideStore, Fate, with_named_fires
from tests.unit.engine.kit import World
from tompion.config.settings import Settings
from tompion.engine.engine import Engine
from tompion.engine.finder import MAX_FIRES_AHEAD
from tompion.executors.base import Completed, RunContext
from tompion.operations.schedules import crud
from tompion.runtime.clock import pause

BATCH = 2
SCHEDULES = 11
SETTINGS = Settings(fire_batch=BATCH)
MINUTE_S = 30.0
"""When 08:01 is, after the beginning."""
AWAKE_S = MINUTE_S + SCHEDULES
PROMPT_S = 2.0
"""Within which everything is launched, whatever is lost: long before any lease is over, or anybody sweeps."""


def due_one_after_another(world: World) -> None:
    for second in range(SCHEDULES):
        world.create(f"at-{second:02}", cron=f"{second} 1 8 * * *")


def piped(
    world: World, fates: dict[int, Fate] | None = None, settings: Settings = SETTINGS
) -> tuple[Engine, BesideStore]:
    store = BesideStore(world.store, world.loop, fates)
    return with_named_fires(world.engine(settings, store=store)), store


def told(world: World, fates: dict[int, Fate] | None = None, settings: Settings = SETTINGS) -> BesideStore:
    """Let an engine meet everything at once, and leave when everything must have been launched."""
    engine, store = piped(world, fates, settings)

    async def story() -> None:
        await asleep(world, engine)
        await pause(PROMPT_S)

    world.run(story)
    return store


async def asleep(world: World, engine: Engine, until_s: float = AWAKE_S) -> None:
    """Start an engine, let it come to rest, and wake it when it is late."""
    await engine.start()
    await pause(MINUTE_S - 1)
    world.loop.pass_time(until_s - MINUTE_S + 1)


def launches(world: World) -> dict[str, int]:
    """The attempt of each schedule's only launch."""
    names = Counter(each.launch.schedule_id for each in world.executor.executions)
    assert set(names.values()) == {1}, names
    return {each.launch.schedule_id: each.launch.attempt for each in world.executor.executions}


def batch(number: int) -> set[str]:
    """The schedules of a fire transaction, if all before it have committed."""
    first = (number - 1) * BATCH
    return {f"at-{second:02}" for second in range(first, min(first + BATCH, SCHEDULES))}


def test_fires_overlap_and_what_they_launch_is_in_order(world: World) -> None:
    due_one_after_another(world)
    store = told(world)
    assert store.under_way() == MAX_FIRES_AHEAD
    assert [each.launch.schedule_id for each in world.executor.executions] == sorted(launches(world))
    assert [fire.fired.claimed for fire in store.fires if fire.fired][:6] == [2, 2, 2, 2, 2, 1]
    assert max(world.launched_at()) < AWAKE_S + 20 * WAY_S


@pytest.mark.parametrize("late", [2, 3, 4])
def test_an_answer_that_comes_late_does_not_change_the_order(world: World, late: int) -> None:
    due_one_after_another(world)
    told(world, {late: Fate.ANSWERS_LATE})
    assert [each.launch.schedule_id for each in world.executor.executions] == sorted(launches(world))


@pytest.mark.parametrize("number", range(1, 7))
def test_a_fire_that_fails_is_fired_again_and_the_others_are_not(world: World, number: int) -> None:
    """Whoever is behind it has claimed what comes later, as ours, and is launched at once."""
    due_one_after_another(world)
    told(world, {number: Fate.FAILS})
    assert launches(world) == {f"at-{second:02}": 1 for second in range(SCHEDULES)}


@pytest.mark.parametrize("number", range(1, 7))
def test_a_fire_whose_answer_is_lost_is_found_in_the_ledger(world: World, number: int) -> None:
    """It is ours, and nobody here has heard of it: it is begun anew, under the next attempt, and the others are not."""
    due_one_after_another(world)
    told(world, {number: Fate.ANSWER_LOST})
    assert {name for name, attempt in launches(world).items() if attempt == 2} == batch(number)
    assert set(launches(world)) == {f"at-{second:02}" for second in range(SCHEDULES)}


@pytest.mark.parametrize("fates", [
    {2: Fate.FAILS, 3: Fate.FAILS},
    {2: Fate.ANSWER_LOST, 3: Fate.ANSWER_LOST},
    {2: Fate.FAILS, 3: Fate.ANSWER_LOST},
    {2: Fate.ANSWER_LOST, 3: Fate.FAILS},
    {2: Fate.ANSWER_LOST, 3: Fate.ANSWERS_LATE},
    {2: Fate.ARRIVES_LATE, 3: Fate.FAILS},
])  # fmt: skip
def test_two_fires_that_overlap_and_both_have_bad_luck(world: World, fates: dict[int, Fate]) -> None:
    due_one_after_another(world)
    told(world, fates)
    assert set(launches(world)) == {f"at-{second:02}" for second in range(SCHEDULES)}


def test_what_was_fired_ahead_is_found_although_the_fire_before_it_found_little(world: World) -> None:
    """Three are due; the third fire comes when another is, and its answer is lost after everything has gone well."""
    for number in range(3):
        world.create(f"first-{number}", cron="0 1 8 * * *")
    world.create("second", cron="1 1 8 * * *")
    store = BesideStore(world.store, world.loop, {3: Fate.LATE_AND_LOST})
    engine = with_named_fires(world.engine(SETTINGS, store=store))

    async def story() -> None:
        await asleep(world, engine, MINUTE_S + 0.7)
        await pause(PROMPT_S)

    world.run(story)
    assert [fire.fired.claimed for fire in store.fires[:3] if fire.fired] == [2, 1, 1]
    assert launches(world) == {"first-0": 1, "first-1": 1, "first-2": 1, "second": 2}


@pytest.mark.parametrize("most", [2, 3, 5, 6, 7])
def test_fires_ahead_keep_within_what_an_instance_may_execute(world: World, most: int) -> None:
    """Whatever is on its way counts as if it were executed already: it will be."""
    due_one_after_another(world)
    engine, store = piped(world, settings=Settings(fire_batch=BATCH, max_active_launches=most))
    active: list[int] = []

    def plan(launch: RunContext) -> tuple[float, Completed]:
        active.append(len(engine.launcher.active))
        return 5.0, Completed()

    world.plan = plan

    async def story() -> None:
        await asleep(world, engine)
        await pause(6 * 5 + PROMPT_S)

    world.run(story)
    assert len(launches(world)) == SCHEDULES
    assert max(active) <= most
    assert max(active) >= most - 1
    assert (store.under_way() > 1) == (most >= 3 * BATCH)


def test_ticks_that_are_on_time_go_before_those_that_were_missed_and_need_no_budget(world: World) -> None:
    """Five schedules have missed an hour of minutes; of those two may start in a second, after all that are on time."""
    for number in range(5):
        world.create(f"missed-{number}", catchup_policy="fire_immediately", overlap_policy="allow")
    world.loop.pass_time(3_600)
    for second in range(SCHEDULES):
        world.create(f"at-{second:02}", cron=f"{second} 1 9 * * *")
    engine, store = piped(world, settings=Settings(fire_batch=BATCH, catchup_rate_per_s=2))

    async def story() -> None:
        await pause(AWAKE_S)
        await engine.start()
        await pause(3.0)

    world.run(story)
    names = [each.launch.schedule_id for each in world.executor.executions]
    assert names[:SCHEDULES] == [f"at-{second:02}" for second in range(SCHEDULES)]
    missed = [each for each in world.executor.executions[SCHEDULES:] if each.launch.schedule_id.startswith("missed")]
    assert 2 <= len(missed) <= 2 * 4
    assert store.under_way() == MAX_FIRES_AHEAD


@pytest.mark.parametrize(("second", "batches"), [(Fate.ANSWERS_LATE, (1, 2, 3)), (Fate.FAILS, (1, 2))])
def test_a_stop_waits_for_what_was_fired_ahead(world: World, second: Fate, batches: tuple[int, ...]) -> None:
    """Two fires are on their way: what they have claimed is ours, and is launched before the engine ends."""
    due_one_after_another(world)
    engine, store = piped(world, {2: second, 3: Fate.ANSWERS_LATE})

    async def story() -> None:
        await asleep(world, engine)
        while len(store.fires) < 3:
            await pause(WAY_S)
        await engine.stop()
        assert len(store.fires) == 3
        done = {name for number in batches for name in batch(number)}
        assert {each.launch.schedule_id for each in world.executor.executions} == done
        assert {world.states(name)[0] for name in done} == {"08:01 SUCCESS"}
        await world.engine(SETTINGS).start()
        await pause(PROMPT_S)

    world.run(story)
    assert set(launches(world)) == {each.schedule_id for each in world.ask(crud.list_schedules).items}
