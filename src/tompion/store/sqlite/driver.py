"""The SQLite driver: standard library, WAL, one writer thread, readers beside it.

Writes are durable when they are answered (``synchronous = FULL``).  ``BEGIN IMMEDIATE`` is the lock: whoever has begun
is alone, so a claim needs no row locks.  Several processes may share a file; a busy one waits for its turn.
"""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from tompion.errors import StoreError, StoreUnavailable, TompionError
from tompion.model.run import RunId
from tompion.runtime.clock import Clock, SystemClock
from tompion.runtime.thread_pool import ThreadPool
from tompion.store.base import Params, Store, Transaction, Work
from tompion.store.migrate import Migrator
from tompion.store.sql_loader import load_migrations, load_queries

T = TypeVar("T")
PACKAGE = "tompion.store.sqlite"
MEMORY = ":memory:"
READERS = 4
BUSY_TIMEOUT_MS = 5_000
STATEMENTS = 512
"""How many a connection keeps prepared: all there are, and the texts that are made for a search."""
MIN_SQLITE_VERSION = (3, 37, 0)
WIDTH = 500
"""How many rows one statement inserts: few enough for the parameters of the widest table."""
_VALUES = re.compile(r"\bVALUES (\([^)]*\?[^)]*\))")
APPLICATION_ID = 0x546F6D70
"""Marks a file as a Tompion store in the SQLite header: "Tomp" in ASCII."""


class SqliteTransaction(Transaction):
    """One transaction on one connection."""

    def __init__(self, connection: sqlite3.Connection, clock: Clock) -> None:
        """Take a connection inside a transaction."""
        self._connection = connection
        self._clock = clock
        self._queries = load_queries(PACKAGE)
        self.notified = False

    def now_ms(self) -> int:
        return int(self._clock.now() * 1000)

    def notify(self) -> None:
        self.notified = True

    def rows(self, name: str, params: Params) -> list[tuple[Any, ...]]:
        bound = {key: json.dumps(value) if isinstance(value, list) else value for key, value in params.items()}
        return self._connection.execute(self._queries[name], bound).fetchall()

    def many(self, name: str, rows: Sequence[Sequence[Any]]) -> int:
        """Rows that are inserted go many in a statement, which is twice as quick; the rest one by one."""
        statement = self._queries[name]
        wide = _wide(statement) if len(rows) >= WIDTH else None
        changed = done = 0
        while wide is not None and len(rows) - done >= WIDTH:
            values = list(chain.from_iterable(rows[done : done + WIDTH]))
            changed += self._connection.execute(wide, values).rowcount
            done += WIDTH
        if done < len(rows):
            changed += self._connection.executemany(statement, rows[done:] if done else rows).rowcount
        return changed

    def many_rows(self, name: str, rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
        execute, statement = self._connection.execute, self._queries[name]
        return [found for row in rows for found in execute(statement, row).fetchall()]

    def changed(self, name: str, rows: Sequence[Sequence[Any]]) -> set[RunId]:
        """All at once, which is quick, and one by one only if some of them were not as expected."""
        execute = self._connection.execute
        execute("SAVEPOINT all_at_once")
        statement = self._queries[name].rpartition("RETURNING")[0]
        if self._connection.executemany(statement, rows).rowcount == len(rows):
            execute("RELEASE all_at_once")
            return {RunId(row[0], row[1], row[2]) for row in rows}
        execute("ROLLBACK TO all_at_once")
        execute("RELEASE all_at_once")
        return super().changed(name, rows)


class SqliteStore(Store):
    """Schedules and runs in one file.

    ``inline=True`` runs everything on the calling thread, for tests that decide the order of things themselves.
    """

    def __init__(self, path: str | Path = MEMORY, *, clock: Clock | None = None, inline: bool = False) -> None:
        """Open the file, creating and migrating it where needed."""
        if sqlite3.sqlite_version_info < MIN_SQLITE_VERSION:
            raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old; Tompion needs 3.37")
        self._path = str(path)
        self._clock = clock or SystemClock()
        self._wakers: list[Callable[[], None]] = []
        self._inline = inline
        self._reading = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._closed = False
        self._writer = self._connect()
        try:
            self._migrate()
        except StoreError:
            self._writer.close()
            raise
        self._identity = None if self._path == MEMORY else _identity(self._path)
        self._write_thread = None if inline else ThreadPool(1, "tompion-sqlite-writer")
        shared = inline or self._path == MEMORY
        self._read_threads = None if shared else ThreadPool(READERS, "tompion-sqlite-reader")

    def write(self, work: Work[T]) -> Future[T]:
        if self._write_thread is None:
            return _at_once(lambda: self._transact(work))
        return self._write_thread.submit(partial(self._transact, work))

    def read(self, work: Work[T]) -> Future[T]:
        if self._read_threads is not None:
            return self._read_threads.submit(partial(self._look, work))
        return self.write(work)

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        self._wakers.append(wake)
        return lambda: self._wakers.remove(wake)

    def close(self) -> None:
        self._closed = True
        for threads in (self._write_thread, self._read_threads):
            if threads is not None:
                threads.finish()
        for connection in self._opened:
            connection.close()
        self._opened.clear()

    def _connect(self) -> sqlite3.Connection:
        try:
            with ExitStack() as undo:
                connection = sqlite3.connect(
                    self._path,
                    timeout=BUSY_TIMEOUT_MS / 1000,
                    isolation_level=None,
                    check_same_thread=False,
                    cached_statements=STATEMENTS,
                )
                undo.callback(connection.close)
                check_own_database(connection, self._path)  # before WAL, which is a change of the file
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                undo.pop_all()
        except sqlite3.Error as error:
            raise StoreError(f"cannot open the SQLite file {self._path}: {error}") from None
        self._opened.append(connection)
        return connection

    def _refuse_lost_file(self) -> None:
        """Raise if the file is no longer where it was: what is written to it now, nobody would find again."""
        if self._identity is not None and _identity(self._path) != self._identity:
            raise StoreError(f"the SQLite file {self._path} was removed or replaced while it was in use; start again")

    def _migrate(self) -> None:
        try:
            SqliteMigrator(self._writer).up()
        except sqlite3.Error as error:
            raise StoreError(f"cannot migrate the SQLite file {self._path}: {error}") from None

    def _transact(self, work: Work[T]) -> T:
        connection = self._writer
        transaction = SqliteTransaction(connection, self._clock)
        try:
            self._refuse_lost_file()
            connection.execute("BEGIN IMMEDIATE")
            answer = work(transaction)
            connection.execute("COMMIT")
        except BaseException as error:  # noqa: BLE001 - whatever it was, the transaction ends and the caller is told
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise _translated(error) from None
        if transaction.notified:
            for wake in list(self._wakers):
                with suppress(Exception):  # it is written: one who has gone away cannot change that
                    wake()
        return answer

    def _look(self, work: Work[T]) -> T:
        self._refuse_lost_file()
        connection: sqlite3.Connection | None = getattr(self._reading, "connection", None)
        if connection is None:
            connection = self._reading.connection = self._connect()
        try:
            connection.execute("BEGIN")
            return work(SqliteTransaction(connection, self._clock))
        except sqlite3.Error as error:
            raise _translated(error) from None
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


class SqliteMigrator(Migrator):
    """Migrations of one SQLite file."""

    dialect = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Take a connection outside any transaction."""
        self._connection = connection
        self.migrations = load_migrations(PACKAGE)

    def version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def apply(self, number: int, script: str) -> bool:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            if self.version() >= number:  # another process was quicker
                return False
            for statement in _statements(f"{script}\n{self.stamp(number)}"):
                self._connection.execute(statement)
            self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        return True

    def stamp(self, number: int) -> str:
        return f"PRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {number};"


def check_own_database(connection: sqlite3.Connection, path: str) -> None:
    """Raise if a file belongs to another program; nothing is written to it, and an empty one belongs to nobody."""
    found = connection.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) "
        "FROM pragma_application_id, pragma_user_version"
    ).fetchone()
    if found[0] != APPLICATION_ID and any(found):
        raise StoreError(
            f"{path} is not a Tompion store: it belongs to another program; choose another file; nothing was written"
        )


@cache
def _wide(statement: str) -> str | None:
    """The same insertion for a fixed number of rows; ``None`` if it is something else."""
    values = _VALUES.search(statement)
    if values is None:
        return None
    return statement[: values.end()] + f", {values[1]}" * (WIDTH - 1) + statement[values.end() :]


def _statements(script: str) -> list[str]:
    """Split a script at the semicolons that end its statements."""
    found, begun = [], ""
    for line in script.splitlines(keepends=True):
        begun += line
        if sqlite3.complete_statement(begun):
            found.append(begun)
            begun = ""
    return found


def _translated(error: BaseException) -> BaseException:
    if isinstance(error, sqlite3.OperationalError):
        return StoreUnavailable(f"SQLite: {error}")
    if isinstance(error, sqlite3.Error) and not isinstance(error, TompionError):
        return StoreError(f"SQLite: {error}")
    return error


def _at_once(work: Callable[[], T]) -> Future[T]:
    future: Future[T] = Future()
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - a future carries whatever was raised
        future.set_exception(error)
    return future


def _identity(path: str) -> tuple[int, int] | None:
    """Return which file is at a path, if there is one."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
