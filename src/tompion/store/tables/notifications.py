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
        """Add notices; one that is there already stays as it is."""
        if rows:
            self.many("notification_insert", rows)

    def notification_next_due(self, names: Iterable[str]) -> int | None:
        """Return when the next notice of some notifications may be tried."""
        found = self._one("notification_next_due", names=sorted(names))
        return None if found is None else found[0]

    def notification_claim_due(self, names: Iterable[str], now_ms: int, limit: int) -> list[NotificationRow]:
        """Lock notices that may be tried now, the oldest first, passing over those that others hold."""
        params = {"names": sorted(names), "now_ms": now_ms, "limit": limit}
        return [NotificationRow._make(row) for row in self.rows("notification_claim_due", params)]

    def notification_lease(self, notification_ids: Iterable[str], until_ms: int) -> None:
        """Begin a try of locked notices: nobody else begins one before a moment."""
        if rows := [(notification_id, until_ms) for notification_id in notification_ids]:
            self.many("notification_lease", rows)

    def notification_postpone(self, notification_ids: Iterable[str], until_ms: int) -> None:
        """Let nobody try locked notices before a moment."""
        if rows := [(notification_id, until_ms) for notification_id in notification_ids]:
            self.many("notification_postpone", rows)

    def notification_summarize(self, notification_ids: Iterable[str], summary_id: str, now_ms: int) -> None:
        """Make locked notices part of another one."""
        if rows := [(notification_id, summary_id, now_ms) for notification_id in notification_ids]:
            self.many("notification_summarize", rows)

    def notification_settle(self, rows: Sequence[SettledNotification]) -> set[str]:
        """Write down how tries ended; return the notices whose try was the last."""
        return {row[0] for row in self.many_rows("notification_settle", rows)} if rows else set()

    def notification_give_up(self, before_ms: int, now_ms: int, limit: int) -> int:
        """Give up some notices of things that happened before a moment; return how many."""
        return len(self.rows("notification_give_up", {"before_ms": before_ms, "now_ms": now_ms, "limit": limit}))

    def notification_expire(self, before_ms: int, limit: int) -> int:
        """Forget notices that were over before a moment, among so many of the oldest; return how many."""
        return len(self.rows("notification_expire", {"before_ms": before_ms, "limit": limit}))

    def notification_list(
        self, namespace: str, before_number: int, limit: int, state: str | None = None, schedule_id: str | None = None
    ) -> list[tuple[NotificationRow, int]]:
        """Return notices of a namespace before a number, the newest first, each with its own."""
        params = {"namespace": namespace, "before_number": before_number, "limit": limit}
        found = self.rows("notification_list", {**params, "state": state, "schedule_id": schedule_id})
        return [(NotificationRow._make(row[:-1]), row[-1]) for row in found]

    def notification_rate_lock(self, rule_name: str, namespace: str, minute: int) -> int:
        """Return how many notices went out in a minute; others wait with theirs until this transaction is over."""
        found = self._one("notification_rate_lock", rule_name=rule_name, namespace=namespace, minute=minute)
        assert found is not None
        return int(found[0])

    def notification_rate_add(self, rule_name: str, namespace: str, number: int) -> None:
        """Count notices that go out in the minute that was asked about."""
        self.rows("notification_rate_add", {"rule_name": rule_name, "namespace": namespace, "number": number})
