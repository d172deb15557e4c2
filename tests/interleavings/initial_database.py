"""The database at the start of every order of a pair: how it is built and restored, and how its rows are read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import psycopg

from tests.support.operations import BEGIN, Bench, at, held_of
from tests.support.servers.postgres import PostgresServer
from tompion.config.settings import Settings
from tompion.model.rows import HeldRun
from tompion.operations.schedules import crud
from tompion.store.postgres.driver import PostgresMigrator, PostgresStore
from tompion.testing.clock import ManualClock

SETTINGS = replace(Settings(), lock_ttl_ms=20_000, heartbeat_ms=5_000, backfills_per_iteration=2)
NOW = at("08:02:05")
FIRST_ORIGIN = 7_700_000
"""First origin number in every order. No other number has this magnitude."""
NEWEST = len(PostgresMigrator("").migrations)
"""The schema of this release."""
UNDO_MIGRATION = f"""
ALTER TABLE schedule_state DROP CONSTRAINT IF EXISTS added;
ALTER TABLE schedule_runs DROP CONSTRAINT IF EXISTS added;
DROP INDEX IF EXISTS state_added;
UPDATE tompion_schema SET version = {NEWEST} WHERE version <> {NEWEST};
"""
SEQUENCE_COLUMNS = ("run_number", "audit_number")
RUN_KEY = ("schedule_key", "nominal_s", "origin")
_VIOLATIONS = """
SELECT 'schedule ' || d.schedule_key || ' counts ' || d.in_flight || ' in flight and ' || d.waiting
    || ' waiting, the ledger ' || coalesce(r.flying, 0) || ' and ' || coalesce(r.waiting, 0)
FROM schedule_state d LEFT JOIN (
    SELECT schedule_key, count(*) FILTER (WHERE state IN ('ENQUEUED', 'STARTED')) AS flying,
        count(*) FILTER (WHERE state = 'BUFFERED') AS waiting
    FROM schedule_runs GROUP BY schedule_key
) r USING (schedule_key)
WHERE (d.in_flight, d.waiting) IS DISTINCT FROM (coalesce(r.flying, 0), coalesce(r.waiting, 0))
UNION ALL
SELECT 'the cursor of schedule ' || schedule_key || ' went back'
FROM schedule_state d JOIN saved.schedule_state s USING (schedule_key)
WHERE d.cursor_s < s.cursor_s
UNION ALL
SELECT 'run ' || run_number || ' had ended and is ' || r.state FROM schedule_runs r
JOIN saved.schedule_runs s USING (run_number)
WHERE s.finished_ms IS NOT NULL
  AND (s.state, s.finished_ms, s.attempt) IS DISTINCT FROM (r.state, r.finished_ms, r.attempt)
UNION ALL
SELECT 'run ' || run_number || ' is held by ' || owner || ', whose lease was taken away' FROM schedule_runs r
JOIN instances i ON i.instance_id = r.owner
WHERE r.state IN ('ENQUEUED', 'STARTED') AND r.due_ms IS NULL AND i.lease_until_ms IS NULL
"""


def run_line(key: Iterable[int], text: str) -> str:
    """Return a line about one run."""
    return f"run {'/'.join(map(str, key))}: {text}"


def run_of(line: str) -> str:
    """Return the run that a line is about, or an empty string."""
    name, _, _ = line.partition(": ")
    return name if name.startswith("run ") else ""


class InitialState(NamedTuple):
    """The variant of the database that a pair needs."""

    paused: bool = False
    adaptive: bool = False
    idle: bool = False
    """The schedule has no run in flight. An adaptive schedule has no next run before its last one ends."""

    @property
    def name(self) -> str:
        return "initial" + "_paused" * self.paused + "_adaptive" * self.adaptive + "_idle" * self.idle


class Fixture(NamedTuple):
    """The numbers of the instances, the runs of the one with the expired lease, and the conflict token."""

    expired: int
    first: int
    second: int
    held: tuple[HeldRun, ...]
    token: int


def build(server: PostgresServer, initial_state: InitialState, name: str) -> Fixture:
    """Create a database and save a copy of its tables in the schema `saved`."""
    url = server.create_database(name)
    PostgresMigrator(url).up()
    clock = ManualClock(BEGIN)
    store = PostgresStore(url, clock=clock, pool_size=1)
    try:
        fixture = _fill(Bench(store, clock, SETTINGS), initial_state)
    finally:
        store.close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA saved")
        for table in _tables(connection):
            connection.execute(f"CREATE TABLE saved.{table} AS TABLE public.{table}")
    return fixture


def _fill(bench: Bench, initial_state: InitialState) -> Fixture:
    """Create two schedules, each with a run of a dead worker, a run without a worker, a backfill and a due tick."""
    bench.create("report", overlap_policy="queue", max_concurrent=3)
    bench.create("other", overlap_policy="queue")
    expired = bench.worker()
    bench.go("08:01")
    expired.tick()
    bench.trigger("report", request_id="earlier")
    bench.backfill("07:50", "07:53", overlap="allow")
    if initial_state.adaptive:
        bench.ask(crud.patch, "report", adaptive=True)
    if initial_state.idle:
        expired.settle()
        expired.rescue()
        expired.settle(row=expired.launched.pop()[0])
    bench.clock.set(NOW)
    if initial_state.paused:
        bench.pause(note="to be resumed")
    first, second = bench.worker(), bench.worker()
    held = tuple(sorted(held_of(row) for row, _ in expired.launched))
    numbers = [worker.context.number for worker in (expired, first, second)]
    return Fixture(numbers[0], numbers[1], numbers[2], held, bench.get().conflict_token)


class RestorableDatabase:
    """A database that is restored before every order."""

    def __init__(self, url: str, fixture: Fixture) -> None:
        self.url = url
        self.fixture = fixture
        self.clock = ManualClock(NOW)
        self._connection = psycopg.connect(url, autocommit=True)
        self.name = self._connection.info.dbname
        self._connection.execute(f"ALTER DATABASE {self.name} SET deadlock_timeout = '10ms'")
        self._tables = _tables(self._connection)
        self._columns = {table: self._columns_of(table) for table in self._tables}
        self._restore = self._restore_script()
        self._dump = " UNION ALL ".join(f"SELECT '{table}', to_json(t)::text FROM {table} t" for table in self._tables)

    def close(self) -> None:
        self._connection.close()

    def restore(self, *, schema: bool = True) -> None:
        """Restore every row, and undo the migration."""
        self._connection.execute((UNDO_MIGRATION if schema else "") + self._restore, prepare=False)

    def violations(self) -> list[str]:
        """Return the violations of the rules that hold after every commit."""
        return [row[0] for row in self._connection.execute(_VIOLATIONS.encode(), prepare=True)]

    def rows(self) -> tuple[str, ...]:
        """Return every row of every table, without the columns whose value depends on the order of sequence calls."""
        lines = []
        for table, text in self._connection.execute(self._dump.encode(), prepare=True):
            row = json.loads(text)
            line = repr((table, sorted((name, value) for name, value in row.items() if name not in SEQUENCE_COLUMNS)))
            lines.append(run_line([row[name] for name in RUN_KEY], line) if table == "schedule_runs" else line)
        return self.with_request_ids(lines)

    def with_request_ids(self, lines: Iterable[str]) -> tuple[str, ...]:
        """Return the lines in order, with request ids instead of origin numbers."""
        text = "\n".join(lines)
        origins = self._connection.execute(
            "SELECT origin, request_id FROM schedule_runs WHERE origin >= %s", [FIRST_ORIGIN], prepare=True
        )
        for origin, request_id in origins:
            text = re.sub(rf"\b{origin}\b", f"<{request_id}>", text)
        return tuple(sorted(text.splitlines()))

    def _columns_of(self, table: str) -> str:
        rows = self._connection.execute(
            "SELECT string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position)"
            " FROM information_schema.columns WHERE table_schema = 'public' AND table_name = %s",
            [table],
        ).fetchall()
        return str(rows[0][0])

    def _restore_script(self) -> str:
        copies = [
            f"DELETE FROM {table}; INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE SELECT * FROM saved.{table};"
            for table, columns in self._columns.items()
        ]
        return "".join(
            (
                "SET session_replication_role = replica;",  # otherwise the triggers of the audit log reject it
                *copies,
                f"SELECT setval('origin_numbers', {FIRST_ORIGIN});",
                "SET session_replication_role = origin;",
            )
        )


def _tables(connection: psycopg.Connection[Any]) -> list[str]:
    rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1").fetchall()
    return [row[0] for row in rows]
