"""Opens connections, translates their errors, and ends connections that do not respond."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tompion.errors import StoreError, StoreUnavailable
from tompion.runtime.url_masking import mask_password, scrub_secrets
from tompion.store.postgres.binary_arrays import register


class PostgresConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection. ``tenant`` is the role that sees only one namespace, if the database has one.

    ``unconfirmed`` is set when the server stops waiting for a standby to confirm a commit.
    """

    tenant = ""
    unconfirmed = False

    def check_message(self, notification: psycopg.errors.Diagnostic) -> None:
        """Check a message of the server. The name of its source function does not depend on the server's language."""
        if notification.source_function == _WAIT_FOR_STANDBY:
            self.unconfirmed = True


_LOG = logging.getLogger("tompion.store")
_WAIT_FOR_STANDBY = "SyncRepWaitForLSN"

# A network that drops all packets is detected within half a minute. Parameters of the URL have priority.
_NETWORK: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "application_name": "tompion",
}
# Set after connecting, because proxies reject start-up options and the URL may have its own.
# The JIT compiler costs more than it saves for statements of a few milliseconds.
_SETTINGS = """
SELECT set_config('statement_timeout', '30s', false), set_config('idle_in_transaction_session_timeout', '15s', false),
    set_config('jit', 'off', false), set_config('timezone', 'UTC', false), current_setting('tompion.tenant', true)
"""
MAX_PREPARED = 500

WARNING_S = 5.0
"""Log a warning if the first response of a server takes longer than this."""
RESPONSE_TIMEOUT_S = 30.0
"""Give up on the first response after this time."""

TICK_S = 5.0
MAX_TICKS = 12


def connect(url: str, watchdog: Watchdog | None = None) -> PostgresConnection:
    """Open a connection outside any transaction. Errors do not contain the password."""
    try:
        return _open(url, watchdog)
    except psycopg.Error as error:
        text = scrub_secrets(str(error), url)
        if text == str(error):
            raise
        raise type(error)(text) from None
    except UnicodeError:
        raise StoreError(f"PostgreSQL: the URL {mask_password(url)!r} is not valid UTF-8") from None


def _open(url: str, watchdog: Watchdog | None) -> PostgresConnection:
    """Open a connection with the settings of the store."""
    params = {**_NETWORK, **conninfo_to_dict(url), "client_encoding": "utf8"}
    connection = PostgresConnection.connect(autocommit=True, **params)
    try:
        register(connection.adapters)
        connection.prepared_max = MAX_PREPARED
        connection.add_notice_handler(connection.check_message)
        with watchdog.watching(connection) if watchdog is not None else first_response(connection):
            connection.tenant = connection.execute(_SETTINGS, prepare=False).fetchall()[0][-1] or ""
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def first_response(connection: PostgresConnection) -> Iterator[None]:
    """Wait for a response before a watchdog runs: log a warning after a while, then end the connection."""
    responded = threading.Event()
    where = f"{connection.info.host}:{connection.info.port}"

    def watch() -> None:
        if responded.wait(WARNING_S):
            return
        _LOG.warning("waiting for PostgreSQL at %s: it accepted the connection but does not respond", where)
        if not responded.wait(RESPONSE_TIMEOUT_S - WARNING_S):
            _LOG.warning("PostgreSQL at %s has not responded for %g seconds: giving up", where, RESPONSE_TIMEOUT_S)
            shut(connection)

    thread = threading.Thread(target=watch, name="tompion-postgres-first-answer", daemon=True)
    thread.start()
    try:
        yield
    finally:
        responded.set()
        thread.join()


def store_error(error: psycopg.Error, *, writing: bool = True) -> StoreError:
    """Return the store error for an error of the driver."""
    text = f"PostgreSQL: {str(error).strip() or type(error).__name__}"
    temporary: tuple[type[psycopg.Error], ...] = (psycopg.OperationalError, psycopg.InterfaceError)
    if writing:  # the server itself is read-only: a standby, or a primary during a failover
        temporary += (psycopg.errors.ReadOnlySqlTransaction,)
    return StoreUnavailable(text) if isinstance(error, temporary) else StoreError(text)


class Watchdog:
    """Ends connections on which one transaction takes longer than the limit.

    Timeouts of the server and of TCP do not help against a proxy or a frozen server that keeps a connection open
    without responding. The watchdog counts its own ticks, so it needs no clock.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: dict[PostgresConnection, int] = {}
        self._ticks = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tompion-postgres-watchdog", daemon=True)
        self._thread.start()

    @contextmanager
    def watching(self, connection: PostgresConnection) -> Iterator[None]:
        """Watch a connection during one transaction."""
        with self._lock:
            self._watched[connection] = self._ticks
        try:
            yield
        finally:
            with self._lock:
                self._watched.pop(connection, None)

    def tick(self) -> None:
        """Advance by one tick and end connections that have exceeded the limit."""
        with self._lock:
            self._ticks += 1
            late = [connection for connection, start in self._watched.items() if self._ticks - start > MAX_TICKS]
            for connection in late:
                # Under the lock, so that its thread cannot close it meanwhile and the descriptor is not reused.
                del self._watched[connection]
                shut(connection)

    def close(self) -> None:
        """Stop watching."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(TICK_S):
            self.tick()


def shut(connection: PostgresConnection) -> None:
    """Shut the socket down without touching the connection, which belongs to another thread. That thread reads EOF."""
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as copy:
        copy.shutdown(socket.SHUT_RDWR)
