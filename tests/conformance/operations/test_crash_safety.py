"""Crashes, overlaps, leases and retries: cases where simple designs lose or repeat runs."""

from __future__ import annotations

import pytest

from tests.support.operations import Bench, held_of, when
from tompion.config.settings import Settings
from tompion.model.run import RunState
from tompion.operations.resources import targets, workflows
from tompion.operations.schedules import control, crud, history
from tompion.plan.outcome import Outcome


def test_a_crash_between_recording_and_launching_loses_nothing(bench: Bench) -> None:
    """A worker records the run and dies before the launch.

    Another worker launches it with the same key after the lease.
    """
    bench.create()
    dead, other = bench.worker(), bench.worker()
    bench.go("08:01")
    assert dead.tick() == ["08:01"]
    key = dead.launch().idempotency_key
    bench.go("08:02:59.999")
    assert other.rescue().launches == []
    bench.go("08:03")
    assert len(other.rescue().launches) == 1
    assert (other.launch().idempotency_key, other.launch().attempt) == (key, 2)
    assert bench.runs()[0].idempotency_key == key


def test_a_triggered_run_is_launched_by_a_worker(bench: Bench) -> None:
    """A trigger does not launch: it records a run without an owner, and the first worker claims it."""
    bench.create()
    run = bench.trigger(request_id="r1")
    worker = bench.worker()
    assert len(worker.rescue().launches) == 1
    assert (worker.launch().idempotency_key, worker.launch().attempt, worker.launch().source) == (
        run.idempotency_key,
        1,
        "trigger",
    )


def test_queue_loses_no_tick(bench: Bench) -> None:
    """Three ticks fire during a run. Each starts, in order, in the transaction that frees the slot."""
    bench.create(overlap_policy="queue")
    worker = bench.worker()
    for minute in ("08:01", "08:02", "08:03", "08:04"):
        bench.go(minute)
        worker.tick()
    assert bench.outcomes() == ["08:01 ENQUEUED", "08:02 BUFFERED", "08:03 BUFFERED", "08:04 BUFFERED"]
    for waiting in (2, 1, 0):
        assert len(worker.settle().launches) == 1
        assert bench.state().waiting == waiting
    worker.settle()
    assert bench.outcomes() == [f"08:0{minute} SUCCESS" for minute in (1, 2, 3, 4)]


def test_a_tick_beyond_the_buffer_is_skipped_as_buffer_full(bench: Bench) -> None:
    """The tick after a full buffer is recorded as skipped, with the reason."""
    bench.settings = Settings(max_buffer=1)
    bench.create(overlap_policy="queue")
    worker = bench.worker()
    for minute in ("08:01", "08:02", "08:03"):
        bench.go(minute)
        worker.tick()
    assert bench.outcomes() == ["08:01 ENQUEUED", "08:02 BUFFERED", "08:03 SKIPPED buffer_full"]


def test_overlap_is_decided_when_the_tick_fires(bench: Bench) -> None:
    """The previous run ends just before the next tick. An earlier decision would have skipped the tick."""
    bench.create()
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    bench.go("08:01:59.999")
    assert worker.tick() == []
    worker.settle()
    bench.go("08:02")
    assert worker.tick() == ["08:02"]
    bench.go("08:03")
    assert worker.tick() == []
    assert bench.outcomes() == ["08:01 SUCCESS", "08:02 ENQUEUED", "08:03 SKIPPED overlap"]


@pytest.mark.parametrize(
    ("keep", "outcomes"),
    [
        ("latest", ["08:01 ENQUEUED", "08:02 SKIPPED superseded", "08:03 BUFFERED"]),
        ("first", ["08:01 ENQUEUED", "08:02 BUFFERED", "08:03 SKIPPED superseded"]),
    ],
)
def test_buffer_one_keeps_one(bench: Bench, keep: str, outcomes: list[str]) -> None:
    """Two ticks fire during a run: one of them is buffered, and the other is recorded as skipped."""
    bench.create(overlap_policy="buffer_one", buffer_keep=keep)
    worker = bench.worker()
    for minute in ("08:01", "08:02", "08:03"):
        bench.go(minute)
        worker.tick()
    assert bench.outcomes() == outcomes


def test_a_policy_change_starts_buffered_ticks(bench: Bench) -> None:
    """Two ticks are buffered. The policy becomes ``allow``, and the next pass starts them beside the running one."""
    bench.create(overlap_policy="queue")
    worker = bench.worker()
    for minute in ("08:01", "08:02", "08:03"):
        bench.go(minute)
        worker.tick()
    bench.ask(crud.patch, "report", overlap_policy="allow")
    bench.go("08:04")
    assert worker.tick() == ["08:02", "08:03", "08:04"]


def test_one_of_two_workers_claims_a_run(bench: Bench) -> None:
    """Two workers see the same run without an owner. One claims it."""
    bench.create()
    bench.trigger()
    one, two = bench.worker(), bench.worker()
    assert [len(one.rescue().launches), len(two.rescue().launches)] == [1, 0]
    assert bench.runs()[0].attempt == 1


def test_two_workers_fire_a_tick_once(bench: Bench) -> None:
    """Two workers evaluate the same minute: the tick is recorded and launched once."""
    bench.create(overlap_policy="allow")
    one, two = bench.worker(), bench.worker()
    bench.go("08:01")
    assert one.tick() + two.tick() == ["08:01"]


def test_a_stale_outcome_is_fenced_and_counted(bench: Bench) -> None:
    """A worker outlives its lease and reports a result.

    Another worker owns the run, and the stale result is counted.
    """
    bench.create()
    sleeper, other = bench.worker(), bench.worker()
    bench.go("08:01")
    sleeper.tick()
    bench.go("08:03:01")
    other.rescue()
    before = bench.dump()
    stale = sleeper.take()
    settled = sleeper.settle(row=stale, error="late", result='"late"')
    assert (settled.accepted, settled.stale) == (set(), 1)
    assert not sleeper.beat()
    assert bench.write(lambda t: t.run_hand_back([held_of(stale)], 1)) == set()
    assert bench.write(lambda t: t.run_mark_started([held_of(stale)], 1)) == set()
    after = bench.dump()
    assert after == before
    assert other.settle().stale == 0
    assert bench.outcomes()[0] == "08:01 SUCCESS"


def test_a_second_outcome_changes_nothing(bench: Bench) -> None:
    """The answer to a commit was lost, so the outcome is written again. The first one stands."""
    bench.create()
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    row = worker.take()
    worker.settle(row=row)
    assert worker.settle(RunState.FAILED, row).stale == 1
    assert bench.outcomes() == ["08:01 SUCCESS"]
    assert bench.get().counters.failures == 0


def test_a_long_run_is_not_taken_from_a_live_worker(bench: Bench) -> None:
    """A run takes an hour. Its worker renews the lease every thirty seconds and keeps the run."""
    bench.create(cron="0 * * * *")
    worker, other = bench.worker(), bench.worker()
    bench.go("09:00")
    assert other.beat()
    worker.tick()
    for minute in range(59):
        bench.go(f"09:{minute:02}:30")
        assert worker.beat()
        assert other.beat()
        assert other.rescue().claimed == 0
        other.sweep()
    worker.settle()
    assert bench.outcomes() == ["09:00 SUCCESS"]
    assert bench.runs()[0].attempt == 1


def test_an_unclaimed_run_becomes_a_zombie(bench: Bench) -> None:
    """Its worker died and no instance serves the queue. After ten minutes it has failed, and the slot is free."""
    bench.create(queue="gpu", cron="0 * * * *")
    dead, other = bench.worker("gpu"), bench.worker()
    bench.go("09:00")
    assert other.beat()
    dead.tick()
    bench.go("09:01:59.999")
    assert (other.rescue().claimed, bench.get().in_flight) == (0, 1)
    bench.go("09:02")
    assert other.rescue().claimed == 0
    bench.go("09:11:59.999")
    other.sweep()
    assert bench.outcomes() == ["09:00 ENQUEUED"]
    bench.go("09:12")
    other.sweep()
    assert bench.outcomes() == ["09:00 FAILED zombie"]
    assert "no heartbeat from its worker" in (bench.runs()[0].error or "")
    assert bench.get().in_flight == 0


def test_an_instance_leaves_the_run_to_one_that_serves_its_queue(bench: Bench) -> None:
    """It decides the tick and leaves the run to an instance that serves its queue."""
    bench.create(queue="gpu")
    cpu, gpu = bench.worker("cpu"), bench.worker("gpu")
    bench.go("08:01")
    assert cpu.tick() == []
    assert bench.outcomes() == ["08:01 ENQUEUED"]
    assert cpu.rescue().claimed == 0
    assert gpu.tick() == ["08:01"]
    assert gpu.launch().attempt == 1


def test_retries_keep_the_key_and_hold_the_slot(bench: Bench) -> None:
    """Two failures with a doubling delay, then a success: one run, one key, and no other tick in between."""
    bench.create(max_attempts=3, retry_delay_ms=40_000)
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    keys = [worker.launch().idempotency_key]
    worker.settle(RunState.FAILED, error="no luck")
    assert bench.outcomes() == ["08:01 ENQUEUED retry"]
    bench.go("08:01:39.999")
    assert worker.tick() == []
    bench.go("08:01:40")
    assert worker.tick() == ["08:01"]
    keys.append(worker.launch().idempotency_key)
    worker.settle(RunState.FAILED, error="no luck")
    bench.go("08:02")
    assert worker.tick() == []
    assert bench.outcomes()[1] == "08:02 SKIPPED overlap"
    bench.go("08:03")
    assert worker.tick() == ["08:01"]
    keys.append(worker.launch().idempotency_key)
    worker.settle()
    assert len(set(keys)) == 1
    first = bench.runs()[0]
    assert (first.status, first.attempt) == ("SUCCESS", 3)
    assert bench.get().counters.failures == 0


def test_the_last_failed_attempt_fails_the_run(bench: Bench) -> None:
    """Two attempts are allowed. The second failure fails the run."""
    bench.create(max_attempts=2, retry_delay_ms=0)
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    worker.settle(RunState.FAILED, error="first")
    worker.tick()
    worker.settle(RunState.FAILED, error="second")
    run = bench.runs()[0]
    assert (run.status, run.error, run.attempt) == ("FAILED", "second", 2)
    assert bench.get().consecutive_failures == 1


@pytest.mark.parametrize("state", [RunState.FAILED, RunState.TIMED_OUT])
def test_pause_on_failure(bench: Bench, state: RunState) -> None:
    """A final failure pauses the schedule, with a note, a new token and an audit row."""
    created = bench.create(pause_on_failure=True, max_attempts=2, retry_delay_ms=0)
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    worker.settle(state, error="broken\nat line 3")
    assert bench.get().status == "active"
    worker.tick()
    worker.settle(state, error="broken\nat line 3")
    schedule = bench.get()
    assert (schedule.status, schedule.paused_by, schedule.conflict_token) == (
        "paused",
        "tompion",
        created.conflict_token + 1,
    )
    assert schedule.note == f"paused after a failed run ({state}): broken"
    bench.go("08:02")
    assert worker.tick() == []
    change = bench.ask(history.history, "report").items[0]
    assert (change.actor, change.operation, change.after["status"]) == ("tompion", "pause", "paused")
    bench.resume()
    assert worker.tick() == ["08:02"]


def test_terminate_other(bench: Bench) -> None:
    """The next tick terminates the run and starts. A later report of the old run is stale."""
    bench.create(overlap_policy="terminate_other")
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    old = worker.take()
    bench.go("08:02")
    assert worker.tick() == ["08:02"]
    assert [row.id for row in worker.to_end] == [old.id]
    assert bench.outcomes() == ["08:01 TERMINATED superseded", "08:02 ENQUEUED"]
    assert worker.settle(row=old).stale == 1
    assert bench.get().in_flight == 1


def test_cancel_other(bench: Bench) -> None:
    """The next tick requests a cancel and waits for the run. A third tick replaces the waiting one."""
    bench.create(overlap_policy="cancel_other")
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    old = worker.launched[0][0]
    for minute in ("08:02", "08:03"):
        bench.go(minute)
        assert worker.tick() == []
    assert old.id in {row.id for row in worker.to_end}
    assert bench.read(lambda t: t.run_check_held([held_of(old)])) == {old.id: True}
    assert len(worker.settle(RunState.CANCELLED).launches) == 1
    assert bench.outcomes() == ["08:01 CANCELLED", "08:02 SKIPPED superseded", "08:03 ENQUEUED"]


def test_ticks_of_a_paused_queue_are_buffered(bench: Bench) -> None:
    """They are recorded and wait. After the resume they start one after another."""
    bench.create()
    bench.create("other", queue="other")
    worker = bench.worker("default", "other")
    bench.ask(targets.pause_target, queue="default", note="maintenance")
    for minute in ("08:01", "08:02"):
        bench.go(minute)
        worker.tick()
        worker.settle()
    assert bench.outcomes() == ["08:01 BUFFERED target_paused", "08:02 BUFFERED target_paused"]
    assert bench.outcomes("other") == ["08:01 SUCCESS", "08:02 SUCCESS"]
    assert bench.ask(targets.resume_target, queue="default")
    bench.go("08:02:10")
    assert worker.tick() == ["08:01"]
    worker.settle()
    assert bench.outcomes()[1].startswith("08:02 ENQUEUED")
    worker.settle()
    bench.go("08:03")
    assert worker.tick() == ["08:03", "08:03"]


def test_triggers_of_a_paused_workflow_are_buffered(bench: Bench) -> None:
    """Triggers wait as ticks do, and start after the resume."""
    bench.ask(workflows.put_workflow, "etl", {"function": "tasks:work"})
    bench.create(workflow_id="etl")
    bench.ask(targets.pause_target, workflow_id="etl")
    assert bench.trigger().status == "BUFFERED"
    worker = bench.worker()
    assert worker.tick() == []
    bench.ask(targets.resume_target, workflow_id="etl")
    assert len(worker.tick()) == 1


def test_shadow_launches_nothing(bench: Bench) -> None:
    """Every decision is recorded. Neither ticks nor triggers are launched."""
    bench.create(shadow=True)
    worker = bench.worker()
    bench.trigger()
    bench.go("08:01")
    assert worker.tick() == []
    assert bench.outcomes(source=None) == ["08:00:30 SKIPPED shadow", "08:01 SKIPPED shadow"]


def test_remaining_actions_counts_automatic_starts(bench: Bench) -> None:
    """Two automatic starts are left. Triggers and skipped ticks do not count. Then the schedule is exhausted."""
    bench.create(remaining_actions=2)
    worker = bench.worker()
    bench.trigger()
    worker.tick()
    bench.go("08:01")
    assert worker.tick() == []  # the trigger is still running: skipped
    worker.settle()
    for minute in ("08:02", "08:03"):
        bench.go(minute)
        assert worker.tick() == [minute]
        worker.settle()
    schedule = bench.get()
    assert (schedule.status, schedule.remaining_actions, schedule.next_fire_at) == ("exhausted", 0, None)
    bench.go("08:10:30")
    assert worker.tick() == []
    bench.ask(crud.patch, "report", remaining_actions=1)
    bench.go("08:11")
    assert worker.tick() == ["08:11"]
    assert bench.dropped_ranges() == ["08:10:29 7 limit_reached"]


def test_min_interval_holds_for_ticks(bench: Bench) -> None:
    """A tick every minute, and at least 90 seconds between starts: every second tick starts."""
    bench.create(min_interval_ms=90_000)
    worker = bench.worker()
    for minute in ("08:01", "08:02", "08:03"):
        bench.go(minute)
        if worker.tick():
            worker.settle()
    assert bench.outcomes() == ["08:01 SUCCESS", "08:02 SKIPPED min_interval", "08:03 SUCCESS"]


def test_min_interval_holds_for_buffered_ticks(bench: Bench) -> None:
    """Two ticks are buffered. The first starts when the slot is free, and the second is too early after it."""
    bench.create(min_interval_ms=90_000, overlap_policy="queue")
    worker = bench.worker()
    for minute in ("08:01", "08:02", "08:03", "08:04"):
        bench.go(minute)
        worker.tick()
    bench.go("08:04:10")
    worker.settle()
    worker.settle()
    assert bench.outcomes() == [
        "08:01 SUCCESS",
        "08:02 SKIPPED min_interval",
        "08:03 SUCCESS",
        "08:04 SKIPPED min_interval",
    ]


def test_requested_skips_are_recorded(bench: Bench) -> None:
    """A skip of the next tick and a skip of a dated one are both recorded."""
    bench.create()
    bench.ask(control.skip, "report")
    bench.ask(control.skip, "report", at=[when("08:03")], note="holiday")
    worker = bench.worker()
    for minute in ("08:01", "08:02", "08:03", "08:04"):
        bench.go(minute)
        if worker.tick():
            worker.settle()
    assert bench.outcomes() == [
        "08:01 SKIPPED skip_requested",
        "08:02 SUCCESS",
        "08:03 SKIPPED skip_requested",
        "08:04 SUCCESS",
    ]
    assert bench.state().skips is None


def test_a_second_skip_applies_to_the_tick_after_the_first(bench: Bench) -> None:
    """Two callers skip the next tick: two ticks are skipped."""
    bench.create()
    for _ in range(2):
        bench.ask(control.skip, "report")
    worker = bench.worker()
    for minute in ("08:01", "08:02", "08:03"):
        bench.go(minute)
        worker.tick()
    assert bench.outcomes() == ["08:01 SKIPPED skip_requested", "08:02 SKIPPED skip_requested", "08:03 ENQUEUED"]


def test_two_attempts_of_one_run_settle_once(bench: Bench) -> None:
    """A worker adopts a run that it executes already, and both attempts end. One counts and frees the slot."""
    bench.create()
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    worker.adopt()
    attempts = [row for row, _ in worker.launched]
    assert [row.attempt for row in attempts] == [1, 2]
    outcomes = [Outcome(*row.id, row.attempt, RunState.SUCCESS) for row in attempts]
    settled = bench.write(lambda t: worker.settling.settle(t, outcomes))
    assert (len(settled.accepted), settled.stale) == (1, 1)
    schedule = bench.get()
    assert (schedule.in_flight, schedule.counters.successes) == (0, 1)


def test_a_schedule_that_cannot_be_compiled_stops_no_other(bench: Bench) -> None:
    """The engine logs the unreadable spec, retries it later, and fires the other schedules."""
    for name in ("broken", "report"):
        bench.create(name, catchup_policy="spread", overlap_policy="allow")
    bench.backfill("07:00", "07:01", "broken", overlap="allow")
    worker = bench.worker()
    bench.go("08:03:40")
    worker.tick()
    bench.execute('UPDATE schedule_versions SET spec = \'{"cron":["99 * * * *"]}\' WHERE schedule_key = 1')
    fresh = bench.worker()
    bench.go("08:04")
    assert "08:04" in fresh.tick()
    bench.go("08:05")
    fresh.tick()
    assert (fresh.planned().claimed, fresh.backfill().claimed) == (0, 0)  # there is nothing left to restart
    assert fresh.context.schedules.broken
