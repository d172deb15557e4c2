"""The mutable state of schedules: cursor, next fire time and counters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tompion.model.rows import (
    DueNow,
    SpecGroupRow,
)
from tompion.model.schedule_state import FastAdvanceRow, ScheduleState, StateTuple, SuccessCountRow
from tompion.store.driver_transaction import DriverTransaction

SMALL_NAMESPACE = 1_000
"""Up to this many schedules of a namespace are read one by one. Beyond it, the due index is scanned."""


class ScheduleStateTable(DriverTransaction):
    """The mutable state of schedules: cursor, next fire time and counters."""

    def state_claim_due(self, after_ms: int, until_ms: int, limit: int) -> list[StateTuple]:
        """Lock dials that are due between two moments, the oldest first, passing over those that others hold."""
        params = {"after_ms": after_ms, "until_ms": until_ms, "limit": limit}
        return self.rows("state_claim_due", params)

    def state_list_upcoming(self, after_ms: int, until_ms: int, limit: int) -> list[tuple[int, int]]:
        """Return schedule and version of dials that will be due between two moments, without locking them."""
        params = {"after_ms": after_ms, "until_ms": until_ms, "limit": limit}
        return [(row[0], row[1]) for row in self.rows("state_list_upcoming", params)]

    def state_list_upcoming_in_namespace(self, namespace: str, until_ms: int, limit: int) -> list[tuple[int, int]]:
        """Return the schedules of a namespace that are looked at until a moment, the first one first, and when."""
        params = {"namespace": namespace, "until_ms": until_ms, "limit": limit}
        size = self.rows("state_count_in_namespace", {"namespace": namespace, "limit": SMALL_NAMESPACE + 1})[0][0]
        name = (
            "state_list_upcoming_in_namespace" if size > SMALL_NAMESPACE else "state_list_upcoming_in_small_namespace"
        )
        return [(row[0], row[1]) for row in self.rows(name, params)]

    def state_count_fires_by_bucket(
        self, namespace: str, since_ms: int, until_ms: int, length_ms: int, most: int
    ) -> list[tuple[int, int]]:
        """Return how many schedules fire next in which stretch of time; what is overdue is in the first."""
        params = {"namespace": namespace, "since_ms": since_ms, "until_ms": until_ms, "length_ms": length_ms}
        return [
            (int(row[0]), int(row[1])) for row in self.rows("state_count_fires_by_bucket", {**params, "most": most})
        ]

    def state_count_fires_by_spec(
        self, namespace: str, until_ms: int, most: int, step: int, limit: int
    ) -> list[SpecGroupRow]:
        """Return the specs of schedules that fire next, the most frequent first; those of fixed delays are none.

        Only every so many-th schedule is looked at, by its key.
        """
        params = {"namespace": namespace, "until_ms": until_ms, "most": most, "step": step, "limit": limit}
        return [SpecGroupRow._make(row) for row in self.rows("state_count_fires_by_spec", params)]

    def state_lock(self, keys: Iterable[int]) -> dict[int, ScheduleState]:
        """Lock dials by key, in the order of their keys, waiting for whoever holds them."""
        return {key: ScheduleState._make(row) for key, row in self.state_lock_tuples(keys).items()}

    def state_lock_tuples(self, keys: Iterable[int]) -> dict[int, StateTuple]:
        """Lock dials by key, and leave them as they were read."""
        return {row[0]: row for row in self.rows("state_lock", {"keys": sorted(set(keys))})}

    def state_lock_by_id(self, namespace: str, schedule_id: str) -> ScheduleState | None:
        """Lock the state of the schedule that has an id, and wait for the transaction that holds the lock."""
        rows = self.rows("state_lock_by_id", {"namespace": namespace, "schedule_id": schedule_id})
        return ScheduleState._make(rows[0]) if rows else None

    def state_get(self, keys: Iterable[int]) -> dict[int, ScheduleState]:
        """Read dials without locking them."""
        return {row[0]: ScheduleState._make(row) for row in self.rows("state_get", {"keys": sorted(set(keys))})}

    def state_insert(self, state: ScheduleState) -> None:
        """Add the dial of a new schedule."""
        self.many("state_insert_many", [state])

    def state_update(self, states: Sequence[ScheduleState]) -> None:
        """Write dials that are locked by this transaction."""
        if states:
            self.many("state_update", states)

    def state_advance_fast(self, steps: Sequence[FastAdvanceRow]) -> None:
        """Move dials that are locked by this transaction past ticks that simply start."""
        if steps:
            self.many("state_advance_fast", steps)

    def state_count_successes(self, tallies: Sequence[SuccessCountRow]) -> None:
        """Count runs that simply succeed, on dials that are locked by this transaction."""
        if tallies:
            self.many("state_count_successes", tallies)

    def state_delete(self, key: int) -> None:
        """Remove a dial."""
        self.rows("state_delete", {"key": key})

    def state_list_in_flight(self) -> list[tuple[int, int]]:
        """Return all schedules that have runs in flight, each with how many."""
        return [(row[0], row[1]) for row in self.rows("state_list_in_flight", {})]

    def work_due(self, now_ms: int, edge_ms: int) -> DueNow:
        """Return which kinds of work are due (missed ticks are those before ``edge_ms``), and when the next is."""
        found = self._one("work_due", now_ms=now_ms, edge_ms=edge_ms)
        assert found is not None
        on_time, catch_up, planned, unleased, backfills = map(bool, found[:5])
        return DueNow(on_time, catch_up, planned, unleased, backfills, found[5])

    def backlog_count(self, now_ms: int, most: int) -> tuple[int, int, int, int]:
        """Return how many schedules are due, runs wait, schedules are paused and degraded; nobody counts beyond that.

        ``most`` is where counting ends: on a million schedules a number of everything would take a look at everything.
        """
        found = self._one("backlog_count", now_ms=now_ms, most=most)
        assert found is not None
        return found[0], found[1], found[2], found[3]
