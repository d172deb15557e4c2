"""Batches fired ahead: while one batch is launched, the next ones are fired. A failure of one affects no other.

The schedules of these scenarios are due one second after another, and the engine sleeps until all of them are due. A
batch is two schedules, so that six or more transactions follow each other, two of them ahead of the launches.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.delayed_store import WAY_S, DelayedStore, Fate, with_marked_fires
from tests.unit.engine.harness import EngineHarness
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
"""All runs are launched within this time, even after lost answers: before a lease expires or a sweep begins."""


def due_one_after_another(harness: EngineHarness) -> None:
    for second in range(SCHEDULES):
        harness.create(f"at-{second:02}", cron=f"{second} 1 8 * * *")


def piped(
    harness: EngineHarness, fates: dict[int, Fate] | None = None, settings: Settings = SETTINGS
) -> tuple[Engine, DelayedStore]:
    store = DelayedStore(harness.store, harness.loop, fates)
    return with_marked_fires(harness.engine(settings, store=store)), store


def run_engine(
    harness: EngineHarness, fates: dict[int, Fate] | None = None, settings: Settings = SETTINGS
) -> DelayedStore:
    """Run an engine when all schedules are due, until all of them must have been launched."""
    engine, store = piped(harness, fates, settings)

    async def scenario() -> None:
        await start_late(harness, engine)
        await pause(PROMPT_S)

    harness.run(scenario)
    return store


async def start_late(harness: EngineHarness, engine: Engine, until_s: float = AWAKE_S) -> None:
    """Start an engine, let it become idle, and wake it when all schedules are due."""
    await engine.start()
    await pause(MINUTE_S - 1)
    harness.loop.pass_time(until_s - MINUTE_S + 1)


def launches(harness: EngineHarness) -> dict[str, int]:
    """Return the attempt of each schedule's only launch."""
    names = Counter(execution.launch.schedule_id for execution in harness.executor.executions)
    assert set(names.values()) == {1}, names
    return {execution.launch.schedule_id: execution.launch.attempt for execution in harness.executor.executions}


def batch(number: int) -> set[str]:
    """Return the schedules of a fire transaction, if all earlier ones have committed."""
    first = (number - 1) * BATCH
    return {f"at-{second:02}" for second in range(first, min(first + BATCH, SCHEDULES))}


def test_fires_overlap_and_launches_are_in_order(harness: EngineHarness) -> None:
    due_one_after_another(harness)
    store = run_engine(harness)
    assert store.under_way() == MAX_FIRES_AHEAD
    assert [execution.launch.schedule_id for execution in harness.executor.executions] == sorted(launches(harness))
    assert [fire.fired.claimed for fire in store.fires if fire.fired][:6] == [2, 2, 2, 2, 2, 1]
    assert max(harness.launched_at()) < AWAKE_S + 20 * WAY_S


@pytest.mark.parametrize("late", [2, 3, 4])
def test_late_answer_does_not_change_the_order(harness: EngineHarness, late: int) -> None:
    due_one_after_another(harness)
    run_engine(harness, {late: Fate.ANSWERS_LATE})
    assert [execution.launch.schedule_id for execution in harness.executor.executions] == sorted(launches(harness))


@pytest.mark.parametrize("number", range(1, 7))
def test_failed_fire_is_repeated_and_the_others_are_not(harness: EngineHarness, number: int) -> None:
    """Later fires have claimed their schedules, and these runs start at once."""
    due_one_after_another(harness)
    run_engine(harness, {number: Fate.FAILS})
    assert launches(harness) == {f"at-{second:02}": 1 for second in range(SCHEDULES)}


@pytest.mark.parametrize("number", range(1, 7))
def test_fire_with_a_lost_answer_is_reconciled(harness: EngineHarness, number: int) -> None:
    """The engine owns the runs without knowing it. They start under the next attempt, and the others do not."""
    due_one_after_another(harness)
    run_engine(harness, {number: Fate.ANSWER_LOST})
    assert {name for name, attempt in launches(harness).items() if attempt == 2} == batch(number)
    assert set(launches(harness)) == {f"at-{second:02}" for second in range(SCHEDULES)}


@pytest.mark.parametrize("fates", [
    {2: Fate.FAILS, 3: Fate.FAILS},
    {2: Fate.ANSWER_LOST, 3: Fate.ANSWER_LOST},
    {2: Fate.FAILS, 3: Fate.ANSWER_LOST},
    {2: Fate.ANSWER_LOST, 3: Fate.FAILS},
    {2: Fate.ANSWER_LOST, 3: Fate.ANSWERS_LATE},
    {2: Fate.ARRIVES_LATE, 3: Fate.FAILS},
])  # fmt: skip
def test_two_overlapping_fires_both_fail(harness: EngineHarness, fates: dict[int, Fate]) -> None:
    due_one_after_another(harness)
    run_engine(harness, fates)
    assert set(launches(harness)) == {f"at-{second:02}" for second in range(SCHEDULES)}


def test_fire_ahead_is_reconciled_after_a_small_batch(harness: EngineHarness) -> None:
    """Three schedules are due. The third fire comes when another one is due, and its answer is lost."""
    for number in range(3):
        harness.create(f"first-{number}", cron="0 1 8 * * *")
    harness.create("second", cron="1 1 8 * * *")
    store = DelayedStore(harness.store, harness.loop, {3: Fate.LATE_AND_LOST})
    engine = with_marked_fires(harness.engine(SETTINGS, store=store))

    async def scenario() -> None:
        await start_late(harness, engine, MINUTE_S + 0.7)
        await pause(PROMPT_S)

    harness.run(scenario)
    assert [fire.fired.claimed for fire in store.fires[:3] if fire.fired] == [2, 1, 1]
    assert launches(harness) == {"first-0": 1, "first-1": 1, "first-2": 1, "second": 2}


@pytest.mark.parametrize("most", [2, 3, 5, 6, 7])
def test_fires_ahead_obey_the_concurrency_limit(harness: EngineHarness, most: int) -> None:
    """A run that is being claimed counts as active, because it will be."""
    due_one_after_another(harness)
    engine, store = piped(harness, settings=Settings(fire_batch=BATCH, max_active_launches=most))
    active: list[int] = []

    def plan(launch: RunContext) -> tuple[float, Completed]:
        active.append(len(engine.launcher.active))
        return 5.0, Completed()

    harness.plan = plan

    async def scenario() -> None:
        await start_late(harness, engine)
        await pause(6 * 5 + PROMPT_S)

    harness.run(scenario)
    assert len(launches(harness)) == SCHEDULES
    assert max(active) <= most
    assert max(active) >= most - 1
    assert (store.under_way() > 1) == (most >= 3 * BATCH)


def test_on_time_ticks_start_before_missed_ones_and_need_no_budget(harness: EngineHarness) -> None:
    """Five schedules have missed an hour of minutes. Two of these may start per second, after all that are on time."""
    for number in range(5):
        harness.create(f"missed-{number}", catchup_policy="fire_immediately", overlap_policy="allow")
    harness.loop.pass_time(3_600)
    for second in range(SCHEDULES):
        harness.create(f"at-{second:02}", cron=f"{second} 1 9 * * *")
    engine, store = piped(harness, settings=Settings(fire_batch=BATCH, catchup_rate_per_s=2))

    async def scenario() -> None:
        await pause(AWAKE_S)
        await engine.start()
        await pause(3.0)

    harness.run(scenario)
    names = [execution.launch.schedule_id for execution in harness.executor.executions]
    assert names[:SCHEDULES] == [f"at-{second:02}" for second in range(SCHEDULES)]
    missed = [
        execution
        for execution in harness.executor.executions[SCHEDULES:]
        if execution.launch.schedule_id.startswith("missed")
    ]
    assert 2 <= len(missed) <= 2 * 4
    assert store.under_way() == MAX_FIRES_AHEAD


@pytest.mark.parametrize(("second", "batches"), [(Fate.ANSWERS_LATE, (1, 2, 3)), (Fate.FAILS, (1, 2))])
def test_stop_waits_for_fires_ahead(harness: EngineHarness, second: Fate, batches: tuple[int, ...]) -> None:
    """Two fires are in flight. The runs that they claimed are launched before the engine ends."""
    due_one_after_another(harness)
    engine, store = piped(harness, {2: second, 3: Fate.ANSWERS_LATE})

    async def scenario() -> None:
        await start_late(harness, engine)
        while len(store.fires) < 3:
            await pause(WAY_S)
        await engine.stop()
        assert len(store.fires) == 3
        done = {name for number in batches for name in batch(number)}
        assert {execution.launch.schedule_id for execution in harness.executor.executions} == done
        assert {harness.states(name)[0] for name in done} == {"08:01 SUCCESS"}
        await harness.engine(SETTINGS).start()
        await pause(PROMPT_S)

    harness.run(scenario)
    assert set(launches(harness)) == {schedule.schedule_id for schedule in harness.call(crud.list_schedules).items}
