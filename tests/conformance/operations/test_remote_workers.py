"""Workers that claim runs over a network: one lease per run, heartbeats, fences and deregistration."""

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
from tompion.operations.runs import callbacks, cancel, read, remote_workers
from tompion.operations.schedules import control, crud

QUEUES = ["reports"]
HOURLY: dict[str, Any] = {"cron": "0 * * * *", "function": "tasks:report", "queue": "reports", "payload": {"n": 1}}


def register_worker(bench: Bench, name: str = "w") -> int:
    return bench.ask(remote_workers.register_worker, name, queues=QUEUES).worker_id


def trigger_run(bench: Bench, name: str = "report", **fields: Any) -> str:
    if not bench.ask(crud.list_schedules, text=name).items:
        bench.ask(crud.create, name, **{**HOURLY, **fields})
    return bench.ask(control.trigger, name).run_id


def claim_runs(bench: Bench, worker_id: int, limit: int = 10) -> tuple[Assignment, ...]:
    assignments: tuple[Assignment, ...] = bench.ask(remote_workers.claim_runs, worker_id, queues=QUEUES, limit=limit)
    return assignments


def process_requests(bench: Bench, engine: Worker) -> None:
    bench.write(lambda t: RemoteResultsStep(engine.context, engine.settling).due(t, 100))


def state(bench: Bench, run_id: str) -> RunState:
    run_state: RunState = bench.ask(read.get_run, run_id).status
    return run_state


def test_one_worker_claims_a_run_and_reports_its_outcome(bench: Bench) -> None:
    one, other = register_worker(bench, "one"), register_worker(bench, "other")
    run_id = trigger_run(bench)
    (assignment,) = claim_runs(bench, one)
    assert (assignment.run_id, assignment.action.function, assignment.payload, assignment.attempt) == (
        run_id,
        "tasks:report",
        {"n": 1},
        1,
    )
    assert claim_runs(bench, other) == ()
    assert bench.ask(read.get_run, run_id).execution_id == "worker one"
    bench.ask(callbacks.report_run, assignment.token, "succeeded", result={"rows": 3})
    process_requests(bench, bench.worker())
    ended = bench.ask(read.get_run, run_id)
    assert (ended.status, ended.result) == (RunState.SUCCESS, {"rows": 3})


def test_a_worker_claims_only_functions_of_its_queues_and_namespace(bench: Bench) -> None:
    worker = register_worker(bench)
    trigger_run(bench, "elsewhere", queue="other")
    bench.store_workflow("flow")
    bench.ask(crud.create, "flow", **{**HOURLY, "function": None, "workflow_id": "flow"})
    bench.ask(control.trigger, "flow")
    assert claim_runs(bench, worker) == ()


def test_heartbeats_keep_the_run(bench: Bench) -> None:
    """A run of ten minutes under a lease of two stays with its worker as long as it sends heartbeats."""
    worker, other = register_worker(bench), register_worker(bench, "other")
    run_id = trigger_run(bench)
    (assignment,) = claim_runs(bench, worker)
    engine = bench.worker()
    for _ in range(20):
        bench.clock.advance(30)
        assert bench.ask(
            remote_workers.heartbeat_worker, worker, queues=QUEUES, tokens=[assignment.token]
        ) == HeartbeatAck((), ())
        process_requests(bench, engine)
        assert claim_runs(bench, other) == ()
    assert state(bench, run_id) is RunState.STARTED


def test_a_worker_without_heartbeats_loses_its_run_and_its_report_is_stale(bench: Bench) -> None:
    worker, other = register_worker(bench), register_worker(bench, "other")
    run_id = trigger_run(bench)
    (assignment,) = claim_runs(bench, worker)
    bench.clock.advance(121)
    process_requests(bench, bench.worker())
    (again,) = claim_runs(bench, other)
    assert (again.run_id, again.attempt) == (run_id, 2)
    with pytest.raises(StaleReport):
        bench.ask(callbacks.report_run, assignment.token, "succeeded")
    assert bench.ask(remote_workers.heartbeat_worker, worker, queues=QUEUES, tokens=[assignment.token]).lost == (
        assignment.token,
    )
    bench.ask(callbacks.report_run, again.token, "succeeded")


def test_a_lost_worker_can_count_as_a_failure(bench: Bench) -> None:
    worker = register_worker(bench)
    run_id = trigger_run(bench, on_worker_lost="fail", max_attempts=5)
    claim_runs(bench, worker)
    bench.clock.advance(121)
    engine = bench.worker()
    process_requests(bench, engine)
    assert claim_runs(bench, worker) == ()
    process_requests(bench, engine)
    ended = bench.ask(read.get_run, run_id)
    assert (ended.status, ended.reason) == (RunState.FAILED, "worker_lost")
    assert ended.error is not None
    assert "lost once" in ended.error


def test_a_heartbeat_returns_the_cancel_request(bench: Bench) -> None:
    worker = register_worker(bench)
    first = trigger_run(bench, overlap_policy="cancel_other")
    (assignment,) = claim_runs(bench, worker)
    bench.ask(control.trigger, "report", overlap="cancel_other")
    beaten = bench.ask(remote_workers.heartbeat_worker, worker, queues=QUEUES, tokens=[assignment.token])
    assert beaten.to_cancel == (assignment.token,)
    bench.ask(callbacks.report_run, assignment.token, "cancelled")
    process_requests(bench, bench.worker())
    assert state(bench, first) is RunState.CANCELLED


def test_a_worker_releases_its_runs_and_deregisters(bench: Bench) -> None:
    worker, other = register_worker(bench), register_worker(bench, "other")
    run_id = trigger_run(bench)
    (assignment,) = claim_runs(bench, worker)
    assert bench.ask(remote_workers.release_runs, worker, tokens=[assignment.token]) == 1
    assert bench.ask(remote_workers.remove_worker, worker) is None
    (again,) = claim_runs(bench, other)
    assert (again.run_id, again.attempt) == (run_id, 2)
    with pytest.raises(NotFound, match="register it again"):
        claim_runs(bench, worker)


def test_instances_are_listed_with_kind_and_liveness(bench: Bench) -> None:
    bench.write(lambda t: t.instance_insert("engine:1", "1.0", t.now_ms(), t.now_ms() + 120_000, ["default"]))
    worker = register_worker(bench)
    newest, engine = bench.ask(workers.list_instances)
    assert (newest.instance_id, newest.kind, newest.queues, newest.alive) == (worker, "worker", ("reports",), True)
    assert (engine.name, engine.kind, engine.release, engine.alive) == ("engine:1", "engine", "1.0", True)
    bench.clock.advance(91)
    assert [instance.alive for instance in bench.ask(workers.list_instances)] == [False, False]


def test_a_queue_without_workers_is_listed(bench: Bench) -> None:
    trigger_run(bench)
    (queue,) = bench.ask(workers.list_queues)
    assert (queue.queue, queue.served_by, queue.waiting, queue.paused) == ("reports", 0, 1, False)
    assert queue.waiting_since is not None
    worker = register_worker(bench)
    (queue,) = bench.ask(workers.list_queues)
    assert (queue.served_by, queue.waiting) == (1, 1)
    claim_runs(bench, worker)
    (queue,) = bench.ask(workers.list_queues)
    assert (queue.served_by, queue.waiting, queue.waiting_since) == (1, 0, None)
    bench.clock.advance(91)
    assert bench.ask(workers.list_queues) == ()


def test_runs_held_by_a_paused_queue_count_as_waiting(bench: Bench) -> None:
    """Regression: a paused queue had no waiting runs."""
    bench.ask(targets.pause_target, queue="reports")
    trigger_run(bench)
    trigger_run(bench, "other", overlap_policy="buffer_all")
    (queue,) = bench.ask(workers.list_queues)
    assert (queue.queue, queue.paused, queue.waiting) == ("reports", True, 2)
    assert queue.waiting_since is not None
    bench.ask(targets.resume_target, queue="reports")
    bench.ask(targets.pause_target, workflow_id="other")
    assert bench.ask(workers.list_queues) == (), "what waits for a workflow waits for no queue"


@pytest.mark.parametrize(
    "fields",
    [{"limit": 0}, {"limit": 2_000}, {"queues": []}, {"queues": "reports"}, {"queues": [""]}, {"wait_ms": -1}],
)
def test_invalid_claims_are_rejected(bench: Bench, fields: dict[str, Any]) -> None:
    worker = register_worker(bench)
    with pytest.raises(InvalidField):
        bench.ask(remote_workers.claim_runs, worker, **{"queues": QUEUES, **fields})


def test_an_unknown_worker_must_register_again(bench: Bench) -> None:
    for operation in (remote_workers.claim_runs, remote_workers.heartbeat_worker):
        with pytest.raises(NotFound, match="register it again"):
            bench.ask(operation, 77, queues=QUEUES)


def test_a_tick_for_another_instance_notifies_the_subscribers(bench: Bench) -> None:
    bench.create(queue="reports")
    heard: list[None] = []
    unsubscribe = bench.store.subscribe(lambda: heard.append(None))
    bench.go("08:01")
    bench.worker("default").on_time()
    assert bench.outcomes() == ["08:01 ENQUEUED"]
    assert wait_until(lambda: bool(heard))
    unsubscribe()


@pytest.mark.parametrize(("overlap", "state"), [("cancel_other", "STARTED"), ("terminate_other", "TERMINATED")])
def test_a_trigger_cancels_a_run_of_an_external_target(bench: Bench, overlap: str, state: str) -> None:
    """Regression: a tick with the same policy sent the cancel, and a trigger did not."""
    worker = register_worker(bench)
    first = trigger_run(bench)
    claim_runs(bench, worker)
    bench.ask(control.trigger, "report", overlap=overlap)
    engine = bench.worker()
    results = bench.write(lambda t: RemoteResultsStep(engine.context, engine.settling).due(t, 100))
    assert [(str(row.id), row.state) for row in results.to_end] == [(first, state)]
    again = bench.write(lambda t: RemoteResultsStep(engine.context, engine.settling).due(t, 100))
    assert again.to_end == []


def test_a_launch_failure_is_retried_like_other_failures(bench: Bench) -> None:
    worker = register_worker(bench)
    run_id = trigger_run(bench, max_attempts=2)
    (assignment,) = claim_runs(bench, worker)
    bench.ask(callbacks.report_run, assignment.token, "launch_failed", error="cannot be imported")
    process_requests(bench, bench.worker())
    retried = bench.ask(read.get_run, run_id)
    assert (retried.status, retried.reason, retried.error) == (RunState.ENQUEUED, "retry", "cannot be imported")


def test_a_cancelled_run_that_cannot_be_launched_is_not_retried(bench: Bench) -> None:
    worker = register_worker(bench)
    run_id = trigger_run(bench, max_attempts=2)
    (assignment,) = claim_runs(bench, worker)
    bench.ask(cancel.cancel_run, run_id)
    bench.ask(callbacks.report_run, assignment.token, "launch_failed", error="cannot be imported")
    process_requests(bench, bench.worker())
    assert bench.ask(read.get_run, run_id).status is RunState.FAILED


def test_a_launch_failure_fails_the_run(bench: Bench) -> None:
    worker = register_worker(bench)
    run_id = trigger_run(bench)
    (assignment,) = claim_runs(bench, worker)
    bench.ask(callbacks.report_run, assignment.token, "launch_failed", error="cannot be imported")
    process_requests(bench, bench.worker())
    ended = bench.ask(read.get_run, run_id)
    assert (ended.status, ended.reason, ended.error) == (RunState.FAILED, "launch_failed", "cannot be imported")
