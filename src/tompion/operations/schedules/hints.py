"""Hints to adaptive schedules, and the failures that their governor counts."""

from __future__ import annotations

from tompion.errors import InvalidField
from tompion.model.hint import HintRow, Outlook
from tompion.model.schedule import Schedule
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import idempotent
from tompion.operations.instants import When, epoch_ms
from tompion.operations.schedules.repository import AuditEntry, LoadedSchedule, load_by_id, open_schedule, save
from tompion.operations.validation import check_name, check_text, check_whole
from tompion.operations.views import outlook_view
from tompion.plan import adaptive, edit

DEFAULT_TTL_MS = 3_600_000
MAX_TTL_MS = 366 * 86_400_000
MIN_INTERVAL_MS, MAX_INTERVAL_MS = 1_000, 366 * 86_400_000
MAX_REASON_CHARS = 1_000


@idempotent(Outlook)
def hint(  # noqa: PLR0913 - the parts of the request
    context: OperationContext,
    schedule_id: str,
    *,
    interval_ms: int | None = None,
    at: When | None = None,
    ttl_ms: int | None = None,
    reason: str | None = None,
    author: str | None = None,
    token: int | None = None,
    request_id: str | None = None,
) -> Outlook:
    """Suggest to an adaptive schedule to run at an interval for a while, or once at a time, or both.

    A hint takes the place of an earlier one of its kind.  It holds for ``ttl_ms``: an hour if left out, for a one-shot
    hint counted from ``at``.
    """
    opened = _adaptive(open_schedule(context, schedule_id, token))
    if interval_ms is None and at is None:
        raise InvalidField("interval_ms", "what is the hint? give interval_ms, at, or both")
    ttl = DEFAULT_TTL_MS if ttl_ms is None else check_whole("ttl_ms", ttl_ms, 1, MAX_TTL_MS)
    who = context.actor if author is None else check_name("author", author, context.settings)
    why = None if reason is None else check_text("reason", reason, MAX_REASON_CHARS)
    moment = None if at is None else epoch_ms("at", at)
    rows = adaptive.hints_of(opened.state)
    if interval_ms is not None:
        every = check_whole("interval_ms", interval_ms, MIN_INTERVAL_MS, MAX_INTERVAL_MS)
        rows = rows._replace(interval=HintRow(every, _end_of(context.now_ms + ttl), context.now_ms, who, why))
    if moment is not None:
        expires = (context.now_ms if ttl_ms is not None else max(moment, context.now_ms)) + ttl
        if moment >= expires:
            raise InvalidField("ttl_ms", f"{ttl} ms from now, the hint expires before the time that it is about")
        rows = rows._replace(once=HintRow(moment, _end_of(expires), context.now_ms, who, why))
    after = {"interval_ms": interval_ms, "at": moment, "ttl_ms": ttl, "reason": why, "author": who}
    changed = opened._replace(state=opened.state._replace(hints=rows.text()))
    return _governed(context, changed, AuditEntry("hint", request_id, None, after))


def hints(context: OperationContext, schedule_id: str) -> Outlook:
    """Return the live hints of an adaptive schedule, and what it does next."""
    opened = _adaptive(load_by_id(context, schedule_id))
    return outlook_view(opened.row, opened.state, opened.compiled, context.now_ms)


@idempotent(Outlook)
def clear_hints(
    context: OperationContext,
    schedule_id: str,
    *,
    reason: str | None = None,
    token: int | None = None,
    request_id: str | None = None,
) -> Outlook:
    """Take back all hints of an adaptive schedule: it goes back to its baseline."""
    opened = _adaptive(open_schedule(context, schedule_id, token))
    why = None if reason is None else check_text("reason", reason, MAX_REASON_CHARS)
    live = adaptive.hints_of(opened.state).live_at(context.now_ms)
    before = {name: None if row is None else row.value for name, row in live._asdict().items()}
    changed = opened._replace(state=opened.state._replace(hints=None))
    return _governed(context, changed, AuditEntry("clear_hints", request_id, before, {"reason": why}))


@idempotent(Schedule)
def reset_failures(
    context: OperationContext,
    schedule_id: str,
    *,
    token: int | None = None,
    request_id: str | None = None,
) -> Schedule:
    """Forget the failures in a row: the interval of an adaptive schedule is again what its definition says."""
    opened = open_schedule(context, schedule_id, token)
    state = opened.state._replace(failures=0)
    if opened.compiled.allowed_seconds is not None:
        state = edit.replan_adaptive(state, opened.compiled, context.now_ms)
    note = AuditEntry("reset_failures", request_id, {"failures": opened.state.failures}, {"failures": 0})
    return save(context, opened._replace(state=state), note)


def _end_of(expires_ms: int) -> int:
    """The end of the second in which a hint expires: in the middle of one, it would be live and not live."""
    return -(-expires_ms // 1000) * 1000


def _adaptive(opened: LoadedSchedule) -> LoadedSchedule:
    if opened.compiled.allowed_seconds is None:
        raise InvalidField("adaptive", f"schedule {opened.row.schedule_id!r} takes no hints; set adaptive to true")
    return opened


def _governed(context: OperationContext, opened: LoadedSchedule, note: AuditEntry) -> Outlook:
    """Write an adaptive schedule whose hints have changed, aimed anew."""
    state = edit.replan_adaptive(opened.state, opened.compiled, context.now_ms)
    schedule = save(context, opened._replace(state=state), note)
    row = opened.row._replace(token=schedule.token)
    return outlook_view(row, state, opened.compiled, context.now_ms)
