"""Very many namespaces with a schedule each, copied from one with SQL."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import psycopg

TABLES = ("schedules", "schedule_versions", "schedule_state")
NUMBERS = "WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"


def multiply(url: str, count: int) -> None:
    """Copy the only schedule of a store, in ``tenant-1``, to ``tenant-2`` and so on."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
            for table in TABLES:
                names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
                connection.execute(f"{NUMBERS.format(count=count)} {_copy(table, names, '')}")
            connection.execute("ANALYZE")
        return
    with psycopg.connect(url, autocommit=True) as server:
        for table in TABLES:
            query = (
                "SELECT column_name FROM information_schema.columns WHERE table_name = %s AND is_generated = 'NEVER'"
            )
            names = [row[0] for row in server.execute(query, [table]).fetchall()]
            numbered = f"WITH n (i) AS (SELECT generate_series(2, {count}))"
            server.execute(f"{numbered} {_copy(table, names, 'OVERRIDING SYSTEM VALUE')}".encode())
        server.execute("SELECT setval(pg_get_serial_sequence('schedules', 'schedule_key'), %s)", [count])
        server.execute("VACUUM ANALYZE")


def postpone(url: str, count: int) -> None:
    """Move the next tick of all but the first ``count`` by an hour."""
    query = f"UPDATE schedule_state SET next_fire_ms = next_fire_ms + 3600000 WHERE schedule_key > {count}"
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
            connection.execute(query)
        return
    with psycopg.connect(url) as server:
        server.execute(query.encode())


def _copy(table: str, names: list[str], how: str) -> str:
    new = {"schedule_key": "n.i", "namespace": "'tenant-' || n.i"}
    taken = ", ".join(new.get(name, f"t.{name}") for name in names)
    return f"INSERT INTO {table} ({', '.join(names)}) {how} SELECT {taken} FROM {table} t, n WHERE t.schedule_key = 1"
