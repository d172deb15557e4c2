"""Steering single runs: to be cancelled, ended by force, or run once more."""

from __future__ import annotations

from secrets import token_hex

from tompion.errors import Conflict
from tompion.model.policy import Overlap
from tompion.model.rows import ScheduleRow
from tompion.model.run import FINAL, IN_FLIGHT, Reason, RunId, RunRow, RunSource, RunState
from tompion.model.schedule import Run
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import idempotent
from tompion.operations.runs.read import found_run
from tompion.operations.schedules.control import create_manual_run
from tompion.operations.schedules.repository import AuditEntry, audit, open_schedule
from tompion.operations.views import run_view
from tompion.plan import edit
from tompion.plan.stored_definition import compact


@idempotent(Run)
def cancel_run(context: OperationContext, run_id: str, *, request_id: str | None = None) -> Run:
    """Ask a run to end; one that waits, or that nobody has begun, is over at once.

    What is executed is told so within about a second; how it ends is for it to say.
    """
    row, schedule = _open_run(context, run_id)
    if row.state not in IN_FLIGHT:
        row = _dropped(context, row, schedule)
    elif row.owner is None and row.state == RunState.ENQUEUED:
        row = _ended(context, row, RunState.CANCELLED, "cancelled before anybody began with it")
    else:
        row = context.transaction.run_request_cancel(row.id, context.now_ms) or row
    context.transaction.notify()
    _audit(context, schedule, "cancel_run", row.id, request_id)
    return run_view(row, schedule)


@idempotent(Run)
def terminate_run(context: OperationContext, run_id: str, *, request_id: str | None = None) -> Run:
    """End a run by force: it counts as ended, whatever whoever executes it does or says."""
    row, schedule = _open_run(context, run_id)
    if row.state in IN_FLIGHT:
        row = _ended(context, row, RunState.TERMINATED, "terminated on request")
    else:
        row = _dropped(context, row, schedule)
    context.transaction.notify()
    _audit(context, schedule, "terminate_run", row.id, request_id)
    return run_view(row, schedule)


@idempotent(Run)
def retry_run(context: OperationContext, run_id: str, *, request_id: str | None = None) -> Run:
    """Run once more what is over: another run, with the same nominal time and payload, and a key of its own."""
    row, schedule = found_run(context, run_id)
    if row.state not in FINAL:
        raise Conflict(f"run {run_id} is not over yet: {row.state}")
    opened = open_schedule(context, schedule.schedule_id)
    asked = request_id or f"r-{token_hex(8)}"
    again = create_manual_run(
        context, opened, RunSource.TRIGGER, Overlap.ALLOW, payload=row.payload, asked=asked, nominal_s=row.nominal_s
    )
    audit(context, schedule, AuditEntry("retry_run", request_id, {"run_id": run_id}, {"run_id": str(again.id)}))
    return run_view(again, schedule)


def _open_run(context: OperationContext, run_id: str) -> tuple[RunRow, ScheduleRow]:
    """Return a run that is not over, with its dial locked: nobody decides about it meanwhile."""
    row, schedule = found_run(context, run_id)
    context.transaction.state_lock([row.schedule_key])
    row, schedule = found_run(context, run_id)
    if row.state in FINAL:
        raise Conflict(f"run {run_id} is over: {row.state}")
    return row, schedule


def _dropped(context: OperationContext, row: RunRow, schedule: ScheduleRow) -> RunRow:
    """End a run that waits."""
    transaction = context.transaction
    opened = open_schedule(context, schedule.schedule_id, closed=True, repair=True)
    ended = transaction.run_drop(row.id, Reason.CANCEL_REQUESTED, context.now_ms)
    context.counted["runs_finished", RunState.CANCELLED] += ended is not None
    if ended is not None:
        buffered = row.state == RunState.BUFFERED
        transaction.state_update(
            [edit.without_waiting_run(opened.state, opened.compiled, context.now_ms, buffered=buffered)]
        )
    return ended or row


def _ended(context: OperationContext, row: RunRow, state: RunState, error: str) -> RunRow:
    """Say how a run has ended, for an engine to write down."""
    said = compact({"state": state, "error": error, "reason": Reason.CANCEL_REQUESTED})
    context.transaction.run_save_report([(*row.id, row.attempt, said)], context.now_ms)
    return context.transaction.run_get(row.id) or row


def _audit(
    context: OperationContext, schedule: ScheduleRow, operation: str, run: RunId, request_id: str | None
) -> None:
    audit(context, schedule, AuditEntry(operation, request_id, None, {"run_id": str(run)}))
