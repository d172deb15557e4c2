"""Upcoming ticks that will run, and reasons of runs that are still true."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.operations import FUNCTION, Bench, shown, when
from tompion.encoding.instant import datetime_s
from tompion.model.run import RunState
from tompion.operations.resources import targets
from tompion.operations.runs import read
from tompion.operations.schedules import backfills, control, crud

# --- requested skips --------------------------------------------------------------------------------------------------


def test_a_skipped_tick_is_not_the_next_run(bench: Bench) -> None:
    """Regression: it was listed as the next run, and then did not run."""
    bench.create(jitter_ms=1)
    skipped = bench.ask(control.skip, "report")
    assert skipped.next_run_at == when("08:02")
    assert skipped.next_fire_at is not None
    assert abs(skipped.next_fire_at - when("08:02")).total_seconds() < 1
    assert bench.get() == skipped
    assert bench.ask(crud.list_schedules).items == (skipped,)
    bench.ask(control.skip, "report", at=[when("08:03")])
    assert bench.get().next_run_at == when("08:02")
    bench.ask(control.skip, "report")
    description = bench.ask(read.describe, "report")
    assert description.schedule.next_run_at == when("08:04")
    assert [shown(tick) for tick in description.skipped_ticks] == ["08:01", "08:02", "08:03"]
    assert [shown(tick) for tick in description.next_ticks][:2] == ["08:04", "08:05"]
    assert len(description.next_ticks) == 10
    worker = bench.worker()
    bench.go("08:01:01")
    assert worker.tick() == []
    assert [shown(tick) for tick in bench.ask(read.describe, "report").skipped_ticks] == ["08:02", "08:03"]


def test_a_skipped_last_tick_leaves_no_next_run(bench: Bench) -> None:
    bench.create(times=["2027-01-15T09:00:00Z"])
    skipped = bench.ask(control.skip, "report")
    assert (skipped.next_run_at, skipped.next_fire_at) == (None, None)
    assert bench.ask(read.describe, "report").next_ticks == ()


def test_a_skipped_fixed_delay_waits_one_more_delay(bench: Bench) -> None:
    bench.create(intervals=[{"every": 60, "anchor": "completion"}])
    assert bench.get().next_run_at == when("08:00:30")
    assert bench.ask(control.skip, "report").next_run_at == when("08:01:30")
    worker = bench.worker()
    assert worker.tick() == []
    assert bench.get().next_run_at == when("08:01:30")


def test_without_remaining_actions_there_is_no_next_run(bench: Bench) -> None:
    schedule = bench.create(remaining_actions=0)
    assert (schedule.next_run_at, schedule.next_fire_at) == (None, None)
    assert bench.ask(read.describe, "report").next_ticks == ()


# --- runs that a resume would start -----------------------------------------------------------------------------------

ALL = ["08:01", "08:02", "08:03"]
HELD_UP: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["08:01"]),
    ({"overlap_policy": "allow"}, ALL),
    ({"overlap_policy": "queue"}, ALL),
    ({"overlap_policy": "buffer_one"}, ["08:01", "08:03"]),
    ({"overlap_policy": "buffer_one", "buffer_keep": "first"}, ["08:01", "08:02"]),
    ({"overlap_policy": "cancel_other"}, ["08:03"]),
    ({"overlap_policy": "terminate_other"}, ["08:03"]),
    ({"max_concurrent": 2}, ["08:01", "08:02"]),
    ({"shadow": True}, []),
    ({"overlap_policy": "allow", "min_interval_ms": 1_000}, ["08:01"]),
    ({"overlap_policy": "allow", "remaining_actions": 2}, ["08:01", "08:02"]),
    ({"overlap_policy": "queue", "remaining_actions": 2}, ["08:01", "08:02"]),
    ({"catchup_policy": "none"}, []),
    ({"catchup_policy": "coalesce"}, ["08:03"]),
    ({"on_resume": "fire_once"}, ["08:03"]),
    ({"on_resume": "skip"}, []),
]


@pytest.mark.parametrize(("fields", "expected"), HELD_UP, ids=[str(number) for number in range(len(HELD_UP))])
def test_describe_lists_the_runs_that_a_resume_starts(
    bench: Bench, fields: dict[str, Any], expected: list[str]
) -> None:
    """Regression: it listed every held tick, although all but one would be skipped as overlapping."""
    bench.create(paused=True, **{"catchup_policy": "fire_immediately", **fields})
    bench.go("08:03:40")
    before = bench.ask(read.describe, "report")
    assert ([shown(tick) for tick in before.would_run_on_resume], before.would_run_count) == (expected, len(expected))
    bench.resume()
    worker = bench.worker()
    started = worker.tick()
    while worker.launched:
        started += [shown(datetime_s(row.nominal_s)) for row, _ in worker.settle().launches]
    assert started == expected


def test_a_held_tick_within_the_grace_would_run(bench: Bench) -> None:
    """A late tick is not missed: the catch-up policy does not apply, and the run has no reason."""
    bench.create()
    bench.pause()
    bench.go("08:03:20")
    assert [shown(tick) for tick in bench.ask(read.describe, "report").would_run_on_resume] == ["08:03"]
    bench.resume()
    assert bench.worker().tick() == ["08:03"]
    assert bench.outcomes() == ["08:03 ENQUEUED"]
    assert bench.dropped_ranges() == ["08:02 2 missed"]


def test_running_and_buffered_runs_take_slots_of_a_resume(bench: Bench) -> None:
    """They take the slots before the ticks of the pause."""
    bench.create(overlap_policy="queue")
    worker = bench.worker()
    for minute in ("08:01", "08:02"):
        bench.go(minute)
        worker.tick()
    bench.pause()
    bench.ask(crud.patch, "report", overlap_policy="skip", catchup_policy="fire_immediately")
    bench.go("08:03:40")
    assert bench.ask(read.describe, "report").would_run_on_resume == ()
    worker.settle()  # 08:01 ends. 08:02 stays buffered, because the schedule is paused
    assert bench.outcomes() == ["08:01 SUCCESS", "08:02 BUFFERED"]
    assert bench.ask(read.describe, "report").would_run_on_resume == ()
    bench.resume()
    assert worker.tick() == ["08:02"]
    assert bench.outcomes() == ["08:01 SUCCESS", "08:02 ENQUEUED", "08:03 SKIPPED overlap"]


def test_a_skipped_tick_would_not_run_on_resume(bench: Bench) -> None:
    bench.create(catchup_policy="fire_immediately", overlap_policy="allow")
    bench.ask(control.skip, "report", at=[when("08:02")])
    bench.pause()
    bench.go("08:03:40")
    assert [shown(tick) for tick in bench.ask(read.describe, "report").would_run_on_resume] == ["08:01", "08:03"]


# --- outdated reasons -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [RunState.SUCCESS, RunState.FAILED, RunState.TIMED_OUT])
def test_a_failed_run_has_no_retry_reason(bench: Bench, state: RunState) -> None:
    """Regression: a run that had finally failed still had the reason ``retry``."""
    bench.create(max_attempts=2, retry_delay_ms=0)
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    worker.settle(RunState.FAILED)
    assert bench.outcomes() == ["08:01 ENQUEUED retry"]
    worker.rescue()
    assert bench.outcomes() == ["08:01 ENQUEUED retry"]
    worker.settle(state)
    assert bench.outcomes() == [f"08:01 {state}"]


def test_a_started_run_has_no_target_paused_reason(bench: Bench) -> None:
    bench.create()
    worker = bench.worker()
    bench.ask(targets.pause_target, queue="default")
    bench.go("08:01")
    worker.tick()
    assert bench.outcomes() == ["08:01 BUFFERED target_paused"]
    bench.ask(targets.resume_target, queue="default")
    worker.tick()
    assert bench.outcomes() == ["08:01 ENQUEUED"]
    worker.settle(RunState.TIMED_OUT)
    assert bench.outcomes() == ["08:01 TIMED_OUT"]
    assert bench.ask(read.describe, "report").recent[0].reason is None


def test_the_reason_of_a_catch_up_run_stays(bench: Bench) -> None:
    bench.create(catchup_policy="coalesce")
    bench.go("08:03:40")
    worker = bench.worker()
    worker.tick()
    worker.settle()
    assert bench.outcomes() == ["08:03 SUCCESS coalesced"]


# --- plain text -------------------------------------------------------------------------------------------------------


def test_an_answer_has_plain_text_like_a_later_read(bench: Bench) -> None:
    """Regression: the answer held an enum member where a later read returned text."""
    bench.create()
    backfill = bench.ask(backfills.backfill, "report", when("07:00"), when("07:01"), overlap="allow_all")
    assert bench.ask(backfills.backfills, "report") == backfill
    assert [type(getattr(backfill[0], name)) for name in ("overlap_policy", "only", "status")] == [str] * 3
    run = bench.trigger(overlap="skip")
    assert bench.ask(read.get_run, run.run_id) == run
    assert type(run.source) is str
    bench.ask(control.trigger, "report", overlap="skip")
    assert {type(run.reason) for run in bench.runs()} <= {str, type(None)}
    assert type(bench.trigger(overlap="skip").reason) is str


# --- schedules without upcoming ticks ---------------------------------------------------------------------------------


def test_one_upcoming_time_is_enough_to_create(bench: Bench) -> None:
    created = bench.create(times=["2020-01-01T00:00:00Z", "2027-01-15T09:00:00Z"])
    assert created.next_run_at == when("09:00")


def test_an_exhausted_schedule_can_be_upserted_again(bench: Bench) -> None:
    """A daily deployment of the same document must not fail after its last time."""
    bench.create(times=["2027-01-15T08:01:00Z"])
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    worker.settle()
    again: dict[str, Any] = {"times": ["2027-01-15T08:01:00Z"], "function": FUNCTION}
    assert bench.ask(crud.upsert, "report", **again).status == "exhausted"
    assert bench.ask(crud.patch, "report", description="done").status == "exhausted"


def test_a_fixed_delay_that_waits_for_its_run_is_active(bench: Bench) -> None:
    """Recreated during its run, it has no next tick before that run has ended."""
    bench.create(intervals=[{"every": 60, "anchor": "completion"}])
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    bench.ask(crud.delete, "report")
    assert bench.create(intervals=[{"every": 60, "anchor": "completion"}]).next_run_at is None
    worker.settle()
    assert bench.get().next_run_at == when("08:02")


def test_a_schedule_with_planned_runs_is_not_exhausted(bench: Bench) -> None:
    """Regression: all its times were missed and spread, and its state was exhausted with three runs still planned."""
    bench.create(times=[f"2027-01-15T08:0{minute}:00Z" for minute in (1, 2, 3)], catchup_policy="spread")
    worker = bench.worker()
    bench.go("08:10")
    worker.catch_up()
    assert bench.outcomes() == [f"08:0{minute} PLANNED catch_up" for minute in (1, 2, 3)]

    def seen() -> tuple[str, list[str]]:
        listed = [state for state in ("active", "exhausted") if bench.ask(crud.list_schedules, status=state).items]
        return bench.get().status, listed

    for moment in ("08:10", "08:10:20", "08:10:40"):
        assert seen() == ("active", ["active"])
        bench.go(moment)
        worker.planned()
        worker.settle()
    assert seen() == ("exhausted", ["exhausted"])
