"""Records of the logging module, from user code and libraries, in the log of the process."""

from __future__ import annotations

import copy
import logging
from typing import TYPE_CHECKING

from tompion.cli.logging.queue import number_of
from tompion.engine.telemetry.events import ENGINE_LOGGER, RUNS_LOGGER
from tompion.executors.current_run import RunLogFilter

if TYPE_CHECKING:
    from tompion.cli.logging.queue import LogWriter

OFF = logging.CRITICAL + 1


class RecordHandler(logging.Handler):
    """Passes log records to the log of the process, with the run in which they were written."""

    def __init__(self, log: LogWriter, level: str) -> None:
        super().__init__(number_of(level))
        self._log = log
        self.addFilter(RunLogFilter(default=None))

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record, except warnings of the engine, which are printed as events."""
        if record.name != ENGINE_LOGGER or record.levelno >= logging.ERROR:
            self._log.log_record(_formatted(record))


def capture_logging(log: LogWriter, level: str) -> None:
    """Print all log records of this process in its log. Run events are printed once, by the listener."""
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, RecordHandler)]:
        root.removeHandler(handler)
    root.addHandler(RecordHandler(log, level))
    root.setLevel(number_of(level))
    logging.getLogger(RUNS_LOGGER).setLevel(OFF)


def _formatted(record: logging.LogRecord) -> logging.LogRecord:
    """Return a copy with a complete message and traceback, so that another thread can print it later."""
    formatted = copy.copy(record)
    formatted.msg, formatted.args = record.getMessage(), None
    if record.exc_info and not record.exc_text:
        formatted.exc_text = logging.Formatter().formatException(record.exc_info)
    formatted.exc_info = None
    return formatted
