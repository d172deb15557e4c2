"""Listening for notices: one connection and one thread for all who subscribe."""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import closing, suppress

import psycopg

from tompion.store.postgres.connection import PostgresConnection, Watchdog, connect, shut

CHANNEL = "tompion_due"
LISTEN = b"LISTEN tompion_due"
CHECK_S = 20.0
PAUSES_S = (0.1, 0.5, 1.0, 2.0, 5.0)


class NotifyListener:
    """Calls everybody when a transaction has notified, and when notices may have been missed.

    Notices that came while there was no connection are lost, hence the call after each connection.
    """

    def __init__(self, url: str, watchdog: Watchdog) -> None:
        """Do nothing yet: the first who subscribes starts the thread."""
        self._url = url
        self._watchdog = watchdog
        self._lock = threading.Lock()
        self._wakers: list[Callable[[], None]] = []
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._failures = 0
        self._connection: PostgresConnection | None = None
        self._told, self._tell = socket.socketpair()

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call ``wake`` from now on; return how to stop that."""
        with self._lock:
            self._wakers.append(wake)
            if self._thread is None and not self._over.is_set():
                self._thread = threading.Thread(target=self._run, name="tompion-postgres-listener", daemon=True)
                self._thread.start()
        return lambda: self._forget(wake)

    def close(self) -> None:
        """Stop listening and wait until that is done."""
        with self._lock:
            self._over.set()
            thread = self._thread
            if self._connection is not None:
                shut(self._connection)  # it may wait for an answer that never comes
        self._tell.close()  # the other end becomes readable
        if thread is not None:
            thread.join()
        self._told.close()

    def _forget(self, wake: Callable[[], None]) -> None:
        with self._lock, suppress(ValueError):
            self._wakers.remove(wake)

    def _run(self) -> None:
        while not self._over.is_set():
            with suppress(psycopg.Error, OSError), closing(connect(self._url, self._watchdog)) as connection:
                self._use(connection)
                try:
                    self._listen(connection)
                finally:
                    self._use(None)
            pause = PAUSES_S[min(self._failures, len(PAUSES_S) - 1)]
            self._failures += 1
            self._over.wait(pause)

    def _use(self, connection: PostgresConnection | None) -> None:
        with self._lock:
            self._connection = connection

    def _listen(self, connection: PostgresConnection) -> None:
        # For notices that arrive together with the answer to a check.
        connection.add_notify_handler(lambda _notice: self._wake())
        with self._watchdog.watching(connection):
            connection.execute(LISTEN, prepare=False)
        self._failures = 0
        self._wake()
        with selectors.DefaultSelector() as selector:
            selector.register(connection.fileno(), selectors.EVENT_READ)
            selector.register(self._told, selectors.EVENT_READ)
            while not self._over.is_set():
                if not selector.select(CHECK_S):
                    with self._watchdog.watching(connection):
                        connection.execute("SELECT 1", prepare=False)
                elif not self._over.is_set():
                    self._hear(connection)

    def _hear(self, connection: PostgresConnection) -> None:
        connection.pgconn.consume_input()
        heard = False
        while connection.pgconn.notifies() is not None:
            heard = True
        if heard:
            self._wake()

    def _wake(self) -> None:
        with self._lock:
            wakers = list(self._wakers)
        for wake in wakers:
            with suppress(Exception):  # one who has gone away must not keep the others from hearing
                wake()
