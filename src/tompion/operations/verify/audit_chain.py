"""Verification of the audit: walks its hash chain and names the first row that does not fit.

Every schedule that the audit names must exist or be deleted.
"""

from __future__ import annotations

from tompion.errors import InvalidField, display
from tompion.model.audit_chain import GENESIS_DIGEST, AuditHead, AuditVerification, audit_digest
from tompion.model.rows import AuditRow
from tompion.operations.context import OperationContext
from tompion.operations.schedules.repository import NO_SCHEDULE

PAGE = 1_000
MAX_ROWS = 10_000
_NEWEST = 1 << 62
_DELETED = ("delete", "purge")
_ALLOWED_AFTER_DELETE = ("cancel_run", "terminate_run", "cancel_backfill")
"""Operations on the runs and backfills that a deleted schedule leaves behind."""


def verify_audit(context: OperationContext, *, after: int = 0, limit: int = MAX_ROWS) -> AuditVerification:
    """Prove that rows of the audit are unchanged and in order, or return the first problem."""
    if type(limit) is not int or not 1 <= limit <= MAX_ROWS:
        raise InvalidField("limit", f"{display(limit)}; expected 1 to {MAX_ROWS}")
    if type(after) is not int or not 0 <= after < 1 << 62:
        raise InvalidField("after", f"{display(after)}; expected a position in the chain, such as 0")
    walk = _Walk(context, context.transaction.audit_head_get(context.namespace), after)
    walk.walk(limit)
    walk.check_schedules()
    return walk.result()


class _Walk:
    """One walk along a chain."""

    def __init__(self, context: OperationContext, head: AuditHead | None, after: int) -> None:
        self._context = context
        self._head = head or AuditHead(
            namespace=context.namespace,
            position=0,
            digest=GENESIS_DIGEST,
            gone_position=0,
            gone_digest=GENESIS_DIGEST,
        )
        self._from = self._at = max(after, self._head.gone_position)
        self._digest: str | None = self._digest_before()
        self._checked = 0
        self._schedule_ids: set[str] = set()
        self._problem: str | None = None

    def walk(self, limit: int) -> None:
        """Check rows up to the limit or to the first problem."""
        while self._checked < limit and self._problem is None:
            rows = self._rows(self._at, min(PAGE, limit - self._checked))
            if not rows:
                self._end()
                return
            for row in rows:
                self._problem = self._problem_of(row)
                if self._problem is not None:
                    return
                self._at, self._digest = self._at + 1, row.digest
                self._checked += 1
                self._schedule_ids.add(row.schedule_id)

    def check_schedules(self) -> None:
        """Check that every named schedule exists or was deleted."""
        schedule_ids = self._schedule_ids - {NO_SCHEDULE} if self._problem is None else set()
        existing = (
            self._context.transaction.schedule_get_full(self._context.namespace, schedule_ids) if schedule_ids else {}
        )
        for name in sorted(schedule_ids - existing.keys()):
            if not self._was_deleted(name):
                self._problem = f"schedule {name!r} does not exist, and the audit has no deletion of it"
                return

    def _was_deleted(self, name: str) -> bool:
        """Return whether the last operation on a schedule itself deleted it."""
        number = _NEWEST
        while page := self._context.transaction.audit_list(self._context.namespace, name, number, PAGE):
            for row in page:
                if row.operation not in _ALLOWED_AFTER_DELETE:
                    return row.operation in _DELETED
            number = page[-1].audit_number
        return True

    def result(self) -> AuditVerification:
        """Return the result."""
        return AuditVerification(
            namespace=self._context.namespace,
            after=self._from,
            until=self._at,
            checked=self._checked,
            gone=self._head.gone_position,
            unsealed=self._context.transaction.audit_count_unchained(self._context.namespace),
            position=self._head.position,
            digest=self._head.digest,
            more=self._problem is None and self._at < self._head.position,
            problem=self._problem,
        )

    def _digest_before(self) -> str:
        """Return the digest of the row before the first one to check."""
        if self._from == self._head.gone_position:
            return self._head.gone_digest
        rows = self._rows(self._from - 1, 1)
        return rows[0].digest or GENESIS_DIGEST if rows and rows[0].position == self._from else GENESIS_DIGEST

    def _rows(self, after: int, limit: int) -> list[AuditRow]:
        return self._context.transaction.audit_list_chain(self._context.namespace, after, limit)

    def _problem_of(self, row: AuditRow) -> str | None:
        """Return the problem of the next row, if it has one."""
        place = self._at + 1
        if row.position != place:
            return _missing_rows(place, (row.position or place) - 1)
        if audit_digest(row) != row.digest:
            return f"row {row.audit_number}, at position {place} of the chain, was changed"
        if row.previous != self._digest:
            return f"row {row.audit_number}, at position {place} of the chain, does not follow the one before it"
        if place > self._head.position:
            return f"row {row.audit_number} is at position {place}, after the end of the chain"
        return None

    def _end(self) -> None:
        """Check that the last row is the one that the head names."""
        if self._at < self._head.position:
            self._problem = _missing_rows(self._at + 1, self._head.position)
        elif self._at > self._head.position:
            self._problem = f"the chain ends at position {self._head.position}, before position {self._at}"
        elif self._digest != self._head.digest:
            self._problem = (
                f"the row at position {self._at} of the chain is not the one that the head of the chain names"
            )


def _missing_rows(first: int, last: int) -> str:
    places = f"the row at position {first}" if first == last else f"the rows at positions {first} to {last}"
    return f"{places} of the chain {'is' if first == last else 'are'} missing"
