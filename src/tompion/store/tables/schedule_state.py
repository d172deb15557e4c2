"""The mutable state of schedules: cursor, next fire time and counters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tompion.model.rows import DueNow, SpecGroupRow
from tompion.model.schedule_state import FastAdvanceRow, ScheduleState, StateTuple, SuccessCountRow
from tompion.store.driver_transaction import DriverTransaction

MAX_SMALL_NAMESPACE = 1_000
"""Up to this many schedules of a namespace are read one by one. Beyond it, the due index is scanned."""


class ScheduleStateTable(DriverTransaction):
    """The mutable state of schedules: cursor, next fire time and counters."""

    def state_claim_due(self, after_ms: int, until_ms: int, limit: int) -> list[StateTuple]:
        """Lock states that are due between two times, oldest first, skipping those that other transactions hold."""
        params = {"after_ms": after_ms, "until_ms": until_ms, "limit": limit}
        return self.rows("state_claim_due", params)

    def state_list_upcoming(self, after_ms: int, until_ms: int, limit: int) -> list[tuple[int, int]]:
        """Return schedule and version of states that will be due between two times, without locking."""
        params = {"after_ms": after_ms, "until_ms": until_ms, "limit": limit}
        return [(row[0], row[1]) for row in self.rows("state_list_upcoming", params)]

    def state_list_upcoming_in_namespace(self, namespace: str, until_ms: int, limit: int) -> list[tuple[int, int]]:
        """Return the schedules of a namespace that are due until a time, earliest first, and when."""
        params = {"namespace": namespace, "until_ms": until_ms, "limit": limit}
        size = self.rows("state_count_in_namespace", {"namespace": namespace, "limit": MAX_SMALL_NAMESPACE + 1})[0][0]
        name = (
            "state_list_upcoming_in_namespace"
            if size > MAX_SMALL_NAMESPACE
            else "state_list_upcoming_in_small_namespace"
        )
        return [(row[0], row[1]) for row in self.rows(name, params)]

    def state_count_fires_by_bucket(
        self, namespace: str, since_ms: int, until_ms: int, length_ms: int, max_rows: int
    ) -> list[tuple[int, int]]:
        """Return the number of schedules whose next fire is in each bucket. Overdue ones are in the first."""
        params = {"namespace": namespace, "since_ms": since_ms, "until_ms": until_ms, "length_ms": length_ms}
        return [
            (int(row[0]), int(row[1]))
            for row in self.rows("state_count_fires_by_bucket", {**params, "max_rows": max_rows})
        ]

    def state_count_fires_by_spec(
        self, namespace: str, until_ms: int, max_rows: int, step: int, limit: int
    ) -> list[SpecGroupRow]:
        """Return the specs of schedules that fire next, most frequent first, without fixed delays.

        Only schedules whose key is a multiple of ``step`` are read.
        """
        params = {"namespace": namespace, "until_ms": until_ms, "max_rows": max_rows, "step": step, "limit": limit}
        return [SpecGroupRow._make(row) for row in self.rows("state_count_fires_by_spec", params)]

    def state_lock(self, keys: Iterable[int]) -> dict[int, ScheduleState]:
        """Lock states in key order, waiting for other transactions."""
        return {key: ScheduleState._make(row) for key, row in self.state_lock_tuples(keys).items()}

    def state_lock_tuples(self, keys: Iterable[int]) -> dict[int, StateTuple]:
        """Lock states in key order and return the rows as plain tuples."""
        return {row[0]: row for row in self.rows("state_lock", {"keys": sorted(set(keys))})}

    def state_lock_by_id(self, namespace: str, schedule_id: str) -> ScheduleState | None:
        """Lock the state of the schedule that has an id, and wait for the transaction that holds the lock."""
        rows = self.rows("state_lock_by_id", {"namespace": namespace, "schedule_id": schedule_id})
        return ScheduleState._make(rows[0]) if rows else None

    def state_get(self, keys: Iterable[int]) -> dict[int, ScheduleState]:
        """Read states without locking them."""
        return {row[0]: ScheduleState._make(row) for row in self.rows("state_get", {"keys": sorted(set(keys))})}

    def state_insert(self, state: ScheduleState) -> None:
        """Add the state of a new schedule."""
        self.execute_many("state_insert_many", [state])

    def state_update(self, states: Sequence[ScheduleState]) -> None:
        """Write states that this transaction has locked."""
        if states:
            self.execute_many("state_update", states)

    def state_advance_fast(self, rows: Sequence[FastAdvanceRow]) -> None:
        """Advance locked states past ticks that start on time."""
        if rows:
            self.execute_many("state_advance_fast", rows)

    def state_count_successes(self, counts: Sequence[SuccessCountRow]) -> None:
        """Count plain successes on locked states."""
        if counts:
            self.execute_many("state_count_successes", counts)

    def state_delete(self, key: int) -> None:
        """Delete a state."""
        self.rows("state_delete", {"key": key})

    def state_list_in_flight(self) -> list[tuple[int, int]]:
        """Return all schedules with runs in flight, each with their number."""
        return [(row[0], row[1]) for row in self.rows("state_list_in_flight", {})]

    def work_due(self, now_ms: int, edge_ms: int) -> DueNow:
        """Return the kinds of work that are due and the time of the next. Ticks before ``edge_ms`` need catch-up."""
        row = self._one("work_due", now_ms=now_ms, edge_ms=edge_ms)
        assert row is not None
        return DueNow(
            on_time=bool(row[0]),
            catch_up=bool(row[1]),
            planned=bool(row[2]),
            unleased=bool(row[3]),
            backfills=bool(row[4]),
            next_ms=row[5],
        )

    def backlog_count(self, now_ms: int, max_rows: int) -> tuple[int, int, int, int]:
        """Return the number of due schedules, waiting runs, paused schedules and degraded schedules.

        Each count stops at ``max_rows``, so that the cost does not grow with the number of schedules.
        """
        row = self._one("backlog_count", now_ms=now_ms, max_rows=max_rows)
        assert row is not None
        return row[0], row[1], row[2], row[3]
