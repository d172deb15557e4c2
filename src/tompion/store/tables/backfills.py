"""Backfills and their progress."""

from __future__ import annotations

from collections.abc import Iterable

from tompion.model.backfill import BackfillRow
from tompion.store.driver_transaction import DriverTransaction


class BackfillTable(DriverTransaction):
    """Backfills and their progress."""

    def backfill_insert(self, row: BackfillRow) -> None:
        """Add a backfill."""
        self.execute_many("backfill_insert", [row])

    def backfill_update(self, row: BackfillRow) -> None:
        """Write the progress of a running backfill."""
        self.rows("backfill_update", row._asdict())

    def backfill_postpone(self, backfill_id: int, until_ms: int) -> None:
        """Make an unfinished backfill due at a later time."""
        self.rows("backfill_postpone", {"backfill_id": backfill_id, "until_ms": until_ms})

    def backfill_list_due(self, now_ms: int, limit: int) -> list[BackfillRow]:
        """Return running backfills that may continue. The caller locks the state rows of their schedules."""
        return [BackfillRow._make(row) for row in self.rows("backfill_list_due", {"now_ms": now_ms, "limit": limit})]

    def backfill_get(self, backfill_id: int) -> BackfillRow | None:
        """Return one backfill."""
        row = self._one("backfill_get", backfill_id=backfill_id)
        return None if row is None else BackfillRow._make(row)

    def backfill_list(self, key: int, limit: int, *, unfinished: bool = False) -> list[BackfillRow]:
        """Return the backfills of a schedule, newest first."""
        params = {"key": key, "limit": limit, "unfinished": unfinished}
        return [BackfillRow._make(row) for row in self.rows("backfill_list", params)]

    def backfill_wake(self, keys: Iterable[int], now_ms: int) -> None:
        """Make the backfills of schedules due now, because a slot may be free."""
        self.rows("backfill_wake", {"keys": sorted(set(keys)), "now_ms": now_ms})
