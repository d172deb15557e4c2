"""JSON log: one object per event.

Every line has ``timestamp``, ``level``, ``event`` and ``instance``. Optional fields are ``message``, ``namespace``,
``schedule_id``, ``run_id``, ``key``, ``nominal``, ``source``, ``state``, ``reason``, ``attempt``, ``error``, ``ticks``,
``trace_id``, ``logger`` and ``exception``. A line never contains a payload, a result or a query string.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tompion.cli.logging.queue import DEBUG, level_of, number_of
from tompion.encoding.instant import datetime_s
from tompion.executors.current_run import RECORD_FIELDS

if TYPE_CHECKING:
    from tompion.engine.telemetry.events import Event
    from tompion.runtime.clock import Clock

FIELDS = (
    "namespace", "run_id", "idempotency_key", "source", "status", "reason", "attempt", "error", "ticks", "trace_id",
)  # fmt: skip


class JsonLog:
    """Prints events as JSON. It is thread-safe and never raises, so that output errors cannot stop an engine."""

    def __init__(self, clock: Clock, level: str = DEBUG) -> None:
        self._clock = clock
        self._min_level = number_of(level)
        self._instance = f"{socket.gethostname()}:{os.getpid()}"
        self._lock = threading.Lock()
        self._stdout = sys.stdout

    def __call__(self, event: Event) -> None:
        """Print one event. Internal errors come from the logging module, with a traceback."""
        if event.kind == "error":
            return
        fields = {name: getattr(event, name) for name in FIELDS}
        run_at = None if event.nominal_s is None else datetime_s(event.nominal_s).isoformat()
        self._print(
            level_of(event), event.kind, message=event.text, schedule_id=event.schedule_id or None, run_at=run_at,
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
        """Print a record of the logging module, with the run in which it was written."""
        fields = {name: getattr(record, name, None) for name in RECORD_FIELDS}
        level, message = record.levelname.lower(), record.getMessage()
        self._print(level, "log", message=message, logger=record.name, exception=record.exc_text, **fields)

    def _print(self, level: str, kind: str, **fields: Any) -> None:
        if number_of(level) < self._min_level:
            return
        now = datetime_s(self._clock.now()).isoformat(timespec="milliseconds")
        line = {"timestamp": now, "level": level, "event": kind, "instance": self._instance}
        line |= {name: value for name, value in fields.items() if value is not None}
        text = json.dumps(line, ensure_ascii=False, default=repr)
        with self._lock, suppress(OSError, ValueError):  # closed pipe or full disk: the ledger has the data
            self._stdout.write(f"{text}\n")
            self._stdout.flush()
