"""Single runs: cancel, terminate, retry."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.operations import Bench, Worker, shown
from tompion.engine.steps.remote_results import RemoteResultsStep
from tompion.errors import Conflict, NotFound
from tompion.model.run import RunId, RunState
from tompion.model.schedule import Run
from tompion.operations.resources import targets
from tompion.operations.runs import cancel, read, remote_workers


def process_requests(bench: Bench, engine: Worker) -> list[tuple[str, str]]:
    """Let an engine process the requests, and return the runs that their targets must end, and how."""
    results = bench.write(lambda t: RemoteResultsStep(engine.context, engine.settling).due(t, 100))
    return [(str(row.id), row.state) for row in results.to_end]


def reload(bench: Bench, run: Run) -> Run:
    return bench.ask(read.get_run, run.run_id)


def test_cancel_ends_an_unclaimed_run_at_once(bench: Bench) -> None:
    bench.create(queue="elsewhere")
    run = bench.trigger()
    bench.ask(cancel.cancel_run, run.run_id)
    assert process_requests(bench, bench.worker()) == []
    ended = reload(bench, run)
    assert (ended.status, ended.reason) == (RunState.CANCELLED, "cancel_requested")
    assert bench.get().in_flight == 0
    with pytest.raises(Conflict, match="has ended already: CANCELLED"):
        bench.ask(cancel.cancel_run, run.run_id)


@pytest.mark.parametrize("end", [cancel.cancel_run, cancel.terminate_run])
def test_cancel_removes_a_buffered_run(bench: Bench, end: object) -> None:
    bench.create(overlap_policy="queue")
    engine = bench.worker()
    bench.go("08:01")
    engine.on_time()
    bench.go("08:02")
    engine.on_time()
    waiting = bench.runs()[-1]
    assert waiting.status == RunState.BUFFERED
    bench.ask(end, waiting.run_id)  # type: ignore[arg-type]  # one of two operations
    assert bench.outcomes() == ["08:01 ENQUEUED", "08:02 CANCELLED cancel_requested"]
    assert bench.get().waiting == 0


@pytest.mark.parametrize("end", [cancel.cancel_run, cancel.terminate_run])
@pytest.mark.parametrize("policy", [{}, {"adaptive": True}])
def test_a_fixed_delay_continues_after_its_run_is_cancelled(bench: Bench, end: object, policy: dict[str, Any]) -> None:
    """Regression: the next tick followed a run that never started, so the schedule had no more ticks."""
    bench.create(intervals=[{"every": 60, "anchor": "completion"}], **policy)
    bench.ask(targets.pause_target, queue="default")
    engine = bench.worker()
    bench.go("08:05")
    engine.on_time()
    engine.catch_up()
    (waiting,) = bench.runs()
    assert (waiting.status, waiting.reason) == (RunState.BUFFERED, "target_paused")
    assert bench.get().next_run_at is None
    bench.ask(end, waiting.run_id)  # type: ignore[arg-type]  # one of two operations
    bench.ask(targets.resume_target, queue="default")
    next_run = bench.get().next_run_at
    assert next_run is not None
    bench.go(shown(next_run))
    engine.on_time()
    assert [run.status for run in bench.runs()] == [RunState.CANCELLED, RunState.ENQUEUED]


def test_cancel_ends_a_planned_run(bench: Bench) -> None:
    bench.create(catchup_policy="spread")
    bench.go("08:05:30")
    bench.worker().catch_up()
    planned = next(run for run in bench.runs() if run.status == RunState.PLANNED)
    bench.ask(cancel.cancel_run, planned.run_id)
    assert reload(bench, planned).status == RunState.CANCELLED
    assert bench.get().waiting == 0


def test_cancel_requests_the_end_of_a_claimed_run(bench: Bench) -> None:
    bench.create()
    engine = bench.worker()
    bench.go("08:01")
    engine.on_time()
    (run,) = bench.runs()
    bench.ask(cancel.cancel_run, run.run_id, request_id="c1")
    bench.ask(cancel.cancel_run, run.run_id, request_id="c1")
    row = engine.launched[0][0]
    held = [(*row.id, row.attempt)]
    assert bench.read(lambda t: t.run_check_held(held)) == {row.id: True}
    assert reload(bench, run).status == RunState.ENQUEUED, "the owner reports the outcome"


def test_a_target_gets_one_cancel_and_no_answer_ends_the_run(bench: Bench) -> None:
    bench.create(queue="reports")
    run = bench.trigger()
    worker = bench.ask(remote_workers.register_worker, "w", queues=["reports"])
    (assignment,) = bench.ask(remote_workers.claim_runs, worker.worker_id, queues=["reports"])
    bench.ask(cancel.cancel_run, run.run_id)
    engine = bench.worker("reports")
    assert process_requests(bench, engine) == [(run.run_id, "STARTED")]
    assert process_requests(bench, engine) == []
    beaten = bench.ask(remote_workers.heartbeat_worker, worker.worker_id, queues=["reports"], tokens=[assignment.token])
    assert beaten.to_cancel == (assignment.token,)
    bench.clock.advance(121)
    process_requests(bench, engine)
    fired = bench.write(lambda t: engine.rescuing.claim(t, 10))
    assert [str(row.id) for row, _ in fired.discarded] == [run.run_id], "no worker starts it again"


def test_terminate_ends_a_run_of_any_owner(bench: Bench) -> None:
    bench.create(queue="reports")
    run = bench.trigger()
    worker = bench.ask(remote_workers.register_worker, "w", queues=["reports"])
    bench.ask(remote_workers.claim_runs, worker.worker_id, queues=["reports"])
    bench.ask(cancel.terminate_run, run.run_id)
    assert process_requests(bench, bench.worker()) == [(run.run_id, "TERMINATED")]
    ended = reload(bench, run)
    assert (ended.status, ended.error) == (RunState.TERMINATED, "terminated on request")
    assert bench.get().in_flight == 0


def test_a_finished_run_can_be_retried(bench: Bench) -> None:
    bench.create(payload={"n": 1})
    run = bench.trigger(payload={"n": 2})
    with pytest.raises(Conflict, match="not ended yet"):
        bench.ask(cancel.retry_run, run.run_id)
    bench.ask(cancel.terminate_run, run.run_id)
    process_requests(bench, bench.worker())
    bench.clock.advance(3_600)
    again = bench.ask(cancel.retry_run, run.run_id, request_id="r1")
    assert again == bench.ask(cancel.retry_run, run.run_id, request_id="r1")
    assert (again.run_at, again.source) == (run.run_at, "trigger")
    assert again.idempotency_key != run.idempotency_key
    row = bench.read(lambda t: t.run_get(RunId(*map(int, again.run_id.split("-")))))
    assert row is not None
    assert row.payload == '{"n":2}'


def test_an_unknown_run_is_not_found(bench: Bench) -> None:
    bench.create()
    run = bench.trigger()
    for operation in (cancel.cancel_run, cancel.terminate_run, cancel.retry_run):
        with pytest.raises(NotFound):
            bench.ask(operation, "1-2-3")
        with pytest.raises(NotFound):
            bench.ask(operation, run.run_id, namespace="elsewhere")
