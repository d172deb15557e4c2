"""A program of the next release: ``python halted_migration.py URL`` migrates and halts before the last statement.

In PostgreSQL the script waits for a lock that the test holds.  In SQLite the statement is not let through, and the file
``inside`` records that. As there is hardly any cache, what was changed before is on disk already, though not committed.
"""

from __future__ import annotations

import sqlite3
import sys
import threading
from pathlib import Path

from tompion.bootstrap.store import open_migrator
from tompion.store.sqlite.driver import SqliteMigrator

LAST = "CREATE INDEX schedule_runs_next"
LOCK = 20_261_116


def in_sqlite(path: str) -> None:
    """Migrate a file up to the last statement."""

    def look(statement: str) -> None:
        if statement.lstrip().startswith(LAST):
            Path("inside").touch()
            threading.Event().wait()

    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")
    connection.set_trace_callback(look)
    SqliteMigrator(connection).up()


def in_postgres(url: str) -> None:
    """Migrate a database up to the last statement."""
    with open_migrator(url) as migrator:
        *others, (number, name, script) = migrator.migrations
        begun, last, rest = script.partition(LAST)
        halted = f"{begun}SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock({LOCK}); {last}{rest}"
        migrator.migrations = (*others, (number, name, halted))
        migrator.up()


if __name__ == "__main__":
    if sys.argv[1].startswith("sqlite:///"):
        in_sqlite(sys.argv[1].removeprefix("sqlite:///"))
    else:
        in_postgres(sys.argv[1])
