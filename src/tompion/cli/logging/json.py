"""JSON log: one object per event.

Every line has ``timestamp``, ``level``, ``event`` and ``instance``. Optional fields are ``message``, ``namespace``,
``schedule_id``, ``run_id``, ``key``, ``nominal``, ``source``, ``state``, ``reason``, ``attempt``, ``error``, ``ticks``
and ``trace_id``. A line never contains a payload, a result or a query string.
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
    """Prints events as JSON. It is thread-safe and never raises, so that output errors cannot stop an engine."""

    def __init__(self, clock: Clock, level: str = DEBUG) -> None:
        self._clock = clock
        self._instance = f"{socket.gethostname()}:{os.getpid()}"
        self._lock = threading.Lock()
        self._logger = structlog.wrap_logger(
            structlog.WriteLogger(sys.stdout),
            processors=[self._add_timestamp, structlog.processors.JSONRenderer(ensure_ascii=False)],
            wrapper_class=structlog.make_filtering_bound_logger(number_of(level)),
        )
        _capture_logging(self)

    def __call__(self, event: Event) -> None:
        """Print one event. Internal errors come from the logging module, with a traceback."""
        if event.kind == "error":
            return
        fields = {name: getattr(event, name) for name in FIELDS}
        nominal = None if event.nominal_s is None else datetime.fromtimestamp(event.nominal_s, UTC).isoformat()
        self._print(
            level_of(event), event.kind, message=event.text, schedule_id=event.schedule_id or None, nominal=nominal,
            **fields,
        )  # fmt: skip

    def say(self, text: str) -> None:
        """Print a line about the process itself."""
        self._print("info", "process", message=text)

    def warn(self, text: str) -> None:
        """Print a warning about the process itself."""
        self._print("warning", "process", message=text)

    def request(self, method: str, path: str, status: int, seconds: float, request_id: str) -> None:
        """Print a completed request."""
        duration_ms = round(seconds * 1000, 3)
        fields = {"method": method, "path": path, "status": status, "duration_ms": duration_ms}
        self._print("info", "request", **fields, request_id=request_id)

    def log_record(self, record: logging.LogRecord) -> None:
        """Print a record of the logging module."""
        trace = logging.Formatter().formatException(record.exc_info) if record.exc_info else None
        self._print(record.levelname.lower(), "log", message=record.getMessage(), logger=record.name, exception=trace)

    def _print(self, level: str, kind: str, **fields: Any) -> None:
        present = {name: value for name, value in fields.items() if value is not None}
        with self._lock, suppress(OSError, ValueError):  # closed pipe or full disk: the ledger has the data
            self._logger.log(number_of(level), kind, **present)

    def _add_timestamp(self, _logger: Any, level: str, fields: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        now = datetime.fromtimestamp(self._clock.now(), UTC).isoformat(timespec="milliseconds")
        first = {"timestamp": now, "level": level, "event": fields.pop("event")}
        return {**first, "instance": self._instance, **fields}


class _Handler(logging.Handler):
    """Prints log records, except warnings of the engine, which are printed as events."""

    def __init__(self, log: JsonLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        if record.name != ENGINE or record.levelno >= logging.ERROR:
            self._log.log_record(record)


def _capture_logging(log: JsonLog) -> None:
    """Print all log records of this process as JSON."""
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, _Handler)]:
        root.removeHandler(handler)
    root.addHandler(_Handler(log))
