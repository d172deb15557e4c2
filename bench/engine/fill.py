"""Inserts very many schedules with SQL, with the rows that the operations would write.

Two schedules are created through the operation and taken as patterns, one in UTC and one in Berlin. The others, half of
each, differ in their id, their expression and the moment of their next tick, which is drawn at random and need not be
one of the expression, because no benchmark gets that far.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from random import Random
from typing import Any, NamedTuple

import psycopg
from psycopg import sql

from bench.engine.job import FUNCTION
from bench.engine.stores import path_of
from bench.spec.expressions import draw_expression
from tompion.bootstrap.store import open_store
from tompion.config.settings import Settings
from tompion.model.rows import ScheduleRow, VersionRow
from tompion.model.schedule_state import ScheduleState
from tompion.operations.context import OperationContext
from tompion.operations.schedules import crud
from tompion.store.base import Transaction

HOUR_S = 3600
SEED = 20_261_101
BLOCK = 20_000


class Pattern(NamedTuple):
    """The rows of one schedule."""

    schedule: ScheduleRow
    version: VersionRow
    state: ScheduleState


class Due(NamedTuple):
    """When the next ticks are: all seconds since the epoch, drawn between the two."""

    earliest_s: int
    latest_s: int


def fill(url: str, count: int, due: Due) -> int:
    """Insert schedules into an empty store. Return the average size of their definitions in bytes."""
    patterns = [pattern_of(url, cron="0 9 * * MON-FRI", timezone=zone) for zone in (None, "Europe/Berlin")]
    random = Random(SEED)
    size = 0
    for first in range(0, count, BLOCK):
        block = list(_rows(patterns, random, range(first, min(count, first + BLOCK)), due))
        size += sum(
            len(schedule.version.spec) + len(schedule.version.policy) + len(schedule.version.action)
            for schedule in block
        )
        if url.startswith("sqlite"):
            _insert_sqlite(url, block)
        else:
            _insert_postgres(url, block)
    tidy(url)
    return size // max(1, count)


def aim(url: str, **spec: Any) -> None:
    """Set the spec of all schedules of a store. Their rows become what a create would write."""
    pattern = pattern_of(url, **spec)
    state, mark = pattern.state, "?" if url.startswith("sqlite") else "%s"
    due_columns = (state.cursor_s, state.next_nominal_s, state.next_fire_ms)
    with closing(connected(url)) as connection:
        connection.execute(f"UPDATE schedule_versions SET spec = {mark}", (pattern.version.spec,))  # noqa: S608 - our own names
        connection.execute(
            f"UPDATE schedule_state SET cursor_s = {mark}, next_nominal_s = {mark}, next_fire_ms = {mark}",  # noqa: S608 - our own names
            due_columns,
        )
        connection.commit()
    tidy(url)


def connected(url: str) -> Any:
    """Open a connection without a store."""
    return sqlite3.connect(path_of(url)) if url.startswith("sqlite") else psycopg.connect(url)


def pattern_of(url: str, **spec: Any) -> Pattern:
    """Create one schedule, read its rows and roll back."""
    store = open_store(url)
    name = "pattern"

    def create(transaction: Transaction) -> Pattern:
        session = OperationContext(transaction, Settings())
        crud.create(session, name, function=FUNCTION, **spec)
        row = transaction.schedule_get("default", name)
        assert row is not None
        version = transaction.version_get(row.schedule_key, row.version)
        assert version is not None
        state = transaction.state_get([row.schedule_key])[row.schedule_key]
        transaction.schedule_purge(row.schedule_key, 1)
        return Pattern(row, version, state)

    try:
        return store.write(create).result()
    finally:
        store.close()


def _rows(patterns: list[Pattern], random: Random, numbers: range, due: Due) -> Iterator[Pattern]:
    for number in numbers:
        pattern = random.choice(patterns)
        spec = json.loads(pattern.version.spec)
        key = number + 1_000
        text = json.dumps({**spec, "cron": [draw_expression(random)]}, separators=(",", ":"))
        nominal = random.randint(due.earliest_s, due.latest_s)
        yield Pattern(
            pattern.schedule._replace(schedule_key=key, schedule_id=f"customer-{number % 977}/report-{number}"),
            pattern.version._replace(schedule_key=key, spec=text),
            pattern.state._replace(schedule_key=key, next_nominal_s=nominal, next_fire_ms=nominal * 1000),
        )


def _tables(block: list[Pattern]) -> Iterable[tuple[str, tuple[str, ...], list[tuple[Any, ...]]]]:
    yield "schedules", ScheduleRow._fields, [rows.schedule for rows in block]
    yield "schedule_versions", VersionRow._fields, [rows.version for rows in block]
    yield "schedule_state", ScheduleState._fields, [rows.state for rows in block]


def _insert_sqlite(url: str, block: list[Pattern]) -> None:
    with closing(sqlite3.connect(path_of(url), isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # while it is filled, not while it is measured
        connection.execute("BEGIN IMMEDIATE")
        for table, columns, rows in _tables(block):
            marks = ", ".join("?" * len(columns))
            connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)  # noqa: S608 - our own names
        connection.execute("COMMIT")


def _insert_postgres(url: str, block: list[Pattern]) -> None:
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        for table, columns, rows in _tables(block):
            names = sql.SQL(", ").join(map(sql.Identifier, columns))
            with cursor.copy(sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), names)) as copy:
                for row in rows:
                    copy.write_row(row)


def tidy(url: str) -> None:
    """Update statistics and free space, as in a store that has run for long."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(path_of(url), isolation_level=None)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    else:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("VACUUM (ANALYZE) schedules, schedule_versions, schedule_state, schedule_runs")
            connection.execute("CHECKPOINT")
