"""Listens for NOTIFY: one connection and one thread for all subscribers. ``driver.py`` sends the NOTIFY."""

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
    """Calls all subscribers when a transaction has notified, and when a notification may have been missed.

    A NOTIFY without a connection is lost, so subscribers are also called after each connect. The first subscriber
    starts the thread.
    """

    def __init__(self, url: str, watchdog: Watchdog) -> None:
        self._url = url
        self._watchdog = watchdog
        self._lock = threading.Lock()
        self._wakers: list[Callable[[], None]] = []
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._failures = 0
        self._connection: PostgresConnection | None = None
        self._stop_receiver, self._stop_sender = socket.socketpair()

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call ``wake`` from now on. Return a function that unsubscribes."""
        with self._lock:
            self._wakers.append(wake)
            if self._thread is None and not self._over.is_set():
                self._thread = threading.Thread(target=self._run, name="tompion-postgres-listener", daemon=True)
                self._thread.start()
        return lambda: self._unsubscribe(wake)

    def close(self) -> None:
        """Stop listening and wait for the thread to end."""
        with self._lock:
            self._over.set()
            thread = self._thread
            if self._connection is not None:
                shut(self._connection)  # it may be waiting for a response that never arrives
        self._stop_sender.close()  # the other end becomes readable
        if thread is not None:
            thread.join()
        self._stop_receiver.close()

    def _unsubscribe(self, wake: Callable[[], None]) -> None:
        with self._lock, suppress(ValueError):
            self._wakers.remove(wake)

    def _run(self) -> None:
        while not self._over.is_set():
            with suppress(psycopg.Error, OSError), closing(connect(self._url, self._watchdog)) as connection:
                self._set_connection(connection)
                try:
                    self._listen(connection)
                finally:
                    self._set_connection(None)
            pause = PAUSES_S[min(self._failures, len(PAUSES_S) - 1)]
            self._failures += 1
            self._over.wait(pause)

    def _set_connection(self, connection: PostgresConnection | None) -> None:
        with self._lock:
            self._connection = connection

    def _listen(self, connection: PostgresConnection) -> None:
        # For a NOTIFY that arrives together with the response to a check.
        connection.add_notify_handler(lambda _notify: self._wake())
        with self._watchdog.watching(connection):
            connection.execute(LISTEN, prepare=False)
        self._failures = 0
        self._wake()
        with selectors.DefaultSelector() as selector:
            selector.register(connection.fileno(), selectors.EVENT_READ)
            selector.register(self._stop_receiver, selectors.EVENT_READ)
            while not self._over.is_set():
                if not selector.select(CHECK_S):
                    with self._watchdog.watching(connection):
                        connection.execute("SELECT 1", prepare=False)
                elif not self._over.is_set():
                    self._receive(connection)

    def _receive(self, connection: PostgresConnection) -> None:
        connection.pgconn.consume_input()
        notified = False
        while connection.pgconn.notifies() is not None:
            notified = True
        if notified:
            self._wake()

    def _wake(self) -> None:
        with self._lock:
            wakers = list(self._wakers)
        for wake in wakers:
            with suppress(Exception):  # a failing subscriber must not keep the others from being called
                wake()
