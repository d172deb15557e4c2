"""Traps around what waits: who is looked at, in which order, and who wakes whom.  Each docstring tells the story."""

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


@pytest.mark.parametrize("given", [{"remaining_actions": 2}, {"min_interval_ms": 3_600_000}])
def test_a_queue_that_is_dropped_is_dropped_to_its_end(bench: Bench, given: dict[str, Any]) -> None:
    """Only the first page of the queue was looked at; the others waited for ever beside a free slot."""
    worker = bench.worker()
    bench.create(overlap_policy="queue", **given)
    every_minute(bench, worker, "08:01", "08:40")
    while worker.launched:
        worker.settle()
    assert (bench.get().waiting, bench.get().in_flight) == (0, 0)


def test_a_resume_drops_what_a_limit_forbids(bench: Bench) -> None:
    worker = bench.worker()
    bench.create(overlap_policy="queue", remaining_actions=2)
    every_minute(bench, worker, "08:01", "08:03")
    worker.settle()
    bench.pause()
    worker.settle()
    bench.resume()
    worker.tick()
    assert bench.outcomes()[-1] == "08:03 SKIPPED limit_reached"


def test_a_trigger_is_not_hidden_behind_ticks_that_a_pause_holds(bench: Bench) -> None:
    worker = bench.worker()
    bench.create(overlap_policy="queue")
    every_minute(bench, worker, "08:01", "08:20")
    bench.pause()
    bench.trigger(overlap="queue")
    worker.settle()
    worker.tick()
    assert bench.outcomes(source="trigger") == ["08:20 ENQUEUED"]


def test_a_pause_does_not_forget_what_was_to_be_looked_at(bench: Bench) -> None:
    """A trigger makes a run that waits for its retry give way; the pause comes before an engine has looked."""
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


def test_a_calendar_does_not_forget_what_was_to_be_looked_at(bench: Bench) -> None:
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


def test_a_deleted_schedule_begins_nothing_again(bench: Bench) -> None:
    """Its worker dies, or stops: what it had begun before the delete is not begun once more."""
    dead, other = bench.worker(), bench.worker()
    bench.create(cron="0 * * * *")
    bench.go("09:00")
    dead.tick()
    bench.ask(crud.delete, "report")
    bench.go("09:04")
    assert other.tick() == []
    assert bench.outcomes() == ["09:00 CANCELLED deleted"]


def test_a_run_that_is_to_be_cancelled_is_not_begun_again(bench: Bench) -> None:
    """Its worker has died, and nobody has noticed when the next tick asks it to end."""
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


def test_what_waits_starts_in_the_order_in_which_it_came(bench: Bench) -> None:
    """A trigger that waits in the queue waited for ever, because each new tick went before it."""
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
def test_a_request_throws_away_no_ticks(bench: Bench, overlap: str) -> None:
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


def test_what_waits_for_a_workflow_waits_for_that_one(bench: Bench) -> None:
    """The schedule starts another workflow meanwhile; what was decided before still is about the one that is paused."""
    for name in ("a", "b"):
        bench.ask(workflows.put_workflow, name, {"function": "tasks:work"})
    bench.create(workflow_id="a", overlap_policy="allow")
    worker = bench.worker()
    bench.ask(targets.pause_target, workflow_id="a")
    bench.go("08:01")
    worker.tick()
    bench.ask(crud.patch, "report", workflow_id="b")
    bench.go("08:02")
    assert worker.tick() == ["08:02"]
    assert bench.outcomes() == ["08:01 BUFFERED target_paused", "08:02 ENQUEUED"]
    bench.ask(targets.resume_target, workflow_id="a")
    assert worker.tick() == ["08:01"]
    assert worker.launched[-1][1].action.workflow_id == "a"


def test_what_waits_is_executed_by_who_serves_its_queue(bench: Bench) -> None:
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


def test_a_fixed_delay_has_one_tick_whatever_is_edited(bench: Bench) -> None:
    bench.create(cron=None, intervals=[{"every": "10m", "anchor": "completion"}])
    worker = bench.worker()
    bench.ask(targets.pause_target, queue="default")
    every_minute(bench, worker, "08:01", "08:12")
    waiting = bench.get().waiting
    assert waiting == 1
    bench.ask(crud.patch, "report", intervals=[{"every": "20m", "anchor": "completion"}])
    every_minute(bench, worker, "08:13", "08:50")
    assert bench.get().waiting == 1


def test_what_waits_for_a_target_starts_although_its_schedule_is_paused_or_exhausted(bench: Bench) -> None:
    """Somebody asked for it: neither a pause nor a limit is about that.  It waited for ever."""
    bench.create()
    bench.create("other", remaining_actions=0)
    bench.ask(targets.pause_target, queue="default")
    for name in ("report", "other"):
        assert bench.trigger(name).state == "BUFFERED"
    bench.pause()
    bench.ask(targets.resume_target, queue="default")
    worker = bench.worker()
    assert len(worker.tick()) == 2
    bench.go("08:05")
    assert worker.tick() == []


def test_what_waits_for_a_queue_starts_with_it_wherever_its_schedule_has_gone(bench: Bench) -> None:
    """The schedule moves to another queue, and there is no tick left to wake what waits."""
    bench.create()
    bench.ask(targets.pause_target, queue="default")
    assert bench.trigger().state == "BUFFERED"
    bench.ask(crud.patch, "report", queue="other", remaining_actions=0)
    worker = bench.worker("default", "other")
    assert worker.tick() == []
    bench.ask(targets.resume_target, queue="default")
    assert len(worker.tick()) == 1


def test_a_buffered_tick_starts_at_once_under_a_wider_policy(bench: Bench) -> None:
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
def test_a_request_does_not_wait_for_what_it_has_cancelled(bench: Bench, overlap: str, second: str, third: str) -> None:
    """A trigger cancelled a run that nobody had launched, waited beside its free slot, and then behind a later one."""
    bench.create()
    asked = [bench.trigger(overlap=each).run_id for each in ("cancel_other", "cancel_other", overlap)]
    states = {run.run_id: run.state for run in bench.runs()}
    assert [states[each] for each in asked] == ["CANCELLED", second, third]
    assert bench.state().in_flight + bench.state().waiting == (1 if overlap == "cancel_other" else 2)


def test_a_request_that_cancels_leaves_the_slot_to_who_came_before(bench: Bench) -> None:
    worker = bench.worker()
    bench.create(max_attempts=3, retry_delay_ms=600_000)
    bench.go("08:01")
    worker.tick()
    worker.settle(RunState.FAILED)
    first, second = bench.trigger(overlap="queue"), bench.trigger(overlap="cancel_other")
    states = {run.run_id: run.state for run in bench.runs(source="trigger")}
    assert (states[first.run_id], states[second.run_id], second.state) == ("ENQUEUED", "BUFFERED", "BUFFERED")
    assert bench.outcomes() == ["08:01 CANCELLED superseded"]


def test_a_request_that_cancels_starts_nothing_that_waits_for_something_else(bench: Bench) -> None:
    """A tick waits for the resume of its schedule, a run for a workflow that is paused: the slot is not for them."""
    for name in ("a", "b"):
        bench.ask(workflows.put_workflow, name, {"function": "tasks:work"})
    bench.create(workflow_id="a", overlap_policy="queue")
    bench.ask(targets.pause_target, workflow_id="a")
    bench.trigger()
    bench.ask(crud.patch, "report", workflow_id="b")
    worker = bench.worker()
    every_minute(bench, worker, "08:01", "08:02")
    bench.pause()
    worker.settle()
    asked = [bench.trigger(overlap="cancel_other") for _ in range(2)]
    assert asked[-1].state == "ENQUEUED"
    assert bench.outcomes(source=None) == [
        "08:00:30 BUFFERED target_paused",
        "08:01 SUCCESS",
        "08:02 BUFFERED",
        "08:02 CANCELLED superseded",
        "08:02 ENQUEUED",
    ]
