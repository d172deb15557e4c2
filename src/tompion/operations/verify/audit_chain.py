"""Verification of the audit: walks its hash chain and names the first row that does not fit.

Every schedule that the audit names must exist or be deleted.
"""

from __future__ import annotations

from tompion.errors import InvalidField, display
from tompion.model.audit import GENESIS_DIGEST, AuditHead, AuditVerification, audit_digest
from tompion.model.rows import AuditRow
from tompion.operations.context import OperationContext
from tompion.operations.schedules.repository import NO_SCHEDULE

PAGE = 1_000
MAX_ROWS = 10_000
_NEWEST = 1 << 62
_DELETED = ("delete", "purge")
_AFTERWARDS = ("cancel_run", "terminate_run", "cancel_backfill")
"""Operations on the runs and backfills that a deleted schedule leaves behind."""


def verify_audit(context: OperationContext, *, after: int = 0, limit: int = MAX_ROWS) -> AuditVerification:
    """Prove that rows of the audit are unchanged and in order, or return the first problem."""
    if type(limit) is not int or not 1 <= limit <= MAX_ROWS:
        raise InvalidField("limit", f"{display(limit)}; expected 1 to {MAX_ROWS}")
    if type(after) is not int or not 0 <= after < 1 << 62:
        raise InvalidField("after", f"{display(after)}; expected a place in the chain, such as 0")
    walk = _Walk(context, context.transaction.audit_head_get(context.namespace), after)
    walk.go(limit)
    walk.look_for_schedules()
    return walk.answer()


class _Walk:
    """One walk along a chain."""

    def __init__(self, context: OperationContext, head: AuditHead | None, after: int) -> None:
        self._session = context
        self._head = head or AuditHead(context.namespace, 0, GENESIS_DIGEST, 0, GENESIS_DIGEST)
        self._from = self._at = max(after, self._head.gone_position)
        self._digest: str | None = self._before()
        self._checked = 0
        self._named: set[str] = set()
        self._problem: str | None = None

    def go(self, limit: int) -> None:
        """Check rows up to the limit or to the first problem."""
        while self._checked < limit and self._problem is None:
            rows = self._rows(self._at, min(PAGE, limit - self._checked))
            if not rows:
                self._end()
                return
            for row in rows:
                self._problem = self._wrong(row)
                if self._problem is not None:
                    return
                self._at, self._digest = self._at + 1, row.digest
                self._checked += 1
                self._named.add(row.schedule_id)

    def look_for_schedules(self) -> None:
        """Check that every named schedule exists or was deleted."""
        named = self._named - {NO_SCHEDULE} if self._problem is None else set()
        there = self._session.transaction.schedule_get_full(self._session.namespace, named) if named else {}
        for name in sorted(named - there.keys()):
            if not self._was_deleted(name):
                self._problem = f"schedule {name!r} is not there, and nobody has deleted it"
                return

    def _was_deleted(self, name: str) -> bool:
        """Return whether the last operation on a schedule itself deleted it."""
        number = _NEWEST
        while page := self._session.transaction.audit_list(self._session.namespace, name, number, PAGE):
            for row in page:
                if row.operation not in _AFTERWARDS:
                    return row.operation in _DELETED
            number = page[-1].audit_number
        return True

    def answer(self) -> AuditVerification:
        """Return the result."""
        return AuditVerification(
            namespace=self._session.namespace,
            after=self._from,
            until=self._at,
            checked=self._checked,
            gone=self._head.gone_position,
            unsealed=self._session.transaction.audit_count_unchained(self._session.namespace),
            position=self._head.position,
            digest=self._head.digest,
            more=self._problem is None and self._at < self._head.position,
            problem=self._problem,
        )

    def _before(self) -> str:
        """Return the digest of the row before the first one to check."""
        if self._from == self._head.gone_position:
            return self._head.gone_digest
        found = self._rows(self._from - 1, 1)
        return found[0].digest or GENESIS_DIGEST if found and found[0].position == self._from else GENESIS_DIGEST

    def _rows(self, after: int, limit: int) -> list[AuditRow]:
        return self._session.transaction.audit_list_chain(self._session.namespace, after, limit)

    def _wrong(self, row: AuditRow) -> str | None:
        """Return the problem of the next row, if it has one."""
        place = self._at + 1
        if row.position != place:
            return _missing(place, (row.position or place) - 1)
        if audit_digest(row) != row.digest:
            return f"row {row.audit_number}, at place {place} of the chain, was changed"
        if row.previous != self._digest:
            return f"row {row.audit_number}, at place {place} of the chain, does not follow the one before it"
        if place > self._head.position:
            return f"row {row.audit_number} stands at place {place}, after the end of the chain"
        return None

    def _end(self) -> None:
        """Check that the last row is the one that the head names."""
        if self._at < self._head.position:
            self._problem = _missing(self._at + 1, self._head.position)
        elif self._at > self._head.position:
            self._problem = f"the chain ends at place {self._head.position}, before place {self._at}"
        elif self._digest != self._head.digest:
            self._problem = f"the row at place {self._at} of the chain is not the one that its end says"


def _missing(first: int, last: int) -> str:
    places = f"the row at place {first}" if first == last else f"the rows at places {first} to {last}"
    return f"{places} of the chain {'is' if first == last else 'are'} missing"
