"""Deletes, triggers and backfills."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.operations import FUNCTION, Bench, Worker, at, when
from tompion.config.settings import Settings
from tompion.model.run import RunState
from tompion.operations.resources import targets
from tompion.operations.schedules import backfills, control, crud


def drain(worker: Worker) -> None:
    """Run everything that is due until it ends."""
    while True:
        worker.tick()
        worker.backfill()
        if not worker.launched:
            return
        while worker.launched:
            worker.settle()


# --- delete and create again ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("purge", [False, True])
@pytest.mark.parametrize("late", ["08:01", "08:01:00.400", "08:01:59"])
def test_a_schedule_created_again_runs_no_tick_twice(bench: Bench, purge: bool, late: str) -> None:
    """The schedule is deleted and recreated after a tick has run. That tick does not run again."""
    bench.create()
    worker = bench.worker()
    bench.go("08:01")
    assert worker.tick() == ["08:01"]
    worker.settle()
    bench.go(late)
    bench.ask(crud.delete, "report", purge=purge)
    worker.sweep()
    bench.create()
    assert worker.tick() == []
    bench.go("08:02")
    assert worker.tick() == ["08:02"]


@pytest.mark.parametrize("purge", [False, True])
def test_a_recreated_schedule_repeats_no_tick_with_early_jitter(bench: Bench, purge: bool) -> None:
    """Jitter fires the tick before its nominal time. The recreated schedule does not repeat it."""
    names = [f"job-{number}" for number in range(12)]
    for name in names:
        bench.create(name, jitter_ms=20_000)
    fires = {name: bench.get(name).next_fire_at for name in names}
    early = min(names, key=lambda name: fires[name] or when("23:00"))
    fire = fires[early]
    assert fire is not None
    assert fire < when("08:01")
    worker = bench.worker()
    bench.clock.set(fire.timestamp())
    assert "08:01" in worker.tick()
    row = next(row for row, rule in worker.launched if rule.schedule_id == early)
    worker.settle(row=row)
    bench.ask(crud.delete, early, purge=purge)
    worker.sweep()
    created = bench.create(early, jitter_ms=20_000)
    assert created.next_run_at == when("08:02")


@pytest.mark.parametrize("purge", [False, True])
def test_a_run_outlives_its_schedule(bench: Bench, purge: bool) -> None:
    """The schedule is deleted during a run: the run ends, and the run buffered behind it does not start."""
    bench.create(overlap_policy="queue")
    worker = bench.worker()
    for minute in ("08:01", "08:02"):
        bench.go(minute)
        worker.tick()
    bench.ask(crud.delete, "report", purge=purge)
    assert bench.outcomes() == ["08:01 ENQUEUED", "08:02 SKIPPED deleted"]
    bench.go("08:03")
    assert worker.tick() == []
    worker.settle()
    assert bench.outcomes()[0] == "08:01 SUCCESS"
    bench.go("08:04")
    worker.sweep()
    assert ("report" in [row[2] for row in bench.dump()["schedules"]]) is not purge


def test_the_slot_of_a_run_survives_delete_and_create(bench: Bench) -> None:
    """A run of the deleted schedule is in flight when the id is created again: the next tick overlaps."""
    bench.create()
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    bench.ask(crud.delete, "report")
    bench.create()
    bench.go("08:02")
    worker.tick()
    assert bench.outcomes() == ["08:01 ENQUEUED", "08:02 SKIPPED overlap"]


def test_a_deleted_schedule_does_not_retry(bench: Bench) -> None:
    """A run that fails after its schedule was deleted is not retried."""
    bench.create(max_attempts=5)
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    bench.ask(crud.delete, "report")
    worker.settle(RunState.FAILED)
    assert bench.outcomes() == ["08:01 FAILED"]


def test_a_delete_records_undecided_ticks_as_a_dropped_range(bench: Bench) -> None:
    """Three ticks were due and undecided. A dropped range has the reason ``deleted``."""
    bench.create()
    bench.go("08:03:30")
    bench.ask(crud.delete, "report")
    assert bench.dropped_ranges() == ["08:03:29 3 deleted"]


# --- triggers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("overlap", "state", "running"),
    [
        (None, "ENQUEUED", "ENQUEUED"),
        ("allow", "ENQUEUED", "ENQUEUED"),
        ("allow_all", "ENQUEUED", "ENQUEUED"),
        ("skip", "SKIPPED", "ENQUEUED"),
        ("queue", "BUFFERED", "ENQUEUED"),
        ("buffer_all", "BUFFERED", "ENQUEUED"),
        ("buffer_one", "BUFFERED", "ENQUEUED"),
        ("cancel_other", "BUFFERED", "ENQUEUED"),
        ("terminate_other", "ENQUEUED", "TERMINATED superseded"),
    ],
)
def test_a_trigger_of_a_paused_schedule_follows_its_overlap_policy(
    bench: Bench, overlap: str | None, state: str, running: str
) -> None:
    """The paused schedule has a run in flight. Each overlap policy is tried."""
    bench.create()
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    bench.pause()
    before = bench.get()
    bench.go("08:01:10")
    run = bench.trigger(overlap=overlap)
    assert (run.status, run.source) == (state, "trigger")
    assert bench.outcomes() == [f"08:01 {running}"]
    after = bench.get()
    assert (after.cursor, after.next_run_at, after.status) == (before.cursor, before.next_run_at, "paused")
    assert after.conflict_token == before.conflict_token
    if state == "BUFFERED":
        assert len(worker.settle().launches) == 1


def test_a_trigger_can_replace_the_payload(bench: Bench) -> None:
    """The executor receives the payload of the request, or the schedule's if the request has none."""
    bench.create(payload={"kind": "daily"})
    worker = bench.worker()
    cases: list[tuple[dict[str, Any], dict[str, str]]] = [
        ({"payload": {"kind": "now"}}, {"kind": "now"}),
        ({}, {"kind": "daily"}),
    ]
    for fields, expected in cases:
        bench.trigger(**fields)
        worker.rescue()
        assert worker.launch().payload == expected


def test_the_later_of_two_buffer_one_triggers_waits(bench: Bench) -> None:
    """Two triggers with ``buffer_one``: one waits."""
    bench.create()
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    for _ in range(2):
        bench.trigger(overlap="buffer_one")
    assert bench.get().waiting == 1
    worker.settle()
    worker.settle()
    assert [run.status for run in bench.runs()] == ["SUCCESS", "SKIPPED", "SUCCESS"]


# --- backfills --------------------------------------------------------------------------------------------------------


def test_a_backfill_runs_each_time_of_its_range_once(bench: Bench) -> None:
    """Both ends belong to the range. Each time runs once, under its own key."""
    bench.create()
    backfill = bench.backfill("07:10", "07:13", overlap="allow")
    assert (backfill.total, backfill.status) == (4, "RUNNING")
    worker = bench.worker()
    drain(worker)
    runs = bench.runs(source="backfill")
    assert [run.run_at for run in runs] == [when(f"07:1{minute}") for minute in range(4)]
    assert len({run.idempotency_key for run in runs}) == 4
    done = bench.ask(backfills.backfills, "report")[0]
    assert (done.status, done.done, done.cursor) == ("DONE", 4, when("07:13"))
    assert done.finished_at is not None


@pytest.mark.parametrize(("only", "again"), [("all", [1, 2, 3, 4]), ("missing", [1, 4]), ("failed", [3])])
def test_only_selects_the_ticks_of_a_backfill(bench: Bench, only: str, again: list[int]) -> None:
    """One tick was skipped, one succeeded, one failed, one was missed: ``only`` selects which of them run again."""
    bench.create()
    worker = bench.worker()
    bench.ask(control.skip, "report")
    for minute, state in ((1, None), (2, RunState.SUCCESS), (3, RunState.FAILED)):
        bench.go(f"08:0{minute}")
        worker.tick()
        if state is not None:
            worker.settle(state)
    bench.go("08:04:40")
    worker.tick()
    backfill = bench.backfill("08:01", "08:04", only=only, overlap="allow")
    assert backfill.total == len(again)
    worker.backfill()
    assert [run.run_at for run in bench.runs(source="backfill")] == [when(f"08:0{minute}") for minute in again]


def test_a_cancelled_backfill_starts_no_more_runs(bench: Bench) -> None:
    """A backfill of a hundred times is cancelled after the first pass. Running runs continue."""
    bench.create()
    backfill = bench.backfill("06:00", "07:39", overlap="allow")
    worker = bench.worker()
    worker.backfill()
    stopped = bench.ask(backfills.cancel_backfill, backfill.backfill_id)
    assert (stopped.status, stopped.done, stopped.total) == ("CANCELLED", 10, 100)
    assert worker.backfill().claimed == 0
    assert len(bench.runs(source="backfill")) == 10
    assert bench.ask(backfills.cancel_backfill, backfill.backfill_id) == stopped


def test_a_backfill_does_not_starve_ticks(bench: Bench) -> None:
    """A backfill with ``queue`` takes one free slot in each pass, and the tick of the minute is on time."""
    bench.create(overlap_policy="queue")
    bench.backfill("06:00", "07:59")
    worker = bench.worker()
    worker.backfill()
    assert len(worker.launched) == 1
    bench.go("08:01")
    worker.tick()
    assert bench.outcomes() == ["08:01 BUFFERED"]
    worker.backfill()
    assert len(worker.launched) == 1
    assert [row.source for row, _ in worker.settle().launches] == ["schedule"]


def test_a_free_slot_continues_the_backfill_at_once(bench: Bench) -> None:
    """The backfill continues as soon as the previous run has ended."""
    bench.create()
    bench.backfill("07:00", "07:02")
    worker = bench.worker()
    for _ in range(3):
        assert len(worker.backfill().launches) == 1
        worker.settle()
    assert bench.ask(backfills.backfills, "report")[0].status == "DONE"


def test_a_backfill_waits_for_its_target(bench: Bench) -> None:
    """Its queue is paused: no run starts until the queue is resumed."""
    bench.create()
    bench.ask(targets.pause_target, queue="default")
    bench.backfill("07:00", "07:02", overlap="allow")
    worker = bench.worker()
    worker.backfill()
    assert bench.runs(source="backfill") == []
    bench.ask(targets.resume_target, queue="default")
    bench.go("08:00:40")
    worker.backfill()
    assert len(worker.launched) == 3


def test_a_backfill_runs_while_paused(bench: Bench) -> None:
    """A pause of the schedule does not hold a backfill."""
    bench.create()
    bench.pause()
    bench.backfill("07:00", "07:01")
    worker = bench.worker()
    bench.clock.set(at("08:00:40"))
    assert len(worker.backfill().launches) == 1


def test_several_ranges_are_several_backfills_under_one_limit(bench: Bench) -> None:
    """Two ranges in one request are two backfills. The limit counts them together."""
    bench.settings = Settings(max_backfill_ticks=5)
    bench.create()
    ranges = [(when("07:00"), when("07:01")), (when("07:10"), when("07:12"))]
    created = bench.ask(backfills.backfill, "report", ranges=ranges, overlap="allow")
    assert [backfill.total for backfill in created] == [2, 3]
    worker = bench.worker()
    worker.backfill()
    worker.backfill()
    assert len(worker.launched) == 5


def test_a_delete_cancels_the_backfill(bench: Bench) -> None:
    """The backfill stays cancelled after the id is created again."""
    bench.create()
    bench.backfill("06:00", "07:00")
    bench.ask(crud.delete, "report")
    bench.ask(crud.create, "report", cron="* * * * *", function=FUNCTION)
    assert bench.worker().backfill().claimed == 0
    assert bench.ask(backfills.backfills, "report")[0].status == "CANCELLED"
