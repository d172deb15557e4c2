"""Workers that ask for runs over a network: one lease for each run, heartbeats, fences, and a goodbye."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.operations import Bench, Worker
from tests.support.waiting import wait_until
from tompion.engine.steps.remote_results import RemoteResultsStep
from tompion.errors import InvalidField, NotFound, StaleReport
from tompion.model.run import RunState
from tompion.model.worker import Assignment, HeartbeatAck
from tompion.operations.resources import targets, workers
from tompion.operations.runs import callbacks, read, remote_workers
from tompion.operations.schedules import control, crud

QUEUES = ["reports"]
HOURLY: dict[str, Any] = {"cron": "0 * * * *", "function": "tasks:report", "queue": "reports", "payload": {"n": 1}}


def joined(bench: Bench, name: str = "w") -> int:
    return bench.ask(remote_workers.register_worker, name, queues=QUEUES).worker_id


def triggered(bench: Bench, name: str = "report", **fields: Any) -> str:
    if not bench.ask(crud.list_schedules, text=name).items:
        bench.ask(crud.create, name, **{**HOURLY, **fields})
    return bench.ask(control.trigger, name).run_id


def taken(bench: Bench, worker_id: int, limit: int = 10) -> tuple[Assignment, ...]:
    found: tuple[Assignment, ...] = bench.ask(remote_workers.claim_runs, worker_id, queues=QUEUES, limit=limit)
    return found


def answer(bench: Bench, engine: Worker) -> None:
    bench.write(lambda t: RemoteResultsStep(engine.context, engine.settling).due(t, 100))


def state(bench: Bench, run_id: str) -> RunState:
    found: RunState = bench.ask(read.run, run_id).state
    return found


def test_a_run_is_given_to_one_worker_and_ends_as_it_says(bench: Bench) -> None:
    one, other = joined(bench, "one"), joined(bench, "other")
    run_id = triggered(bench)
    (given,) = taken(bench, one)
    assert (given.run_id, given.action.function, given.payload, given.attempt) == (run_id, "tasks:report", {"n": 1}, 1)
    assert taken(bench, other) == ()
    assert bench.ask(read.run, run_id).execution_id == "worker one"
    bench.ask(callbacks.report_run, given.token, "succeeded", result={"rows": 3})
    answer(bench, bench.worker())
    ended = bench.ask(read.run, run_id)
    assert (ended.state, ended.result) == (RunState.SUCCESS, {"rows": 3})


def test_only_its_queues_its_namespace_and_functions(bench: Bench) -> None:
    worker = joined(bench)
    triggered(bench, "elsewhere", queue="other")
    bench.ask(crud.create, "flow", **{**HOURLY, "function": None, "workflow_id": "flow"})
    bench.ask(control.trigger, "flow")
    assert taken(bench, worker) == ()


def test_while_something_is_heard_nobody_else_is_given_it(bench: Bench) -> None:
    """Ten minutes under a lease of two: it is the worker's as long as it lives."""
    worker, other = joined(bench), joined(bench, "other")
    run_id = triggered(bench)
    (given,) = taken(bench, worker)
    engine = bench.worker()
    for _ in range(20):
        bench.clock.advance(30)
        assert bench.ask(remote_workers.heartbeat_worker, worker, queues=QUEUES, tokens=[given.token]) == HeartbeatAck(
            (), ()
        )
        answer(bench, engine)
        assert taken(bench, other) == ()
    assert state(bench, run_id) is RunState.STARTED


def test_a_silent_worker_loses_its_run_and_its_word_is_stale(bench: Bench) -> None:
    worker, other = joined(bench), joined(bench, "other")
    run_id = triggered(bench)
    (given,) = taken(bench, worker)
    bench.clock.advance(121)
    answer(bench, bench.worker())
    (again,) = taken(bench, other)
    assert (again.run_id, again.attempt) == (run_id, 2)
    with pytest.raises(StaleReport):
        bench.ask(callbacks.report_run, given.token, "succeeded")
    assert bench.ask(remote_workers.heartbeat_worker, worker, queues=QUEUES, tokens=[given.token]).lost == (
        given.token,
    )
    bench.ask(callbacks.report_run, again.token, "succeeded")


def test_a_lost_worker_is_a_failure_where_the_schedule_says_so(bench: Bench) -> None:
    worker = joined(bench)
    run_id = triggered(bench, on_worker_lost="fail", max_attempts=5)
    taken(bench, worker)
    bench.clock.advance(121)
    engine = bench.worker()
    answer(bench, engine)
    assert taken(bench, worker) == ()
    answer(bench, engine)
    ended = bench.ask(read.run, run_id)
    assert (ended.state, ended.reason) == (RunState.FAILED, "worker_lost")
    assert ended.error is not None
    assert "lost once" in ended.error


def test_a_run_that_is_to_end_is_told_so(bench: Bench) -> None:
    worker = joined(bench)
    first = triggered(bench, overlap_policy="cancel_other")
    (given,) = taken(bench, worker)
    bench.ask(control.trigger, "report", overlap="cancel_other")
    beaten = bench.ask(remote_workers.heartbeat_worker, worker, queues=QUEUES, tokens=[given.token])
    assert beaten.to_cancel == (given.token,)
    bench.ask(callbacks.report_run, given.token, "cancelled")
    answer(bench, bench.worker())
    assert state(bench, first) is RunState.CANCELLED


def test_goodbye_gives_back_what_will_not_be_finished(bench: Bench) -> None:
    worker, other = joined(bench), joined(bench, "other")
    run_id = triggered(bench)
    (given,) = taken(bench, worker)
    assert bench.ask(remote_workers.remove_worker, worker, tokens=[given.token]) == 1
    (again,) = taken(bench, other)
    assert (again.run_id, again.attempt) == (run_id, 2)
    with pytest.raises(NotFound, match="register it again"):
        taken(bench, worker)


def test_who_executes_runs(bench: Bench) -> None:
    bench.write(lambda t: t.instance_insert("engine:1", "1.0", t.now_ms(), t.now_ms() + 120_000, ["default"]))
    worker = joined(bench)
    newest, engine = bench.ask(workers.list_instances)
    assert (newest.instance_id, newest.kind, newest.queues, newest.alive) == (worker, "worker", ("reports",), True)
    assert (engine.name, engine.kind, engine.release, engine.alive) == ("engine:1", "engine", "1.0", True)
    bench.clock.advance(91)
    assert [each.alive for each in bench.ask(workers.list_instances)] == [False, False]


def test_a_queue_that_nobody_serves_is_shown(bench: Bench) -> None:
    triggered(bench)
    (queue,) = bench.ask(workers.list_queues)
    assert (queue.queue, queue.served_by, queue.waiting, queue.paused) == ("reports", 0, 1, False)
    assert queue.waiting_since is not None
    worker = joined(bench)
    (queue,) = bench.ask(workers.list_queues)
    assert (queue.served_by, queue.waiting) == (1, 1)
    taken(bench, worker)
    (queue,) = bench.ask(workers.list_queues)
    assert (queue.served_by, queue.waiting, queue.waiting_since) == (1, 0, None)
    bench.clock.advance(91)
    assert bench.ask(workers.list_queues) == ()


def test_what_a_pause_of_a_queue_holds_back_waits_in_it(bench: Bench) -> None:
    """A queue that was paused had nothing waiting in it, however much it had held back."""
    bench.ask(targets.pause_target, queue="reports")
    triggered(bench)
    triggered(bench, "other", overlap_policy="buffer_all")
    (queue,) = bench.ask(workers.list_queues)
    assert (queue.queue, queue.paused, queue.waiting) == ("reports", True, 2)
    assert queue.waiting_since is not None
    bench.ask(targets.resume_target, queue="reports")
    bench.ask(targets.pause_target, workflow_id="other")
    assert bench.ask(workers.list_queues) == (), "what waits for a workflow waits for no queue"


@pytest.mark.parametrize(
    "given",
    [{"limit": 0}, {"limit": 2_000}, {"queues": []}, {"queues": "reports"}, {"queues": [""]}, {"wait_ms": -1}],
)
def test_what_cannot_be_asked_for(bench: Bench, given: dict[str, Any]) -> None:
    worker = joined(bench)
    with pytest.raises(InvalidField):
        bench.ask(remote_workers.claim_runs, worker, **{"queues": QUEUES, **given})


def test_a_worker_that_nobody_knows_is_to_join_again(bench: Bench) -> None:
    for operation in (remote_workers.claim_runs, remote_workers.heartbeat_worker):
        with pytest.raises(NotFound, match="register it again"):
            bench.ask(operation, 77, queues=QUEUES)


def test_whoever_serves_a_queue_hears_of_a_tick_that_somebody_else_fired(bench: Bench) -> None:
    bench.create(queue="reports")
    heard: list[None] = []
    unsubscribe = bench.store.subscribe(lambda: heard.append(None))
    bench.go("08:01")
    bench.worker("default").on_time()
    assert bench.outcomes() == ["08:01 ENQUEUED"]
    assert wait_until(lambda: bool(heard))
    unsubscribe()


@pytest.mark.parametrize(("overlap", "state"), [("cancel_other", "STARTED"), ("terminate_other", "TERMINATED")])
def test_a_target_elsewhere_is_told_to_end_for_a_request(bench: Bench, overlap: str, state: str) -> None:
    """A tick told it; a trigger with the same policy did not."""
    worker = joined(bench)
    first = triggered(bench)
    taken(bench, worker)
    bench.ask(control.trigger, "report", overlap=overlap)
    engine = bench.worker()
    found = bench.write(lambda t: RemoteResultsStep(engine.context, engine.settling).due(t, 100))
    assert [(str(row.id), row.state) for row in found.to_end] == [(first, state)]
    again = bench.write(lambda t: RemoteResultsStep(engine.context, engine.settling).due(t, 100))
    assert again.to_end == []


def test_a_function_that_is_not_there_could_not_be_launched(bench: Bench) -> None:
    worker = joined(bench)
    run_id = triggered(bench, max_attempts=5)
    (given,) = taken(bench, worker)
    bench.ask(callbacks.report_run, given.token, "launch_failed", error="cannot be imported")
    answer(bench, bench.worker())
    ended = bench.ask(read.run, run_id)
    assert (ended.state, ended.reason, ended.error) == (RunState.FAILED, "launch_failed", "cannot be imported")
