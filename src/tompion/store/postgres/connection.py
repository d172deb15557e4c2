"""Connections: how they are opened, what their failures mean, and how a silent one is ended."""

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
from tompion.store.postgres.binary_arrays import register
from tompion.store.url_masking import mask_password, scrubbed


class PostgresConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection; ``tenant`` is the role that sees one namespace only, if the database has one.

    ``unconfirmed`` says that the server has given up waiting for a standby to confirm what it has committed itself.
    """

    tenant = ""
    unconfirmed = False

    def heed(self, notification: psycopg.errors.Diagnostic) -> None:
        """Hear what the server says besides its answers; which function says it is the same in every language."""
        if notification.source_function == _WAIT_FOR_STANDBY:
            self.unconfirmed = True


_LOG = logging.getLogger("tompion.store")
_WAIT_FOR_STANDBY = "SyncRepWaitForLSN"

# A network that swallows everything is noticed within half a minute; whatever the URL says goes first.
_NETWORK: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "application_name": "tompion",
}
# Set after connecting rather than while: proxies refuse start-up options, and the URL may bring some of its own.
# The JIT compiler never pays for statements of a few milliseconds.
_SETTINGS = """
SELECT set_config('statement_timeout', '30s', false), set_config('idle_in_transaction_session_timeout', '15s', false),
    set_config('jit', 'off', false), set_config('timezone', 'UTC', false), current_setting('tompion.tenant', true)
"""
PREPARED_MAX = 500

SILENT_S = 5.0
"""So long a server that is asked for the first time may take before somebody says what is waited for."""
ANSWER_S = 30.0
"""So long it may take at all."""

TICK_S = 5.0
TICKS_ALLOWED = 12


def connect(url: str, watchdog: Watchdog | None = None) -> PostgresConnection:
    """Open a connection that is outside any transaction; what goes wrong is said without the password."""
    try:
        return _connected(url, watchdog)
    except psycopg.Error as error:
        text = scrubbed(str(error), url)
        if text == str(error):
            raise
        raise type(error)(text) from None
    except UnicodeError:
        raise StoreError(f"PostgreSQL: {mask_password(url)!r} is not text") from None


def _connected(url: str, watchdog: Watchdog | None) -> PostgresConnection:
    given = {**_NETWORK, **conninfo_to_dict(url), "client_encoding": "utf8"}
    connection = PostgresConnection.connect(autocommit=True, **given)
    try:
        register(connection.adapters)
        connection.prepared_max = PREPARED_MAX
        connection.add_notice_handler(connection.heed)
        with watchdog.watching(connection) if watchdog is not None else answering(connection):
            connection.tenant = connection.execute(_SETTINGS, prepare=False).fetchall()[0][-1] or ""
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def answering(connection: PostgresConnection) -> Iterator[None]:
    """Wait for an answer where nobody watches yet: say so after a while, and end the connection after a longer one."""
    answered = threading.Event()
    where = f"{connection.info.host}:{connection.info.port}"

    def watch() -> None:
        if answered.wait(SILENT_S):
            return
        _LOG.warning("waiting for PostgreSQL at %s: it has taken the connection, and does not answer", where)
        if not answered.wait(ANSWER_S - SILENT_S):
            _LOG.warning("PostgreSQL at %s has not answered for %g seconds: giving up", where, ANSWER_S)
            shut(connection)

    watching = threading.Thread(target=watch, name="tompion-postgres-first-answer", daemon=True)
    watching.start()
    try:
        yield
    finally:
        answered.set()
        watching.join()


def translated(error: psycopg.Error, *, writing: bool = True) -> StoreError:
    """Return what an error of the driver means to a caller."""
    text = f"PostgreSQL: {str(error).strip() or type(error).__name__}"
    temporary: tuple[type[psycopg.Error], ...] = (psycopg.OperationalError, psycopg.InterfaceError)
    if writing:  # then the server itself is read-only: a standby, or a primary that is about to go
        temporary += (psycopg.errors.ReadOnlySqlTransaction,)
    return StoreUnavailable(text) if isinstance(error, temporary) else StoreError(text)


class Watchdog:
    """Ends connections on which one transaction takes longer than any may.

    Time limits of the server and of TCP do not help against a proxy, or a frozen server, that keeps a connection open
    and says nothing.  The watchdog counts its own ticks, so it needs no clock.
    """

    def __init__(self) -> None:
        """Begin to watch."""
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
        """Let one tick pass."""
        with self._lock:
            self._ticks += 1
            late = [each for each, begun in self._watched.items() if self._ticks - begun > TICKS_ALLOWED]
            for connection in late:
                # Under the lock: whoever uses the connection cannot close it, and so nobody else gets its number.
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
    """End the conversation without touching the connection, which belongs to another thread: that one reads the end."""
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as copy:
        copy.shutdown(socket.SHUT_RDWR)
