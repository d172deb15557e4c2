"""What a process does, one JSON object for each event, for those who collect logs.

Every line has ``timestamp``, ``level``, ``event`` and ``instance``; the rest is whatever is known: ``message``,
``namespace``, ``schedule_id``, ``run_id``, ``key``, ``nominal``, ``source``, ``state``, ``reason``, ``attempt``,
``error``, ``ticks``, ``trace_id``.  Nothing of a payload, a result or a query string is ever in one.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import structlog

from tompion.cli.logging.queue import DEBUG, level_of, number_of

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from tompion.engine.telemetry.events import Event
    from tompion.runtime.clock import Clock

FIELDS = ("namespace", "run_id", "key", "source", "state", "reason", "attempt", "error", "ticks", "trace_id")
ENGINE = "tompion.engine"


class JsonLog:
    """Prints events; any thread may call it, and it never raises: an engine does not stop because nobody reads."""

    def __init__(self, clock: Clock, level: str = DEBUG) -> None:
        """Print to standard output what has at least that level, and what others log."""
        self._clock = clock
        self._instance = f"{socket.gethostname()}:{os.getpid()}"
        self._lock = threading.Lock()
        self._logger = structlog.wrap_logger(
            structlog.WriteLogger(sys.stdout),
            processors=[self._stamped, structlog.processors.JSONRenderer(ensure_ascii=False)],
            wrapper_class=structlog.make_filtering_bound_logger(number_of(level)),
        )
        _log_to(self)

    def __call__(self, event: Event) -> None:
        """Print one event; mistakes of this program come by the log, with their traceback."""
        if event.kind == "error":
            return
        fields = {name: getattr(event, name) for name in FIELDS}
        nominal = None if event.nominal_s is None else datetime.fromtimestamp(event.nominal_s, UTC).isoformat()
        self._print(
            level_of(event), event.kind, message=event.text, schedule_id=event.schedule_id or None, nominal=nominal,
            **fields,
        )  # fmt: skip

    def say(self, text: str) -> None:
        """Print something about the process itself."""
        self._print("info", "process", message=text)

    def warn(self, text: str) -> None:
        """Print a warning about the process itself."""
        self._print("warning", "process", message=text)

    def request(self, method: str, path: str, status: int, seconds: float) -> None:
        """Print that a request was answered."""
        self._print("info", "request", method=method, path=path, status=status, duration_ms=round(seconds * 1000, 3))

    def logged(self, record: logging.LogRecord) -> None:
        """Print what a library or this program has logged."""
        trace = logging.Formatter().formatException(record.exc_info) if record.exc_info else None
        self._print(record.levelname.lower(), "log", message=record.getMessage(), logger=record.name, exception=trace)

    def _print(self, level: str, kind: str, **fields: Any) -> None:
        known = {name: value for name, value in fields.items() if value is not None}
        with self._lock, suppress(OSError, ValueError):  # nobody reads, or the disk is full: the ledger knows it all
            self._logger.log(number_of(level), kind, **known)

    def _stamped(self, _logger: Any, level: str, fields: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        now = datetime.fromtimestamp(self._clock.now(), UTC).isoformat(timespec="milliseconds")
        first = {"timestamp": now, "level": level, "event": fields.pop("event")}
        return {**first, "instance": self._instance, **fields}


class _Handler(logging.Handler):
    """Passes on what is logged, but for the engine's warnings: those were told already."""

    def __init__(self, lines: JsonLog) -> None:
        super().__init__(logging.WARNING)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        if record.name != ENGINE or record.levelno >= logging.ERROR:
            self._lines.logged(record)


def _log_to(lines: JsonLog) -> None:
    """Let everything that is logged in this process be JSON, too."""
    root = logging.getLogger()
    for handler in [each for each in root.handlers if isinstance(each, _Handler)]:
        root.removeHandler(handler)
    root.addHandler(_Handler(lines))
