"""Two threads that send one statement at a time, and a stepper that detects which of them waits for a lock.

The store's own code runs in the store's own thread.  Only the cursors of its connections are replaced: they stop before
each statement.  Whether a statement waits for the other transaction is read from the server, never guessed from time.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from enum import Enum
from typing import Any

import psycopg

from tompion.store.postgres import driver
from tompion.store.postgres.connection import PostgresConnection, Watchdog
from tompion.store.postgres.driver import RETRYABLE_ERRORS

NAMES = ("first", "second")
MAX_WAIT_S = 60.0
"""A statement that takes longer, without a wait for a lock, is a defect of the harness."""
POLL_S = 0.003
"""Time without an answer after which the stepper queries the server for lock waits."""
UNSTEPPED = (b"BEGIN", b"ROLLBACK", b"SET ")
"""Statements that are not stepped: at READ COMMITTED a transaction sees nothing before its first statement."""
_WAITING = "SELECT pid FROM unnest(%s::int[]) AS of (pid) WHERE cardinality(pg_blocking_pids(pid)) > 0"


class State(Enum):
    """The position of a thread."""

    READY = "before a statement"
    SENT = "in a statement, or between two"
    DONE = "at its end"


class SteppedThread:
    """One of the two threads. It stops before each statement until the stepper releases it."""

    def __init__(self, name: str, changed: threading.Condition) -> None:
        self.name = name
        self.errors: Counter[str] = Counter()
        self.statements = 0
        self.state = State.DONE
        self.waits = False
        self.stepped = False
        self.pid = 0
        self._changed = changed
        self._released = False
        self._notified = False

    def arrive(self, pid: int, text: bytes) -> None:
        """Stop before a statement. A NOTIFY and its COMMIT are one step, and an inactive thread does not stop."""
        notified, self._notified = self._notified, b"pg_notify" in text
        if not self.stepped or text.startswith(UNSTEPPED) or (notified and text == b"COMMIT"):
            return
        with self._changed:
            self.state, self.pid, self.waits = State.READY, pid, False
            self._changed.notify_all()
            if not self._changed.wait_for(lambda: self._released, MAX_WAIT_S):
                raise AssertionError(f"the {self.name} thread was never released")
            self._released = False

    def release(self) -> None:
        """Let the thread send its statement."""
        with self._changed:
            self.state, self._released = State.SENT, True
            self.statements += 1
            self._changed.notify_all()

    def watch(self, future: Future[Any]) -> None:
        """Set the state to DONE when the future completes."""
        future.add_done_callback(self._ended)

    def _ended(self, _future: Future[Any]) -> None:
        with self._changed:
            self.state, self.waits = State.DONE, False
            self._changed.notify_all()


class Stepper:
    """Steps two threads, and watches their locks over a connection of its own."""

    def __init__(self, url: str) -> None:
        self._changed = threading.Condition()
        self.threads = tuple(SteppedThread(name, self._changed) for name in NAMES)
        self._watcher = psycopg.connect(url, autocommit=True)

    def close(self) -> None:
        self._watcher.close()

    def start(self, sends: list[Callable[[], Future[Any]]]) -> list[Future[Any]]:
        """Start both transactions, and return when each is before its first statement."""
        futures = []
        for thread, send in zip(self.threads, sends, strict=True):
            thread.stepped, thread.waits, thread.state = True, False, State.SENT
            thread.statements = 0
            thread.errors.clear()
            future = send()
            thread.watch(future)
            futures.append(future)
        self.settle()
        return futures

    def stop_stepping(self) -> None:
        """Let the threads send their next statements without stopping."""
        for thread in self.threads:
            thread.stepped = False

    def ready(self) -> list[SteppedThread]:
        """Return the threads that are before a statement."""
        return [thread for thread in self.threads if thread.state is State.READY]

    def step(self, thread: SteppedThread) -> None:
        """Let one thread send a statement. Return when it is answered or waits for the other thread."""
        thread.release()
        self.settle()

    def settle(self) -> None:
        """Wait until each thread is before a statement, at its end, or waits for the other's lock."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: not self._moving(), POLL_S)
                sent = {thread.pid: thread for thread in self.threads if thread.state is State.SENT}
            if not sent:
                return
            waiting = {row[0] for row in self._watcher.execute(_WAITING, [list(sent)], prepare=True)}
            with self._changed:
                for pid, thread in sent.items():
                    thread.waits = pid in waiting and thread.state is State.SENT
                if self._moving():
                    continue
                if self.ready():
                    return
                # Each thread waits for the other, or for a lock that was just released. The server resolves it.
                assert self._changed.wait_for(self._has_moved, MAX_WAIT_S), "the server did not resolve a deadlock"

    def _moving(self) -> list[SteppedThread]:
        return [thread for thread in self.threads if thread.state is State.SENT and not thread.waits]

    def _has_moved(self) -> bool:
        return all(thread.state is State.DONE for thread in self.threads) or bool(self.ready())


@contextmanager
def stepped_cursors(stepper: Stepper) -> Iterator[None]:
    """Replace the cursors of every connection whose URL names a thread."""
    original: Callable[..., PostgresConnection] = vars(driver)["connect"]

    def connect(url: str, watchdog: Watchdog | None = None) -> PostgresConnection:
        connection = original(url, watchdog)
        for thread in stepper.threads:
            if url.endswith(f"application_name={thread.name}"):
                connection.cursor_factory = _cursor_class(thread)
                vars(connection)["transaction"] = _transaction_block(connection, thread)
        return connection

    vars(driver)["connect"] = connect
    try:
        yield
    finally:
        vars(driver)["connect"] = original


def _cursor_class(thread: SteppedThread) -> type[psycopg.Cursor[Any]]:
    class SteppedCursor(psycopg.Cursor[Any]):
        """A cursor that stops before each statement and counts retryable errors."""

        def execute(self, query: Any, *args: Any, **options: Any) -> Any:
            thread.arrive(self.connection.pgconn.backend_pid, query if isinstance(query, bytes) else query.encode())
            try:
                return super().execute(query, *args, **options)
            except RETRYABLE_ERRORS as error:
                thread.errors[type(error).__name__] += 1
                raise

    return SteppedCursor


def _transaction_block(connection: PostgresConnection, thread: SteppedThread) -> Callable[[], Any]:
    """Return a transaction block for migrations whose commit is a step too."""
    begin = connection.transaction

    @contextmanager
    def block() -> Iterator[None]:
        with begin():
            yield
            thread.arrive(connection.pgconn.backend_pid, b"COMMIT")

    return block
