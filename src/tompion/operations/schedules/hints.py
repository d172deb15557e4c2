"""Hints to adaptive schedules, and their count of failures."""

from __future__ import annotations

from tompion.encoding.instant import When
from tompion.errors import InvalidField
from tompion.model.hint import HintRow, Outlook
from tompion.model.schedule import Schedule
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import idempotent
from tompion.operations.instants import epoch_ms
from tompion.operations.schedules.repository import AuditEntry, LoadedSchedule, load_by_id, open_schedule, save
from tompion.operations.validation import check_duration_ms, check_name, check_text
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
    interval_ms: int | str | None = None,
    at: When | None = None,
    ttl_ms: int | str | None = None,
    reason: str | None = None,
    author: str | None = None,
    conflict_token: int | None = None,
    request_id: str | None = None,
) -> Outlook:
    """Suggest an interval, a time for one run, or both to an adaptive schedule.

    A hint replaces an earlier one of its kind. It is live for ``ttl_ms``: an hour by default, for a one-shot hint
    counted from ``at``.
    """
    loaded = _require_adaptive(open_schedule(context, schedule_id, conflict_token))
    if interval_ms is None and at is None:
        raise InvalidField("interval_ms", "the hint is empty; send interval_ms, at, or both")
    ttl = DEFAULT_TTL_MS if ttl_ms is None else check_duration_ms("ttl_ms", ttl_ms, 1, MAX_TTL_MS)
    author_name = context.actor if author is None else check_name("author", author, context.settings)
    reason_text = None if reason is None else check_text("reason", reason, MAX_REASON_CHARS)
    at_ms = None if at is None else epoch_ms("at", at)
    rows = adaptive.hints_of(loaded.state)

    def new_hint(value: int, expires_ms: int) -> HintRow:
        return HintRow(
            value=value,
            expires_ms=_end_of_second(expires_ms),
            created_ms=context.now_ms,
            author=author_name,
            reason=reason_text,
        )

    every = None if interval_ms is None else _interval_ms(interval_ms)
    if every is not None:
        rows = rows._replace(interval=new_hint(every, context.now_ms + ttl))
    if at_ms is not None:
        expires_ms = (context.now_ms if ttl_ms is not None else max(at_ms, context.now_ms)) + ttl
        if at_ms >= expires_ms:
            raise InvalidField(
                "ttl_ms", f"{ttl} ms from now, the hint expires before its own time; send a longer ttl_ms"
            )
        rows = rows._replace(once=new_hint(at_ms, expires_ms))
    after = {"interval_ms": every, "at": at_ms, "ttl_ms": ttl, "reason": reason_text, "author": author_name}
    changed = loaded._replace(state=loaded.state._replace(hints=rows.text()))
    return _save_replanned(context, changed, AuditEntry("hint", request_id, None, after))


def hints(context: OperationContext, schedule_id: str) -> Outlook:
    """Return the live hints of an adaptive schedule and its next run."""
    loaded = _require_adaptive(load_by_id(context, schedule_id))
    return outlook_view(loaded.row, loaded.state, loaded.compiled, context.now_ms)


@idempotent(Outlook)
def clear_hints(
    context: OperationContext,
    schedule_id: str,
    *,
    reason: str | None = None,
    conflict_token: int | None = None,
    request_id: str | None = None,
) -> Outlook:
    """Remove all hints of an adaptive schedule: it returns to its baseline."""
    loaded = _require_adaptive(open_schedule(context, schedule_id, conflict_token))
    reason_text = None if reason is None else check_text("reason", reason, MAX_REASON_CHARS)
    live = adaptive.hints_of(loaded.state).live_at(context.now_ms)
    before = {name: None if row is None else row.value for name, row in live._asdict().items()}
    changed = loaded._replace(state=loaded.state._replace(hints=None))
    return _save_replanned(context, changed, AuditEntry("clear_hints", request_id, before, {"reason": reason_text}))


@idempotent(Schedule)
def reset_failures(
    context: OperationContext,
    schedule_id: str,
    *,
    conflict_token: int | None = None,
    request_id: str | None = None,
) -> Schedule:
    """Reset the failures in a row: the interval of an adaptive schedule returns to its definition."""
    loaded = open_schedule(context, schedule_id, conflict_token)
    state = loaded.state._replace(failures=0)
    if loaded.compiled.allowed_seconds is not None:
        state = edit.replan_adaptive(state, loaded.compiled, context.now_ms)
    entry = AuditEntry("reset_failures", request_id, {"failures": loaded.state.failures}, {"failures": 0})
    return save(context, loaded._replace(state=state), entry)


def _interval_ms(value: object) -> int:
    return check_duration_ms("interval_ms", value, MIN_INTERVAL_MS, MAX_INTERVAL_MS)


def _end_of_second(expires_ms: int) -> int:
    """Return the end of the second of an instant. Hints expire there, so that they never change within a second."""
    return -(-expires_ms // 1000) * 1000


def _require_adaptive(loaded: LoadedSchedule) -> LoadedSchedule:
    if loaded.compiled.allowed_seconds is None:
        raise InvalidField(
            "adaptive", f"schedule {loaded.row.schedule_id!r} is not adaptive and takes no hints; set adaptive to true"
        )
    return loaded


def _save_replanned(context: OperationContext, loaded: LoadedSchedule, entry: AuditEntry) -> Outlook:
    """Save an adaptive schedule with changed hints and a new plan."""
    state = edit.replan_adaptive(loaded.state, loaded.compiled, context.now_ms)
    schedule = save(context, loaded._replace(state=state), entry)
    row = loaded.row._replace(token=schedule.conflict_token)
    return outlook_view(row, state, loaded.compiled, context.now_ms)
