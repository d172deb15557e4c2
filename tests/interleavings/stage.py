"""A stage for two: each sends its next statement when told to, and whoever waits for a lock is seen to wait.

The store's own code runs, in the store's own thread.  Only the cursors of its connections are others: they stop before
each statement.  That a statement waits for the other transaction is read from the server, never guessed from time.
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
PATIENCE_S = 60.0
"""A statement that is neither answered nor waits for a lock for so long is a mistake of the harness."""
GLANCE_S = 0.003
"""How long an answer may take before the server is asked whether the statement waits."""
UNSTEPPED = (b"BEGIN", b"ROLLBACK", b"SET ")
"""What commutes with everything: at READ COMMITTED a transaction sees nothing before its first statement."""
_WAITING = "SELECT pid FROM unnest(%s::int[]) AS of (pid) WHERE cardinality(pg_blocking_pids(pid)) > 0"


class State(Enum):
    """Where a player is."""

    READY = "before a statement"
    SENT = "in a statement, or between two"
    DONE = "at its end"


class Player:
    """One of the two: its thread stops before each statement until it is told to go on."""

    def __init__(self, name: str, changed: threading.Condition) -> None:
        self.name = name
        self.met: Counter[str] = Counter()
        self.statements = 0
        self.state = State.DONE
        self.waits = False
        self.stepped = False
        self.pid = 0
        self._changed = changed
        self._told = False
        self._noticed = False

    def arrive(self, pid: int, text: bytes) -> None:
        """Stop before a statement, unless nobody steps; a notice and its commit are one."""
        noticed, self._noticed = self._noticed, b"pg_notify" in text
        if not self.stepped or text.startswith(UNSTEPPED) or (noticed and text == b"COMMIT"):
            return
        with self._changed:
            self.state, self.pid, self.waits = State.READY, pid, False
            self._changed.notify_all()
            if not self._changed.wait_for(lambda: self._told, PATIENCE_S):
                raise AssertionError(f"the {self.name} was never told to go on")
            self._told = False

    def go(self) -> None:
        """Tell it to send its statement."""
        with self._changed:
            self.state, self._told = State.SENT, True
            self.statements += 1
            self._changed.notify_all()

    def begin(self, future: Future[Any]) -> None:
        """Note when its work is done."""
        future.add_done_callback(self._ended)

    def _ended(self, _future: Future[Any]) -> None:
        with self._changed:
            self.state, self.waits = State.DONE, False
            self._changed.notify_all()


class Stage:
    """Two players, and one who watches them over a connection of its own."""

    def __init__(self, url: str) -> None:
        self._changed = threading.Condition()
        self.players = tuple(Player(name, self._changed) for name in NAMES)
        self._watcher = psycopg.connect(url, autocommit=True)

    def close(self) -> None:
        self._watcher.close()

    def open(self, plays: list[Callable[[], Future[Any]]]) -> list[Future[Any]]:
        """Let both come to their first statement."""
        futures = []
        for player, play in zip(self.players, plays, strict=True):
            player.stepped, player.waits, player.state = True, False, State.SENT
            player.statements = 0
            player.met.clear()
            future = play()
            player.begin(future)
            futures.append(future)
        self.settle()
        return futures

    def shut(self) -> None:
        """From now on statements are sent as they come."""
        for player in self.players:
            player.stepped = False

    def ready(self) -> list[Player]:
        """Who may send a statement."""
        return [player for player in self.players if player.state is State.READY]

    def step(self, player: Player) -> None:
        """Let one send a statement; return when it is answered, or waits for the other."""
        player.go()
        self.settle()

    def settle(self) -> None:
        """Wait until nobody moves: each is before a statement, at its end, or waits for the other's lock."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: not self._moving(), GLANCE_S)
                sent = {player.pid: player for player in self.players if player.state is State.SENT}
            if not sent:
                return
            waiting = {row[0] for row in self._watcher.execute(_WAITING, [list(sent)], prepare=True)}
            with self._changed:
                for pid, player in sent.items():
                    player.waits = pid in waiting and player.state is State.SENT
                if self._moving():
                    continue
                if self.ready():
                    return
                # Each waits for the other, or for what the other has just let go of: the server decides.
                assert self._changed.wait_for(self._has_moved, PATIENCE_S), "a deadlock that nobody ends"

    def _moving(self) -> list[Player]:
        return [player for player in self.players if player.state is State.SENT and not player.waits]

    def _has_moved(self) -> bool:
        return all(player.state is State.DONE for player in self.players) or bool(self.ready())


@contextmanager
def cursors_of(stage: Stage) -> Iterator[None]:
    """Give every connection whose URL names a player that player's cursors."""
    original: Callable[..., PostgresConnection] = vars(driver)["connect"]

    def connect(url: str, watchdog: Watchdog | None = None) -> PostgresConnection:
        connection = original(url, watchdog)
        for player in stage.players:
            if url.endswith(f"application_name={player.name}"):
                connection.cursor_factory = _stepped(player)
                vars(connection)["transaction"] = _stepped_block(connection, player)
        return connection

    vars(driver)["connect"] = connect
    try:
        yield
    finally:
        vars(driver)["connect"] = original


def _stepped(player: Player) -> type[psycopg.Cursor[Any]]:
    class Stepped(psycopg.Cursor[Any]):
        """A cursor that stops before each statement, and counts what has to be tried again."""

        def execute(self, query: Any, *args: Any, **given: Any) -> Any:
            player.arrive(self.connection.pgconn.backend_pid, query if isinstance(query, bytes) else query.encode())
            try:
                return super().execute(query, *args, **given)
            except RETRYABLE_ERRORS as error:
                player.met[type(error).__name__] += 1
                raise

    return Stepped


def _stepped_block(connection: PostgresConnection, player: Player) -> Callable[[], Any]:
    """A transaction block of a migration: its commit is a step too."""
    begin = connection.transaction

    @contextmanager
    def block() -> Iterator[None]:
        with begin():
            yield
            player.arrive(connection.pgconn.backend_pid, b"COMMIT")

    return block
