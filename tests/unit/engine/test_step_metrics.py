"""Every metric of an engine. Each test causes the event that the metric counts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.unit.engine.harness import FUNCTION, EngineHarness, LoopClock, kill
from tests.unit.engine.test_instance_watch import PresenceStore
from tompion.api.metrics import COUNTERS, HISTOGRAMS, MetricsExporter
from tompion.config.settings import Settings
from tompion.engine.engine import Engine
from tompion.engine.loop_watchdog import LoopWatchdog
from tompion.errors import LaunchError, TargetUnreachable
from tompion.executors.base import Completed, RunContext
from tompion.model.run import RunState
from tompion.operations.runner import OperationRunner
from tompion.operations.schedules import control, crud
from tompion.runtime.clock import pause
from tompion.runtime.metric_values import OTHER, Metrics
from tompion.store.base import Transaction
from tompion.testing.faults import Fault, FaultyStore, InjectedFault


def number(engine: Engine, name: str, **labels: str) -> float | None:
    """Return a metric as Prometheus would read it."""
    runner = OperationRunner(engine._store, Settings(), engine.events.metrics)
    return MetricsExporter(runner, {}, clock=engine.finder._clock).registry.get_sample_value(name, labels)


def run_engine(harness: EngineHarness, scenario: Callable[[Engine], Awaitable[None]], **options: Any) -> Engine:
    """Run a scenario with an engine. Return the engine."""
    engine = harness.engine(**options)

    async def live() -> None:
        await engine.start()
        await scenario(engine)

    harness.run(live)
    return engine


def passing(seconds: float) -> Callable[[Engine], Awaitable[None]]:
    async def scenario(_: Engine) -> None:
        await pause(seconds)

    return scenario


def test_launches_and_outcomes_are_counted(harness: EngineHarness) -> None:
    harness.create(cron="1,2 8 * * *")
    harness.plan = lambda launch: (
        0.0,
        Completed() if launch.run_at.minute == 1 else Completed(RunState.FAILED, error="no"),
    )
    engine = run_engine(harness, passing(120))
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


def test_lateness_of_a_launch_is_measured(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")

    async def begin_late() -> None:
        await pause(50)
        await engine.start()
        await pause(10)

    engine = harness.engine()
    harness.run(begin_late)
    assert number(engine, "tompion_drift_seconds_sum") == pytest.approx(20, abs=0.5)
    assert number(engine, "tompion_lateness_seconds_sum", namespace="default") == pytest.approx(20, abs=0.5)
    assert number(engine, "tompion_lateness_seconds_bucket", namespace="default", le="10.0") == 0
    assert number(engine, "tompion_lateness_seconds_bucket", namespace="default", le="30.0") == 1
    assert number(engine, "tompion_queue_wait_seconds_sum", namespace="default") == pytest.approx(0, abs=0.5)


def test_queue_wait_is_measured(harness: EngineHarness) -> None:
    harness.create(cron="1,2 8 * * *", overlap_policy="queue")
    harness.plan = lambda launch: (100.0 if launch.run_at.minute == 1 else 0.0, Completed())
    engine = run_engine(harness, passing(200))
    assert number(engine, "tompion_queue_wait_seconds_sum", namespace="default") == pytest.approx(40, abs=1)


def test_skipped_run_is_counted_by_reason(harness: EngineHarness) -> None:
    harness.create(cron="1,2 8 * * *", overlap_policy="skip")
    harness.plan = lambda _: (100.0, Completed())
    engine = run_engine(harness, passing(150))
    assert number(engine, "tompion_runs_skipped_overlap_total") == 1
    assert number(engine, "tompion_runs_skipped_total", namespace="default", reason="overlap") == 1
    assert number(engine, "tompion_schedules_skipped_total") == 1
    (event,) = [event for event in harness.events if event.kind == "skipped"]
    assert (event.reason, event.status, event.schedule_id, event.namespace) == (
        "overlap",
        "SKIPPED",
        "report",
        "default",
    )


@pytest.mark.parametrize("overlap", ["buffer_one", "terminate_other", "cancel_other"])
def test_superseded_run_is_counted(harness: EngineHarness, overlap: str) -> None:
    harness.create(cron="1,2,3 8 * * *", overlap_policy=overlap)
    harness.plan = lambda _: (150.0, Completed())
    engine = run_engine(harness, passing(170))
    if overlap == "buffer_one":
        assert number(engine, "tompion_runs_skipped_total", namespace="default", reason="superseded") == 1
    else:
        state = "TERMINATED" if overlap == "terminate_other" else "CANCELLED"
        assert number(engine, "tompion_runs_finished_total", namespace="default", state=state) == 2


@pytest.mark.parametrize(("window", "reason"), [(None, "missed"), ("1m", "outside_window")])
def test_missed_ticks_are_counted_one_by_one(harness: EngineHarness, window: str | None, reason: str) -> None:
    policy = "none" if window is None else "all"
    harness.create(
        cron="1,2,3 8 * * *", catchup_policy=policy, **({} if window is None else {"catchup_window": window})
    )
    engine = harness.engine()

    async def begin_late() -> None:
        await pause(400)
        await engine.start()
        await pause(10)

    harness.run(begin_late)
    assert number(engine, "tompion_ticks_missed_total", namespace="default", reason=reason) == 3
    assert number(engine, "tompion_missed_catchup_window_total") == (3 if window else 0)
    (event,) = [event for event in harness.events if event.kind == "missed"]
    assert (event.reason, event.ticks, event.text) == (reason, 3, f"3 ticks: {reason}")


def test_ticks_without_a_free_slot_are_skipped_and_not_missed(harness: EngineHarness) -> None:
    """Regression: after an outage the first ticks took every slot, and the others counted as missed."""
    harness.create(cron="* 1-4 8 * * *", catchup_policy="all")
    harness.plan = lambda _: (3_600.0, Completed())
    engine = harness.engine()

    async def begin_late() -> None:
        await pause(400)
        await engine.start()
        await pause(10)

    harness.run(begin_late)
    assert number(engine, "tompion_ticks_missed_total", namespace="default", reason="overlap") is None
    assert number(engine, "tompion_runs_skipped_total", namespace="default", reason="overlap") == 239
    assert number(engine, "tompion_runs_skipped_overlap_total") == 239
    assert [event.kind for event in harness.events if event.ticks] == ["skipped"]


def test_failed_launch_is_counted(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")

    def refuse(_: RunContext) -> tuple[float, Completed]:
        raise LaunchError("no such function")

    harness.plan = refuse
    assert number(run_engine(harness, passing(40)), "tompion_runs_failed_launch_total") == 1


def test_launch_that_does_not_reach_its_target_is_counted(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")

    def fail(_: RunContext) -> tuple[float, Completed]:
        raise TargetUnreachable("cannot reach it")

    harness.plan = fail
    engine = run_engine(harness, passing(30.5))
    assert number(engine, "tompion_launches_postponed_total") == 1
    assert number(engine, "tompion_targets_unreachable") == 1
    assert number(engine, "tompion_runs_failed_launch_total") == 0
    assert number(engine, "tompion_runs_retried_total", namespace="default") is None


def test_retry_is_counted(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *", max_attempts=2)
    harness.plan = lambda _: (0.0, Completed(RunState.FAILED, error="no luck"))
    engine = run_engine(harness, passing(60))
    assert number(engine, "tompion_runs_retried_total", namespace="default") == 1
    assert number(engine, "tompion_runs_finished_total", namespace="default", state="FAILED") == 1
    assert number(engine, "tompion_duplicate_executions_total") == 0


def test_rescued_run_is_counted(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")
    harness.plan = lambda _: (20.0, Completed())
    second = harness.engine()

    async def scenario() -> None:
        first = harness.engine()
        await first.start()
        await pause(31)
        await kill(first)
        await second.start()
        await pause(200)

    harness.run(scenario)
    assert number(second, "tompion_lock_expired_total") == 1
    assert number(second, "tompion_duplicate_executions_total") == 1


def test_zombie_run_is_counted(harness: EngineHarness) -> None:
    """Its worker has died, and no other instance serves its queue."""
    harness.create(cron="1 8 * * *", queue="rare")
    harness.plan = lambda _: (20.0, Completed())
    other = harness.engine(Settings(sweep_ms=60_000))

    async def scenario() -> None:
        first = harness.engine(queues=frozenset({"rare"}))
        await first.start()
        await pause(31)
        await kill(first)
        await other.start()
        await pause(1_000)

    harness.run(scenario)
    assert number(other, "tompion_zombies_cleaned_total") == 1
    assert harness.states() == ["08:01 FAILED zombie"]
    assert [event.reason for event in harness.events if event.kind == "ended"] == ["zombie"]


def test_lost_lease_is_counted(harness: EngineHarness) -> None:
    """Its outcome of a run that another instance has claimed meanwhile is stale."""
    harness.create(cron="1 8 * * *")
    harness.plan = lambda launch: (200.0 if launch.attempt == 1 else 1.0, Completed())
    cut_off = harness.engine()

    async def silence() -> int:
        return 1

    async def scenario() -> None:
        await cut_off.start()
        await pause(31)
        cut_off.lease.renew = silence  # type: ignore[method-assign]  # it is cut off
        await harness.engine().start()
        await pause(150)
        harness.create("other", cron="* * * * *")
        await pause(60)

    harness.run(scenario)
    assert number(cut_off, "tompion_leases_lost_total") == 1


def test_blocked_event_loop_is_counted(harness: EngineHarness) -> None:
    engine = harness.engine()
    watchdog = LoopWatchdog(engine.context, engine.lease)
    watchdog._answered.set()  # the loop answers as soon as it was found blocked
    watchdog._keep_lease()
    assert number(engine, "tompion_event_loop_blocked_total") == 1


def test_dead_process_is_counted(harness: EngineHarness) -> None:
    store = PresenceStore(harness)
    dead, engine = harness.engine(store=store), harness.engine(store=store)

    async def scenario() -> None:
        await dead.start()
        await kill(dead)
        store.absent.add(dead.context.number)
        await engine.start()
        await pause(5)

    harness.run(scenario)
    assert number(engine, "tompion_instances_found_dead_total") == 1


def test_launch_after_the_lease_is_counted(harness: EngineHarness) -> None:
    """Its process stood still between the claim and the launch."""
    harness.create(cron="1 8 * * *")
    freezes = iter([InjectedFault(Fault.FREEZE, 150.0)])

    def freeze_at_the_tick(kind: str) -> InjectedFault:
        is_claim = kind == "write" and harness.loop.time() >= 30
        return next(freezes, InjectedFault(Fault.NONE)) if is_claim else InjectedFault(Fault.NONE)

    store = FaultyStore(harness.store, freeze_at_the_tick, lambda: None)
    engine = harness.engine(Settings(heartbeat_ms=28_000, audit_seal_ms=86_400_000), store=store)

    async def scenario() -> None:
        await engine.start()
        await pause(300)

    harness.run(scenario)
    assert number(engine, "tompion_launches_withheld_total") == 1


def test_stale_outcome_is_counted(harness: EngineHarness) -> None:
    """Another instance has claimed the run while its worker hung. The fence rejects the old outcome."""
    harness.create(cron="1 8 * * *")
    harness.plan = lambda _: (0.5, Completed())

    async def scenario(engine: Engine) -> None:
        await pause(30.2)
        assert engine.launcher.active
        higher = "UPDATE schedule_runs SET attempt = attempt + 1"
        harness.store.write(lambda transaction: _execute(transaction, higher)).result()
        await pause(0.5)

    assert number(run_engine(harness, scenario), "tompion_stale_writes_rejected_total") == 1


def _execute(transaction: Transaction, statement: str) -> None:
    transaction._connection.execute(statement)  # type: ignore[attr-defined]  # a change behind the back of the engine


def test_run_that_ignores_its_deadline_is_counted(harness: EngineHarness) -> None:
    harness.create(max_execution_ms=5_000, cron="1 8 * * *")

    async def deaf(dag: Any, run_context: RunContext) -> Completed:
        until = harness.loop.time() + 60
        while harness.loop.time() < until:
            with suppress(asyncio.CancelledError):
                await pause(until - harness.loop.time())
        return Completed()

    harness.executor.run = deaf  # type: ignore[method-assign]  # another function in its place
    engine = run_engine(harness, passing(120))
    assert number(engine, "tompion_runs_given_up_total") == 1
    assert number(engine, "tompion_runs_finished_total", namespace="default", state="TIMED_OUT") == 1


def test_pass_with_a_wrong_clock_is_counted(harness: EngineHarness) -> None:
    harness.create()
    wrong = LoopClock(harness.loop)
    wrong.off = 120.0
    engine = run_engine(harness, passing(10), clock=wrong)
    assert number(engine, "tompion_clock_skew_seconds") == pytest.approx(120, abs=0.1)
    assert (number(engine, "tompion_skewed_passes_total") or 0) > 5


def test_replanned_schedule_is_counted(harness: EngineHarness) -> None:
    harness.create(timezone="Europe/Berlin")
    harness.store.write(lambda transaction: _execute(transaction, "UPDATE schedules SET zones = 'Europe/Berlin:old'"))
    assert number(run_engine(harness, passing(5)), "tompion_schedules_replanned_total") == 1


def test_store_error_and_internal_error_are_counted(harness: EngineHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    faults: list[InjectedFault] = []
    store = FaultyStore(harness.store, lambda _: faults.pop() if faults else InjectedFault(Fault.NONE), lambda: None)
    engine = harness.engine(store=store)

    async def scenario() -> None:
        await engine.start()
        faults.append(InjectedFault(Fault.BEFORE))
        await pause(10)

        def fail(_: Transaction) -> None:
            raise RuntimeError("this was not to happen")

        monkeypatch.setattr(engine.finder, "_read_due_work", fail)
        await pause(5)

    harness.run(scenario)
    assert number(engine, "tompion_store_errors_total") == 1
    assert (number(engine, "tompion_unexpected_errors_total") or 0) >= 1


def test_backlog_gauges_of_the_store(harness: EngineHarness) -> None:
    harness.create("due", cron="1 8 * * *")
    harness.create("paused")
    harness.call(control.pause, "paused")
    harness.create("lost", timezone="Europe/Berlin")
    harness.create("unserved", cron="1 8 * * *", queue="rare")
    harness.call(control.trigger, "unserved")
    gone = "UPDATE schedules SET zones = 'Mars/Olympus:gone' WHERE schedule_id = 'lost'"
    harness.store.write(lambda transaction: _execute(transaction, gone)).result()
    engine = harness.engine()

    async def later() -> None:
        await pause(45)

    harness.run(later)
    assert number(engine, "tompion_schedules_due") == 3  # due, lost and unserved: no engine fires them
    assert number(engine, "tompion_schedules_paused") == 1
    assert number(engine, "tompion_schedules_degraded") == 1
    assert number(engine, "tompion_queue_depth", queue="rare") == 1
    assert number(engine, "tompion_queue_oldest_seconds", queue="rare") == pytest.approx(45, abs=1)
    assert number(engine, "tompion_instances_live") == 0


def test_gauges_of_queued_runs_and_live_instances(harness: EngineHarness) -> None:
    harness.create(cron="1,2 8 * * *", overlap_policy="queue")
    harness.plan = lambda _: (100.0, Completed())
    values: list[float | None] = []

    async def scenario(engine: Engine) -> None:
        await pause(95)
        values.extend(number(engine, f"tompion_{name}") for name in ("runs_waiting", "instances_live", "runs_active"))

    run_engine(harness, scenario)
    assert values == [1, 1, 1]


def test_operations_are_counted_when_they_are_committed(harness: EngineHarness) -> None:
    metrics = Metrics()
    runner = OperationRunner(harness.store, Settings(), metrics)

    def ask(operation: Callable[..., Any], *args: Any, **options: Any) -> Any:
        return runner.send(
            lambda session: operation(session, *args, **options), namespace="default", actor="ann", writes=True
        ).result()

    ask(crud.create, "report", cron="* * * * *", function=FUNCTION)
    for _ in range(2):
        ask(control.trigger, "report", overlap="skip")
    assert metrics.counts_by_label("runs_skipped") == {("default", "overlap"): 1}
    assert metrics.counts["runs_skipped_overlap"] == 1
    ask(control.trigger, "report", overlap="buffer_all")
    ask(crud.delete, "report")
    assert metrics.counts_by_label("runs_skipped")["default", "deleted"] == 1
    assert metrics.counts_by_label("runs_finished") == {("default", "CANCELLED"): 1}


def test_namespaces_beyond_the_limit_share_a_label() -> None:
    metrics = Metrics(2)
    assert [metrics.namespace_label(name) for name in ("a", "b", "c", "a", "d")] == ["a", "b", OTHER, "a", OTHER]


def test_unavailable_store_is_reported_as_down(harness: EngineHarness) -> None:
    engine = harness.engine()
    runner = OperationRunner(
        FaultyStore(harness.store, lambda _: InjectedFault(Fault.BEFORE), lambda: None),
        Settings(),
        engine.events.metrics,
    )
    registry = MetricsExporter(runner, {}, clock=harness.clock).registry
    assert registry.get_sample_value("tompion_store_up") == 0
    assert registry.get_sample_value("tompion_schedules_due") is None


def test_scrapes_share_one_query_of_the_store(harness: EngineHarness) -> None:
    calls: list[str] = []

    def count(kind: str) -> InjectedFault:
        calls.append(kind)
        return InjectedFault(Fault.NONE)

    metrics = MetricsExporter(
        OperationRunner(FaultyStore(harness.store, count, lambda: None), Settings()), {}, clock=harness.clock
    )
    for seconds in (0, 5, 4.9, 0.2):
        harness.loop.run_until_complete(pause(seconds))
        metrics.text()
    assert calls == ["read", "read"]


def test_every_metric_has_a_test_in_this_file() -> None:
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
