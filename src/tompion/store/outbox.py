"""The statements about notices, which nothing needs unless somebody is to be told something."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tompion.model.notification import NotificationRow
from tompion.model.run import RunId
from tompion.store.sending import DriverTransaction

SettledNotice = tuple[str, int, str, int | None, int | None, str | None]
"""How a try ended: which notice, which try, its state, when to try again, when it was over, and what went wrong."""


class OutboxStatements(DriverTransaction):
    """Notices, and how many went out lately."""

    def insert_notices(self, rows: Sequence[NotificationRow]) -> None:
        """Add notices; one that is there already stays as it is."""
        if rows:
            self.many("insert_notices", rows)

    def next_notice(self, names: Iterable[str]) -> int | None:
        """Return when the next notice of some notifications may be tried."""
        found = self._one("next_notice", names=sorted(names))
        return None if found is None else found[0]

    def due_notices(self, names: Iterable[str], now_ms: int, limit: int) -> list[NotificationRow]:
        """Lock notices that may be tried now, the oldest first, passing over those that others hold."""
        params = {"names": sorted(names), "now_ms": now_ms, "limit": limit}
        return [NotificationRow._make(row) for row in self.rows("due_notices", params)]

    def lease_notices(self, notice_ids: Iterable[str], until_ms: int) -> None:
        """Begin a try of locked notices: nobody else begins one before a moment."""
        if rows := [(notice_id, until_ms) for notice_id in notice_ids]:
            self.many("lease_notices", rows)

    def put_off_notices(self, notice_ids: Iterable[str], until_ms: int) -> None:
        """Let nobody try locked notices before a moment."""
        if rows := [(notice_id, until_ms) for notice_id in notice_ids]:
            self.many("put_off_notices", rows)

    def summarize_notices(self, notice_ids: Iterable[str], summary_id: str, now_ms: int) -> None:
        """Make locked notices part of another one."""
        if rows := [(notice_id, summary_id, now_ms) for notice_id in notice_ids]:
            self.many("summarize_notices", rows)

    def settle_notices(self, rows: Sequence[SettledNotice]) -> set[str]:
        """Write down how tries ended; return the notices whose try was the last."""
        return {row[0] for row in self.many_rows("settle_notices", rows)} if rows else set()

    def give_up_notices(self, before_ms: int, now_ms: int, limit: int) -> int:
        """Give up some notices of things that happened before a moment; return how many."""
        return len(self.rows("give_up_notices", {"before_ms": before_ms, "now_ms": now_ms, "limit": limit}))

    def expire_notices(self, before_ms: int, limit: int) -> int:
        """Forget notices that were over before a moment, among so many of the oldest; return how many."""
        return len(self.rows("expire_notices", {"before_ms": before_ms, "limit": limit}))

    def notices_page(
        self, namespace: str, before_number: int, limit: int, state: str | None = None, schedule_id: str | None = None
    ) -> list[tuple[NotificationRow, int]]:
        """Return notices of a namespace before a number, the newest first, each with its own."""
        params = {"namespace": namespace, "before_number": before_number, "limit": limit}
        found = self.rows("notices_page", {**params, "state": state, "schedule_id": schedule_id})
        return [(NotificationRow._make(row[:-1]), row[-1]) for row in found]

    def notice_rate(self, notification: str, namespace: str, minute: int) -> int:
        """Return how many notices went out in a minute; others wait with theirs until this transaction is over."""
        found = self._one("notice_rate", notification=notification, namespace=namespace, minute=minute)
        assert found is not None
        return int(found[0])

    def add_to_notice_rate(self, notification: str, namespace: str, number: int) -> None:
        """Count notices that go out in the minute that was asked about."""
        self.rows("add_to_notice_rate", {"notification": notification, "namespace": namespace, "number": number})

    def fire_times(self, runs: Iterable[RunId]) -> dict[RunId, int]:
        """Return when runs were to be launched."""
        wanted = sorted(set(runs))
        return {RunId._make(row[:3]): row[3] for row in self.many_rows("fire_times", wanted)} if wanted else {}
