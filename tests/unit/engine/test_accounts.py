"""Every number that an engine counts, each by making happen what it counts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.unit.engine.kit import FUNCTION, LoopClock, World, die
from tompion.api.metrics import COUNTERS, HISTOGRAMS, MetricsExporter
from tompion.config.settings import Settings
from tompion.engine.engine import Engine
from tompion.errors import LaunchError
from tompion.executors.base import Completed, RunContext
from tompion.model.metrics import OTHER, Metrics
from tompion.model.run import RunState
from tompion.operations.runner import OperationRunner
from tompion.operations.schedules import control, crud
from tompion.runtime.clock import pause
from tompion.store.base import Transaction
from tompion.testing.faults import Fault, FaultyStore, InjectedFault


def number(engine: Engine, name: str, **labels: str) -> float | None:
    """Return a number as Prometheus would read it."""
    runner = OperationRunner(engine._store, Settings(), engine.events.metrics)
    return MetricsExporter(runner, {}, clock=engine.finder._clock).registry.get_sample_value(name, labels)


def told(world: World, story: Callable[[Engine], Awaitable[None]], **given: Any) -> Engine:
    """Return an engine that has lived through a story."""
    engine = world.engine(**given)

    async def live() -> None:
        await engine.start()
        await story(engine)

    world.run(live)
    return engine


def passing(seconds: float) -> Callable[[Engine], Awaitable[None]]:
    async def story(_: Engine) -> None:
        await pause(seconds)

    return story


def test_what_is_launched_and_how_it_ends(world: World) -> None:
    world.create(cron="1,2 8 * * *")
    world.plan = lambda launch: (
        0.0,
        Completed() if launch.scheduled_for.minute == 1 else Completed(RunState.FAILED, error="no"),
    )
    engine = told(world, passing(120))
    assert number(engine, "tompion_runs_emitted_total") == 2
    assert number(engine, "tompion_runs_settled_total") == 2
    assert number(engine, "tompion_runs_finished_total", namespace="default", state="SUCCESS") == 1
    assert number(engine, "tompion_runs_finished_total", namespace="default", state="FAILED") == 1
    assert number(engine, "tompion_drift_seconds_count") == 2
    assert number(engine, "tompion_drift_seconds_bucket", le="0.25") == 2
    assert number(engine, "tompion_lateness_seconds_count", namespace="default") == 2
    assert number(engine, "tompion_queue_wait_seconds_count", namespace="default") == 2
    assert number(engine, "tompion_runs_active") == 0
    assert number(engine, "tompion_store_up") == 1


def test_a_late_launch_is_late_in_the_numbers(world: World) -> None:
    world.create(cron="1 8 * * *")

    async def begin_late() -> None:
        await pause(50)
        await engine.start()
        await pause(10)

    engine = world.engine()
    world.run(begin_late)
    assert number(engine, "tompion_drift_seconds_sum") == pytest.approx(20, abs=0.5)
    assert number(engine, "tompion_lateness_seconds_sum", namespace="default") == pytest.approx(20, abs=0.5)
    assert number(engine, "tompion_lateness_seconds_bucket", namespace="default", le="10.0") == 0
    assert number(engine, "tompion_lateness_seconds_bucket", namespace="default", le="30.0") == 1
    assert number(engine, "tompion_queue_wait_seconds_sum", namespace="default") == pytest.approx(0, abs=0.5)


def test_what_waits_for_its_turn_has_waited(world: World) -> None:
    world.create(cron="1,2 8 * * *", overlap_policy="queue")
    world.plan = lambda launch: (100.0 if launch.scheduled_for.minute == 1 else 0.0, Completed())
    engine = told(world, passing(200))
    assert number(engine, "tompion_queue_wait_seconds_sum", namespace="default") == pytest.approx(40, abs=1)


def test_a_skip_has_its_reason(world: World) -> None:
    world.create(cron="1,2 8 * * *", overlap_policy="skip")
    world.plan = lambda _: (100.0, Completed())
    engine = told(world, passing(150))
    assert number(engine, "tompion_runs_skipped_overlap_total") == 1
    assert number(engine, "tompion_runs_skipped_total", namespace="default", reason="overlap") == 1
    assert number(engine, "tompion_schedules_skipped_total") == 1
    (event,) = [event for event in world.events if event.kind == "skipped"]
    assert (event.reason, event.state, event.schedule_id, event.namespace) == (
        "overlap",
        "SKIPPED",
        "report",
        "default",
    )


@pytest.mark.parametrize("overlap", ["buffer_one", "terminate_other", "cancel_other"])
def test_whoever_gives_way_is_counted(world: World, overlap: str) -> None:
    world.create(cron="1,2,3 8 * * *", overlap_policy=overlap)
    world.plan = lambda _: (150.0, Completed())
    engine = told(world, passing(170))
    if overlap == "buffer_one":
        assert number(engine, "tompion_runs_skipped_total", namespace="default", reason="superseded") == 1
    else:
        state = "TERMINATED" if overlap == "terminate_other" else "CANCELLED"
        assert number(engine, "tompion_runs_finished_total", namespace="default", state=state) == 2


@pytest.mark.parametrize(("window", "reason"), [(None, "missed"), ("1m", "outside_window")])
def test_missed_ticks_are_counted_one_by_one(world: World, window: str | None, reason: str) -> None:
    policy = "none" if window is None else "all"
    world.create(cron="1,2,3 8 * * *", catchup_policy=policy, **({} if window is None else {"catchup_window": window}))
    engine = world.engine()

    async def begin_late() -> None:
        await pause(400)
        await engine.start()
        await pause(10)

    world.run(begin_late)
    assert number(engine, "tompion_ticks_missed_total", namespace="default", reason=reason) == 3
    assert number(engine, "tompion_missed_catchup_window_total") == (3 if window else 0)
    (event,) = [event for event in world.events if event.kind == "missed"]
    assert (event.reason, event.ticks, event.text) == (reason, 3, f"3 ticks: {reason}")


def test_what_others_were_in_the_way_of_is_skipped_and_not_missed(world: World) -> None:
    """What was left of an outage when its first ticks had taken every slot was counted, and told, as missed."""
    world.create(cron="* 1-4 8 * * *", catchup_policy="all")
    world.plan = lambda _: (3_600.0, Completed())
    engine = world.engine()

    async def begin_late() -> None:
        await pause(400)
        await engine.start()
        await pause(10)

    world.run(begin_late)
    assert number(engine, "tompion_ticks_missed_total", namespace="default", reason="overlap") is None
    assert number(engine, "tompion_runs_skipped_total", namespace="default", reason="overlap") == 239
    assert number(engine, "tompion_runs_skipped_overlap_total") == 239
    assert [event.kind for event in world.events if event.ticks] == ["skipped"]


def test_a_launch_that_cannot_begin(world: World) -> None:
    world.create(cron="1 8 * * *")

    def refuse(_: RunContext) -> tuple[float, Completed]:
        raise LaunchError("no such function")

    world.plan = refuse
    assert number(told(world, passing(40)), "tompion_runs_failed_launch_total") == 1


def test_a_try_after_a_failure(world: World) -> None:
    world.create(cron="1 8 * * *", max_attempts=2)
    world.plan = lambda _: (0.0, Completed(RunState.FAILED, error="no luck"))
    engine = told(world, passing(60))
    assert number(engine, "tompion_runs_retried_total", namespace="default") == 1
    assert number(engine, "tompion_runs_finished_total", namespace="default", state="FAILED") == 1
    assert number(engine, "tompion_duplicate_executions_total") == 0


def test_a_worker_that_dies(world: World) -> None:
    world.create(cron="1 8 * * *")
    world.plan = lambda _: (20.0, Completed())
    second = world.engine()

    async def story() -> None:
        first = world.engine()
        await first.start()
        await pause(31)
        await die(first)
        await second.start()
        await pause(200)

    world.run(story)
    assert number(second, "tompion_lock_expired_total") == 1
    assert number(second, "tompion_duplicate_executions_total") == 1


def test_a_run_that_nobody_picks_up(world: World) -> None:
    """Its worker has died, and nobody else serves its queue."""
    world.create(cron="1 8 * * *", queue="rare")
    world.plan = lambda _: (20.0, Completed())
    other = world.engine(Settings(sweep_ms=60_000))

    async def story() -> None:
        first = world.engine(queues=frozenset({"rare"}))
        await first.start()
        await pause(31)
        await die(first)
        await other.start()
        await pause(1_000)

    world.run(story)
    assert number(other, "tompion_zombies_cleaned_total") == 1
    assert world.states() == ["08:01 FAILED zombie"]
    assert [event.reason for event in world.events if event.kind == "ended"] == ["zombie"]


def test_an_engine_that_is_cut_off(world: World) -> None:
    """It loses its lease; what it says of the run that another has taken meanwhile comes too late."""
    world.create(cron="1 8 * * *")
    world.plan = lambda launch: (200.0 if launch.attempt == 1 else 1.0, Completed())
    cut_off = world.engine()

    async def silence() -> int:
        return 1

    async def story() -> None:
        await cut_off.start()
        await pause(31)
        cut_off.lease.renew = silence  # type: ignore[method-assign]  # it is cut off
        await world.engine().start()
        await pause(150)
        world.create("other", cron="* * * * *")
        await pause(60)

    world.run(story)
    assert number(cut_off, "tompion_leases_lost_total") == 1


def test_an_outcome_that_comes_too_late(world: World) -> None:
    """Somebody has taken the run over while its worker stood still: the fence keeps the old outcome out."""
    world.create(cron="1 8 * * *")
    world.plan = lambda _: (0.5, Completed())

    async def story(engine: Engine) -> None:
        await pause(30.2)
        assert engine.launcher.active
        higher = "UPDATE schedule_runs SET attempt = attempt + 1"
        world.store.write(lambda transaction: _execute(transaction, higher)).result()
        await pause(0.5)

    assert number(told(world, story), "tompion_stale_writes_rejected_total") == 1


def _execute(transaction: Transaction, statement: str) -> None:
    transaction._connection.execute(statement)  # type: ignore[attr-defined]  # a hand that nobody expects


def test_a_run_that_never_minds_its_deadline(world: World) -> None:
    world.create(max_execution_ms=5_000, cron="1 8 * * *")

    async def deaf(dag: Any, meta: RunContext) -> Completed:
        until = world.loop.time() + 60
        while world.loop.time() < until:
            with suppress(asyncio.CancelledError):
                await pause(until - world.loop.time())
        return Completed()

    world.executor.run = deaf  # type: ignore[method-assign]  # another function in its place
    engine = told(world, passing(120))
    assert number(engine, "tompion_runs_given_up_total") == 1
    assert number(engine, "tompion_runs_finished_total", namespace="default", state="TIMED_OUT") == 1


def test_a_clock_that_is_wrong(world: World) -> None:
    world.create()
    wrong = LoopClock(world.loop)
    wrong.off = 120.0
    engine = told(world, passing(10), clock=wrong)
    assert number(engine, "tompion_clock_skew_seconds") == pytest.approx(120, abs=0.1)
    assert (number(engine, "tompion_skewed_passes_total") or 0) > 5


def test_new_zone_data(world: World) -> None:
    world.create(timezone="Europe/Berlin")
    world.store.write(lambda transaction: _execute(transaction, "UPDATE schedules SET zones = 'Europe/Berlin:old'"))
    assert number(told(world, passing(5)), "tompion_schedules_replanned_total") == 1


def test_a_store_that_fails_and_a_mistake_of_ours(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    coming: list[InjectedFault] = []
    store = FaultyStore(world.store, lambda _: coming.pop() if coming else InjectedFault(Fault.NONE), lambda: None)
    engine = world.engine(store=store)

    async def story() -> None:
        await engine.start()
        coming.append(InjectedFault(Fault.BEFORE))
        await pause(10)

        def mistake(_: Transaction) -> None:
            raise RuntimeError("this was not to happen")

        monkeypatch.setattr(engine.finder, "_look", mistake)
        await pause(5)

    world.run(story)
    assert number(engine, "tompion_store_errors_total") == 1
    assert (number(engine, "tompion_unexpected_errors_total") or 0) >= 1


def test_how_the_store_stands(world: World) -> None:
    world.create("due", cron="1 8 * * *")
    world.create("paused")
    world.ask(control.pause, "paused")
    world.create("lost", timezone="Europe/Berlin")
    world.create("unserved", cron="1 8 * * *", queue="rare")
    world.ask(control.trigger, "unserved")
    gone = "UPDATE schedules SET zones = 'Mars/Olympus:gone' WHERE schedule_id = 'lost'"
    world.store.write(lambda transaction: _execute(transaction, gone)).result()
    engine = world.engine()

    async def later() -> None:
        await pause(45)

    world.run(later)
    assert number(engine, "tompion_schedules_due") == 3  # due, lost and unserved: nobody fires
    assert number(engine, "tompion_schedules_paused") == 1
    assert number(engine, "tompion_schedules_degraded") == 1
    assert number(engine, "tompion_queue_depth", queue="rare") == 1
    assert number(engine, "tompion_queue_oldest_seconds", queue="rare") == pytest.approx(45, abs=1)
    assert number(engine, "tompion_instances_live") == 0


def test_what_waits_and_who_lives(world: World) -> None:
    world.create(cron="1,2 8 * * *", overlap_policy="queue")
    world.plan = lambda _: (100.0, Completed())
    found: list[float | None] = []

    async def story(engine: Engine) -> None:
        await pause(95)
        found.extend(number(engine, f"tompion_{name}") for name in ("runs_waiting", "instances_live", "runs_active"))

    told(world, story)
    assert found == [1, 1, 1]


def test_what_operations_do_is_counted_when_it_is_committed(world: World) -> None:
    tally = Metrics()
    runner = OperationRunner(world.store, Settings(), tally)

    def ask(operation: Callable[..., Any], *args: Any, **given: Any) -> Any:
        return runner.send(
            lambda session: operation(session, *args, **given), namespace="default", actor="ann", writes=True
        ).result()

    ask(crud.create, "report", cron="* * * * *", function=FUNCTION)
    for _ in range(2):
        ask(control.trigger, "report", overlap="skip")
    assert tally.counts_by_label("runs_skipped") == {("default", "overlap"): 1}
    assert tally.counts["runs_skipped_overlap"] == 1
    ask(control.trigger, "report", overlap="buffer_all")
    ask(crud.delete, "report")
    assert tally.counts_by_label("runs_skipped")["default", "deleted"] == 1
    assert tally.counts_by_label("runs_finished") == {("default", "CANCELLED"): 1}


def test_only_so_many_namespaces_have_numbers_of_their_own() -> None:
    tally = Metrics(2)
    assert [tally.namespace(name) for name in ("a", "b", "c", "a", "d")] == ["a", "b", OTHER, "a", OTHER]


def test_a_store_that_is_down_is_down(world: World) -> None:
    engine = world.engine()
    runner = OperationRunner(
        FaultyStore(world.store, lambda _: InjectedFault(Fault.BEFORE), lambda: None), Settings(), engine.events.metrics
    )
    registry = MetricsExporter(runner, {}, clock=world.clock).registry
    assert registry.get_sample_value("tompion_store_up") == 0
    assert registry.get_sample_value("tompion_schedules_due") is None


def test_the_store_is_not_asked_at_every_scrape(world: World) -> None:
    asked: list[str] = []

    def count(kind: str) -> InjectedFault:
        asked.append(kind)
        return InjectedFault(Fault.NONE)

    metrics = MetricsExporter(
        OperationRunner(FaultyStore(world.store, count, lambda: None), Settings()), {}, clock=world.clock
    )
    for seconds in (0, 5, 4.9, 0.2):
        world.loop.run_until_complete(pause(seconds))
        metrics.text()
    assert asked == ["read", "read"]


def test_there_is_a_test_here_for_every_metric_of_the_table() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    elsewhere = {
        *("tompion_http_requests", "tompion_http_request_duration_seconds"),
        *(
            "tompion_notifications_delivered",
            "tompion_notifications_retried",
            "tompion_notifications_given_up",
        ),  # test_notifications.py
        *("tompion_pings", "tompion_pings_failed"),  # test_pulse.py
    }
    assert [name for name in {*COUNTERS, *HISTOGRAMS} - elsewhere if name not in text] == []
