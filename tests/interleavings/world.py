"""The database that every order of a pair begins with, how it is put back, and what is left of it at the end."""

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
NUMBERS_FROM = 7_700_000
"""Where the numbers of requests begin in every order; no other number looks like one of them."""
UNDONE = """
ALTER TABLE schedule_state DROP CONSTRAINT IF EXISTS added;
ALTER TABLE schedule_runs DROP CONSTRAINT IF EXISTS added;
DROP INDEX IF EXISTS state_added;
UPDATE tompion_schema SET version = 1 WHERE version <> 1;
"""
UNCOUNTED = ("run_number", "audit_number")
RUN_KEY = ("schedule_key", "nominal_s", "origin")
_COMPLAINTS = """
SELECT 'schedule ' || d.schedule_key || ' counts ' || d.in_flight || ' in flight and ' || d.waiting
    || ' that wait, the ledger ' || coalesce(r.flying, 0) || ' and ' || coalesce(r.waiting, 0)
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


def of_run(key: Iterable[int], text: str) -> str:
    """Say something of one run."""
    return f"run {'/'.join(map(str, key))}: {text}"


def run_of(line: str) -> str:
    """Return the run that a line is about, or nothing."""
    name, _, _ = line.partition(": ")
    return name if name.startswith("run ") else ""


class Kind(NamedTuple):
    """Which world a pair needs."""

    paused: bool = False
    adaptive: bool = False
    idle: bool = False
    """Nothing of the schedule that both are about is in flight: an adaptive one has no next run before that."""

    @property
    def name(self) -> str:
        return "world" + "_paused" * self.paused + "_adaptive" * self.adaptive + "_idle" * self.idle


class Cast(NamedTuple):
    """Who was there before: instances by number, and the runs of the one whose lease is over."""

    lapsed: int
    first: int
    second: int
    held: tuple[HeldRun, ...]
    token: int


def build(server: PostgresServer, kind: Kind, name: str) -> Cast:
    """Make a world and save it beside itself, in a database that others copy."""
    url = server.create_database(name)
    PostgresMigrator(url).up()
    clock = ManualClock(BEGIN)
    store = PostgresStore(url, clock=clock, pool_size=1)
    try:
        cast = _played(Bench(store, clock, SETTINGS), kind)
    finally:
        store.close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA saved")
        for table in _tables(connection):
            connection.execute(f"CREATE TABLE saved.{table} AS TABLE public.{table}")
    return cast


def _played(bench: Bench, kind: Kind) -> Cast:
    """Two schedules with a run each whose worker has fallen silent, one that nobody holds, a backfill, a tick due."""
    bench.create("report", overlap_policy="queue", max_concurrent=3)
    bench.create("other", overlap_policy="queue")
    lapsed = bench.worker()
    bench.go("08:01")
    lapsed.tick()
    bench.trigger("report", request_id="earlier")
    bench.backfill("07:50", "07:53", overlap="allow")
    if kind.adaptive:
        bench.ask(crud.patch, "report", adaptive=True)
    if kind.idle:
        lapsed.settle()
        lapsed.rescue()
        lapsed.settle(row=lapsed.launched.pop()[0])
    bench.clock.set(NOW)
    if kind.paused:
        bench.pause(note="to be resumed")
    first, second = bench.worker(), bench.worker()
    held = tuple(sorted(held_of(row) for row, _ in lapsed.launched))
    numbers = [each.context.number for each in (lapsed, first, second)]
    return Cast(numbers[0], numbers[1], numbers[2], held, bench.get().token)


class World:
    """A copy of a built world, put back before every order."""

    def __init__(self, url: str, cast: Cast) -> None:
        self.url = url
        self.cast = cast
        self.clock = ManualClock(NOW)
        self._connection = psycopg.connect(url, autocommit=True)
        self.name = self._connection.info.dbname
        self._connection.execute(f"ALTER DATABASE {self.name} SET deadlock_timeout = '10ms'")
        self._tables = _tables(self._connection)
        self._columns = {table: self._columns_of(table) for table in self._tables}
        self._put_back = self._script()
        self._dump = " UNION ALL ".join(f"SELECT '{table}', to_json(t)::text FROM {table} t" for table in self._tables)

    def close(self) -> None:
        self._connection.close()

    def reset(self, *, schema: bool = True) -> None:
        """Put every row back, and what a migration has changed."""
        self._connection.execute((UNDONE if schema else "") + self._put_back, prepare=False)

    def complaints(self) -> list[str]:
        """What must hold after every commit and does not."""
        return [row[0] for row in self._connection.execute(_COMPLAINTS.encode(), prepare=True)]

    def left(self) -> tuple[str, ...]:
        """Every row of every table, without the numbers that only say who came first to a sequence."""
        rows = []
        for table, text in self._connection.execute(self._dump.encode(), prepare=True):
            row = json.loads(text)
            line = repr((table, sorted((name, value) for name, value in row.items() if name not in UNCOUNTED)))
            rows.append(of_run([row[name] for name in RUN_KEY], line) if table == "schedule_runs" else line)
        return self.unnumbered(rows)

    def unnumbered(self, lines: Iterable[str]) -> tuple[str, ...]:
        """Put the names of requests for the numbers that they were given, and the lines in order."""
        text = "\n".join(lines)
        found = self._connection.execute(
            "SELECT origin, request_id FROM schedule_runs WHERE origin >= %s", [NUMBERS_FROM], prepare=True
        )
        for origin, request_id in found:
            text = re.sub(rf"\b{origin}\b", f"<{request_id}>", text)
        return tuple(sorted(text.splitlines()))

    def _columns_of(self, table: str) -> str:
        found = self._connection.execute(
            "SELECT string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position)"
            " FROM information_schema.columns WHERE table_schema = 'public' AND table_name = %s",
            [table],
        ).fetchall()
        return str(found[0][0])

    def _script(self) -> str:
        moved = [
            f"DELETE FROM {table}; INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE SELECT * FROM saved.{table};"
            for table, columns in self._columns.items()
        ]
        return "".join(
            (
                "SET session_replication_role = replica;",  # or the audit would refuse it
                *moved,
                f"SELECT setval('origin_numbers', {NUMBERS_FROM});",
                "SET session_replication_role = origin;",
            )
        )


def _tables(connection: psycopg.Connection[Any]) -> list[str]:
    found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1").fetchall()
    return [row[0] for row in found]
