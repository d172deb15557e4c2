"""Reports about runs that execute outside of an engine: started, alive, progress, and the outcome.

The reporter sends the token of the run and its attempt. A report about an attempt that is not the current one, or about
a finished run, changes nothing and raises :class:`~tompion.errors.StaleReport`.
"""

from __future__ import annotations

from secrets import token_hex
from typing import Any

from tompion.encoding.bounded_text import json_value, truncate
from tompion.errors import InvalidField, StaleReport, display
from tompion.model.callback_token import CALLBACKS, read_token
from tompion.model.policy import Policy
from tompion.model.run import IN_FLIGHT, Reason, RunId, RunRow, RunState
from tompion.model.worker import ReportAck
from tompion.operations.context import OperationContext
from tompion.operations.schedules.schedule_document import payload_of
from tompion.operations.validation import check_text
from tompion.plan.stored_definition import compact, stored_policy

REPORT_EVENTS = ("started", "heartbeat", "progress", "succeeded", "failed", "cancelled", "timed_out", "launch_failed")
FINAL_STATES = {
    "succeeded": RunState.SUCCESS,
    "failed": RunState.FAILED,
    "cancelled": RunState.CANCELLED,
    "timed_out": RunState.TIMED_OUT,
    "launch_failed": RunState.FAILED,
}
MAX_ID_CHARS = 1_000
MAX_ERROR_CHARS = 1_000_000


def report_run(  # noqa: PLR0913 - the parts of a report
    context: OperationContext,
    token: str,
    event: str,
    *,
    result: Any = None,
    error: str | None = None,
    progress: Any = None,
    execution_id: str | None = None,
) -> ReportAck:
    """Record a report about a run that executes outside of an engine."""
    if event not in REPORT_EVENTS:
        raise InvalidField("event", f"{display(event)}; expected one of {', '.join(REPORT_EVENTS)}")
    run, attempt = read_run_token(context, token)
    row = context.transaction.run_get(run)
    if row is None or row.attempt != attempt or row.state not in IN_FLIGHT:
        raise _stale(run, attempt, row)
    if event in FINAL_STATES:
        reason = Reason.LAUNCH_FAILED if event == "launch_failed" else None
        return _save_outcome(context, row, FINAL_STATES[event], result, error, execution_id, reason)
    progress_text = None if progress is None else compact(payload_of(progress, context.settings, "progress"))
    renewed = context.transaction.run_renew_remote(
        [(*run, attempt)], context.now_ms, _until_ms(context, row), progress_text
    )
    if not renewed:
        raise _stale(run, attempt, context.transaction.run_get(run))
    return ReportAck(str(run), renewed[0].cancel_requested)


def _save_outcome(  # noqa: PLR0913 - the parts of an outcome
    context: OperationContext,
    row: RunRow,
    state: RunState,
    result: Any,
    error: str | None,
    execution_id: str | None,
    reason: Reason | None,
) -> ReportAck:
    """Save the outcome that a target or worker reports. The engine writes it to the run."""
    most = context.settings.max_result_bytes
    outcome = {
        "state": state,
        "reason": reason,
        "result": None if result is None else json_value(payload_of(result, context.settings, "result"), most),
        "error": None if error is None else truncate(check_text("error", error, MAX_ERROR_CHARS), most),
        "execution_id": None if execution_id is None else check_text("execution_id", execution_id, MAX_ID_CHARS),
    }
    report = (*row.id, row.attempt, compact(outcome))
    if not context.transaction.run_save_report([report], context.now_ms):
        raise _stale(row.id, row.attempt, context.transaction.run_get(row.id))
    context.transaction.notify()
    return ReportAck(str(row.id), row.cancel_requested)


def read_run_token(context: OperationContext, token: str) -> tuple[RunId, int]:
    """Return the run and the attempt of a token. Raises :class:`~tompion.errors.InvalidField`."""
    secret = context.transaction.secret_get_or_create(CALLBACKS, token_hex(32))
    run_and_attempt = read_token(secret, token) if type(token) is str else None
    if run_and_attempt is None:
        raise InvalidField("token", "this is not the token of a run; send the token of the assignment")
    return run_and_attempt


def _until_ms(context: OperationContext, row: RunRow) -> int:
    """Return when the lease of a run ends that was reported alive now."""
    version = context.transaction.version_get(row.schedule_key, row.version)
    policy = Policy() if version is None else stored_policy(version.policy)
    limit_ms = policy.remote_limit_ms(row.execution_id)
    renewed_ms = context.now_ms + context.settings.lock_ttl_ms
    return renewed_ms if limit_ms is None else min((row.started_ms or context.now_ms) + limit_ms, renewed_ms)


def _stale(run: RunId, attempt: int, row: RunRow | None) -> StaleReport:
    if row is None:
        return StaleReport(f"run {run} does not exist any more")
    if row.attempt != attempt:
        return StaleReport(
            f"attempt {attempt} of run {run} is not the current one; the current attempt is {row.attempt}"
        )
    return StaleReport(f"run {run} has ended, or its outcome was reported already: {row.state}")
