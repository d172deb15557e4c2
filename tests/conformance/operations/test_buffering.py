"""Regressions in the buffer: which runs are examined, in which order, and which event starts them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.operations import Bench, Worker, at
from tompion.model.run import RunState
from tompion.operations.resources import calendars, targets, workflows
from tompion.operations.schedules import crud


def every_minute(bench: Bench, worker: Worker, first: str, last: str) -> None:
    """Tick each minute."""
    for second in range(int(at(first)), int(at(last)) + 1, 60):
        bench.clock.set(second)
        worker.tick()


@pytest.mark.parametrize("fields", [{"remaining_actions": 2}, {"min_interval_ms": 3_600_000}])
def test_dropping_a_buffer_drops_every_page(bench: Bench, fields: dict[str, Any]) -> None:
    """Regression: only the first page was dropped. The other runs never started, although a slot was free."""
    worker = bench.worker()
    bench.create(overlap_policy="queue", **fields)
    every_minute(bench, worker, "08:01", "08:40")
    while worker.launched:
        worker.settle()
    assert (bench.get().waiting, bench.get().in_flight) == (0, 0)


def test_a_resume_drops_runs_beyond_the_limit(bench: Bench) -> None:
    worker = bench.worker()
    bench.create(overlap_policy="queue", remaining_actions=2)
    every_minute(bench, worker, "08:01", "08:03")
    worker.settle()
    bench.pause()
    worker.settle()
    bench.resume()
    worker.tick()
    assert bench.outcomes()[-1] == "08:03 SKIPPED limit_reached"


def test_a_trigger_starts_before_ticks_that_a_pause_holds(bench: Bench) -> None:
    worker = bench.worker()
    bench.create(overlap_policy="queue")
    every_minute(bench, worker, "08:01", "08:20")
    bench.pause()
    bench.trigger(overlap="queue")
    worker.settle()
    worker.tick()
    assert bench.outcomes(source="trigger") == ["08:20 ENQUEUED"]


def test_a_pause_keeps_a_pending_evaluation(bench: Bench) -> None:
    """A trigger cancels a run that waits for its retry. The pause comes before an engine has evaluated the schedule."""
    worker = bench.worker()
    bench.create(max_attempts=3, retry_delay_ms=600_000)
    bench.go("08:01")
    worker.tick()
    worker.settle(RunState.FAILED)
    bench.trigger(overlap="cancel_other")
    bench.pause()
    bench.go("08:05")
    worker.tick()
    assert bench.outcomes(source="trigger") == ["08:01 ENQUEUED"]


def test_a_calendar_change_keeps_a_pending_evaluation(bench: Bench) -> None:
    bench.ask(calendars.put_calendar, {"name": "c", "dates": ["2031-01-01"]})
    ticks = ["2027-01-15T08:01:00Z", "2027-01-15T08:02:00Z"]
    bench.create(cron=None, times=ticks, overlap_policy="queue", exclude={"named": ["c"]})
    worker = bench.worker()
    every_minute(bench, worker, "08:01", "08:02")
    bench.pause()
    worker.settle()
    bench.resume()
    bench.ask(calendars.put_calendar, {"name": "c", "dates": ["2032-01-01"]})
    assert worker.tick() == ["08:02"]


def test_a_run_of_a_deleted_schedule_is_not_restarted(bench: Bench) -> None:
    """Its worker dies or stops. A run that started before the delete is not started again."""
    dead, other = bench.worker(), bench.worker()
    bench.create(cron="0 * * * *")
    bench.go("09:00")
    dead.tick()
    bench.ask(crud.delete, "report")
    bench.go("09:04")
    assert other.tick() == []
    assert bench.outcomes() == ["09:00 CANCELLED deleted"]


def test_a_run_with_a_cancel_request_is_not_restarted(bench: Bench) -> None:
    """Its worker has died, and its lease has not expired when the next tick requests the cancel."""
    dead, other = bench.worker(), bench.worker()
    bench.create(overlap_policy="cancel_other")
    bench.go("08:01")
    dead.tick()
    bench.go("08:02")
    other.tick()
    bench.go("08:04")
    launched = other.tick()
    assert "08:01" not in launched
    assert bench.outcomes()[0] == "08:01 CANCELLED cancel_requested"


def test_buffered_runs_start_in_arrival_order(bench: Bench) -> None:
    """Regression: a buffered trigger never started, because each new tick was started before it."""
    worker = bench.worker()
    bench.create(overlap_policy="queue")
    every_minute(bench, worker, "08:01", "08:03")
    bench.trigger(overlap="queue")
    bench.go("08:04")
    worker.tick()
    started = []
    for _ in range(4):
        worker.settle()
        row = worker.launched[-1][0]
        started.append(row.source)
    assert started == ["schedule", "schedule", "trigger", "schedule"]


@pytest.mark.parametrize("overlap", ["cancel_other", "terminate_other", "buffer_one"])
def test_a_trigger_drops_no_buffered_tick(bench: Bench, overlap: str) -> None:
    worker = bench.worker()
    bench.create(overlap_policy="queue")
    every_minute(bench, worker, "08:01", "08:04")
    for _ in range(3):
        bench.trigger(overlap=overlap)
    assert [text for text in bench.outcomes(source="schedule") if "BUFFERED" in text] == [
        "08:02 BUFFERED",
        "08:03 BUFFERED",
        "08:04 BUFFERED",
    ]
    waiting = [text for text in bench.outcomes(source="trigger") if "BUFFERED" in text]
    assert len(waiting) == {"cancel_other": 3, "terminate_other": 0, "buffer_one": 1}[overlap]


def test_a_buffered_run_waits_for_its_own_workflow(bench: Bench) -> None:
    """The schedule moves to another workflow. The buffered run still waits for the paused one."""
    for name in ("a", "b"):
        bench.ask(workflows.put_workflow, name, {"function": "tasks:work"})
    bench.create(workflow_id="a", overlap_policy="allow")
    worker = bench.worker()
    bench.ask(targets.pause_target, workflow_id="a")
    bench.go("08:01")
    worker.tick()
    bench.store_workflow("b")
    bench.ask(crud.patch, "report", workflow_id="b")
    bench.go("08:02")
    assert worker.tick() == ["08:02"]
    assert bench.outcomes() == ["08:01 BUFFERED target_paused", "08:02 ENQUEUED"]
    bench.ask(targets.resume_target, workflow_id="a")
    assert worker.tick() == ["08:01"]
    assert worker.launched[-1][1].action.workflow_id == "a"


def test_a_buffered_run_starts_on_an_instance_that_serves_its_queue(bench: Bench) -> None:
    bench.create()
    bench.ask(targets.pause_target, queue="default")
    worker = bench.worker("gpu")
    bench.go("08:01")
    worker.tick()
    bench.ask(crud.patch, "report", queue="gpu", overlap_policy="allow")
    bench.ask(targets.resume_target, queue="default")
    bench.go("08:02")
    assert worker.tick() == ["08:02"]
    assert bench.worker("default").rescue().launches[0][0].nominal_s == int(at("08:01"))


def test_a_fixed_delay_has_one_tick_after_an_edit(bench: Bench) -> None:
    bench.create(cron=None, intervals=[{"every": "10m", "anchor": "completion"}])
    worker = bench.worker()
    bench.ask(targets.pause_target, queue="default")
    every_minute(bench, worker, "08:01", "08:12")
    waiting = bench.get().waiting
    assert waiting == 1
    bench.ask(crud.patch, "report", intervals=[{"every": "20m", "anchor": "completion"}])
    every_minute(bench, worker, "08:13", "08:50")
    assert bench.get().waiting == 1


def test_a_trigger_starts_with_its_target_despite_a_pause_or_limit(bench: Bench) -> None:
    """Regression: it never started. A pause and a limit of the schedule do not apply to triggers."""
    bench.create()
    bench.create("other", remaining_actions=0)
    bench.ask(targets.pause_target, queue="default")
    for name in ("report", "other"):
        assert bench.trigger(name).status == "BUFFERED"
    bench.pause()
    bench.ask(targets.resume_target, queue="default")
    worker = bench.worker()
    assert len(worker.tick()) == 2
    bench.go("08:05")
    assert worker.tick() == []


def test_a_buffered_run_starts_with_its_queue_after_the_schedule_moved(bench: Bench) -> None:
    """The schedule moves to another queue and has no tick left that would start the buffered run."""
    bench.create()
    bench.ask(targets.pause_target, queue="default")
    assert bench.trigger().status == "BUFFERED"
    bench.ask(crud.patch, "report", queue="other", remaining_actions=0)
    worker = bench.worker("default", "other")
    assert worker.tick() == []
    bench.ask(targets.resume_target, queue="default")
    assert len(worker.tick()) == 1


def test_a_buffered_tick_starts_at_once_under_a_more_permissive_policy(bench: Bench) -> None:
    bench.create(overlap_policy="queue", cron="1,2 8 * * *")
    worker = bench.worker()
    for minute in ("08:01", "08:02"):
        bench.go(minute)
        worker.tick()
    bench.ask(crud.patch, "report", overlap_policy="allow")
    assert worker.tick() == ["08:02"]


@pytest.mark.parametrize(
    ("overlap", "second", "third"),
    [("cancel_other", "CANCELLED", "ENQUEUED"), ("allow", "ENQUEUED", "ENQUEUED"), ("queue", "ENQUEUED", "BUFFERED")],
)
def test_a_trigger_takes_the_slot_of_an_unlaunched_run_it_cancelled(
    bench: Bench, overlap: str, second: str, third: str
) -> None:
    """Regression: the trigger waited although its slot was free, and then started after a later one."""
    bench.create()
    run_ids = [bench.trigger(overlap=policy).run_id for policy in ("cancel_other", "cancel_other", overlap)]
    states = {run.run_id: run.status for run in bench.runs()}
    assert [states[run_id] for run_id in run_ids] == ["CANCELLED", second, third]
    assert bench.state().in_flight + bench.state().waiting == (1 if overlap == "cancel_other" else 2)


def test_a_cancelling_trigger_leaves_the_slot_to_an_earlier_run(bench: Bench) -> None:
    worker = bench.worker()
    bench.create(max_attempts=3, retry_delay_ms=600_000)
    bench.go("08:01")
    worker.tick()
    worker.settle(RunState.FAILED)
    first, second = bench.trigger(overlap="queue"), bench.trigger(overlap="cancel_other")
    states = {run.run_id: run.status for run in bench.runs(source="trigger")}
    assert (states[first.run_id], states[second.run_id], second.status) == ("ENQUEUED", "BUFFERED", "BUFFERED")
    assert bench.outcomes() == ["08:01 CANCELLED superseded"]


def test_a_cancelling_trigger_starts_no_held_run(bench: Bench) -> None:
    """A tick held by a pause and a run held by a paused workflow do not take the free slot."""
    for name in ("a", "b"):
        bench.ask(workflows.put_workflow, name, {"function": "tasks:work"})
    bench.create(workflow_id="a", overlap_policy="queue")
    bench.ask(targets.pause_target, workflow_id="a")
    bench.trigger()
    bench.store_workflow("b")
    bench.ask(crud.patch, "report", workflow_id="b")
    worker = bench.worker()
    every_minute(bench, worker, "08:01", "08:02")
    bench.pause()
    worker.settle()
    runs = [bench.trigger(overlap="cancel_other") for _ in range(2)]
    assert runs[-1].status == "ENQUEUED"
    assert bench.outcomes(source=None) == [
        "08:00:30 BUFFERED target_paused",
        "08:01 SUCCESS",
        "08:02 BUFFERED",
        "08:02 CANCELLED superseded",
        "08:02 ENQUEUED",
    ]
