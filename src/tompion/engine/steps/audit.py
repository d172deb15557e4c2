"""Putting audit rows into the chain of their namespace.

Not by whoever writes them: the changes of one namespace would have to wait for each other.  A row that was quick to
take its number may be slow to commit; it simply comes later in the chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from tompion.model.audit import AuditHead, chain_row
from tompion.model.rows import AuditRow, ScheduleRow
from tompion.plan.stored_definition import compact
from tompion.store.base import Transaction

SEAL_BATCH = 1_000


def seal(transaction: Transaction) -> bool:
    """Put some rows into their chains; return whether there may be more."""
    names = transaction.audit_list_unchained_namespaces(SEAL_BATCH)
    if not names:
        return False
    heads = {head.namespace: head for head in transaction.audit_head_lock(names)}
    rows = transaction.audit_list_unchained(heads, SEAL_BATCH) if heads else []
    done: list[AuditRow] = []
    for name, own in groupby(sorted(rows, key=lambda row: row.namespace), key=lambda row: row.namespace):
        heads[name], more = _appended(heads[name], list(own))
        done += more
    transaction.audit_chain_rows(done)
    transaction.audit_head_update([heads[name] for name in sorted({row.namespace for row in done})])
    return len(rows) == SEAL_BATCH


def expire(transaction: Transaction, before_ms: int) -> bool:
    """Forget some rows that were written before a moment; where each chain begins from then on is kept.

    Return whether any were: then there may be more.
    """
    found = transaction.audit_list_oldest(before_ms, SEAL_BATCH)
    if not found:
        return False
    gone = False
    for head in transaction.audit_head_lock(found):
        until = found[head.namespace]
        last = transaction.audit_list_chain(head.namespace, until - 1, 1)
        if until > head.gone_position and last and last[0].position == until and last[0].digest is not None:
            transaction.audit_head_update([head._replace(gone_position=until, gone_digest=last[0].digest)])
            transaction.audit_expire(head.namespace, until)
            gone = True
    return gone


def _appended(head: AuditHead, rows: list[AuditRow]) -> tuple[AuditHead, list[AuditRow]]:
    """A chain with rows at its end."""
    done = []
    for row in rows:
        placed = chain_row(row, head.position + 1, head.digest)
        assert placed.digest is not None
        head = head._replace(position=head.position + 1, digest=placed.digest)
        done.append(placed)
    return head, done


AUTHOR = "tompion"


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
            actor=AUTHOR,
            operation=operation,
            token=changed.token,
            version=changed.version,
            request_id=None,
            before=compact({name: getattr(row, name) for name in columns}),
            after=compact({**{name: getattr(changed, name) for name in columns}, **(details or {})}),
        )
    )
