"""The rows of a scenario at its end, and the evidence that is not in its database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, NamedTuple

from tompion.config.settings import Settings
from tompion.executors.base import Completed
from tompion.model.notification import NotificationRow
from tompion.model.rows import ScheduleRow, VersionRow
from tompion.model.run import RunRow
from tompion.model.schedule_state import DroppedRange, ScheduleState
from tompion.testing.executor import Execution

_RUN = ", ".join(RunRow._fields)
_NOTIFICATION = ", ".join(NotificationRow._fields)


class Evidence(NamedTuple):
    """Facts about a scenario that are not in its database."""

    executions: list[Execution]
    accepted: list[str]
    unchanged: set[str]
    limits: dict[str, int]
    settings: Settings
    now_ms: int
    clock_stepped: bool
    finals: dict[tuple[int, int, int], RunRow]
    held: set[tuple[int, int, int]]
    notifications: list[tuple[str, bytes]]
    plan: Callable[[str, int], tuple[float, Completed]]


class Ledger(NamedTuple):
    """The rows at the end of a scenario, and the evidence."""

    schedules: list[ScheduleRow]
    states: dict[int, ScheduleState]
    versions: dict[int, list[VersionRow]]
    runs: dict[int, list[RunRow]]
    dropped_ranges: dict[int, list[DroppedRange]]
    backfills: list[dict[str, Any]]
    audit: list[dict[str, Any]]
    notifications: list[NotificationRow]
    evidence: Evidence


def read_ledger(connection: sqlite3.Connection, evidence: Evidence) -> Ledger:
    """Return the ledger of a database."""
    execute = connection.execute
    runs: dict[int, list[RunRow]] = {}
    for row in execute(f"SELECT {_RUN} FROM schedule_runs ORDER BY schedule_key, nominal_s, origin"):
        runs.setdefault(row[0], []).append(RunRow._make(row))
    dropped_ranges: dict[int, list[DroppedRange]] = {}
    for row in execute("SELECT * FROM dropped_ranges ORDER BY schedule_key, until_s"):
        dropped_ranges.setdefault(row[0], []).append(DroppedRange._make(row))
    versions: dict[int, list[VersionRow]] = {}
    for row in execute("SELECT * FROM schedule_versions ORDER BY schedule_key, version"):
        versions.setdefault(row[0], []).append(VersionRow._make(row))

    def dicts(query: str) -> list[dict[str, Any]]:
        cursor = execute(query)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    return Ledger(
        [ScheduleRow._make(row) for row in execute("SELECT * FROM schedules")],
        {row[0]: ScheduleState._make(row) for row in execute("SELECT * FROM schedule_state")},
        versions,
        runs,
        dropped_ranges,
        dicts("SELECT * FROM backfills"),
        dicts("SELECT * FROM audit ORDER BY audit_number"),
        [
            NotificationRow._make(row)
            for row in execute(f"SELECT {_NOTIFICATION} FROM notifications ORDER BY notification_number")
        ],
        evidence,
    )
