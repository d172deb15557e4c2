"""Planted defects in notifications."""

from __future__ import annotations

from typing import Any

from tests.support.planting import Patches, defect
from tompion.engine.engine import Engine
from tompion.engine.notifications import outbox
from tompion.engine.notifications.delivery import NotificationDispatcher
from tompion.engine.notifications.outbox import NotificationOutbox
from tompion.engine.steps.result import StepResult
from tompion.model.run import RunState
from tompion.store.base import Transaction


@defect
def timeouts_are_not_notified(patches: Patches) -> None:
    """A timeout does not count as a failure."""
    patches.set(outbox, "FAILURES", frozenset({RunState.FAILED}))


@defect
def successes_are_notified_as_failures(patches: Patches) -> None:
    """Every run that ends is notified as a failure."""
    ended = NotificationOutbox.notify_ended

    def all_of_them(self: NotificationOutbox, transaction: Transaction, endings: Any, rules: Any, now_ms: int) -> None:
        failures = [ending._replace(change=ending.change._replace(state=RunState.FAILED)) for ending in endings]
        ended(self, transaction, failures, rules, now_ms)

    patches.set(NotificationOutbox, "notify_ended", all_of_them)


@defect
def notifications_are_written_after_the_commit(patches: Patches) -> None:
    """A crash between the commit and the notification loses the notification."""
    insert, apply = Transaction.notification_insert, Engine.apply
    later: list[Any] = []

    def remembered(self: Transaction, rows: Any) -> None:
        later.extend(rows)

    def insert_later(self: Engine, result: StepResult) -> None:
        apply(self, result)
        if result.outcomes:
            rows, later[:] = list(later), []
            self._store.write(lambda transaction: insert(transaction, rows))

    patches.set(Transaction, "notification_insert", remembered)
    patches.set(Engine, "apply", insert_later)


@defect
def a_notification_lease_never_expires(patches: Patches) -> None:
    """A notification is lost when its instance dies during the delivery."""
    patches.sql("notification_lease", "due_ms = ?2", "due_ms = ?2 + 100000000")


@defect
def a_notification_is_never_retried(patches: Patches) -> None:
    """A notification is sent once and never retried."""
    patches.sql("notification_claim_due", "due_ms <= :now_ms", "due_ms <= :now_ms AND attempts = 0")


@defect
def summaries_are_forgotten(patches: Patches) -> None:
    """Notifications above the rate limit are marked as summarised, but the summary is not written."""

    def unwritten(self: NotificationDispatcher, transaction: Transaction, rows: Any, now_ms: int) -> Any:
        transaction.notification_summarize([row.notification_id for row in rows[1:]], "msg_unwritten", now_ms)
        return rows[0]

    patches.set(NotificationDispatcher, "_summary", unwritten)
