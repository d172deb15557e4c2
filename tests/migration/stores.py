"""Stores that several releases use one after the other, or at a time, looked at without any code of theirs."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

Rows = list[dict[str, Any]]
Snapshot = dict[str, Rows]
"""Every row of every table, by the names of its columns."""

OURS = frozenset({"tompion_schema", "numbers", "sqlite_sequence"})
"""Tables that only one dialect has; what counts the migrations is among them."""
_TABLES = """
SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema AND table_type = 'BASE TABLE'
"""


class Place(ABC):
    """Where a store is, and a directory for the processes that use it."""

    dialect: str

    def __init__(self, url: str, home: Path) -> None:
        self.url = url
        self.worker_url = url
        """The URL for workers, if they have another role."""
        self.home = home

    @abstractmethod
    def rows(self, query: str) -> Rows:
        """Return what a query finds."""

    @abstractmethod
    def tables(self) -> list[str]:
        """Return the names of all tables."""

    @abstractmethod
    def version(self) -> int:
        """Return how many migrations the store has had."""

    def one(self, query: str) -> Any:
        """Return the only value that a query finds."""
        ((value,),) = (row.values() for row in self.rows(query))
        return value

    def snapshot(self) -> Snapshot:
        """Return everything that is stored."""
        return {table: sorted(self.rows(f"SELECT * FROM {table}"), key=repr) for table in self.tables()}


class SqlitePlace(Place):
    """A file."""

    dialect = "sqlite"

    def __init__(self, home: Path) -> None:
        self.path = home / "tompion.db"
        super().__init__(f"sqlite:///{self.path}", home)

    def rows(self, query: str) -> Rows:
        with closing(sqlite3.connect(self.path, timeout=120)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query)]

    def tables(self) -> list[str]:
        return [row["name"] for row in self.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")]

    def version(self) -> int:
        return int(self.one("PRAGMA user_version"))


class PostgresPlace(Place):
    """A database."""

    dialect = "postgres"

    def rows(self, query: str) -> Rows:
        with psycopg.connect(self.url) as connection:
            cursor = connection.execute(query.encode())
            names = [column.name for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def tables(self) -> list[str]:
        return [row["table_name"] for row in self.rows(_TABLES)]

    def version(self) -> int:
        return int(self.one("SELECT version FROM tompion_schema"))


def as_before(now: Mapping[str, Rows], before: Mapping[str, Rows]) -> dict[str, Rows]:
    """Return a later snapshot without the tables and columns that an earlier one does not have."""
    rows_by_table: dict[str, Rows] = {}
    for table, rows in before.items():
        columns = rows[0].keys() if rows else ()
        rows_by_table[table] = sorted(({name: row[name] for name in columns} for row in now[table]), key=repr)
    return rows_by_table


def stored(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot without the number that counts the migrations."""
    return {table: rows for table, rows in snapshot.items() if table != "tompion_schema"}
