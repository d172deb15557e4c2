"""The changes of each commit of a scenario, read from the database: states, runs, dropped ranges, backfills, leases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.simulation.scenario import Scenario
from tompion.model.backfill import BackfillRow
from tompion.model.run import FINAL, RunRow
from tompion.model.schedule_state import DroppedRange, ScheduleState
from tompion.store.sql_loader import COLUMNS
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.virtual_loop import VirtualLoop

_RUN = ", ".join(RunRow._fields)
_SPAN = ", ".join(DroppedRange._fields)
_BACKFILL = ", ".join(COLUMNS["backfill"])
Key = tuple[int, int, int]


class Commit(NamedTuple):
    """The changes of one commit, and the leases before and after it."""

    now_ms: int
    states: dict[int, ScheduleState | None]
    runs: dict[Key, RunRow]
    dropped_ranges: list[DroppedRange]
    backfills: dict[int, BackfillRow | None]
    leases_before: dict[int, int]
    leases: dict[int, int]
    paused_queues: frozenset[str]


class Version(NamedTuple):
    """One stored version of a schedule."""

    schedule_id: str
    spec: str
    policy: str
    action: str


class Recording(NamedTuple):
    """One scenario: its commits, and the definitions behind them."""

    seed: int
    commits: list[Commit]
    versions: dict[tuple[int, int], Version]
    over_ms: int


class Recorder:
    """Compares a scenario's database after every commit with the previous one, and keeps the differences."""

    def __init__(self, store: SqliteStore, now_ms: Callable[[], int]) -> None:
        self._connection = store._writer
        self.now_ms = now_ms
        self._changes = -1
        self._states: dict[int, ScheduleState] = {}
        self._open: dict[Key, RunRow] = {}
        self._newest = 0
        self._known_spans: set[DroppedRange] = set()
        self._known_backfills: dict[int, BackfillRow] = {}
        self._leases: dict[int, int] = {}
        self.commits: list[Commit] = []
        self.versions: dict[tuple[int, int], Version] = {}

    def committed(self) -> None:
        """Record the changes, if there are any."""
        if self._connection.total_changes != self._changes:
            self._changes = self._connection.total_changes
            self._look()

    def _look(self) -> None:
        execute = self._connection.execute
        states = {row[0]: ScheduleState._make(row) for row in execute("SELECT * FROM schedule_state")}
        changed: dict[int, ScheduleState | None] = {key: None for key in self._states if key not in states}
        changed |= {key: state for key, state in states.items() if self._states.get(key) != state}
        leases = dict(execute("SELECT instance_id, lease_until_ms FROM instances WHERE lease_until_ms IS NOT NULL"))
        paused = frozenset(name for (name,) in execute("SELECT target FROM paused_targets WHERE kind = 'queue'"))
        backfills = self._backfills()
        commit = Commit(
            self.now_ms(), changed, self._runs(), self._dropped_ranges(), backfills, self._leases, leases, paused
        )
        self._versions()
        if changed or commit.runs or commit.dropped_ranges or backfills:
            self.commits.append(commit)
        self._states, self._leases = states, leases

    def _runs(self) -> dict[Key, RunRow]:
        """New runs, and open runs that have changed."""
        execute = self._connection.execute
        query = f"SELECT run_number, {_RUN} FROM schedule_runs WHERE run_number > ? OR finished_ms IS NULL"
        rows: dict[Key, RunRow] = {}
        for _, *rest in execute(query, (self._newest,)):
            row = RunRow._make(rest)
            rows[row[0], row[1], row[2]] = row
        # A purge may delete the newest ones, and their numbers are then used again.
        self._newest = execute("SELECT coalesce(max(run_number), 0) FROM schedule_runs").fetchone()[0]
        for key in self._open:
            if key not in rows:
                ended = execute(
                    f"SELECT {_RUN} FROM schedule_runs WHERE schedule_key = ? AND nominal_s = ? AND origin = ?", key
                ).fetchone()
                if ended is not None:
                    rows[key] = RunRow._make(ended)
        changed = {key: row for key, row in rows.items() if self._open.get(key) != row}
        self._open = {key: row for key, row in rows.items() if row.state not in FINAL}
        return changed

    def _dropped_ranges(self) -> list[DroppedRange]:
        """New dropped ranges."""
        rows = {DroppedRange._make(row) for row in self._connection.execute(f"SELECT {_SPAN} FROM dropped_ranges")}
        new = sorted(rows - self._known_spans)
        self._known_spans = rows
        return new

    def _backfills(self) -> dict[int, BackfillRow | None]:
        """Backfills that are new, changed or deleted."""
        query = f"SELECT {_BACKFILL} FROM backfills"
        rows = {row[0]: BackfillRow._make(row) for row in self._connection.execute(query)}
        changed: dict[int, BackfillRow | None] = {key: None for key in self._known_backfills if key not in rows}
        changed |= {key: row for key, row in rows.items() if self._known_backfills.get(key) != row}
        self._known_backfills = rows
        return changed

    def _versions(self) -> None:
        query = (
            "SELECT v.schedule_key, v.version, s.schedule_id, v.spec, v.policy, v.action "
            "FROM schedule_versions v JOIN schedules s USING (schedule_key)"
        )
        for key, version, *rest in self._connection.execute(query):
            self.versions.setdefault((key, version), Version(*rest))


def record(seed: int) -> Recording:
    """Run the scenario of a seed, and return the changes of its commits."""
    loop = VirtualLoop()
    asyncio.set_event_loop(loop)
    scenario = Scenario(seed, loop)
    recorder = Recorder(scenario.real, lambda: int(scenario.clock.now() * 1000))
    scenario.store._committed = _both(scenario.store._committed, recorder.committed)
    try:
        loop.run_until_complete(scenario.run())
        over_ms = recorder.now_ms()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.gather(*asyncio.all_tasks(loop), return_exceptions=True))
    finally:
        scenario.real.close()
        loop.close()
        asyncio.set_event_loop(None)
    return Recording(seed, recorder.commits, recorder.versions, over_ms)


def _both(first: Callable[[], Any], second: Callable[[], Any]) -> Callable[[], None]:
    def call() -> None:
        first()
        second()

    return call
