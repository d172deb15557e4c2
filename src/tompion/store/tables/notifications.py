"""The notification outbox and its rate counters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tompion.model.notification import NotificationRow
from tompion.store.driver_transaction import DriverTransaction

SettledNotification = tuple[str, int, str, int | None, int | None, str | None]
"""Notification id, attempt, new state, next attempt, end and error of one delivery attempt."""


class NotificationTable(DriverTransaction):
    """The notification outbox and its rate counters."""

    def notification_insert(self, rows: Sequence[NotificationRow]) -> None:
        """Add notifications. One that exists already is not changed."""
        if rows:
            self.execute_many("notification_insert", rows)

    def notification_next_due(self, names: Iterable[str]) -> int | None:
        """Return when the next notification of some rules is due."""
        row = self._one("notification_next_due", names=sorted(names))
        return None if row is None else row[0]

    def notification_claim_due(self, names: Iterable[str], now_ms: int, limit: int) -> list[NotificationRow]:
        """Lock due notifications of some rules, oldest first, skipping those that other transactions hold."""
        params = {"names": sorted(names), "now_ms": now_ms, "limit": limit}
        return [NotificationRow._make(row) for row in self.rows("notification_claim_due", params)]

    def notification_lease(self, notification_ids: Iterable[str], until_ms: int) -> None:
        """Begin a delivery attempt of locked notifications. No other attempt begins before ``until_ms``."""
        if rows := [(notification_id, until_ms) for notification_id in notification_ids]:
            self.execute_many("notification_lease", rows)

    def notification_postpone(self, notification_ids: Iterable[str], until_ms: int) -> None:
        """Make locked notifications due at a later time."""
        if rows := [(notification_id, until_ms) for notification_id in notification_ids]:
            self.execute_many("notification_postpone", rows)

    def notification_summarize(self, notification_ids: Iterable[str], summary_id: str, now_ms: int) -> None:
        """Make locked notifications part of a summary."""
        if rows := [(notification_id, summary_id, now_ms) for notification_id in notification_ids]:
            self.execute_many("notification_summarize", rows)

    def notification_settle(self, rows: Sequence[SettledNotification]) -> set[str]:
        """Write the outcomes of delivery attempts. Return the notifications that had no newer attempt."""
        return {row[0] for row in self.execute_many_returning("notification_settle", rows)} if rows else set()

    def notification_give_up(self, before_ms: int, now_ms: int, limit: int) -> int:
        """Give up undelivered notifications created before a time and return how many."""
        return len(self.rows("notification_give_up", {"before_ms": before_ms, "now_ms": now_ms, "limit": limit}))

    def notification_expire(self, before_ms: int, limit: int) -> int:
        """Delete finished notifications older than a time, among the ``limit`` oldest, and return how many."""
        return len(self.rows("notification_expire", {"before_ms": before_ms, "limit": limit}))

    def notification_list(
        self, namespace: str, before_number: int, limit: int, state: str | None = None, schedule_id: str | None = None
    ) -> list[tuple[NotificationRow, int]]:
        """Return notifications of a namespace before a number, newest first, each with its number."""
        params = {"namespace": namespace, "before_number": before_number, "limit": limit}
        rows = self.rows("notification_list", {**params, "state": state, "schedule_id": schedule_id})
        return [(NotificationRow._make(row[:-1]), row[-1]) for row in rows]

    def notification_rate_lock(self, rule_name: str, namespace: str, minute: int) -> int:
        """Return the number of notifications sent in a minute and lock the counter for this transaction."""
        row = self._one("notification_rate_lock", rule_name=rule_name, namespace=namespace, minute=minute)
        assert row is not None
        return int(row[0])

    def notification_rate_add(self, rule_name: str, namespace: str, number: int) -> None:
        """Add to the counter that ``notification_rate_lock`` has locked."""
        self.rows("notification_rate_add", {"rule_name": rule_name, "namespace": namespace, "number": number})
