"""Cancel, terminate and retry single runs."""

from __future__ import annotations

from secrets import token_hex

from tompion.errors import Conflict
from tompion.model.policy import Overlap
from tompion.model.rows import ScheduleRow
from tompion.model.run import FINAL, IN_FLIGHT, Reason, RunId, RunRow, RunSource, RunState
from tompion.model.schedule import Run
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import idempotent
from tompion.operations.runs.read import find_run
from tompion.operations.schedules.control import create_manual_run
from tompion.operations.schedules.repository import AuditEntry, audit, open_schedule
from tompion.operations.views import run_view
from tompion.plan import edit
from tompion.plan.stored_definition import compact


@idempotent(Run)
def cancel_run(context: OperationContext, run_id: str, *, request_id: str | None = None) -> Run:
    """Ask a run to end. A run that waits, or that no worker has started, ends at once.

    A running executor learns it within about a second and decides how the run ends.
    """
    row, schedule = _open_run(context, run_id)
    if row.state not in IN_FLIGHT:
        row = _drop(context, row, schedule)
    elif row.owner is None and row.state == RunState.ENQUEUED:
        row = _save_outcome(context, row, RunState.CANCELLED, "cancelled before a worker started it")
    else:
        row = context.transaction.run_request_cancel(row.id, context.now_ms) or row
    context.transaction.notify()
    _audit(context, schedule, "cancel_run", row.id, request_id)
    return run_view(row, schedule)


@idempotent(Run)
def terminate_run(context: OperationContext, run_id: str, *, request_id: str | None = None) -> Run:
    """End a run by force. It counts as terminated, whatever its executor reports."""
    row, schedule = _open_run(context, run_id)
    if row.state in IN_FLIGHT:
        row = _save_outcome(context, row, RunState.TERMINATED, "terminated on request")
    else:
        row = _drop(context, row, schedule)
    context.transaction.notify()
    _audit(context, schedule, "terminate_run", row.id, request_id)
    return run_view(row, schedule)


@idempotent(Run)
def retry_run(context: OperationContext, run_id: str, *, request_id: str | None = None) -> Run:
    """Run a finished run again: a new run with the same nominal time and payload, and a key of its own."""
    row, schedule = find_run(context, run_id)
    if row.state not in FINAL:
        raise Conflict(f"run {run_id} has not ended yet: {row.state}")
    loaded = open_schedule(context, schedule.schedule_id)
    key = request_id or f"r-{token_hex(8)}"
    new_run = create_manual_run(
        context, loaded, RunSource.TRIGGER, Overlap.ALLOW, payload=row.payload, request_key=key, nominal_s=row.nominal_s
    )
    audit(context, schedule, AuditEntry("retry_run", request_id, {"run_id": run_id}, {"run_id": str(new_run.id)}))
    return run_view(new_run, schedule)


def _open_run(context: OperationContext, run_id: str) -> tuple[RunRow, ScheduleRow]:
    """Return an open run with its schedule's state locked, so that no other transaction decides it."""
    row, schedule = find_run(context, run_id)
    context.transaction.state_lock([row.schedule_key])
    row, schedule = find_run(context, run_id)
    if row.state in FINAL:
        raise Conflict(f"run {run_id} has ended already: {row.state}")
    return row, schedule


def _drop(context: OperationContext, row: RunRow, schedule: ScheduleRow) -> RunRow:
    """End a run that waits."""
    transaction = context.transaction
    loaded = open_schedule(context, schedule.schedule_id, closed=True, repair=True)
    ended = transaction.run_drop(row.id, Reason.CANCEL_REQUESTED, context.now_ms)
    context.counted["runs_finished", RunState.CANCELLED] += ended is not None
    if ended is not None:
        buffered = row.state == RunState.BUFFERED
        transaction.state_update(
            [edit.without_waiting_run(loaded.state, loaded.compiled, context.now_ms, buffered=buffered)]
        )
    return ended or row


def _save_outcome(context: OperationContext, row: RunRow, state: RunState, error: str) -> RunRow:
    """Save the outcome of a run, for an engine to settle."""
    outcome = compact({"state": state, "error": error, "reason": Reason.CANCEL_REQUESTED})
    context.transaction.run_save_report([(*row.id, row.attempt, outcome)], context.now_ms)
    return context.transaction.run_get(row.id) or row


def _audit(
    context: OperationContext, schedule: ScheduleRow, operation: str, run: RunId, request_id: str | None
) -> None:
    audit(context, schedule, AuditEntry(operation, request_id, None, {"run_id": str(run)}))
