"""Verification of a whole namespace and its audit. Each part has a transaction of its own, so no other waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TypeVar

from tompion.config.settings import Settings
from tompion.errors import NotFound
from tompion.model.audit_chain import AuditVerification
from tompion.model.rows import ScheduleFilter, ScheduleRow
from tompion.model.verification import Verification
from tompion.operations.context import OperationContext
from tompion.operations.insight.stats import stats
from tompion.operations.validation import check_name
from tompion.operations.verify.audit_chain import verify_audit
from tompion.operations.verify.schedule import verify
from tompion.store.base import Store

T = TypeVar("T")
PAGE = 200


class NamespaceVerifier:
    """Verifies the schedules of one namespace. Nothing is written."""

    def __init__(self, store: Store, namespace: str, settings: Settings) -> None:
        self._store = store
        self._namespace = check_name("namespace", namespace, settings)
        self._settings = settings

    def every(self, start: datetime | None = None, end: datetime | None = None) -> Iterator[Verification]:
        """Verify all schedules, the deleted ones last."""
        for schedule_id in self._schedules():
            try:
                verification = self.one(schedule_id, start, end)
            except NotFound:  # purged since it was listed
                continue
            yield verification

    def one(self, schedule_id: str, start: datetime | None = None, end: datetime | None = None) -> Verification:
        """Verify one schedule. Raises :class:`~tompion.errors.NotFound`."""
        return self._read(lambda context: verify(context, schedule_id, start=start, end=end))

    def count(self) -> int | None:
        """Return the number of schedules, including deleted ones, or ``None`` if there are too many to count."""
        counts = self._read(partial(stats, seconds=1, buckets=1)).schedules
        return None if counts.capped else counts.active + counts.paused + counts.closed

    def audit(self) -> AuditVerification:
        """Verify the audit up to its end or to the first problem."""
        verification = first = self._read(verify_audit)
        checked = verification.checked
        while verification.more:
            verification = self._read(partial(verify_audit, after=verification.until))
            checked += verification.checked
        return replace(verification, after=first.after, checked=checked)

    def _schedules(self) -> Iterator[str]:
        for state in (None, "closed"):
            after = ""
            while page := self._page(after, ScheduleFilter(state=state)):
                yield from (row.schedule_id for row in page)
                after = page[-1].schedule_id

    def _page(self, after: str, wanted: ScheduleFilter) -> list[ScheduleRow]:
        return self._read(lambda context: context.transaction.schedule_list(self._namespace, after, PAGE, wanted))

    def _read(self, work: Callable[[OperationContext], T]) -> T:
        return self._store.read(lambda t: work(OperationContext(t, self._settings, self._namespace))).result()
