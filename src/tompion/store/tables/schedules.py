"""Schedules, and the locks and numbers that belong to no other table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from tompion.model.rows import ScheduleFilter, ScheduleRow, UnhealthyScheduleRow, VersionRow
from tompion.model.schedule_state import ScheduleState
from tompion.store.driver_transaction import DriverTransaction

RARE_STATES, MAX_RARE = ("paused", "closed"), 2_000
"""Statuses that few schedules have. Up to MAX_RARE of them are read and sorted instead of searched among all."""
_SCHEDULE = len(ScheduleRow._fields)
_STATE = _SCHEDULE + len(ScheduleState._fields)
_SPECIAL, _ESCAPED = re.compile(r"[\\%_]"), r"\\\g<0>"
"""Characters with a meaning in a LIKE pattern, and how to escape them."""


def _filter_params(wanted: ScheduleFilter) -> dict[str, Any]:
    """Return the parameters of a statement that filters schedules."""
    pattern = None if wanted.text is None else f"%{_SPECIAL.sub(_ESCAPED, wanted.text)}%"
    return {"pattern": pattern, **wanted._asdict()}


class ScheduleTable(DriverTransaction):
    """Schedules, and the locks and numbers that belong to no other table."""

    def schedule_get(self, namespace: str, schedule_id: str) -> ScheduleRow | None:
        """Return one schedule."""
        row = self._one("schedule_get", namespace=namespace, schedule_id=schedule_id)
        return None if row is None else ScheduleRow._make(row)

    def schedule_get_full(
        self, namespace: str, ids: Iterable[str]
    ) -> dict[str, tuple[ScheduleRow, ScheduleState | None, VersionRow | None]]:
        """Return schedules with their states and current versions. A damaged schedule may lack either."""
        schedules = {}
        for columns in self.rows("schedule_get_full", {"namespace": namespace, "ids": sorted(set(ids))}):
            row, state, version = ScheduleRow._make(columns[:_SCHEDULE]), columns[_SCHEDULE:_STATE], columns[_STATE:]
            schedules[row.schedule_id] = (
                row,
                None if state[0] is None else ScheduleState._make(state),
                None if version[0] is None else VersionRow._make(version),
            )
        return schedules

    def schedule_list_by_key(self, keys: Iterable[int]) -> dict[int, ScheduleRow]:
        """Return schedules by key."""
        return {
            row[0]: ScheduleRow._make(row) for row in self.rows("schedule_list_by_key", {"keys": sorted(set(keys))})
        }

    def schedule_insert(self, row: ScheduleRow) -> int:
        """Add a schedule and return its key."""
        inserted = self._one("schedule_insert", **row._asdict())
        assert inserted is not None
        return int(inserted[0])

    def schedule_update(self, row: ScheduleRow) -> None:
        """Write a schedule whose state is locked by this transaction."""
        self.rows("schedule_update", row._asdict())

    def schedule_list(self, namespace: str, after_id: str, limit: int, wanted: ScheduleFilter) -> list[ScheduleRow]:
        """Return schedules of a namespace in the order of their ids."""
        params = {"namespace": namespace, "after_id": after_id, "limit": limit, **_filter_params(wanted)}
        rare = (
            wanted.state in RARE_STATES
            and self.schedule_count_in_status(namespace, str(wanted.state), MAX_RARE + 1) <= MAX_RARE
        )
        name = "schedule_list_rare" if rare else "schedule_list"
        return [ScheduleRow._make(row) for row in self.rows(name, params)]

    def schedule_count_matching(self, namespace: str, wanted: ScheduleFilter, max_rows: int) -> int:
        """Count the schedules that match a filter, reading at most ``max_rows``."""
        params = {"namespace": namespace, "max_rows": max_rows, **_filter_params(wanted)}
        if wanted.state in ("active", "exhausted"):
            return int(self.rows("schedule_count_matching_active", params)[0][0])
        states = ["active", "paused"] if wanted.state is None else [wanted.state]
        return int(self.rows("schedule_count_matching", {**params, "states": states})[0][0])

    def schedule_list_same_spec(
        self, namespace: str, version: VersionRow, after_id: str, limit: int
    ) -> list[tuple[str, int]]:
        """Return ids and tokens of the active schedules with the same spec and calendars as a version."""
        params = {"namespace": namespace, "after_id": after_id, "limit": limit}
        rows = self.rows("schedule_list_same_spec", {**params, "spec": version.spec, "calendars": version.calendars})
        return [(row[0], int(row[1])) for row in rows]

    def schedule_count_by_status(self, namespace: str, max_rows: int) -> list[tuple[str, int, int, int]]:
        """Count the schedules of a namespace by status, with their runs in flight and waiting runs."""
        rows = self.rows("schedule_count_by_status", {"namespace": namespace, "max_rows": max_rows})
        return [(row[0], int(row[1]), int(row[2] or 0), int(row[3] or 0)) for row in rows]

    def schedule_count_degraded(self, namespace: str) -> int:
        """Count the schedules of a namespace whose time zone no longer exists."""
        return int(self.rows("schedule_count_degraded", {"namespace": namespace})[0][0])

    def schedule_count_in_status(self, namespace: str, state: str, max_rows: int) -> int:
        """Count the schedules of a namespace in a status, up to ``max_rows``."""
        return int(
            self.rows("schedule_count_in_status", {"namespace": namespace, "state": state, "max_rows": max_rows})[0][0]
        )

    def schedule_count_open(self, namespace: str, max_rows: int) -> int:
        """Count the active and paused schedules of a namespace, up to ``max_rows``."""
        return int(self.rows("schedule_count_open", {"namespace": namespace, "max_rows": max_rows})[0][0])

    def schedule_list_unhealthy(
        self, namespace: str, edges: dict[str, int], max_rows: int, limit: int
    ) -> list[UnhealthyScheduleRow]:
        """Return schedules that fail, are degraded, or wait, run or stay paused for too long."""
        params = {"namespace": namespace, **edges, "max_rows": max_rows, "limit": limit}
        return [UnhealthyScheduleRow._make(row) for row in self.rows("schedule_list_unhealthy", params)]

    def schedule_count_decided_ahead(self, namespace: str, edge_ms: int, max_rows: int) -> tuple[int, int | None]:
        """Count the schedules with a decision later than a time, and return the latest such decision."""
        row = self.rows(
            "schedule_count_decided_ahead", {"namespace": namespace, "edge_ms": edge_ms, "max_rows": max_rows}
        )[0]
        return int(row[0]), row[1]

    def name_lock(self, kind: str, namespace: str, name: str) -> None:
        """Lock a name until this transaction ends, whether or not a row with it exists."""
        self.rows("name_lock", {"name": json.dumps([kind, namespace, name])})

    def schedule_list_purgeable(self, before_s: int, before_ms: int, limit: int) -> list[int]:
        """Return closed schedules that may be purged."""
        params = {"before_s": before_s, "before_ms": before_ms, "limit": limit}
        return [row[0] for row in self.rows("schedule_list_purgeable", params)]

    def schedule_purge(self, key: int, limit: int) -> int:
        """Delete a schedule and its rows except the audit, up to ``limit`` runs and dropped ranges.

        Return the number of these. If it equals the limit, there may be more, and the schedule still exists.
        """
        deleted = len(self.rows("run_purge", {"key": key, "limit": limit}))
        deleted += (
            len(self.rows("dropped_range_purge", {"key": key, "limit": limit - deleted})) if deleted < limit else 0
        )
        if deleted < limit:
            for name in ("backfill_purge", "version_purge", "calendar_use_delete", "state_delete", "schedule_delete"):
                self.rows(name, {"key": key})
        return deleted

    def schedule_list_zones(self) -> list[str]:
        """Return the distinct zone tables that schedules were planned with."""
        return [row[0] for row in self.rows("schedule_list_zones", {})]

    def schedule_list_in_zone(self, zones: str, limit: int) -> list[int]:
        """Return some schedules that were planned with given zone tables."""
        return [row[0] for row in self.rows("schedule_list_in_zone", {"zones": zones, "limit": limit})]

    def number_next(self) -> int:
        """Return a unique number."""
        row = self._one("number_next")
        assert row is not None
        return int(row[0])
