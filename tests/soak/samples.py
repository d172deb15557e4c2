"""Samples of the resources of an engine and its store, and a check for growth."""

from __future__ import annotations

import asyncio
import gc
import os
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import psycopg

Sample: TypeAlias = Mapping[str, int]
MIB = 2**20
LARGEST_LOG = 64 * MIB
KEPT = frozenset({"rows of schedule_versions", "rows of audit_heads"})
"""Rows that are kept for good, such as versions."""
LEEWAY: Mapping[str, tuple[float, int]] = {
    "memory": (1.10, 16 * MIB),
    "objects": (1.10, 20_000),
    "log": (1.25, 16 * MIB),
    "rows": (1.25, 500),
    # On a machine that is busy with something else: runs that end later, and readers that are opened later.
    "tasks": (1.10, 60),
    "files": (1.10, 15),
}
"""By the first word of its name: how much larger, and how many more, is not called growing."""
FEW = (1.10, 6)
_TABLES = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema::regnamespace"
_BACKENDS = """
SELECT count(*), count(*) FILTER (WHERE state LIKE 'idle in transaction%' AND now() - state_change > '2 s')
FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tompion'
"""


def of_process() -> dict[str, int]:
    """Count what this process holds."""
    gc.collect()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return {
        "memory": resident,
        "objects": len(gc.get_objects()),
        "files": sum(1 for _ in Path("/proc/self/fd").iterdir()),
        "threads": threading.active_count(),
        "tasks": len(asyncio.all_tasks()),
    }


def of_store(url: str) -> dict[str, int]:
    """Count what the store holds, and who is connected to it."""
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///"))
        with closing(sqlite3.connect(path)) as connection:
            names = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
            rows = {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}
        log = path.with_name(f"{path.name}-wal").stat().st_size
        return {"log": log, **_named(rows)}
    with psycopg.connect(url, autocommit=True) as server:
        names = [row[0] for row in server.execute(_TABLES).fetchall()]
        rows = {name: server.execute(f"SELECT count(*) FROM {name}".encode()).fetchall()[0][0] for name in names}
        backends, idle = server.execute(_BACKENDS).fetchall()[0]
    return {"backends": backends, "idle in transaction": idle, **_named(rows)}


def _named(rows: Mapping[str, int]) -> dict[str, int]:
    return {f"rows of {name}": count for name, count in sorted(rows.items()) if not name.startswith("sqlite_")}


def growing(samples: Sequence[Sample]) -> list[str]:
    """Return what was more in the last quarter than in the second: the first one is for warming up."""
    quarter = len(samples) // 4
    before, after = samples[quarter : 2 * quarter], samples[-quarter:]
    growing = []
    for name in samples[-1]:
        if name in KEPT:
            continue
        factor, more = LEEWAY.get(name.split()[0], FEW)
        was, now = max(item[name] for item in before), max(item[name] for item in after)
        if now > was * factor + more:
            growing.append(f"{name} grew from {was:,} to {now:,}")
    if any(sample.get("idle in transaction") for sample in samples):
        growing.append("a connection was left inside a transaction")
    if any(sample.get("log", 0) > LARGEST_LOG for sample in samples):
        growing.append(f"the log of SQLite grew beyond {LARGEST_LOG // MIB} MiB")
    return growing


def table(samples: Sequence[Sample]) -> list[str]:
    """Return what was counted at the beginning, after each quarter and at the end, a line each."""
    last = len(samples) - 1
    moments = [samples[last * part // 4] for part in range(5)]
    return [f"{name:32}" + "".join(f"{moment[name]:>14,}" for moment in moments) for name in samples[-1]]
