"""The baseline: the rows of a burst moved by a bare script, with nothing around it.

It claims due schedule states in batches of the engine's size, inserts a run for each and advances the state, in the
same tables with the same columns and indexes, through the same driver, and commits after each batch.  It decides
nothing (the next tick is a day later), launches nothing and settles nothing.  It writes only what changes, and the
constants of all runs are in the statement. On PostgreSQL both writes are one statement with arrays in binary.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from typing import Any

from bench.engine.stores import path_of
from tompion.config.settings import Settings
from tompion.model.schedule_state import ScheduleState
from tompion.store.postgres.binary_arrays import BigintArray
from tompion.store.postgres.connection import connect

DAY_S = 86_400
COLUMNS = ", ".join(ScheduleState._fields)
NOMINAL, FIRE = ScheduleState._fields.index("next_nominal_s"), ScheduleState._fields.index("next_fire_ms")

INSERT = """
INSERT INTO schedule_runs (
    schedule_key, nominal_s, origin, source, state, version, attempt, failures, fire_ms, owner, decided_ms, local_s,
    cancel_requested
)"""

SQLITE_CLAIM = f"""
SELECT {COLUMNS} FROM schedule_state WHERE next_fire_ms > ? AND next_fire_ms <= ? ORDER BY next_fire_ms LIMIT ?
"""  # noqa: S608 - our own columns
SQLITE_INSERT = f"""{INSERT} VALUES (?1, ?2, 0, 'schedule', 'ENQUEUED', ?3, 1, 0, ?4, 1, ?5, ?2, 0)"""
SQLITE_UPDATE = """
UPDATE schedule_state SET
    cursor_s = ?2, next_nominal_s = ?3, next_fire_ms = ?4, last_start_ms = ?5,
    in_flight = in_flight + 1, starts = starts + 1
WHERE schedule_key = ?1
"""

POSTGRES_CLAIM = f"""
SELECT {COLUMNS} FROM schedule_state WHERE next_fire_ms > %s AND next_fire_ms <= %s
ORDER BY next_fire_ms, schedule_key LIMIT %s FOR UPDATE SKIP LOCKED
"""  # noqa: S608 - our own columns
POSTGRES_WRITE = f"""
WITH due AS MATERIALIZED (
    SELECT * FROM unnest(
        %(key)s::bigint[], %(version)s::bigint[], %(nominal)s::bigint[], %(fire)s::bigint[], %(next)s::bigint[]
    ) AS due (schedule_key, version, nominal_s, fire_ms, next_s)
), added AS ({INSERT}
    SELECT schedule_key, nominal_s, 0, 'schedule', 'ENQUEUED', version, 1, 0, fire_ms, 1, %(now)s, nominal_s, false
    FROM due
)
UPDATE schedule_state d SET
    cursor_s = due.nominal_s, next_nominal_s = due.next_s, next_fire_ms = due.next_s * 1000, last_start_ms = %(now)s,
    in_flight = in_flight + 1, starts = starts + 1
FROM due WHERE d.schedule_key = due.schedule_key
"""  # noqa: S608 - our own columns


def run(url: str, batch: int = 0) -> dict[str, float]:
    """Move all due rows. Return the number of ticks and the seconds."""
    size = batch or Settings().fire_batch
    until_ms = int(time.time() * 1000)
    moved, seconds = _sqlite(url, until_ms, size) if url.startswith("sqlite") else _postgres(url, until_ms, size)
    return {"ticks": moved, "seconds": seconds}


def _sqlite(url: str, until_ms: int, size: int) -> tuple[int, float]:
    moved = 0
    with closing(sqlite3.connect(path_of(url), isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        start = time.perf_counter()
        while True:
            connection.execute("BEGIN IMMEDIATE")
            due = connection.execute(SQLITE_CLAIM, (-1, until_ms, size)).fetchall()
            runs = [(state[0], state[NOMINAL], state[1], state[FIRE], until_ms) for state in due]
            connection.executemany(SQLITE_INSERT, runs)
            states = [(key, at, at + DAY_S, (at + DAY_S) * 1000, until_ms) for key, at, *_ in runs]
            connection.executemany(SQLITE_UPDATE, states)
            connection.execute("COMMIT")
            moved += len(due)
            if len(due) < size:
                return moved, time.perf_counter() - start


def _postgres(url: str, until_ms: int, size: int) -> tuple[int, float]:
    moved = 0
    with closing(connect(url)) as connection, connection.cursor(binary=True) as cursor:
        start = time.perf_counter()
        while True:
            cursor.execute(b"BEGIN", prepare=False)
            due = cursor.execute(POSTGRES_CLAIM.encode(), (-1, until_ms, size), prepare=True).fetchall()
            if due:
                cursor.execute(POSTGRES_WRITE.encode(), _arrays(due, until_ms), prepare=True)
            cursor.execute(b"COMMIT", prepare=False)
            moved += len(due)
            if len(due) < size:
                return moved, time.perf_counter() - start


def _arrays(due: list[tuple[Any, ...]], now_ms: int) -> dict[str, Any]:
    columns = list(zip(*due, strict=True))
    return {
        "key": BigintArray.of(columns[0]),
        "version": BigintArray.of(columns[1]),
        "nominal": BigintArray.of(columns[NOMINAL]),
        "fire": BigintArray.of(columns[FIRE]),
        "next": BigintArray.of([nominal + DAY_S for nominal in columns[NOMINAL]]),
        "now": now_ms,
    }
