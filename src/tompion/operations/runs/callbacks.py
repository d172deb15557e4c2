"""What whoever executes a run elsewhere says of it: that it has begun, lives, gets on, and how it ended.

Whoever speaks shows the token of the run and the attempt.  A word about an attempt that is no longer the current one,
or about a run that is over, changes nothing: :class:`~tompion.errors.StaleReport`.
"""

from __future__ import annotations

from dataclasses import dataclass
from secrets import token_hex
from typing import Any

from tompion.errors import InvalidField, StaleReport, display
from tompion.model.codec import json_value, truncate
from tompion.model.policy import Policy
from tompion.model.run import IN_FLIGHT, Reason, RunId, RunRow, RunState
from tompion.model.security import CALLBACKS, read_token
from tompion.operations.context import OperationContext
from tompion.operations.schedules.definition import payload_of
from tompion.operations.validation import check_text
from tompion.plan.stored_definition import compact, stored_policy

EVENTS = ("started", "heartbeat", "progress", "succeeded", "failed", "cancelled", "timed_out", "launch_failed")
ENDS = {
    "succeeded": RunState.SUCCESS,
    "failed": RunState.FAILED,
    "cancelled": RunState.CANCELLED,
    "timed_out": RunState.TIMED_OUT,
    "launch_failed": RunState.FAILED,
}
MAX_ID_CHARS = 1_000
MAX_ERROR_CHARS = 1_000_000


@dataclass(frozen=True, slots=True)
class ReportAck:
    """The answer to a report: which run it was about, and whether that is to end."""

    run_id: str
    cancel_requested: bool


def report_run(  # noqa: PLR0913 - what can be said about a run
    context: OperationContext,
    token: str,
    event: str,
    *,
    result: Any = None,
    error: str | None = None,
    progress: Any = None,
    execution_id: str | None = None,
) -> ReportAck:
    """Take note of what became of a run that is executed elsewhere."""
    if event not in EVENTS:
        raise InvalidField("event", f"{display(event)}; expected one of {', '.join(EVENTS)}")
    run, attempt = run_of(context, token)
    row = context.transaction.run_get(run)
    if row is None or row.attempt != attempt or row.state not in IN_FLIGHT:
        raise _stale(run, attempt, row)
    if event in ENDS:
        reason = Reason.LAUNCH_FAILED if event == "launch_failed" else None
        return _ended(context, row, ENDS[event], result, error, execution_id, reason)
    said = None if progress is None else compact(payload_of(progress, context.settings, "progress"))
    renewed = context.transaction.run_renew_remote([(*run, attempt)], context.now_ms, _until_ms(context, row), said)
    if not renewed:
        raise _stale(run, attempt, context.transaction.run_get(run))
    return ReportAck(str(run), renewed[0].cancel_requested)


def _ended(  # noqa: PLR0913 - how it did
    context: OperationContext,
    row: RunRow,
    state: RunState,
    result: Any,
    error: str | None,
    execution_id: str | None,
    reason: Reason | None,
) -> ReportAck:
    most = context.settings.max_result_bytes
    said = {
        "state": state,
        "reason": reason,
        "result": None if result is None else json_value(payload_of(result, context.settings, "result"), most),
        "error": None if error is None else truncate(check_text("error", error, MAX_ERROR_CHARS), most),
        "execution_id": None if execution_id is None else check_text("execution_id", execution_id, MAX_ID_CHARS),
    }
    held = (*row.id, row.attempt, compact(said))
    if not context.transaction.run_save_report([held], context.now_ms):
        raise _stale(row.id, row.attempt, context.transaction.run_get(row.id))
    context.transaction.notify()
    return ReportAck(str(row.id), row.cancel_requested)


def run_of(context: OperationContext, token: str) -> tuple[RunId, int]:
    """Return the run and the attempt that a token is about; raises :class:`~tompion.errors.InvalidField`."""
    secret = context.transaction.secret_get_or_create(CALLBACKS, token_hex(32))
    found = read_token(secret, token) if type(token) is str else None
    if found is None:
        raise InvalidField("token", "this is not the token of a run; send the one that came with the run")
    return found


def _until_ms(context: OperationContext, row: RunRow) -> int:
    """When to worry about a run of which something was heard now."""
    version = context.transaction.version_get(row.schedule_key, row.version)
    policy = Policy() if version is None else stored_policy(version.policy)
    limit_ms = policy.remote_limit_ms(row.execution_id)
    renewed_ms = context.now_ms + context.settings.lock_ttl_ms
    return renewed_ms if limit_ms is None else min((row.started_ms or context.now_ms) + limit_ms, renewed_ms)


def _stale(run: RunId, attempt: int, row: RunRow | None) -> StaleReport:
    if row is None:
        return StaleReport(f"run {run} is no longer there")
    if row.attempt != attempt:
        return StaleReport(f"attempt {attempt} at run {run} is not the current one; attempt {row.attempt} is")
    return StaleReport(f"run {run} is over, or its end was reported already: {row.state}")
