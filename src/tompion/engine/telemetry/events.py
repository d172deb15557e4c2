"""Events of an engine: warnings, errors and run events for a listener, with the counters beside them."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from tompion.errors import TompionError
from tompion.executors.base import RunContext
from tompion.executors.current_run import RECORD_FIELDS
from tompion.runtime.metric_values import Metrics

ENGINE_LOGGER = "tompion.engine"
"""Logger of the problems of an instance."""
RUNS_LOGGER = "tompion.runs"
"""Logger of everything that happens to runs and schedules."""
log: logging.Logger = logging.getLogger(ENGINE_LOGGER)
run_log: logging.Logger = logging.getLogger(RUNS_LOGGER)
_LEVELS = {
    "error": logging.ERROR,
    "warning": logging.WARNING,
    "paused": logging.WARNING,
    "retried": logging.WARNING,
    "waiting": logging.WARNING,
    "missed": logging.WARNING,
}
_FAILED = ("FAILED", "TIMED_OUT")


class Event(NamedTuple):
    """An event of a run, a schedule or an instance: a text for people, and its fields for programs.

    It never contains payloads or results. ``error`` is one line.
    """

    kind: str
    schedule_id: str
    text: str
    nominal_s: int | None = None
    namespace: str | None = None
    run_id: str | None = None
    idempotency_key: str | None = None
    source: str | None = None
    status: str | None = None
    reason: str | None = None
    attempt: int | None = None
    error: str | None = None
    ticks: int | None = None
    trace_id: str | None = None


def event_level(event: Event) -> int:
    """Return the log level of an event. Missed ticks and failed runs are warnings."""
    if event.kind == "ended" and event.text.startswith(_FAILED):
        return logging.WARNING
    return _LEVELS.get(event.kind, logging.INFO)


class EngineEvents:
    """Counters, log messages, and the events for the listener, if there is one."""

    def __init__(self, listener: Callable[[Event], None] | None = None, metrics: Metrics | None = None) -> None:
        self.metrics: Metrics = metrics or Metrics()
        self.listener = listener

    @property
    def counts(self) -> Counter[str]:
        """Return the counters that have no labels."""
        return self.metrics.counts

    def count(self, name: str, number: int = 1) -> None:
        """Add to a counter."""
        self.metrics.count(name, number)

    def wants(self, level: int) -> bool:
        """Return whether events of a level are logged or sent to a listener."""
        return self.listener is not None or run_log.isEnabledFor(level)

    def emit(self, kind: str, schedule_id: str, text: str, nominal_s: int | None = None) -> None:
        """Log an event and send it to the listener."""
        self.emit_event(Event(kind, schedule_id, text, nominal_s))

    def emit_event(self, event: Event, level: int | None = None) -> None:
        """Log a complete event and send it to the listener."""
        level = event_level(event) if level is None else level
        if run_log.isEnabledFor(level):
            _log_event(event, level)
        self._send(event)

    def _send(self, event: Event) -> None:
        if self.listener is None:
            return
        try:
            self.listener(event)
        except Exception:  # a listener must not stop the engine
            log.exception("the listener failed on the event %s of %s", event.kind, event.schedule_id)

    def warn(self, text: str) -> None:
        """Log a problem of this instance."""
        log.warning(text)
        self._send(Event("warning", "", text))

    def report_failure(self, action: str, error: Exception) -> None:
        """Report a failed action: a store error as a warning, any other as an internal error with its traceback."""
        if isinstance(error, TompionError):
            self.count("store_errors")
            self.warn(f"{action}: {error}")
        else:
            self.report_error(action, error)

    def report_error(self, action: str, error: Exception) -> None:
        """Report an internal error with its traceback."""
        self.count("unexpected_errors")
        log.error("%s: %r", action, error, exc_info=error)
        self._send(Event("error", "", f"{action}: {type(error).__name__}: {error}"))


def log_failure(run: RunContext, error: str | None, exception: BaseException | None, *, is_final: bool) -> None:
    """Log a failed attempt with the traceback of its exception, at the moment at which it failed."""
    level = logging.ERROR if is_final else logging.WARNING
    if run_log.isEnabledFor(level):
        text = error.splitlines()[0] if error else "no error message"
        fields = {name: getattr(run, name) for name in RECORD_FIELDS}
        line = f"{run.schedule_id} failed: {text} (run {run.run_id}, attempt {run.attempt})"
        with suppress(Exception):  # a filter or handler of the user must not stop the engine
            run_log.log(level, "%s", line, exc_info=exception, extra={"event": "failed", **fields})


def _log_event(event: Event, level: int) -> None:
    run = "" if event.run_id is None else f" (run {event.run_id}, attempt {event.attempt})"
    line = f"{event.schedule_id} {event.kind}{': ' if event.text else ''}{event.text}{run}"
    fields = {name: getattr(event, name) for name in RECORD_FIELDS if getattr(event, name) is not None}
    with suppress(Exception):  # a filter or handler of the user must not stop the engine
        run_log.log(level, "%s", line, extra={"event": event.kind, **fields})
