"""Audit: the rows that the engine writes itself, and the hash chain of each namespace.

Rows are chained in a step of their own. If each writer did it, all changes of a namespace would wait for each other. A
row that took its number early and committed late simply gets a later position in the chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from tompion.model.audit_chain import AuditHead, chain_row
from tompion.model.rows import AuditRow, ScheduleRow
from tompion.plan.stored_definition import compact
from tompion.store.base import Transaction

SEAL_BATCH = 1_000
ENGINE_ACTOR = "tompion"
PUBLIC_NAMES = {"state": "status", "pause_note": "note"}
"""Columns whose field in a schedule document has another name."""


def seal(transaction: Transaction) -> bool:
    """Add one batch of rows to the chains. Return whether there may be more."""
    names = transaction.audit_list_unchained_namespaces(SEAL_BATCH)
    if not names:
        return False
    heads = {head.namespace: head for head in transaction.audit_head_lock(names)}
    rows = transaction.audit_list_unchained(heads, SEAL_BATCH) if heads else []
    sealed: list[AuditRow] = []
    for name, group in groupby(sorted(rows, key=lambda row: row.namespace), key=lambda row: row.namespace):
        heads[name], chained = _append(heads[name], list(group))
        sealed += chained
    transaction.audit_chain_rows(sealed)
    transaction.audit_head_update([heads[name] for name in sorted({row.namespace for row in sealed})])
    return len(rows) == SEAL_BATCH


def expire(transaction: Transaction, before_ms: int) -> bool:
    """Delete one batch of rows older than an instant. Record in the head of each chain up to where it is deleted.

    Return whether any were deleted. If so, there may be more.
    """
    last_positions = transaction.audit_list_oldest(before_ms, SEAL_BATCH)
    if not last_positions:
        return False
    has_deleted = False
    for head in transaction.audit_head_lock(last_positions):
        position = last_positions[head.namespace]
        rows = transaction.audit_list_chain(head.namespace, position - 1, 1)
        last_row = rows[0] if rows else None
        if position <= head.gone_position or last_row is None:
            continue
        if last_row.position == position and last_row.digest is not None:
            transaction.audit_head_update([head._replace(gone_position=position, gone_digest=last_row.digest)])
            transaction.audit_expire(head.namespace, position)
            has_deleted = True
    return has_deleted


def _append(head: AuditHead, rows: list[AuditRow]) -> tuple[AuditHead, list[AuditRow]]:
    """Return a chain with rows appended, and these rows with their positions."""
    chained = []
    for row in rows:
        placed = chain_row(row, head.position + 1, head.digest)
        assert placed.digest is not None
        head = head._replace(position=head.position + 1, digest=placed.digest)
        chained.append(placed)
    return head, chained


def save_change(  # noqa: PLR0913 - the parts of an audit row
    transaction: Transaction,
    row: ScheduleRow,
    changed: ScheduleRow,
    operation: str,
    now_ms: int,
    columns: Sequence[str],
    details: Mapping[str, Any] | None = None,
) -> None:
    """Save a schedule's row that the engine has changed, and audit the named columns."""
    changed = changed._replace(token=row.token + 1, updated_ms=now_ms)
    transaction.schedule_update(changed)
    transaction.audit_insert(
        AuditRow(
            audit_number=0,
            at_ms=now_ms,
            namespace=row.namespace,
            schedule_id=row.schedule_id,
            actor=ENGINE_ACTOR,
            operation=operation,
            token=changed.token,
            version=changed.version,
            request_id=None,
            before=compact(_public_columns(row, columns)),
            after=compact({**_public_columns(changed, columns), **(details or {})}),
        )
    )


def _public_columns(row: ScheduleRow, columns: Sequence[str]) -> dict[str, Any]:
    """Return columns of a schedule's row under the names of the schedule document."""
    return {PUBLIC_NAMES.get(name, name): getattr(row, name) for name in columns}
