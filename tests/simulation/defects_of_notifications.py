"""More mistakes planted on purpose: about who is told what."""

from __future__ import annotations

from typing import Any

from tests.support.planting import Patches, defect
from tompion.engine.engine import Engine
from tompion.engine.notifications import outbox
from tompion.engine.notifications.dispatcher import NotificationDispatcher
from tompion.engine.notifications.outbox import NotificationOutbox
from tompion.engine.steps.result import StepResult
from tompion.model.run import RunState
from tompion.store.base import Transaction


@defect
def timeouts_are_no_news(patches: Patches) -> None:
    """Who has timed out has not failed, has it?"""
    patches.set(outbox, "FAILURES", frozenset({RunState.FAILED}))


@defect
def whatever_ends_has_failed(patches: Patches) -> None:
    """Successes are told as failures."""
    ended = NotificationOutbox.ended

    def all_of_them(self: NotificationOutbox, transaction: Transaction, endings: Any, rules: Any, now_ms: int) -> None:
        told = [each._replace(change=each.change._replace(state=RunState.FAILED)) for each in endings]
        ended(self, transaction, told, rules, now_ms)

    patches.set(NotificationOutbox, "ended", all_of_them)


@defect
def notifications_are_written_after_the_commit(patches: Patches) -> None:
    """Whoever dies in between has told nobody."""
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
def notifications_have_no_lease_that_ends(patches: Patches) -> None:
    """Whoever dies while delivering a notice takes it along."""
    patches.sql("notification_lease", "due_ms = ?2", "due_ms = ?2 + 100000000")


@defect
def a_notice_is_tried_once(patches: Patches) -> None:
    """What has not arrived at the first try never does."""
    patches.sql("notification_claim_due", "due_ms <= :now_ms", "due_ms <= :now_ms AND attempts = 0")


@defect
def summaries_are_forgotten(patches: Patches) -> None:
    """What is too much for a minute is marked as summarised, in a summary that nobody writes."""

    def unwritten(self: NotificationDispatcher, transaction: Transaction, rows: Any, now_ms: int) -> Any:
        transaction.notification_summarize([each.notification_id for each in rows[1:]], "msg_unwritten", now_ms)
        return rows[0]

    patches.set(NotificationDispatcher, "_summary", unwritten)
