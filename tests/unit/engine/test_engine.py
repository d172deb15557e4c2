"""A real engine in virtual time, on SQLite: how its loops work together."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from tests.support.rows import run
from tests.unit.engine.harness import BEGIN, EngineHarness, LoopClock
from tompion.config.settings import Settings
from tompion.errors import LaunchError
from tompion.executors.base import Completed, RunContext
from tompion.model.run import RunState
from tompion.operations.compat import service_routes
from tompion.operations.resources import workflows
from tompion.operations.runs import read
from tompion.operations.schedules import backfills, control, crud
from tompion.runtime.clock import pause
from tompion.store.base import FAR_S


def test_ticks_start_on_the_second(harness: EngineHarness) -> None:
    harness.create()

    async def scenario() -> None:
        await harness.engine().start()
        await pause(200)

    harness.run(scenario)
    assert harness.states() == ["08:01 SUCCESS", "08:02 SUCCESS", "08:03 SUCCESS"]
    assert harness.launched_at() == pytest.approx([30, 90, 150], abs=0.01)


@pytest.mark.parametrize("lease_s", [60, 120])
def test_long_run_stays_with_its_worker(harness: EngineHarness, lease_s: int) -> None:
    """A run of ten minutes, a lease of one or two, and a second engine that could claim it."""
    harness.create(cron="1 8 * * *")
    harness.plan = lambda _: (600.0, Completed())
    settings = Settings(lock_ttl_ms=lease_s * 1000, heartbeat_ms=30_000)

    async def scenario() -> None:
        await harness.engine(settings).start()
        await harness.engine(settings).start()
        await pause(700)

    harness.run(scenario)
    (execution,) = harness.executor.executions
    assert execution.launch.attempt == 1
    assert harness.states() == ["08:01 SUCCESS"]


def test_instance_registers_again_after_its_lease_expired(harness: EngineHarness) -> None:
    """Another instance claims its runs. It drops them and continues under a new number."""
    harness.create(cron="1,6 8 * * *")
    harness.plan = lambda launch: (
        200.0 if launch.attempt == 1 and launch.run_at.minute == 1 else 1.0,
        Completed(),
    )

    async def silence() -> int:
        return 1

    async def scenario() -> None:
        cut_off = harness.engine()
        await cut_off.start()
        number = cut_off.context.number
        await pause(31)
        cut_off.lease.renew = silence  # type: ignore[method-assign]  # it is cut off
        assert cut_off.launcher.active
        successor = harness.engine()
        await successor.start()
        await pause(60)
        assert cut_off.launcher.active
        await pause(60)
        await successor.stop()  # otherwise either engine could fire next
        harness.create("other", cron="* * * * *")
        await pause(60)
        assert cut_off.context.number > number + 1
        assert not cut_off.launcher.active
        del cut_off.lease.renew  # it is connected again
        await pause(200)

    harness.run(scenario)
    assert harness.states() == ["08:01 SUCCESS", "08:06 SUCCESS"]
    first, second = [execution for execution in harness.executor.executions if execution.launch.run_at.minute == 1][:2]
    assert (first.launch.attempt, second.launch.attempt) == (1, 2)
    assert first.launch.idempotency_key == second.launch.idempotency_key
    assert 149 <= second.at - BEGIN <= 151
    assert any("registers again" in str(event) for event in harness.events)


def test_active_run_is_marked_as_started(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")
    harness.plan = lambda _: (600.0, Completed())

    async def scenario() -> None:
        await harness.engine().start()
        await pause(32)
        assert harness.states() == ["08:01 STARTED"]

    harness.run(scenario)


def test_run_times_out_after_max_execution_ms(harness: EngineHarness) -> None:
    harness.create(max_execution_ms=5_000, overlap_policy="allow")
    harness.plan = lambda _: (600.0, Completed())

    async def scenario() -> None:
        await harness.engine().start()
        await pause(40)

    harness.run(scenario)
    assert harness.states() == ["08:01 TIMED_OUT"]
    assert "max_execution_ms (5000)" in harness.call(read.runs, "report").items[0].error


def test_function_that_suppresses_its_cancellation_times_out(harness: EngineHarness) -> None:
    harness.create(max_execution_ms=5_000, overlap_policy="allow")

    async def stubborn(dag: Any, run_context: RunContext) -> Completed:
        try:
            await pause(600)
        except asyncio.CancelledError:
            await pause(1)
        return Completed(result='"done"')

    harness.executor.run = stubborn  # type: ignore[method-assign]  # another function in its place

    async def scenario() -> None:
        await harness.engine().start()
        await pause(40)

    harness.run(scenario)
    assert harness.states() == ["08:01 TIMED_OUT"]


def test_function_that_ignores_its_deadline_is_given_up(harness: EngineHarness) -> None:
    """Its slot is free seconds after the deadline. Its result of an hour later changes nothing."""
    harness.create(max_execution_ms=5_000, overlap_policy="skip", cron="1,2 8 * * *")
    ended: list[str] = []

    async def deaf(dag: Any, run_context: RunContext) -> Completed:
        until = harness.loop.time() + (90 if run_context.run_at.minute == 1 else 1)
        while harness.loop.time() < until:
            with suppress(asyncio.CancelledError):
                await pause(until - harness.loop.time())
        ended.append(f"{run_context.run_at:%H:%M}")
        return Completed()

    harness.executor.run = deaf  # type: ignore[method-assign]  # another function in its place
    engine = harness.engine()

    async def scenario() -> None:
        await engine.start()
        await pause(45)
        assert harness.states() == ["08:01 TIMED_OUT"]
        assert ended == []
        await pause(90)

    harness.run(scenario)
    assert ended == ["08:02", "08:01"]
    assert harness.states() == ["08:01 TIMED_OUT", "08:02 SUCCESS"]
    assert (engine.events.counts["runs_given_up"], engine.events.counts["stale_writes_rejected"]) == (1, 0)


def test_failed_launch_is_tried_three_times(harness: EngineHarness) -> None:
    harness.create()

    def refuse(_: RunContext) -> tuple[float, Completed]:
        raise LaunchError("no such function")

    harness.plan = refuse

    async def scenario() -> None:
        await harness.engine().start()
        await pause(50)

    harness.run(scenario)
    assert harness.states() == ["08:01 FAILED launch_failed"]
    assert harness.launched_at() == pytest.approx([30, 30.1, 30.3], abs=0.01)


def test_run_of_a_missing_workflow_fails(harness: EngineHarness) -> None:
    harness.call(service_routes.upsert_schedule, "report", cron="* * * * *", workflow_id="nothing")
    harness.call(workflows.put_workflow, "strange", {"executor": "teleport"})
    harness.call(crud.create, "other", cron="* * * * *", workflow_id="strange")

    async def scenario() -> None:
        await harness.engine().start()
        await pause(50)

    harness.run(scenario)
    assert harness.states() == harness.states("other") == ["08:01 FAILED launch_failed"]
    assert "there is no workflow 'nothing'" in harness.call(read.runs, "report").items[0].error
    assert "no executor 'teleport'" in harness.call(read.runs, "other").items[0].error


def test_run_fails_and_the_engine_continues_when_an_executor_raises(harness: EngineHarness) -> None:
    """It may raise anything, with any message."""
    harness.create(cron="1-2 8 * * *")
    plans: dict[str, tuple[float, Completed]] = {}
    harness.plan = lambda launch: plans[f"odd \x00 \udc80 {launch.attempt}"]

    async def scenario() -> None:
        await harness.engine().start()
        await pause(100)

    harness.run(scenario)
    assert harness.states() == ["08:01 FAILED", "08:02 FAILED"]
    error = harness.call(read.runs, "report").items[0].error
    assert "\x00" not in error
    assert error.startswith("KeyError")


def test_cancel_other_cancels_the_active_run(harness: EngineHarness) -> None:
    harness.create(overlap_policy="cancel_other", cron="1-2 8 * * *")
    harness.plan = lambda launch: (600.0 if launch.run_at.minute == 1 else 1.0, Completed())

    async def scenario() -> None:
        await harness.engine().start()
        await pause(100)

    harness.run(scenario)
    assert harness.states() == ["08:01 CANCELLED cancel_requested", "08:02 SUCCESS"]


def test_terminating_trigger_ends_a_run_of_another_engine(harness: EngineHarness) -> None:
    """The engine that executes the run ends it within a second, and its outcome is not written."""
    harness.create(cron="1 8 * * *")
    harness.plan = lambda launch: (600.0 if launch.source == "schedule" else 1.0, Completed())

    async def scenario() -> None:
        engine = harness.engine()
        await engine.start()
        await pause(40)
        harness.call(control.trigger, "report", overlap="terminate_other")
        await pause(3)
        assert len(engine.launcher.active) == 0

    harness.run(scenario)
    assert sorted(state.split()[1] for state in harness.states()) == ["SUCCESS", "TERMINATED"]


def test_catch_up_obeys_its_rate_and_does_not_delay_on_time_ticks(harness: EngineHarness) -> None:
    """Twenty schedules have missed an hour. Ten starts per second are allowed, and the minute is still on time."""
    for number in range(20):
        harness.create(f"late-{number}", catchup_policy="fire_immediately", overlap_policy="allow")
    harness.loop.pass_time(3_600)
    harness.create("fresh")
    started: dict[str, float] = {}

    async def scenario() -> None:
        await harness.engine(Settings(catchup_rate_per_s=10)).start()
        await pause(45)
        started.update({execution.launch.schedule_id: execution.at for execution in harness.executor.executions})

    harness.run(scenario)
    assert started["fresh"] == pytest.approx(BEGIN + 3_630, abs=0.05)
    caught_up = [execution.at for execution in harness.executor.executions if execution.launch.schedule_id != "fresh"]
    missed = [at for at in caught_up if at < BEGIN + 3_629]
    assert 10 * 28 <= len(missed) <= 10 * 31
    for second in range(3_600, 3_629):
        within = [at for at in missed if BEGIN + second + 1 <= at < BEGIN + second + 2]
        assert len(within) <= 12


def test_engine_with_a_wrong_clock_fires_nothing(harness: EngineHarness) -> None:
    """The host's clock differs from the database's by two minutes. The engine warns and waits for the correction."""
    harness.create()
    wrong = LoopClock(harness.loop)
    wrong.off = 120.0

    async def scenario() -> None:
        await harness.engine(clock=wrong).start()
        await pause(40)
        assert harness.executor.executions == []
        wrong.off = 0.0
        await pause(10)

    harness.run(scenario)
    assert harness.states() == ["08:01 SUCCESS"]
    assert any("differs from the database's" in event.text for event in harness.events)


def test_queued_backfill_does_not_wait_between_its_runs(harness: EngineHarness) -> None:
    harness.create(cron="0 * * * *")
    harness.call(backfills.backfill, "report", BEGIN - 86_400 * 2, BEGIN - 3_600)

    async def scenario() -> None:
        await harness.engine().start()
        await pause(10)

    harness.run(scenario)
    assert len(harness.executor.executions) == 47
    assert harness.call(backfills.backfills, "report")[0].status == "DONE"


def test_cancel_other_ends_a_run_that_waits_for_its_retry(harness: EngineHarness) -> None:
    """No instance executes it, so its slot is free at once."""
    harness.create(overlap_policy="cancel_other", max_attempts=3, retry_delay_ms=3_600_000, cron="1,2 8 * * *")
    harness.plan = lambda launch: (
        0.0,
        Completed(RunState.FAILED if launch.run_at.minute == 1 else RunState.SUCCESS),
    )

    async def scenario() -> None:
        await harness.engine().start()
        await pause(91)

    harness.run(scenario)
    assert harness.states() == ["08:01 CANCELLED superseded", "08:02 SUCCESS"]
    assert harness.call(crud.get, "report").in_flight == 0
    assert harness.launched_at()[1] < 90.5


def test_nothing_is_retried_after_a_delete(harness: EngineHarness) -> None:
    harness.create(max_attempts=3, retry_delay_ms=30_000, cron="1 8 * * *")
    harness.plan = lambda _: (0.0, Completed(RunState.FAILED))

    async def scenario() -> None:
        await harness.engine().start()
        await pause(40)
        assert harness.call(crud.delete, "report").in_flight == 0
        await pause(120)

    harness.run(scenario)
    assert len(harness.executor.executions) == 1
    assert harness.states() == ["08:01 CANCELLED deleted"]


def test_started_run_is_retried_during_a_pause(harness: EngineHarness) -> None:
    """A pause stops ticks. A run that has started is completed."""
    harness.create(max_attempts=3, retry_delay_ms=30_000)
    harness.plan = lambda launch: (0.0, Completed(RunState.SUCCESS if launch.attempt == 2 else RunState.FAILED))

    async def scenario() -> None:
        await harness.engine().start()
        await pause(40)
        harness.call(control.pause, "report")
        await pause(120)

    harness.run(scenario)
    assert harness.states() == ["08:01 SUCCESS"]


def test_sweep_deletes_old_runs_behind_a_batch_of_open_ones(harness: EngineHarness) -> None:
    """More old runs than one batch are still open. They do not protect later ones from expiry."""
    harness.create(cron="1 8 * * *")
    still_open = [run(2, at, decided_ms=at, due_ms=None) for at in range(1, 1_501)]
    over = [run(2, at, decided_ms=at, due_ms=None, state="SUCCESS", finished_ms=at) for at in range(1_501, 4_000)]
    harness.store.write(lambda t: t.run_insert([*still_open, *over])).result()

    async def scenario() -> None:
        await harness.engine().start()
        await pause(1)

    harness.run(scenario)
    rows = harness.store.read(lambda t: t.run_list_page(2, (FAR_S, 0), 10_000)).result()
    assert [row.nominal_s for row in rows] == list(range(1_500, 0, -1))


def test_events_of_a_run_are_in_order(harness: EngineHarness) -> None:
    harness.create(pause_on_failure=True)
    harness.plan = lambda _: (0.0, Completed(RunState.FAILED, error="no luck\nline 2"))

    async def scenario() -> None:
        await harness.engine().start()
        await pause(40)

    harness.run(scenario)
    kinds = [(event.kind, event.schedule_id) for event in harness.events]
    assert kinds == [("launched", "report"), ("ended", "report"), ("paused", "report")]
    assert harness.events[1].text == "FAILED: no luck"


def test_failed_run_is_retried_after_its_delay(harness: EngineHarness) -> None:
    """Regression: its old owner renewed a lease that no instance had, so the run was never retried."""
    harness.create(cron="1 8 * * *", max_attempts=3, retry_delay_ms=5_000)
    harness.plan = lambda launch: (
        0.0,
        Completed() if launch.attempt == 3 else Completed(RunState.FAILED, error="not yet"),
    )

    async def scenario() -> None:
        await harness.engine().start()
        await pause(60)

    harness.run(scenario)
    assert harness.states() == ["08:01 SUCCESS"]
    assert [execution.launch.attempt for execution in harness.executor.executions] == [1, 2, 3]
    assert len({execution.launch.idempotency_key for execution in harness.executor.executions}) == 1
    first, second, third = (execution.at for execution in harness.executor.executions)
    assert 5 <= second - first < 6
    assert 10 <= third - second < 11


def test_failing_listener_does_not_stop_the_engine(harness: EngineHarness, caplog: pytest.LogCaptureFixture) -> None:
    harness.create()
    harness.plan = lambda _: (0.0, Completed(RunState.FAILED, error=""))

    async def scenario() -> None:
        engine = harness.engine()
        engine.events.listener = lambda event: print(event.missing)  # type: ignore[attr-defined]  # noqa: T201 - it fails
        await engine.start()
        await pause(100)
        assert engine.events.counts["unexpected_errors"] == 0

    harness.run(scenario)
    assert harness.states() == ["08:01 FAILED", "08:02 FAILED"]
    assert "the listener failed" in caplog.text


def test_error_without_a_message_is_stored(harness: EngineHarness) -> None:
    harness.create(pause_on_failure=True)
    harness.plan = lambda _: (0.0, Completed(RunState.FAILED, error=""))

    async def scenario() -> None:
        engine = harness.engine()
        await engine.start()
        await pause(40)
        assert engine.events.counts["unexpected_errors"] == 0

    harness.run(scenario)
    assert [event.text for event in harness.events][1:] == ["FAILED", "paused after a failed run (FAILED): no message"]
