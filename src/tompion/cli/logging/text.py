"""Text log: one readable line per event.

On a terminal, long ids are shortened in the middle and long texts are wrapped. In a pipe, each event is one full line.
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from tompion.cli.logging.queue import INFO, level_of, number_of
from tompion.cli.output import console
from tompion.cli.output.text import shorten, wrap
from tompion.encoding.instant import datetime_s
from tompion.engine.telemetry.events import Event

if TYPE_CHECKING:
    from tompion.runtime.clock import Clock

WARNING = "warning"
ERROR = "error"
_STYLES = {
    ERROR: "bold red",
    WARNING: "yellow",
    "paused": "yellow",
    "retried": "yellow",
    "missed": "yellow",
    "launched": "dim",
}
_TIME_WIDTH = len("2026-03-28 12:00:00Z ")
_KIND_WIDTH = len("replanned ")
_MIN_ID_WIDTH = 18
"""Width of the id column in 80 columns. A wider terminal widens it."""
_MAX_ID_WIDTH = 48
_MIN_TERMINAL_WIDTH = 60
"""A narrower terminal gets the same lines as a pipe."""
_MAX_LAUNCHES = 50_000
"""Maximum launches whose duration is measured. Beyond that the oldest are dropped, and end without a duration."""


class TextLog:
    """Prints events as text. It is thread-safe and never raises, so that output errors cannot stop an engine.

    ``quiet`` prints only warnings and errors of the engine.
    """

    def __init__(self, clock: Clock, *, quiet: bool = False, level: str = INFO) -> None:
        self._clock = clock
        self._quiet = quiet
        self._min_level = number_of(level)
        self._console = console.console()
        self._lock = threading.Lock()
        self._launched: dict[tuple[str, int | None], float | None] = {}

    def __call__(self, event: Event) -> None:
        """Print one event. Internal errors come from the logging module, with a traceback."""
        if event.kind == ERROR:
            return
        with self._lock:
            now = self._clock.now()
            text = self._text(event, now)
            is_visible = event.kind == WARNING or not self._quiet
            if is_visible and number_of(level_of(event)) >= self._min_level:
                self._print(self._line(now, event, text), _style(event), _TIME_WIDTH)

    def say(self, text: str) -> None:
        """Print a line about the process itself, unless the log is quiet."""
        if not self._quiet and self._min_level <= number_of(INFO):
            with self._lock:
                self._print(text, "none")

    def warn(self, text: str) -> None:
        """Print a warning about the process itself."""
        with self._lock:
            self._print(f"{WARNING}: {text}", _STYLES[WARNING])

    def request(self, method: str, path: str, status: int, seconds: float, request_id: str) -> None:
        """Print a completed request."""
        at = f"{datetime_s(self._clock.now()):%Y-%m-%d %H:%M:%SZ}"
        self.say(f"{at} {method} {path} {status} in {duration(seconds)} ({request_id})")

    def log_record(self, record: logging.LogRecord) -> None:
        """Print a record of the logging module, and its traceback below it."""
        kind, message = record.levelname.lower(), record.getMessage()
        with self._lock:
            event = Event(kind, getattr(record, "schedule_id", None) or "", f"{record.name}: {message}")
            self._print(self._line(self._clock.now(), event, event.text), _style(event), _TIME_WIDTH)
            for line in (record.exc_text or "").splitlines():
                self._print(line, _style(event))

    def _text(self, event: Event, now: float) -> str:
        """Return the text of an event, with its tick or the duration of its run."""
        if event.kind == "skipped" and event.nominal_s is not None:
            return f"{_tick(event.nominal_s, now)} {event.text}"
        if event.kind == "launched":
            self._remember((event.schedule_id, event.nominal_s), now)
            tick = "" if event.nominal_s is None else _tick(event.nominal_s, now)
            return tick if event.text == "schedule" else f"{tick} {event.text}"
        if event.kind not in ("ended", "retried"):
            return event.text
        began = self._launched.pop((event.schedule_id, event.nominal_s), None)
        if began is None or now < began:
            return event.text
        state, colon, error = event.text.partition(":")
        return f"{state} in {duration(now - began)}{colon}{error}"

    def _remember(self, run: tuple[str, int | None], now: float) -> None:
        # Two runs with the same schedule and second (a trigger and a tick) are ambiguous, so neither gets a duration.
        self._launched[run] = None if run in self._launched else now
        if len(self._launched) > _MAX_LAUNCHES:
            del self._launched[next(iter(self._launched))]

    def _line(self, now: float, event: Event, text: str) -> str:
        width = _MIN_ID_WIDTH
        name = _printable(event.schedule_id)
        if self._fits():
            width = min(max(_MIN_ID_WIDTH, _MIN_ID_WIDTH + self._console.width - 80), _MAX_ID_WIDTH)
            name = shorten(name, width)
        padding = " " * (width - cell_len(name))
        return f"{datetime_s(now):%Y-%m-%d %H:%M:%SZ} {name}{padding} {event.kind:<{_KIND_WIDTH}}{text}".rstrip()

    def _fits(self) -> bool:
        return self._console.is_terminal and self._console.width >= _MIN_TERMINAL_WIDTH

    def _print(self, line: str, style: str, indent: int = 4) -> None:
        """Print a line, wrapped if the terminal is wide enough. Output errors are ignored."""
        line = _printable(line)
        try:
            if self._fits():
                for part in wrap(line, self._console.width, indent):
                    self._console.print(Text(part, style=style), soft_wrap=True)
            elif self._console.is_terminal:
                self._console.print(Text(line, style=style), soft_wrap=True)
            else:
                self._console.file.write(f"{line}\n")
                self._console.file.flush()
        except (console.BrokenOutput, BrokenPipeError):
            with suppress(OSError):
                console.silence_stdout()
        except (OSError, ValueError):  # a full disk: the line is lost, the ledger has the data
            return


def duration(seconds: float) -> str:
    """Return a duration with a readable precision."""
    if seconds < 10:
        return f"{seconds:.3f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3_600} h {whole % 3_600 // 60:02} min"


def _printable(text: str) -> str:
    """Return a text without line breaks and control characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _style(event: Event) -> str:
    if event.kind == "ended":
        return "none" if event.text.startswith("SUCCESS") else "red"
    return _STYLES.get(event.kind, "none")


def _tick(nominal_s: int, now: float) -> str:
    tick = datetime_s(nominal_s)
    return f"{tick:%H:%M:%SZ}" if tick.date() == datetime_s(now).date() else f"{tick:%Y-%m-%d %H:%M:%SZ}"
