"""Log levels, and a log that prints on a background thread, so that a stalled reader cannot block the engine."""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from tompion.engine.telemetry.events import event_level

if TYPE_CHECKING:
    from collections.abc import Callable

    from tompion.engine.telemetry.events import Event

MAX_QUEUED_LINES = 10_000
"""Maximum lines in the queue. Further lines are counted and dropped."""
MAX_FLUSH_S = 1.0
"""Time that the end of a process waits for its last lines."""
DEBUG, INFO, WARNING, ERROR = "debug", "info", "warning", "error"


def level_of(event: Event) -> str:
    """Return the name of the log level of an event."""
    return logging.getLevelName(event_level(event)).lower()


def number_of(level: str) -> int:
    """Return a level as a number. Higher is more severe."""
    return logging.getLevelNamesMapping().get(level.upper(), logging.INFO)


class LogWriter(Protocol):
    """Writes the lines of a log."""

    def __call__(self, event: Event) -> None:
        """Print one event."""

    def say(self, text: str) -> None:
        """Print a line about the process itself."""

    def warn(self, text: str) -> None:
        """Print a warning about the process itself."""

    def request(self, method: str, path: str, status: int, seconds: float, request_id: str) -> None:
        """Print a completed request."""

    def log_record(self, record: logging.LogRecord) -> None:
        """Print a record of the logging module."""


class QueuedLog:
    """Log that passes lines in order to a background thread. The caller never blocks."""

    def __init__(self, writer: LogWriter) -> None:
        self._writer = writer
        self._queue: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._dropped = 0
        self._changed = threading.Condition()
        self._busy = False
        threading.Thread(target=self._print, name="tompion-log", daemon=True).start()

    def __call__(self, event: Event) -> None:
        """Print one event."""
        self._put(self._writer, event)

    def say(self, text: str) -> None:
        """Print a line about the process itself."""
        self._put(self._writer.say, text)

    def warn(self, text: str) -> None:
        """Print a warning about the process itself."""
        self._put(self._writer.warn, text)

    def request(self, method: str, path: str, status: int, seconds: float, request_id: str) -> None:
        """Print a completed request."""
        self._put(self._writer.request, method, path, status, seconds, request_id)

    def log_record(self, record: logging.LogRecord) -> None:
        """Print a record of the logging module."""
        self._put(self._writer.log_record, record)

    def finish(self) -> bool:
        """Wait briefly until all lines are printed. Return whether they are."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._queue and not self._busy, MAX_FLUSH_S)

    def _put(self, print_line: Callable[..., None], *arguments: Any) -> None:
        with self._changed:
            if len(self._queue) >= MAX_QUEUED_LINES:
                self._dropped += 1
                return
            if self._dropped:
                dropped, self._dropped = self._dropped, 0
                self._queue.append((self._writer.warn, (f"{dropped} log lines were dropped: the reader is stalled",)))
            self._queue.append((print_line, arguments))
            self._changed.notify_all()

    def _print(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: bool(self._queue))
                print_line, arguments = self._queue.popleft()
                self._busy = True
            print_line(*arguments)
