"""What schedules refer to: named calendars, and pausing a workflow or a queue by itself."""

from __future__ import annotations

from tompion.errors import InvalidField
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import once
from tompion.operations.schedules.repository import AuditEntry, audit_other
from tompion.operations.validation import check_name, check_note
from tompion.plan import edit


@once(type(None))
def pause_target(
    session: OperationContext,
    *,
    workflow_id: str | None = None,
    queue: str | None = None,
    note: str | None = None,
    request_id: str | None = None,
) -> None:
    """Pause a workflow or a queue by itself: ticks are still recorded, and wait."""
    kind, target = _target(session, workflow_id, queue)
    before = {"paused": (session.namespace, kind, target) in session.transaction.paused_targets()}
    session.transaction.pause_target(
        namespace=session.namespace,
        kind=kind,
        target=target,
        paused_by=session.actor,
        note=check_note(note),
        paused_ms=session.now_ms,
    )
    audit_other(session, AuditEntry("pause_target", request_id, before, {kind: target, "paused": True, "note": note}))


@once(bool)
def resume_target(
    session: OperationContext,
    *,
    workflow_id: str | None = None,
    queue: str | None = None,
    request_id: str | None = None,
) -> bool:
    """Resume a workflow or a queue: what waited for it starts, one after another.  Return whether it was paused."""
    kind, target = _target(session, workflow_id, queue)
    was_paused = session.transaction.resume_target(session.namespace, kind, target)
    keys = session.transaction.held_for_target(session.namespace, kind, target)
    dials = session.transaction.lock_dials(keys)
    session.transaction.save_dials([edit.woken(dial, session.now_ms) for dial in dials.values()])
    note = AuditEntry("resume_target", request_id, {"paused": was_paused}, {kind: target, "paused": False})
    audit_other(session, note)
    session.transaction.notify()
    return was_paused


def _target(session: OperationContext, workflow_id: str | None, queue: str | None) -> tuple[str, str]:
    if (workflow_id is None) == (queue is None):
        raise InvalidField("workflow_id", "give either workflow_id or queue")
    if workflow_id is not None:
        return "workflow", check_name("workflow_id", workflow_id, session.settings)
    return "queue", check_name("queue", queue, session.settings)
