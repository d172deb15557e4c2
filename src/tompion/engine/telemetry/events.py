"""Events of an engine: warnings, errors and run events for a listener, with the counters beside them."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from tompion.errors import TompionError
from tompion.model.metrics import Metrics

log = logging.getLogger("tompion.engine")


class Event(NamedTuple):
    """An event of a run or an instance: a text for people, and its fields for programs.

    It never contains payloads or results. ``error`` is one line.
    """

    kind: str
    schedule_id: str
    text: str
    nominal_s: int | None = None
    namespace: str | None = None
    run_id: str | None = None
    key: str | None = None
    source: str | None = None
    state: str | None = None
    reason: str | None = None
    attempt: int | None = None
    error: str | None = None
    ticks: int | None = None
    trace_id: str | None = None


class EngineEvents:
    """Counters, log messages, and the events for the listener, if there is one."""

    def __init__(self, listener: Callable[[Event], None] | None = None, metrics: Metrics | None = None) -> None:
        self.metrics = metrics or Metrics()
        self.listener = listener

    @property
    def counts(self) -> Counter[str]:
        """Return the counters that have no labels."""
        return self.metrics.counts

    def count(self, name: str, number: int = 1) -> None:
        """Add to a counter."""
        self.metrics.count(name, number)

    def emit(self, kind: str, schedule_id: str, text: str, nominal_s: int | None = None) -> None:
        """Send an event to the listener."""
        self.emit_event(Event(kind, schedule_id, text, nominal_s))

    def emit_event(self, event: Event) -> None:
        """Send a complete event to the listener."""
        if self.listener is None:
            return
        try:
            self.listener(event)
        except Exception:  # a listener must not stop the engine
            log.exception("the listener failed on the event %s of %s", event.kind, event.schedule_id)

    def warn(self, text: str) -> None:
        """Log a problem of this instance."""
        log.warning(text)
        self.emit("warning", "", text)

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
        self.emit("error", "", f"{action}: {type(error).__name__}: {error}")
