"""The SQLite driver: standard library, WAL, one writer thread, and reader threads beside it.

Writes are durable when their future has a result (``synchronous = FULL``). ``BEGIN IMMEDIATE`` is the lock: only one
transaction writes at a time, so a claim needs no row locks. Several processes may share a file. A process that finds it
busy waits.
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
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from tompion.errors import StoreError, StoreUnavailable, TompionError
from tompion.model.run import RunId
from tompion.runtime.clock import Clock, SystemClock
from tompion.runtime.thread_pool import ThreadPool
from tompion.store.base import Params, Store, Transaction, Work
from tompion.store.migrate import Migrator
from tompion.store.sql_loader import load_migrations, load_queries
from tompion.store.sqlite.presence import LockFile

T = TypeVar("T")
Rows: TypeAlias = Sequence[Sequence[Any]]
PACKAGE = "tompion.store.sqlite"
MEMORY = ":memory:"
READERS = 4
BUSY_TIMEOUT_MS = 5_000
STATEMENT_CACHE_SIZE = 512
"""Size of the statement cache of a connection: all statements, and the generated multi-row inserts."""
MIN_SQLITE_VERSION = (3, 37, 0)
ROWS_PER_INSERT = 500
"""Number of rows per insert statement. Small enough for the parameter limit with the widest table."""
_VALUES = re.compile(r"\bVALUES (\([^)]*\?[^)]*\))")
_NUMBERED = re.compile(r"\?(\d+)")
_Arrange = Callable[[Rows], Rows]
APPLICATION_ID = 0x546F6D70
"""Marks a file as a Tompion store in the SQLite header: "Tomp" in ASCII."""


class SqliteTransaction(Transaction):
    """One transaction on one connection."""

    def __init__(self, connection: sqlite3.Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock
        self._queries = load_queries(PACKAGE)
        self.notified: bool = False

    def now_ms(self) -> int:
        return int(self._clock.now() * 1000)

    def notify(self) -> None:
        self.notified = True

    def rows(self, name: str, params: Params) -> list[tuple[Any, ...]]:
        bound = {key: json.dumps(value) if isinstance(value, list) else value for key, value in params.items()}
        return self._connection.execute(self._queries[name], bound).fetchall()

    def execute_many(self, name: str, rows: Rows) -> int:
        """Insert many rows per statement, which is twice as fast. Other statements run once per row."""
        statement, arrange = _with_plain_placeholders(self._queries[name])
        rows = arrange(rows)
        multi_row_insert = _multi_row_insert(statement) if len(rows) >= ROWS_PER_INSERT else None
        changed = inserted = 0
        while multi_row_insert is not None and len(rows) - inserted >= ROWS_PER_INSERT:
            values = list(chain.from_iterable(rows[inserted : inserted + ROWS_PER_INSERT]))
            changed += self._connection.execute(multi_row_insert, values).rowcount
            inserted += ROWS_PER_INSERT
        if inserted < len(rows):
            changed += self._connection.executemany(statement, rows[inserted:] if inserted else rows).rowcount
        return changed

    def execute_many_returning(self, name: str, rows: Rows) -> list[tuple[Any, ...]]:
        execute = self._connection.execute
        statement, arrange = _with_plain_placeholders(self._queries[name])
        return [result for row in arrange(rows) for result in execute(statement, row).fetchall()]

    def change_runs(self, name: str, rows: Rows) -> set[RunId]:
        """Update all rows at once, which is fast, and one by one only if some rows did not match."""
        execute = self._connection.execute
        execute("SAVEPOINT all_at_once")
        statement, arrange = _with_plain_placeholders(self._queries[name].rpartition("RETURNING")[0])
        if self._connection.executemany(statement, arrange(rows)).rowcount == len(rows):
            execute("RELEASE all_at_once")
            return {RunId(row[0], row[1], row[2]) for row in rows}
        execute("ROLLBACK TO all_at_once")
        execute("RELEASE all_at_once")
        return super().change_runs(name, rows)


class SqliteStore(Store):
    """Schedules and runs in one file, which is created and migrated if needed.

    ``inline=True`` runs everything on the calling thread, for tests that decide the order of events themselves.
    """

    def __init__(self, path: str | Path = MEMORY, *, clock: Clock | None = None, inline: bool = False) -> None:
        if sqlite3.sqlite_version_info < MIN_SQLITE_VERSION:
            raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old. Tompion needs 3.37 or newer")
        self._path = str(path)
        self._clock = clock or SystemClock()
        self._wakers: list[Callable[[], None]] = []
        self._inline = inline
        self._reader = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._closed = False
        self._writer = self._connect()
        try:
            self._migrate()
        except StoreError:
            self._writer.close()
            raise
        self._identity = None if self._path == MEMORY else _identity(self._path)
        self._locks = None if self._path == MEMORY else LockFile(self._path)
        self._write_thread = None if inline else ThreadPool(1, "tompion-sqlite-writer")
        shared = inline or self._path == MEMORY
        self._read_threads = None if shared else ThreadPool(READERS, "tompion-sqlite-reader")

    def write(self, work: Work[T]) -> Future[T]:
        if self._write_thread is None:
            return _run_inline(lambda: self._transact(work))
        return self._write_thread.submit(partial(self._transact, work))

    def read(self, work: Work[T]) -> Future[T]:
        if self._read_threads is not None:
            return self._read_threads.submit(partial(self._read_in_thread, work))
        return self.write(work)

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        self._wakers.append(wake)
        return lambda: self._wakers.remove(wake)

    @property
    def knows_presence(self) -> bool:
        return self._locks is not None

    def hold_presence(self, instance_id: int) -> None:
        if self._locks is not None:
            self._locks.hold(instance_id)

    def drop_presence(self, instance_id: int) -> None:
        if self._locks is not None:
            self._locks.drop(instance_id)

    def find_absent(self, own_id: int) -> Future[dict[int, int]]:
        locks = self._locks
        if locks is None:
            return super().find_absent(own_id)
        return self.read(
            lambda transaction: {
                lease.instance_id: lease.heartbeat_ms
                for lease in transaction.lease_list_valid(transaction.now_ms(), own_id)
                if locks.is_absent(lease.instance_id)
            }
        )

    def close(self) -> None:
        self._closed = True
        for threads in (self._write_thread, self._read_threads):
            if threads is not None:
                threads.finish()
        if self._locks is not None:
            self._locks.close()
        for connection in self._opened:
            connection.close()
        self._opened.clear()

    def _connect(self) -> sqlite3.Connection:
        """Open a connection to the file, which must be new or a Tompion store."""
        try:
            with ExitStack() as undo:
                connection = sqlite3.connect(
                    self._path,
                    timeout=BUSY_TIMEOUT_MS / 1000,
                    isolation_level=None,
                    check_same_thread=False,
                    cached_statements=STATEMENT_CACHE_SIZE,
                )
                undo.callback(connection.close)
                check_own_database(connection, self._path)  # before switching to WAL, which changes the file
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                undo.pop_all()
        except (sqlite3.Error, UnicodeDecodeError) as error:  # UnicodeDecodeError: the schema of a damaged file
            raise StoreError(f"cannot open the SQLite file {self._path}: {error}") from None
        self._opened.append(connection)
        return connection

    def _check_file_is_in_place(self) -> None:
        """Raise if the database file was removed or replaced. Writes would go to the unlinked inode."""
        if self._identity is not None and _identity(self._path) != self._identity:
            raise StoreError(f"the SQLite file {self._path} was removed or replaced while in use. Restart Tompion")

    def _migrate(self) -> None:
        try:
            SqliteMigrator(self._writer).up()
        except sqlite3.Error as error:
            raise StoreError(f"cannot migrate the SQLite file {self._path}: {error}") from None

    def _transact(self, work: Work[T]) -> T:
        """Run work in a write transaction, and wake subscribers after the commit."""
        connection = self._writer
        transaction = SqliteTransaction(connection, self._clock)
        try:
            self._check_file_is_in_place()
            connection.execute("BEGIN IMMEDIATE")
            answer = work(transaction)
            connection.execute("COMMIT")
        except BaseException as error:  # noqa: BLE001 - any error ends the transaction and is raised to the caller
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise _store_error(error) from None
        if transaction.notified:
            for wake in list(self._wakers):
                with suppress(Exception):  # the commit is done, so a failing subscriber must not raise
                    wake()
        return answer

    def _read_in_thread(self, work: Work[T]) -> T:
        """Run work in a read transaction on the connection of this thread."""
        self._check_file_is_in_place()
        connection: sqlite3.Connection | None = getattr(self._reader, "connection", None)
        if connection is None:
            connection = self._reader.connection = self._connect()
        try:
            connection.execute("BEGIN")
            return work(SqliteTransaction(connection, self._clock))
        except sqlite3.Error as error:
            raise _store_error(error) from None
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


class SqliteMigrator(Migrator):
    """Migrations of one SQLite file, on a connection outside any transaction."""

    dialect = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.migrations = load_migrations(PACKAGE)

    def version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def apply(self, number: int, script: str) -> bool:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            if self.version() >= number:  # another process has applied it
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
    """Raise if a file belongs to another program. An empty file is accepted. Nothing is written."""
    header = connection.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) "
        "FROM pragma_application_id, pragma_user_version"
    ).fetchone()
    if header[0] != APPLICATION_ID and any(header):
        raise StoreError(
            f"{path} is not a Tompion store: it belongs to another program. Choose another file. Nothing was written"
        )


@cache
def _with_plain_placeholders(statement: str) -> tuple[str, _Arrange]:
    """Return a statement with ``?`` instead of ``?1``, and a function that arranges rows for it.

    Python 3.12.0 to 3.12.3 warns if ``?1`` is bound to a sequence (python/cpython#117995).
    """
    numbers = [int(number) - 1 for number in _NUMBERED.findall(statement)]
    if not numbers:
        return statement, lambda rows: rows
    arrange_row = itemgetter(*numbers) if len(numbers) > 1 else itemgetter(slice(numbers[0], numbers[0] + 1))
    return _NUMBERED.sub("?", statement), lambda rows: list(map(arrange_row, rows))


@cache
def _multi_row_insert(statement: str) -> str | None:
    """Return the same insert for a fixed number of rows, or ``None`` for another kind of statement."""
    values = _VALUES.search(statement)
    if values is None:
        return None
    return statement[: values.end()] + f", {values[1]}" * (ROWS_PER_INSERT - 1) + statement[values.end() :]


def _statements(script: str) -> list[str]:
    """Split a script at the semicolons that end its statements."""
    statements, statement = [], ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            statements.append(statement)
            statement = ""
    return statements


def _store_error(error: BaseException) -> BaseException:
    if isinstance(error, sqlite3.OperationalError):
        return StoreUnavailable(f"SQLite: {error}")
    if isinstance(error, sqlite3.Error) and not isinstance(error, TompionError):
        return StoreError(f"SQLite: {error}")
    return error


def _run_inline(work: Callable[[], T]) -> Future[T]:
    future: Future[T] = Future()
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - the future carries the error
        future.set_exception(error)
    return future


def _identity(path: str) -> tuple[int, int] | None:
    """Return device and inode of the file at a path, if there is one."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
