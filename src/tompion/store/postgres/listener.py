"""Listens for NOTIFY: one connection and one thread for all subscribers. ``driver.py`` sends the NOTIFY.

The same connection holds the locks of the instances of this process, which show other processes that it is alive.
"""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import closing, suppress

import psycopg

from tompion.store.postgres.connection import PostgresConnection, Watchdog, connect, shut
from tompion.store.postgres.presence import LOCK, UNLOCK

CHANNEL = "tompion_due"
LISTEN = b"LISTEN tompion_due"
CHECK_S = 20.0
MAX_POKES = 4_096
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
        self._instances: set[int] = set()
        self._locked: set[int] = set()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._failures = 0
        self._connection: PostgresConnection | None = None
        self._stop_receiver, self._stop_sender = socket.socketpair()

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call ``wake`` from now on. Return a function that unsubscribes."""
        with self._lock:
            self._wakers.append(wake)
            self._start()
        return lambda: self._unsubscribe(wake)

    def _start(self) -> None:
        if self._thread is None and not self._over.is_set():
            self._thread = threading.Thread(target=self._run, name="tompion-postgres-listener", daemon=True)
            self._thread.start()

    def _poke(self) -> None:
        """Wake the thread."""
        with suppress(OSError):  # it is closed
            self._stop_sender.send(b"\0")

    def hold(self, instance_id: int) -> None:
        """Lock an instance on this connection and on every later one."""
        with self._lock:
            self._instances.add(instance_id)
            self._start()
        self._poke()

    def drop(self, instance_id: int) -> None:
        """Release the lock of an instance."""
        with self._lock:
            self._instances.discard(instance_id)
        self._poke()

    def holds(self, instance_id: int) -> bool:
        """Return whether the present connection has the lock of an instance."""
        with self._lock:
            return instance_id in self._locked

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
            self._locked = set()

    def _listen(self, connection: PostgresConnection) -> None:
        """Wait for notifications on a connection until the listener stops."""
        # For a NOTIFY that arrives together with the response to a check.
        connection.add_notify_handler(lambda _notify: self._wake())
        with self._watchdog.watching(connection):
            connection.execute(LISTEN, prepare=False)
        self._failures = 0
        self._update_locks(connection)
        self._wake()
        with selectors.DefaultSelector() as selector:
            selector.register(connection.fileno(), selectors.EVENT_READ)
            selector.register(self._stop_receiver, selectors.EVENT_READ)
            while not self._over.is_set():
                ready = {key.fileobj for key, _ in selector.select(CHECK_S)}
                if self._over.is_set():
                    return
                if self._stop_receiver in ready:
                    self._stop_receiver.recv(MAX_POKES)
                    self._update_locks(connection)
                if not ready:
                    with self._watchdog.watching(connection):
                        connection.execute("SELECT 1", prepare=False)
                elif connection.fileno() in ready:
                    self._receive(connection)

    def _update_locks(self, connection: PostgresConnection) -> None:
        """Lock the instances of this process on the connection, and release those that were dropped."""
        with self._lock:
            wanted, locked = set(self._instances), set(self._locked)
        with self._watchdog.watching(connection):
            for instance_id in sorted(wanted - locked):
                connection.execute(LOCK, [instance_id], prepare=False)
            for instance_id in sorted(locked - wanted):
                connection.execute(UNLOCK, [instance_id], prepare=False)
        with self._lock:
            self._locked = wanted

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
