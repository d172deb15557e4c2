"""Transactional runs: executed inside the transaction that claims them.

A tick, a trigger, a backfill or a freed slot claims runs in a transaction. Before that transaction commits, the runs
whose executor is transactional (a row in a queue table, a call of a SQL function) are executed in it, and their
outcomes are written with it. An outcome may start the next queued run, which is executed as well, for a limited number
of rounds. Runs of other executors are not affected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from tompion.encoding.bounded_text import storable
from tompion.engine.context import EngineContext
from tompion.engine.execution.launcher import build_run_context, worker_lost_result, workflow_parts
from tompion.engine.schedule_cache import UNREADABLE, parse_document
from tompion.engine.steps.result import Launches, StepResult
from tompion.engine.steps.settle import SettleStep
from tompion.errors import LaunchError
from tompion.executors.base import Accepted, Executor, RunContext, TransactionalExecutor
from tompion.model.policy import DEFAULT_REMOTE_LIMIT_MS
from tompion.model.run import Reason, RunRow, RunState
from tompion.model.sql_call import SqlCall, SqlResult
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.outcome import Outcome
from tompion.store.base import Transaction

MAX_ROUNDS = 100
"""How often in one transaction outcomes may start further transactional runs."""
MAX_CACHED_WORKFLOWS = 10_000
WorkflowRef: TypeAlias = tuple[str, str, int | None]
"""Namespace, workflow id, and version. No version means the newest one."""
WorkflowVersion: TypeAlias = tuple[str, str, int]


class TransactionalWorkflow(NamedTuple):
    """A workflow with a transactional executor."""

    executor: TransactionalExecutor
    options: Any
    dag: Any


class TransactionalRun(NamedTuple):
    """A run to execute: its SQL call, or the error that prevents it."""

    row: RunRow
    compiled: CompiledSchedule
    workflow: TransactionalWorkflow
    run_context: RunContext
    call: SqlCall | None = None
    error: str | None = None
    reason: Reason = Reason.LAUNCH_FAILED
    is_refused: bool = True


class TransactionalStep:
    """Executes the transactional runs of a step."""

    def __init__(self, context: EngineContext, executors: Mapping[str, Executor], settle: SettleStep) -> None:
        self._context = context
        self._settle = settle
        self._executors = {
            kind: executor for kind, executor in executors.items() if isinstance(executor, TransactionalExecutor)
        }
        self._workflows: dict[WorkflowVersion, TransactionalWorkflow | None] = {}

    def execute_inline(self, transaction: Transaction, result: StepResult) -> None:
        """Execute the transactional launches of a step and move them to ``result.inline``."""
        if not (self._executors and result.launches and self._context.supports_calls):
            return
        launches, others = result.launches, Launches()
        for rounds_left in reversed(range(MAX_ROUNDS)):
            stored = self._workflows_of(transaction, (compiled for _, compiled in launches))
            workflows = [
                self._workflow_in_schedule(compiled) or stored.get(_workflow_ref(compiled)) for _, compiled in launches
            ]
            runs = [
                self._prepare(row, compiled, workflow)
                for (row, compiled), workflow in zip(launches, workflows, strict=True)
                if workflow is not None
            ]
            others += [launch for launch, workflow in zip(launches, workflows, strict=True) if workflow is None]
            if not runs:
                break
            outcomes = self._outcomes(transaction, runs if rounds_left else [], result.now_ms)
            outcomes += [_outcome(run.row, result.now_ms, RunState.ENQUEUED) for run in runs[len(outcomes) :]]
            if any(outcome.state is RunState.ENQUEUED for outcome in outcomes):
                transaction.notify()
            settled = self._settle.settle(transaction, outcomes)
            self._context.notifications.notify_late_launches(transaction, settled.launches, settled.now_ms)
            launches, settled.launches = settled.launches, []
            settled.failed_launches = sum(outcome.reason is Reason.LAUNCH_FAILED for outcome in outcomes)
            started = StepResult(now_ms=result.now_ms, launches=[(run.row, run.compiled) for run in runs])
            result.inline += [started, settled]
        result.launches = others

    # --- which runs -----------------------------------------------------------------------------------------------

    def _workflow_in_schedule(self, compiled: CompiledSchedule) -> TransactionalWorkflow | None:
        """Return the target of a schedule that names a transactional executor itself."""
        executor = self._executors.get(compiled.action.executor or "")
        return None if executor is None else TransactionalWorkflow(executor, compiled.action.options, None)

    def _workflows_of(
        self, transaction: Transaction, schedules: Iterable[CompiledSchedule]
    ) -> dict[WorkflowRef | None, TransactionalWorkflow]:
        """Return the stored workflows of schedules that have a transactional executor."""
        refs = {ref for compiled in schedules if (ref := _workflow_ref(compiled)) is not None}
        newest = transaction.workflow_list_newest(sorted({ref[:2] for ref in refs if ref[2] is None}))
        workflows: dict[WorkflowRef | None, TransactionalWorkflow] = {}
        for ref in refs:
            version = newest.get(ref[:2]) if ref[2] is None else ref[2]
            workflow = None if version is None else self._workflow(transaction, (ref[0], ref[1], version))
            if workflow is not None:
                workflows[ref] = workflow
        return workflows

    def _workflow(self, transaction: Transaction, version: WorkflowVersion) -> TransactionalWorkflow | None:
        if version not in self._workflows:
            if len(self._workflows) >= MAX_CACHED_WORKFLOWS:
                self._workflows.pop(next(iter(self._workflows)))
            row = transaction.workflow_get(*version)
            if row is None:
                return None
            self._workflows[version] = self._parse(row.document)
        return self._workflows[version]

    def _parse(self, document: str) -> TransactionalWorkflow | None:
        try:
            kind, options, dag = workflow_parts(parse_document(document))
            executor = self._executors.get(kind)
        except UNREADABLE:  # the launcher reports it
            return None
        return None if executor is None else TransactionalWorkflow(executor, options, dag)

    # --- their outcomes -------------------------------------------------------------------------------------------

    def _prepare(self, row: RunRow, compiled: CompiledSchedule, workflow: TransactionalWorkflow) -> TransactionalRun:
        """Build the SQL call of a run, or record why it cannot be called."""
        run = TransactionalRun(
            row, compiled, workflow, build_run_context(self._context, row, compiled, workflow.options)
        )
        if compiled.policy.is_abandoned(row.pickups, self._context.settings.max_pickups):
            completed, reason = worker_lost_result(row)
            return run._replace(error=completed.error, reason=reason)
        try:
            return run._replace(call=workflow.executor.call(workflow.dag, run.run_context))
        except LaunchError as error:
            return run._replace(error=str(error), is_refused=not error.retryable)
        except Exception as error:  # noqa: BLE001 - an executor that breaks its contract must not stop the others
            return run._replace(error=_contract_error(error))

    def _outcomes(self, transaction: Transaction, runs: list[TransactionalRun], now_ms: int) -> list[Outcome]:
        """Execute runs until the time limit. Return the outcomes of those that were executed."""
        timeout_ms = max((run.workflow.executor.timeout_ms for run in runs), default=0)
        calls = [run.call for run in runs if run.call is not None]
        results = iter(transaction.execute_calls(calls, timeout_ms) if calls else ())
        outcomes: list[Outcome] = []
        for run in runs:
            if run.call is None:
                outcomes.append(_failed(run.row, now_ms, run.error, run.reason)._replace(is_refused=run.is_refused))
            elif (result := next(results, None)) is not None:
                outcomes.append(self._outcome_of(run, result, now_ms))
            else:
                break
        return outcomes

    def _outcome_of(self, run: TransactionalRun, result: SqlResult, now_ms: int) -> Outcome:
        """Return the outcome of a run from the result of its SQL call."""
        row = run.row
        if result.error is not None:
            return self._retry(row, now_ms, result.error)
        try:
            completed = run.workflow.executor.outcome_of_call(run.run_context, result.answer)
        except Exception as error:  # noqa: BLE001 - as above, although the effect of its call stays
            return _failed(row, now_ms, _contract_error(error))
        execution_id = _storable(completed.execution_id)
        if isinstance(completed, Accepted):
            lease_ms = run.compiled.policy.max_execution_ms or DEFAULT_REMOTE_LIMIT_MS
            return _outcome(row, now_ms, RunState.STARTED)._replace(execution_id=execution_id, lease_ms=lease_ms)
        return _outcome(row, now_ms, completed.state)._replace(
            error=_storable(completed.error), result=_storable(completed.result), execution_id=execution_id
        )

    def _retry(self, row: RunRow, now_ms: int, error: str) -> Outcome:
        """Retry a failed call after the launch delay. The last try fails the attempt, which has ``launch_tries``."""
        settings = self._context.settings
        tries = max(row.attempt - row.pickups - 1, 0) % settings.launch_tries + 1
        if tries >= settings.launch_tries:
            return _failed(row, now_ms, error)
        delay_ms = settings.launch_retry_ms << (tries - 1)
        return _outcome(row, now_ms, RunState.ENQUEUED)._replace(error=_storable(error), lease_ms=delay_ms)


def _workflow_ref(compiled: CompiledSchedule) -> WorkflowRef | None:
    """Return the workflow that a schedule starts, with the version that it names."""
    action = compiled.action
    return None if action.workflow_id is None else (compiled.namespace, action.workflow_id, action.workflow_version)


def _outcome(row: RunRow, now_ms: int, state: RunState) -> Outcome:
    return Outcome(
        schedule_key=row.schedule_key,
        nominal_s=row.nominal_s,
        origin=row.origin,
        fence=row.attempt,
        state=state,
        failures=row.failures,
        started_ms=None if state is RunState.ENQUEUED else now_ms,
        row=row,
    )


def _contract_error(error: Exception) -> str:
    return f"the executor has failed: {type(error).__name__}"


def _failed(row: RunRow, now_ms: int, error: str | None, reason: Reason = Reason.LAUNCH_FAILED) -> Outcome:
    return _outcome(row, now_ms, RunState.FAILED)._replace(reason=reason, error=_storable(error))


def _storable(text: str | None) -> str | None:
    return None if text is None else storable(text)
