"""Ranges of ticks that were dropped together."""

from __future__ import annotations

from collections.abc import Sequence

from tompion.model.schedule_state import DroppedRange
from tompion.store.driver_transaction import DriverTransaction


class DroppedRangeTable(DriverTransaction):
    """Ranges of ticks that were dropped together."""

    def dropped_range_list_latest(self, namespace: str, since_ms: int, limit: int) -> list[tuple[int, int, str]]:
        """Return the decision time, the number of ticks and the reason of recent dropped ranges, newest first."""
        params = {"namespace": namespace, "since_ms": since_ms, "limit": limit}
        return [(row[0], row[1], row[2]) for row in self.rows("dropped_range_list_latest", params)]

    def dropped_range_expire(self, before_ms: int, limit: int) -> int:
        """Delete up to ``limit`` dropped ranges decided before a time and return how many."""
        return len(self.rows("dropped_range_expire", {"before_ms": before_ms, "limit": limit}))

    def dropped_range_insert(self, dropped_ranges: Sequence[DroppedRange]) -> None:
        """Add dropped ranges to the ledger."""
        if dropped_ranges:
            self.execute_many("dropped_range_insert", dropped_ranges)

    def dropped_range_list(self, key: int, after_s: int, until_s: int, limit: int) -> list[DroppedRange]:
        """Return the dropped ranges of a schedule that overlap a time range, newest first."""
        params = {"key": key, "after_s": after_s, "until_s": until_s, "limit": limit}
        return [DroppedRange._make(row) for row in self.rows("dropped_range_list", params)]
