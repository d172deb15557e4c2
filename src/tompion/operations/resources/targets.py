"""Pause and resume of targets: a workflow or a queue."""

from __future__ import annotations

from tompion.errors import InvalidField
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import idempotent
from tompion.operations.schedules.repository import AuditEntry, audit_other
from tompion.operations.validation import check_name, check_note
from tompion.plan import edit


@idempotent(type(None))
def pause_target(
    context: OperationContext,
    *,
    workflow_id: str | None = None,
    queue: str | None = None,
    note: str | None = None,
    request_id: str | None = None,
) -> None:
    """Pause a workflow or a queue. Ticks are still recorded, and their runs wait."""
    kind, target = _target(context, workflow_id, queue)
    before = {"paused": (context.namespace, kind, target) in context.transaction.target_list_paused()}
    context.transaction.target_pause(
        namespace=context.namespace,
        kind=kind,
        target=target,
        paused_by=context.actor,
        note=check_note(note),
        paused_ms=context.now_ms,
    )
    audit_other(context, AuditEntry("pause_target", request_id, before, {kind: target, "paused": True, "note": note}))


@idempotent(bool)
def resume_target(
    context: OperationContext,
    *,
    workflow_id: str | None = None,
    queue: str | None = None,
    request_id: str | None = None,
) -> bool:
    """Resume a workflow or a queue, and return whether it was paused. Waiting runs start one after another."""
    kind, target = _target(context, workflow_id, queue)
    was_paused = context.transaction.target_resume(context.namespace, kind, target)
    keys = context.transaction.run_list_held_for_target(context.namespace, kind, target)
    states = context.transaction.state_lock(keys)
    context.transaction.state_update([edit.due_now_if_waiting(state, context.now_ms) for state in states.values()])
    entry = AuditEntry("resume_target", request_id, {"paused": was_paused}, {kind: target, "paused": False})
    audit_other(context, entry)
    context.transaction.notify()
    return was_paused


def _target(context: OperationContext, workflow_id: str | None, queue: str | None) -> tuple[str, str]:
    if (workflow_id is None) == (queue is None):
        raise InvalidField("workflow_id", "send either workflow_id or queue")
    if workflow_id is not None:
        return "workflow", check_name("workflow_id", workflow_id, context.settings)
    return "queue", check_name("queue", queue, context.settings)
