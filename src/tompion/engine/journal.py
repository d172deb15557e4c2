"""Changes that an engine makes by itself, written down like anybody's: token, audit, author ``tompion``."""

from __future__ import annotations

from typing import Any

from tompion.model.rows import AuditRow
from tompion.plan.definition import compact
from tompion.store.base import Transaction

AUTHOR = "tompion"


def paused(transaction: Transaction, key: int, note: str, now_ms: int) -> str:
    """Write that a schedule was paused after a failure; return its id."""
    return _changed(
        transaction, key, "pause", now_ms, state="paused", paused_by=AUTHOR, pause_note=note, paused_ms=now_ms
    )


def resumed(transaction: Transaction, key: int, now_ms: int) -> str:
    """Write that a pause has come to its end; return the schedule's id."""
    return _changed(transaction, key, "resume", now_ms, state="active", paused_by=None, pause_note=None, paused_ms=None)


def zones_changed(transaction: Transaction, key: int, zones: str, note: Any, now_ms: int) -> str:
    """Write that a schedule was aimed anew with other zone tables; return its id."""
    return _changed(transaction, key, "zone_data", now_ms, note, zones=zones)


def _changed(transaction: Transaction, key: int, operation: str, now_ms: int, note: Any = None, **changes: Any) -> str:
    row = transaction.schedules_by_key([key])[key]
    before = {name: getattr(row, name) for name in changes}
    row = row._replace(token=row.token + 1, updated_ms=now_ms, **changes)
    transaction.save_schedule(row)
    texts = (compact(before), compact(changes if note is None else {**changes, **note}))
    audit = (0, now_ms, row.namespace, row.schedule_id, AUTHOR, operation, row.token, row.version, None)
    transaction.insert_audit(AuditRow(*audit, *texts))
    return row.schedule_id
