"""Remote worker: claims runs from a service, executes functions and reports the outcomes.

It has no store. Each run has a lease. The response to a heartbeat lists runs to cancel and runs whose lease was lost.
An outcome that cannot be reported is retried while the lease lasts. After that the service rejects it, because another
worker has the run.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from tompion.client import AsyncClient
from tompion.config.settings import Settings
from tompion.contract.stubs import OperationStub, run_stubs
from tompion.engine.telemetry.events import EngineEvents, Event, log_failure
from tompion.errors import LaunchError, NotFound, StaleReport, TompionError
from tompion.executors.base import Completed, RunContext, RunSignals
from tompion.executors.current_run import enter_run
from tompion.executors.function import FunctionExecutor
from tompion.model.run import FAILURES, RunId, RunRow, RunState
from tompion.model.worker import Assignment, Worker
from tompion.operations.runs import remote_workers
from tompion.runtime import clock

POLL_MS = 20_000
"""Long-poll timeout of a claim."""
RETRY_DELAYS_S = (0.2, 1.0, 5.0)
FAILED_EVENT = "failed"
EVENTS = {
    RunState.SUCCESS: "succeeded",
    RunState.FAILED: "failed",
    RunState.CANCELLED: "cancelled",
    RunState.TIMED_OUT: "timed_out",
}


class WorkerSignals(RunSignals):
    """Signals of a run, and whether its function could be launched."""

    def __init__(self) -> None:
        super().__init__()
        self.launched = True
        self.is_lost = False


class RemoteWorker:
    """Executes runs of a service in this process."""

    def __init__(
        self,
        client: AsyncClient,
        executor: FunctionExecutor,
        queues: frozenset[str],
        settings: Settings,
        events: EngineEvents,
    ) -> None:
        self._client = client
        self._executor = executor
        self._queues = sorted(queues)
        self._settings = settings
        self._events = events
        self._stopping = asyncio.Event()
        self._active: dict[str, tuple[asyncio.Task[None], WorkerSignals]] = {}
        self._has_capacity = asyncio.Event()
        self._has_capacity.set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._worker: Worker | None = None
        self._loops: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Register the worker, and start polling and heartbeats."""
        try:
            await self._register()
        except BaseException:  # stop() is not called for a worker that did not start
            await self._client.close()
            raise
        for loop in (self._poll, self._heartbeat):
            self._loops.append(asyncio.create_task(loop(), name=f"tompion-remote{loop.__name__}"))

    async def stop(self, grace_s: float | None = None) -> None:
        """Stop claiming, wait for runs within the grace period, and hand back the others."""
        self._stopping.set()
        self._has_capacity.set()
        poll_task, heartbeat_task = self._loops
        poll_task.cancel()
        await asyncio.wait([poll_task])
        grace = self._settings.shutdown_grace_ms / 1000 if grace_s is None else grace_s
        await clock.wait(self._idle, grace)
        remaining = dict(self._active)
        for task, signals in remaining.values():
            signals.is_lost, signals.should_continue = True, False
            task.cancel()
        heartbeat_task.cancel()
        await asyncio.wait([heartbeat_task, *(task for task, _ in remaining.values())], timeout=5)
        try:
            if remaining:
                await self._call(run_stubs.release_runs, self._id, tokens=list(remaining))
            await self._call(run_stubs.remove_worker, self._id)
        except TompionError as error:
            self._events.warn(f"cannot deregister this worker, its leases will expire: {error}")
        await self._executor.aclose()
        await self._client.close()

    # --- claiming runs ------------------------------------------------------------------------------------------

    @property
    def _id(self) -> int:
        assert self._worker is not None
        return self._worker.worker_id

    async def _register(self) -> None:
        name = f"{socket.gethostname()}:{os.getpid()}"
        self._worker = await self._call(run_stubs.register_worker, name, queues=self._queues)

    async def _poll(self) -> None:
        """Claim and start runs whenever there is capacity."""

        async def step() -> None:
            await self._has_capacity.wait()
            capacity = self._settings.max_active_launches - len(self._active)
            assignments = await self._call(
                run_stubs.claim_runs,
                self._id,
                queues=self._queues,
                limit=min(capacity, remote_workers.MAX_RUNS),
                wait_ms=POLL_MS,
            )
            for assignment in assignments:
                self._start_run(assignment)

        await self._repeat(step, "cannot claim runs")

    async def _heartbeat(self) -> None:
        """Send heartbeats, and cancel the runs that the response names."""

        async def step() -> None:
            assert self._worker is not None
            await clock.pause(self._worker.heartbeat_ms / 1000)
            await self._write_progress()
            tokens = list(self._active)
            response = await self._call(run_stubs.heartbeat_worker, self._id, queues=self._queues, tokens=tokens)
            for token in response.to_cancel:
                self._cancel(token, lost=False)
            for token in response.lost:
                self._cancel(token, lost=True)

        await self._repeat(step, "cannot send a heartbeat")

    async def _write_progress(self) -> None:
        """Report new progress of runs."""
        for token, (_, signals) in list(self._active.items()):
            progress, signals.progress = signals.progress, None
            if progress is not None:
                with suppress(StaleReport):
                    await self._call(run_stubs.report_run, token, "progress", progress=json.loads(progress))

    async def _repeat(self, step: Callable[[], Coroutine[Any, Any, None]], problem: str) -> None:
        """Repeat a step until the worker stops. Errors are retried with a delay."""
        failures = 0
        while not self._stopping.is_set():
            try:
                await step()
                failures = 0
            except NotFound:
                await self._register_again()
            except TompionError as error:
                self._events.warn(f"{problem}, retrying: {error}")
                await clock.wait(self._stopping, RETRY_DELAYS_S[min(failures, len(RETRY_DELAYS_S) - 1)])
                failures += 1

    async def _register_again(self) -> None:
        try:
            await self._register()
        except TompionError as error:
            self._events.warn(f"cannot register this worker again: {error}")
            await clock.wait(self._stopping, RETRY_DELAYS_S[-1])

    async def _call(self, operation: OperationStub[..., Any], *args: Any, **kwargs: Any) -> Any:
        return await self._client._run_operation(operation, args, kwargs, writes=True)  # noqa: SLF001 - as one of its methods

    # --- executing ------------------------------------------------------------------------------------------------

    def _start_run(self, assignment: Assignment) -> None:
        signals = WorkerSignals()
        task = asyncio.create_task(self._execute(assignment, signals), name="tompion-run")
        self._active[assignment.token] = (task, signals)
        self._idle.clear()
        if len(self._active) >= self._settings.max_active_launches:
            self._has_capacity.clear()
        self._events.emit_event(_run_event("started", assignment.source, assignment))

    def _cancel(self, token: str, *, lost: bool) -> None:
        task, signals = self._active.get(token, (None, None))
        if task is None or signals is None or not signals.should_continue:
            return
        signals.is_lost, signals.should_continue = lost, False
        if lost:
            self._events.count("leases_lost")
        task.cancel()

    async def _execute(self, assignment: Assignment, signals: WorkerSignals) -> None:
        try:
            run = run_context(assignment, signals)
            outcome = await self._run_function(assignment, run, signals)
            if outcome.state in FAILURES:
                log_failure(run, outcome.error, outcome.exception, is_final=True)
            await self._report(assignment, outcome, EVENTS[outcome.state] if signals.launched else "launch_failed")
        finally:
            self._active.pop(assignment.token, None)
            self._has_capacity.set()
            if not self._active:
                self._idle.set()

    async def _run_function(self, assignment: Assignment, run: RunContext, signals: WorkerSignals) -> Completed:
        """Run the function of an assignment within its time limit."""
        limit_s = None if assignment.max_execution_ms is None else assignment.max_execution_ms / 1000
        enter_run(run)
        running = asyncio.ensure_future(self._executor.run(None, run))
        try:
            done, _ = await asyncio.wait([running], timeout=limit_s)
            if not done:
                signals.should_continue = False
                running.cancel()
                return Completed(
                    RunState.TIMED_OUT, error=f"it took longer than max_execution_ms ({assignment.max_execution_ms})"
                )
            return running.result()
        except asyncio.CancelledError:
            running.cancel()
            if signals.is_lost:
                raise
            return Completed(RunState.CANCELLED, error="cancelled on request")
        except LaunchError as error:
            self._events.count("runs_failed_launch")
            signals.launched = False
            return Completed(RunState.FAILED, error=str(error), exception=error.__cause__)

    async def _report(self, assignment: Assignment, outcome: Completed, event: str) -> None:
        """Report the outcome of a run until the service accepts it or the lease is lost."""
        fields: dict[str, Any] = {
            "result": None if outcome.result is None else _storable(json.loads(outcome.result)),
            "error": None if outcome.error is None else _storable(outcome.error),
        }
        failures = 0
        while True:
            try:
                await self._call(run_stubs.report_run, assignment.token, event, **fields)
            except StaleReport as error:
                self._events.count("stale_writes_rejected")
                self._events.warn(f"run {assignment.run_id}: {error}")
                return
            except TompionError as error:
                if error.retryable:
                    self._events.warn(f"cannot report the outcome of run {assignment.run_id}, retrying: {error}")
                    await clock.pause(RETRY_DELAYS_S[min(failures, len(RETRY_DELAYS_S) - 1)])
                    failures += 1
                elif event != FAILED_EVENT:  # without an outcome, another worker would execute the run again
                    event, fields = FAILED_EVENT, {"error": f"the service rejected the outcome: {error}"}
                else:
                    self._events.warn(f"the service rejected the outcome of run {assignment.run_id}: {error}")
                    return
            else:
                self._emit_ended(assignment, outcome)
                return

    def _emit_ended(self, assignment: Assignment, outcome: Completed) -> None:
        error = outcome.error.splitlines()[0] if outcome.error else None
        text = str(outcome.state) if error is None else f"{outcome.state}: {error}"
        event = _run_event("ended", text, assignment)._replace(status=outcome.state, error=error)
        self._events.emit_event(event, logging.INFO)  # a failure is logged already, with its traceback


def _run_event(kind: str, text: str, assignment: Assignment) -> Event:
    return Event(
        kind=kind,
        schedule_id=assignment.schedule_id,
        text=text,
        nominal_s=int(assignment.run_at.timestamp()),
        namespace=assignment.namespace,
        run_id=assignment.run_id,
        source=assignment.source,
        attempt=assignment.attempt,
    )


def _storable(value: Any) -> Any:
    """Return a value whose texts the service can store. Otherwise it would reject the outcome."""
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode().replace("\x00", "\\x00")
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    return [_storable(item) for item in value] if isinstance(value, list) else value


def run_context(assignment: Assignment, signals: RunSignals) -> RunContext:
    """Return the context that the function of a run receives."""
    run = RunId(*map(int, assignment.run_id.split("-")))
    nominal_s = int(assignment.run_at.timestamp())
    row = RunRow(
        schedule_key=run.schedule_key,
        nominal_s=run.nominal_s,
        origin=run.origin,
        source=assignment.source,
        state=RunState.STARTED,
        reason=None,
        version=1,
        attempt=assignment.attempt,
        failures=assignment.failures,
        fire_ms=nominal_s * 1000,
        due_ms=None,
        owner=None,
        decided_ms=nominal_s * 1000,
        local_s=None,
        dst_adjustment=None,
        overlap=None,
        payload=None,
        request_id=assignment.request_id,
        started_ms=None,
        finished_ms=None,
        cancel_requested=False,
        error=None,
        result=None,
        execution_id=None,
    )
    payload = None if assignment.payload is None else json.dumps(assignment.payload)
    names = (assignment.namespace, assignment.schedule_id)
    context = RunContext(row, *names, assignment.action, payload, sign=lambda _: assignment.token, signals=signals)
    context.traceparent = assignment.traceparent
    return context
