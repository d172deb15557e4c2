"""SQLAlchemy engines for the peers that store their schedules with it, set up as for a service that must not lose any.

SQLite writes ahead and flushes at every commit, as Tompion's own store does.  PostgreSQL has its defaults.
"""

from __future__ import annotations

from typing import Any

from bench.engine.peers.scripts.common import SCHEMA, load


def is_sqlite(url: str) -> bool:
    """Whether a store is a file."""
    return url.startswith("sqlite:")


def with_driver(url: str, driver: str) -> str:
    """Name the driver in the URL of a store."""
    scheme, _, rest = url.partition("://")
    dialect = scheme.partition("+")[0].replace("postgres", "postgresql").replace("postgresqlql", "postgresql")
    return f"{dialect}+{driver}://{rest}"


def make_durable(engine: Any) -> None:
    """Let every connection to SQLite write ahead and flush at each commit, and wait for its turn."""

    def on_connect(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "busy_timeout = 30000"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    load("sqlalchemy:event").listen(engine, "connect", on_connect)


def new_schema(url: str) -> None:
    """Drop and create the schema in which a peer keeps its tables."""
    with load("psycopg:connect")(url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        connection.execute(f"CREATE SCHEMA {SCHEMA}")
