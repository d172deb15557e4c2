"""The PostgreSQL driver: psycopg, one connection per thread, row locks for claims.

Transactions are READ COMMITTED. A row may change between being read and being locked, and the server then checks the
conditions again on the new row. Statements are prepared once per connection.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from functools import partial
from typing import Any, TypeVar

import psycopg

from tompion.errors import StoreError, StoreUnavailable
from tompion.model.run import RunId, RunRow, StartRow
from tompion.model.sql_call import SqlCall, SqlResults
from tompion.runtime.clock import Clock, pause_thread
from tompion.runtime.thread_pool import ThreadPool
from tompion.store.base import Params, Store, Transaction, Work
from tompion.store.migrate import Migrator
from tompion.store.postgres.connection import PostgresConnection, Watchdog, connect, first_response, store_error
from tompion.store.postgres.listener import CHANNEL, NotifyListener
from tompion.store.postgres.prepared import PACKAGE, all_in_flight_query, load_statements, optimistic_run_insert
from tompion.store.postgres.presence import Absence
from tompion.store.postgres.row_security import roles_script
from tompion.store.postgres.user_sql import UserSql
from tompion.store.sql_loader import load_migrations

T = TypeVar("T")
POOL_SIZE = 8
MAX_ATTEMPTS = 5
MIGRATION_LOCK = 0x746F6D70696F6E
MIN_SERVER_VERSION = 14
MAX_MIGRATION_ATTEMPTS = 60
MIGRATION_PAUSE_S = 1.0
LOCK_TIMEOUT = "SET LOCAL lock_timeout = '1s';"
"""A migration waits this long for a table. Meanwhile all later transactions wait behind it."""
TABLES_LOCKED = (
    "PostgreSQL: another session, such as a backup or an idle transaction, locks the tables (see pg_stat_activity). "
    "Nothing was changed. Run the migration again when that session has ended"
)

WRITE = b"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
# One snapshot for all statements of a reader, as in SQLite.
READ = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
ENTER = b"SELECT set_config('tompion.namespace', %s, true), set_config('role', %s, true)"
NOW = b"SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

# Nothing was written, and the same work may succeed if it is retried immediately. UniqueViolation is one of them:
# another transaction has inserted the row meanwhile, and the next attempt sees it.
RETRYABLE_ERRORS = (
    psycopg.errors.SerializationFailure,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.UniqueViolation,
)


class PostgresTransaction(Transaction):
    """One transaction on one connection.

    ``retried`` is true if the previous attempt failed with a retryable error, such as a run that exists already.
    """

    supports_calls = True

    def __init__(self, connection: PostgresConnection, clock: Clock | None, *, retried: bool = False) -> None:
        self._retried = retried
        self._connection = connection
        self._cursor = connection.cursor(binary=True)
        self._tenant = connection.tenant
        self._calls = UserSql(self._cursor)
        self._clock = clock
        self._statements = load_statements()
        self._now_ms: int | None = None
        self.notified: bool = False

    def restrict_to(self, namespace: str) -> None:
        if self._tenant:
            self._cursor.execute(ENTER, [namespace, self._tenant], prepare=True)

    def now_ms(self) -> int:
        if self._clock is not None:
            return int(self._clock.now() * 1000)
        if self._now_ms is None:
            self._now_ms = int(self._cursor.execute(NOW, prepare=True).fetchall()[0][0])
        return self._now_ms

    def notify(self) -> None:
        self.notified = True

    def rows(self, name: str, params: Params) -> list[tuple[Any, ...]]:
        statement = self._statements[name]
        return self._result_rows(self._cursor.execute(statement.text, statement.bound(params), prepare=True))

    def execute_many(self, name: str, rows: Sequence[Sequence[Any]]) -> int:
        statement = self._statements[name]
        return self._cursor.execute(statement.text, statement.arrays(rows), prepare=True).rowcount

    def execute_many_returning(self, name: str, rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
        statement = self._statements[name]
        return self._result_rows(self._cursor.execute(statement.text, statement.arrays(rows), prepare=True))

    def run_insert_fast(self, starts: Sequence[StartRow]) -> set[RunId]:
        if self._retried:
            return super().run_insert_fast(starts)
        if starts:
            statement = optimistic_run_insert()
            self._cursor.execute(statement.text, statement.arrays(starts), prepare=True)
        return set()

    def run_list_all_in_flight(self) -> list[RunRow]:
        return [RunRow._make(row) for row in self._cursor.execute(all_in_flight_query(), prepare=True).fetchall()]

    def execute_calls(self, calls: Sequence[SqlCall], timeout_ms: int) -> SqlResults:
        return self._calls.run_calls(calls, timeout_ms)

    def finish(self) -> None:
        """Send the notification, if requested, and commit."""
        if self.notified:
            self._cursor.execute("SELECT pg_notify(%s::text, '')", [CHANNEL], prepare=True)
        self._cursor.execute(b"COMMIT", prepare=False)
        if self._cursor.statusmessage != "COMMIT":  # the server answers ROLLBACK after an error
            raise StoreError("PostgreSQL: a statement of this transaction failed, so nothing was written")
        if self._connection.unconfirmed:  # the wait for the standby was cancelled, yet the server reports COMMIT
            self._connection.unconfirmed = False
            raise StoreUnavailable("PostgreSQL: no standby has confirmed the write, so a failover may lose it")

    @staticmethod
    def _result_rows(cursor: psycopg.Cursor[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        result = cursor.pgresult  # not cursor.description, which is rebuilt on each access
        return cursor.fetchall() if result is not None and result.nfields else []


class PostgresStore(Store):
    """Schedules and runs in a PostgreSQL database, in the schema of the connection's search path.

    The constructor checks the schema and never changes it. ``clock`` replaces the clock of the server.
    """

    is_out_of_process = True

    def __init__(self, url: str, *, clock: Clock | None = None, pool_size: int = POOL_SIZE) -> None:
        self._url = url
        self._clock = clock
        migrator = PostgresMigrator(url)
        migrator.reject_newer()
        migrator.reject_older()
        self._own = threading.local()
        self._lock = threading.Lock()
        self._opened: set[PostgresConnection] = set()
        self._watchdog = Watchdog()
        self._listener = NotifyListener(url, self._watchdog)
        self._absence = Absence()
        self._threads = ThreadPool(pool_size, "tompion-postgres")

    def write(self, work: Work[T]) -> Future[T]:
        return self._threads.submit(partial(self._transact, WRITE, work))

    def read(self, work: Work[T]) -> Future[T]:
        return self._threads.submit(partial(self._transact, READ, work))

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        return self._listener.subscribe(wake)

    @property
    def knows_presence(self) -> bool:
        return True

    def hold_presence(self, instance_id: int) -> None:
        self._listener.hold(instance_id)

    def drop_presence(self, instance_id: int) -> None:
        self._listener.drop(instance_id)

    def is_present(self, instance_id: int) -> bool:
        return self._listener.holds(instance_id)

    def find_absent(self, own_id: int) -> Future[dict[int, int]]:
        return self.read(
            lambda transaction: self._absence.update(transaction.lease_list_valid(transaction.now_ms(), own_id))
        )

    def close(self) -> None:
        self._listener.close()
        self._threads.finish()
        self._watchdog.close()
        with self._lock:
            for connection in self._opened:
                connection.close()
            self._opened.clear()

    def _transact(self, begin: bytes, work: Work[T]) -> T:
        for left in reversed(range(MAX_ATTEMPTS)):
            try:
                return self._attempt(begin, work, retried=left < MAX_ATTEMPTS - 1)
            except psycopg.Error as error:
                if not (left and isinstance(error, RETRYABLE_ERRORS)):
                    raise store_error(error, writing=begin is WRITE) from error
        raise AssertionError("the last attempt returns or raises")

    def _attempt(self, begin: bytes, work: Work[T], *, retried: bool) -> T:
        connection = self._begin(begin)
        try:
            with self._watchdog.watching(connection):
                transaction = PostgresTransaction(connection, self._clock, retried=retried)
                answer = work(transaction)
                transaction.finish()
        except BaseException as error:
            self._abandon(connection, error)
            raise
        return answer

    def _begin(self, begin: bytes) -> PostgresConnection:
        """Return the connection of this thread inside a transaction. A dead connection is replaced."""
        connection: PostgresConnection | None = getattr(self._own, "connection", None)
        if connection is not None:
            try:
                with self._watchdog.watching(connection):
                    connection.execute(begin, prepare=False)
            except psycopg.Error:
                self._drop(connection)
            else:
                return connection
        connection = self._own.connection = connect(self._url, self._watchdog)
        with self._lock:
            self._opened.add(connection)
        try:
            with self._watchdog.watching(connection):
                connection.execute(begin, prepare=False)
        except BaseException:
            self._drop(connection)
            raise
        return connection

    def _abandon(self, connection: PostgresConnection, error: BaseException) -> None:
        """Roll back a failed transaction. A connection in an unknown state is closed."""
        # The server has become read-only, so it is a standby now. The next connection may reach the primary.
        if connection.closed or isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
            self._drop(connection)
            return
        try:
            with self._watchdog.watching(connection):
                connection.execute(b"ROLLBACK", prepare=False)
        except psycopg.Error:
            self._drop(connection)

    def _drop(self, connection: PostgresConnection) -> None:
        self._own.connection = None
        with self._lock:
            self._opened.discard(connection)
        connection.close()


class PostgresMigrator(Migrator):
    """Migrations of one PostgreSQL schema. Several migrators may run at once."""

    dialect = "postgres"

    def __init__(self, url: str) -> None:
        self._url = url
        self.migrations = load_migrations(PACKAGE)

    def version(self) -> int:
        try:
            with closing(connect(self._url)) as connection:
                release = connection.info.server_version // 10_000
                if release < MIN_SERVER_VERSION:
                    raise StoreError(f"PostgreSQL {release} is too old. Tompion needs {MIN_SERVER_VERSION} or newer")
                with first_response(connection):
                    return _version(connection)
        except psycopg.Error as error:
            raise store_error(error) from error

    def apply(self, number: int, script: str) -> bool:
        for left in reversed(range(MAX_MIGRATION_ATTEMPTS)):
            try:
                return self._apply(number, script)
            except psycopg.Error as error:
                # Running processes lock tables in another order than a script does. The server may abort either side.
                if left and isinstance(error, psycopg.errors.DeadlockDetected):
                    continue
                if not isinstance(error, psycopg.errors.LockNotAvailable):
                    raise store_error(error) from error
                if not left:
                    raise StoreUnavailable(TABLES_LOCKED) from error
            # A waiting migration blocks all later transactions. Release them first, then retry.
            pause_thread(MIGRATION_PAUSE_S)
        raise AssertionError("the last attempt returns or raises")

    def _apply(self, number: int, script: str) -> bool:
        """Apply a migration. Return whether this migrator was the one that did."""
        with closing(connect(self._url)) as connection:
            # If the migrator is killed, the server ends its script and releases the tables. Not supported on Windows.
            with suppress(psycopg.Error):
                connection.execute("SET client_connection_check_interval = '1s'")
            with connection.transaction():
                # Creating an index on a large ledger is slow, and another migrator may hold the lock.
                connection.execute("SET LOCAL statement_timeout = 0")
                connection.execute("SELECT pg_advisory_xact_lock(%s::bigint)", [MIGRATION_LOCK])
                if _version(connection) >= number:
                    return False
                connection.execute(LOCK_TIMEOUT.encode(), prepare=False)
                connection.execute(script.encode(), prepare=False)
                connection.execute(self.stamp(number).encode(), prepare=False)
                return True

    def begin(self) -> str:
        return f"{super().begin()}\n{LOCK_TIMEOUT}"

    def roles(self, worker: str, tenant: str) -> str:
        self.reject_newer()
        self.reject_older()
        try:
            with closing(connect(self._url)) as connection:
                rows = connection.execute(
                    "SELECT current_database(), schemaname, tableowner FROM pg_tables "
                    "WHERE tablename = 'tompion_schema' AND schemaname = current_schema"
                ).fetchall()
        except psycopg.Error as error:
            raise store_error(error) from error
        database, schema, owner = rows[0]
        return roles_script(database=database, schema=schema, owner=owner, worker=worker, tenant=tenant)

    def stamp(self, number: int) -> str:
        return f"UPDATE tompion_schema SET version = {number};"  # noqa: S608 - the number of a migration file


def _version(connection: PostgresConnection) -> int:
    if connection.execute("SELECT to_regclass('tompion_schema') IS NULL").fetchall()[0][0]:
        return 0
    rows = connection.execute("SELECT version FROM tompion_schema").fetchall()
    return int(rows[0][0]) if rows else 0
