"""The run that the calling code belongs to, and a logging filter that adds it to log records."""

from __future__ import annotations

import logging
from contextvars import ContextVar

from tompion.executors.base import RunContext

_current_run: ContextVar[RunContext | None] = ContextVar("tompion_current_run", default=None)
RECORD_FIELDS = ("namespace", "schedule_id", "run_id", "attempt")
"""Attributes that :class:`RunLogFilter` adds to a log record."""


def current_run() -> RunContext | None:
    """Return the run that calls this, in a function, a thread of the engine or an async task. Else ``None``."""
    return _current_run.get()


def enter_run(run_context: RunContext) -> None:
    """Make a run the current one, until the end of the calling task."""
    _current_run.set(run_context)


class RunLogFilter(logging.Filter):
    """Adds ``namespace``, ``schedule_id``, ``run_id`` and ``attempt`` to each log record. It drops none.

    >>> handler.addFilter(RunLogFilter())
    >>> handler.setFormatter(logging.Formatter("%(asctime)s %(schedule_id)s %(run_id)s %(message)s"))

    Add it to handlers, because a filter of a logger does not see the records of its children. ``default`` is the value
    outside of runs.
    """

    def __init__(self, default: str | None = "-") -> None:
        super().__init__()
        self._default = default

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the current run. Attributes that the record has already are kept."""
        run = _current_run.get()
        for name in RECORD_FIELDS:
            if not hasattr(record, name):
                setattr(record, name, self._default if run is None else getattr(run, name))
        return True
