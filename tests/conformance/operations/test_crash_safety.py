"""Traps that naive designs fall into: crashes, overlaps, leases, retries.  Each docstring tells the story."""

from __future__ import annotations

import pytest

from tests.support.operations import Bench, held_of, when
from tompion.config.settings import Settings
from tompion.model.run import RunState
from tompion.operations.resources import targets, workflows
from tompion.operations.schedules import control, crud, history
from tompion.plan.outcome import Outcome


def test_a_crash_between_recording_and_launching_loses_nothing(bench: Bench) -> None:
    """A worker writes the run, dies before it calls anybody, and another calls with the same key after the lease."""
    bench.create()
    dead, other = bench.worker(), bench.worker()
    bench.go("08:01")
    assert dead.tick() == ["08:01"]
    key = dead.launch().key
    bench.go("08:02:59.999")
    assert other.rescue().launches == []
    bench.go("08:03")
    assert len(other.rescue().launches) == 1
    assert (other.launch().key, other.launch().attempt) == (key, 2)
    assert bench.runs()[0].key == key


def test_a_crash_of_an_operation_that_started_a_run_loses_nothing(bench: Bench) -> None:
    """Who triggers does not launch: the run is born without an owner, and the first worker takes it."""
    bench.create()
    asked = bench.trigger(request_id="r1")
    worker = bench.worker()
    assert len(worker.rescue().launches) == 1
    assert (worker.launch().key, worker.launch().attempt, worker.launch().source) == (asked.key, 1, "trigger")


def test_queue_loses_no_tick(bench: Bench) -> None:
    """Three ticks come while one runs; each of them starts, in order, in the very transaction that frees the slot."""
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


def test_a_buffer_that_is_full_says_so(bench: Bench) -> None:
    """The buffer holds so many; the next one is on record as skipped, with the reason."""
    bench.settings = Settings(max_buffer=1)
    bench.create(overlap_policy="queue")
    worker = bench.worker()
    for minute in ("08:01", "08:02", "08:03"):
        bench.go(minute)
        worker.tick()
    assert bench.outcomes() == ["08:01 ENQUEUED", "08:02 BUFFERED", "08:03 SKIPPED buffer_full"]


def test_overlap_is_judged_when_the_tick_fires(bench: Bench) -> None:
    """The run before ends a moment before the next tick; whoever judged a minute earlier would have skipped it."""
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
    ("keep", "story"),
    [
        ("latest", ["08:01 ENQUEUED", "08:02 SKIPPED superseded", "08:03 BUFFERED"]),
        ("first", ["08:01 ENQUEUED", "08:02 BUFFERED", "08:03 SKIPPED superseded"]),
    ],
)
def test_buffer_one_keeps_one(bench: Bench, keep: str, story: list[str]) -> None:
    """Two ticks come while one runs: one of them waits, and the other is on record."""
    bench.create(overlap_policy="buffer_one", buffer_keep=keep)
    worker = bench.worker()
    for minute in ("08:01", "08:02", "08:03"):
        bench.go(minute)
        worker.tick()
    assert bench.outcomes() == story


def test_an_update_reaches_what_is_buffered(bench: Bench) -> None:
    """Two ticks wait; the policy becomes ``allow``, and the next look starts them beside the one that runs."""
    bench.create(overlap_policy="queue")
    worker = bench.worker()
    for minute in ("08:01", "08:02", "08:03"):
        bench.go(minute)
        worker.tick()
    bench.ask(crud.patch, "report", overlap_policy="allow")
    bench.go("08:04")
    assert worker.tick() == ["08:02", "08:03", "08:04"]


def test_two_claimers_of_one_run(bench: Bench) -> None:
    """Two workers find the same run without an owner: one gets it."""
    bench.create()
    bench.trigger()
    one, two = bench.worker(), bench.worker()
    assert [len(one.rescue().launches), len(two.rescue().launches)] == [1, 0]
    assert bench.runs()[0].attempt == 1


def test_two_workers_at_one_tick(bench: Bench) -> None:
    """Two workers look at the same minute: it is recorded and launched once."""
    bench.create(overlap_policy="allow")
    one, two = bench.worker(), bench.worker()
    bench.go("08:01")
    assert one.tick() + two.tick() == ["08:01"]


def test_a_stale_owner_changes_nothing(bench: Bench) -> None:
    """A worker sleeps past its lease and wakes up with a result: another has taken over, and the result is counted."""
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
    """The answer to a commit was lost, so the outcome is written again: the first one stands."""
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
    """A run takes an hour; its worker renews the lease every thirty seconds, and nobody else gets it."""
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


def test_a_run_that_nobody_picks_up_becomes_a_zombie(bench: Bench) -> None:
    """Its worker died and nobody serves the queue: after ten minutes it has failed, and the slot is free."""
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


def test_an_instance_that_does_not_serve_the_queue(bench: Bench) -> None:
    """It decides the tick, because somebody must, and leaves the run to an instance that serves its queue."""
    bench.create(queue="gpu")
    cpu, gpu = bench.worker("cpu"), bench.worker("gpu")
    bench.go("08:01")
    assert cpu.tick() == []
    assert bench.outcomes() == ["08:01 ENQUEUED"]
    assert cpu.rescue().claimed == 0
    assert gpu.tick() == ["08:01"]
    assert gpu.launch().attempt == 1


def test_retries_keep_the_key_and_hold_the_slot(bench: Bench) -> None:
    """Two failures with a pause that doubles, then a success: one run, one key, and no other tick in between."""
    bench.create(max_attempts=3, retry_delay_ms=40_000)
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    keys = [worker.launch().key]
    worker.settle(RunState.FAILED, error="no luck")
    assert bench.outcomes() == ["08:01 ENQUEUED retry"]
    bench.go("08:01:39.999")
    assert worker.tick() == []
    bench.go("08:01:40")
    assert worker.tick() == ["08:01"]
    keys.append(worker.launch().key)
    worker.settle(RunState.FAILED, error="no luck")
    bench.go("08:02")
    assert worker.tick() == []
    assert bench.outcomes()[1] == "08:02 SKIPPED overlap"
    bench.go("08:03")
    assert worker.tick() == ["08:01"]
    keys.append(worker.launch().key)
    worker.settle()
    assert len(set(keys)) == 1
    first = bench.runs()[0]
    assert (first.state, first.attempt) == ("SUCCESS", 3)
    assert bench.get().counters.failures == 0


def test_the_last_attempt_fails_for_good(bench: Bench) -> None:
    """Two attempts are allowed; the second failure is the run's own."""
    bench.create(max_attempts=2, retry_delay_ms=0)
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    worker.settle(RunState.FAILED, error="first")
    worker.tick()
    worker.settle(RunState.FAILED, error="second")
    run = bench.runs()[0]
    assert (run.state, run.error, run.attempt) == ("FAILED", "second", 2)
    assert bench.get().consecutive_failures == 1


@pytest.mark.parametrize("state", [RunState.FAILED, RunState.TIMED_OUT])
def test_pause_on_failure(bench: Bench, state: RunState) -> None:
    """A final failure pauses the schedule, with a note that says why, a token and an audit row like anybody's."""
    created = bench.create(pause_on_failure=True, max_attempts=2, retry_delay_ms=0)
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    worker.settle(state, error="broken\nat line 3")
    assert bench.get().state == "active"
    worker.tick()
    worker.settle(state, error="broken\nat line 3")
    found = bench.get()
    assert (found.state, found.paused_by, found.token) == ("paused", "tompion", created.token + 1)
    assert found.pause_note == f"paused after a failed run ({state}): broken"
    bench.go("08:02")
    assert worker.tick() == []
    change = bench.ask(history.history, "report").items[0]
    assert (change.actor, change.operation, change.after["state"]) == ("tompion", "pause", "paused")
    bench.resume()
    assert worker.tick() == ["08:02"]


def test_terminate_other(bench: Bench) -> None:
    """The next tick ends the run by force and starts; what the old one reports later is stale."""
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
    """The next tick asks the run to end and waits for it; a third replaces the one that waits."""
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


def test_a_paused_target_keeps_its_ticks(bench: Bench) -> None:
    """A queue is paused by itself: its ticks are recorded and wait; on resume they start one after another."""
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


def test_a_paused_workflow_keeps_triggers_too(bench: Bench) -> None:
    """A workflow is paused by itself: what somebody asks for waits as well, and starts with the resume."""
    bench.ask(workflows.put_workflow, "etl", {"function": "tasks:work"})
    bench.create(workflow_id="etl")
    bench.ask(targets.pause_target, workflow_id="etl")
    assert bench.trigger().state == "BUFFERED"
    worker = bench.worker()
    assert worker.tick() == []
    bench.ask(targets.resume_target, workflow_id="etl")
    assert len(worker.tick()) == 1


def test_shadow_launches_nothing(bench: Bench) -> None:
    """Every decision is on record, nothing is launched: neither ticks nor triggers."""
    bench.create(shadow=True)
    worker = bench.worker()
    bench.trigger()
    bench.go("08:01")
    assert worker.tick() == []
    assert bench.outcomes(source=None) == ["08:00:30 SKIPPED shadow", "08:01 SKIPPED shadow"]


def test_remaining_actions(bench: Bench) -> None:
    """Two automatic starts are left; triggers and skipped ticks do not count, and then the schedule is exhausted."""
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
    found = bench.get()
    assert (found.state, found.remaining_actions, found.next_fire_at) == ("exhausted", 0, None)
    bench.go("08:10:30")
    assert worker.tick() == []
    bench.ask(crud.patch, "report", remaining_actions=1)
    bench.go("08:11")
    assert worker.tick() == ["08:11"]
    assert bench.dropped_ranges() == ["08:10:29 7 limit_reached"]


def test_min_interval_is_never_undercut(bench: Bench) -> None:
    """A tick every minute, but no start within 90 seconds of the one before: every second one starts."""
    bench.create(min_interval_ms=90_000)
    worker = bench.worker()
    for minute in ("08:01", "08:02", "08:03"):
        bench.go(minute)
        if worker.tick():
            worker.settle()
    assert bench.outcomes() == ["08:01 SUCCESS", "08:02 SKIPPED min_interval", "08:03 SUCCESS"]


def test_min_interval_holds_for_what_was_buffered(bench: Bench) -> None:
    """Two ticks waited; the first starts when the slot is free, and the second comes too soon after it."""
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


def test_skip_the_next_tick(bench: Bench) -> None:
    """The next tick is skipped on request, and so is a dated one; each is on record."""
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


def test_skip_twice_skips_two(bench: Bench) -> None:
    """Two people skip the next tick: the second means the one after the first."""
    bench.create()
    for _ in range(2):
        bench.ask(control.skip, "report")
    worker = bench.worker()
    for minute in ("08:01", "08:02", "08:03"):
        bench.go(minute)
        worker.tick()
    assert bench.outcomes() == ["08:01 SKIPPED skip_requested", "08:02 SKIPPED skip_requested", "08:03 ENQUEUED"]


def test_two_attempts_of_one_run_end_together(bench: Bench) -> None:
    """A worker adopts a run that it executes already; both attempts end at once: one counts, the slot is one."""
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
    found = bench.get()
    assert (found.in_flight, found.counters.successes) == (0, 1)


def test_a_schedule_that_cannot_be_compiled_stops_nobody(bench: Bench) -> None:
    """A stored spec that no release understands: it says so, is looked at again later, and the others go on."""
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
    assert (fresh.planned().claimed, fresh.backfill().claimed) == (0, 0)  # there is nothing that it could do again
    assert fresh.context.schedules.broken
