"""Printing by a thread of its own: a reader who has stopped to read, but has not gone, must not stop an engine."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from tompion.engine.telemetry.events import Event
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tompion.engine.telemetry.events import Event


MAX_WAITING = 10_000
"""How many lines wait to be read; what comes then is counted, and not kept."""


LAST_WORDS_S = 1.0
"""How long the end of a process waits for its last lines to be read."""


class LogLines(Protocol):
    """Who prints."""

    def __call__(self, event: Event) -> None:
        """Print one event."""

    def say(self, text: str) -> None:
        """Print something about the process itself."""

    def warn(self, text: str) -> None:
        """Print a warning about the process itself."""

    def request(self, method: str, path: str, status: int, seconds: float) -> None:
        """Print that a request was answered."""


class QueuedLog:
    """Hands on what is to be printed, in its order; nobody who prints waits for whoever reads."""

    def __init__(self, lines: LogLines) -> None:
        """Take who prints."""
        self._lines = lines
        self._waiting: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._lost = 0
        self._changed = threading.Condition()
        self._busy = False
        threading.Thread(target=self._print, name="tompion-lines", daemon=True).start()

    def __call__(self, event: Event) -> None:
        """Print one event."""
        self._put(self._lines, event)

    def say(self, text: str) -> None:
        """Print something about the process itself."""
        self._put(self._lines.say, text)

    def warn(self, text: str) -> None:
        """Print a warning about the process itself."""
        self._put(self._lines.warn, text)

    def request(self, method: str, path: str, status: int, seconds: float) -> None:
        """Print that a request was answered."""
        self._put(self._lines.request, method, path, status, seconds)

    def finish(self) -> bool:
        """Wait a moment until everything is printed; return whether it was."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._busy, LAST_WORDS_S)

    def _put(self, print_it: Callable[..., None], *words: Any) -> None:
        with self._changed:
            if len(self._waiting) >= MAX_WAITING:
                self._lost += 1
                return
            if self._lost:
                lost, self._lost = self._lost, 0
                self._waiting.append((self._lines.warn, (f"{lost} lines were not printed: nobody read them",)))
            self._waiting.append((print_it, words))
            self._changed.notify_all()

    def _print(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: bool(self._waiting))
                print_it, words = self._waiting.popleft()
                self._busy = True
            print_it(*words)


DEBUG, INFO, WARNING, ERROR = "debug", "info", "warning", "error"


_NUMBERS = {DEBUG: 10, INFO: 20, WARNING: 30, ERROR: 40, "critical": 50}


_MATTERS = {"error": ERROR, "warning": WARNING, "paused": WARNING, "retried": WARNING, "missed": WARNING}


_FAILED = ("FAILED", "TIMED_OUT")


def level_of(event: Event) -> str:
    """Return how much an event matters: what was missed or has failed is a warning."""
    if event.kind == "ended" and event.text.startswith(_FAILED):
        return WARNING
    return _MATTERS.get(event.kind, INFO)


def number_of(level: str) -> int:
    """Return a level as a number: the more, the graver."""
    return _NUMBERS.get(level, _NUMBERS[INFO])
