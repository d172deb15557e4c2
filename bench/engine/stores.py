"""The stores of the benchmark: durable, on this machine, one for each turn, gone when it is over."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import psycopg

from bench.engine.peers.progress import Progress, silent
from bench.engine.peers.runner import POSTGRES, SQLITE, VALKEY
from bench.engine.peers.valkey import ValkeyServer
from tests.support.servers.postgres import DURABLE, PostgresServer
from tompion.bootstrap.store import open_migrator

KINDS = (SQLITE, POSTGRES)
NAMES = {SQLITE: "SQLite", POSTGRES: "PostgreSQL", VALKEY: "Valkey"}


class Stores:
    """Creates stores. Servers are started once, when they are first needed."""

    def __init__(self, progress: Progress = silent) -> None:
        self._stack = ExitStack()
        self._progress = progress
        self._server: PostgresServer | None = None
        self._valkey: str | None = None
        self._made = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def server(self) -> PostgresServer:
        """The PostgreSQL server, with the settings of production."""
        if self._server is None:
            self._progress("starting PostgreSQL …")
            self._server = self._stack.enter_context(PostgresServer(DURABLE))
        return self._server

    def empty(self, kind: str) -> str:
        """Return the URL of a new store for a peer, or for Tompion to migrate."""
        self._made += 1
        if kind == SQLITE:
            folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="tompion-bench-"))
            return f"sqlite:///{Path(folder) / 'store.db'}"
        if kind == POSTGRES:
            return self.server.create_database(f"bench_{self._made}")
        if self._valkey is None:
            self._progress("starting Valkey …")
            self._valkey = self._stack.enter_context(ValkeyServer(self._progress)).url
        return self._valkey

    def migrated(self, kind: str) -> str:
        """Return the URL of a new store with Tompion's tables."""
        url = self.empty(kind)
        with open_migrator(url, create=True) as migrator:
            migrator.up()
        return url

    def drop(self, url: str) -> None:
        """Give the room of a store back, and let the server finish what it does behind one's back."""
        if url.startswith("sqlite"):
            for path in path_of(url).parent.iterdir():
                path.unlink()
        elif self._server is not None and url.startswith("postgresql"):
            self._server.drop_database(url.rpartition("/")[2])
            with psycopg.connect(self._server.url, autocommit=True) as connection:
                connection.execute("CHECKPOINT")


def path_of(url: str) -> Path:
    """Return the file of an SQLite store."""
    return Path(url.removeprefix("sqlite:///"))


def size_of(url: str) -> int:
    """Return the bytes that a store takes on disk, after SQLite's log was written into the file."""
    if url.startswith("sqlite"):
        return sum(path.stat().st_size for path in path_of(url).parent.iterdir())
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        assert row is not None
        return int(row[0])
