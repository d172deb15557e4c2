"""What an engine does, one readable line for each event, as it happens.

A terminal gets columns that fit it: long ids are shortened in the middle, long texts go on below.  A pipe gets every
event whole, on one line.
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from tompion.cli.logging.queue import INFO, level_of, number_of
from tompion.cli.output import console

if TYPE_CHECKING:
    from tompion.engine.telemetry.events import Event
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
_MOMENT = len("2026-03-28 12:00:00Z ")
_KIND = len("replanned ")
_ID = 18
"""The narrowest column of ids; a terminal wider than 80 gives what it has more to them, up to the widest."""
_MAX_ID_WIDTH = 48
_NARROW = 60
"""A terminal narrower than this gets the lines of a pipe, wrapped by itself."""
_MAX_KNOWN = 50_000
"""The most launches whose ends are awaited; beyond that the oldest are forgotten, and end without a duration."""


class TextLog:
    """Prints events; any thread may call it, and it never raises: an engine does not stop because nobody reads."""

    def __init__(self, clock: Clock, *, quiet: bool = False, level: str = INFO) -> None:
        """Print to standard output what has at least that level; ``quiet`` leaves only warnings of the engine."""
        self._clock = clock
        self._quiet = quiet
        self._least = number_of(level)
        self._console = console.console()
        self._lock = threading.Lock()
        self._launched: dict[tuple[str, int | None], float | None] = {}
        _log_only_mistakes()

    def __call__(self, event: Event) -> None:
        """Print one event."""
        with self._lock:
            now = self._clock.now()
            text = self._text(event, now)
            told = event.kind in (WARNING, ERROR) or not self._quiet
            if told and number_of(level_of(event)) >= self._least:
                self._print(self._line(now, event, text), _style(event), _MOMENT)

    def say(self, text: str) -> None:
        """Print a line about the process itself, unless only warnings are wanted."""
        if not self._quiet and self._least <= number_of(INFO):
            with self._lock:
                self._print(text, "none")

    def warn(self, text: str) -> None:
        """Print a warning about the process itself."""
        with self._lock:
            self._print(f"{WARNING}: {text}", _STYLES[WARNING])

    def request(self, method: str, path: str, status: int, seconds: float) -> None:
        """Print that a request was answered."""
        self.say(f"{_moment(self._clock.now()):%Y-%m-%d %H:%M:%SZ} {method} {path} {status} in {duration(seconds)}")

    def _text(self, event: Event, now: float) -> str:
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
        # Two runs of one name and second (a trigger beside a tick) cannot be told apart, so neither gets a duration.
        self._launched[run] = None if run in self._launched else now
        if len(self._launched) > _MAX_KNOWN:
            del self._launched[next(iter(self._launched))]

    def _line(self, now: float, event: Event, text: str) -> str:
        width = _ID
        name = _printable(event.schedule_id)
        if self._fits():
            width = min(max(_ID, _ID + self._console.width - 80), _MAX_ID_WIDTH)
            name = shortened(name, width)
        padding = " " * (width - cell_len(name))
        return f"{_moment(now):%Y-%m-%d %H:%M:%SZ} {name}{padding} {event.kind:<{_KIND}}{text}".rstrip()

    def _fits(self) -> bool:
        return self._console.is_terminal and self._console.width >= _NARROW

    def _print(self, line: str, style: str, indent: int = 4) -> None:
        line = _printable(line)
        try:
            if self._fits():
                for part in wrapped(line, self._console.width, indent):
                    self._console.print(Text(part, style=style), soft_wrap=True)
            elif self._console.is_terminal:
                self._console.print(Text(line, style=style), soft_wrap=True)
            else:
                self._console.file.write(f"{line}\n")
                self._console.file.flush()
        except (console.BrokenOutput, BrokenPipeError):
            with suppress(OSError):
                console.silence_stdout()
        except (OSError, ValueError):  # a full disk: the ledger knows it all, the line is lost
            return


def _log_only_mistakes() -> None:
    """Keep the engine's log from saying again what is printed here; only tracebacks of our own mistakes go there."""
    log = logging.getLogger("tompion.engine")
    if not log.handlers:
        handler = logging.StreamHandler()
        handler.setLevel(logging.ERROR)
        log.addHandler(handler)


def duration(seconds: float) -> str:
    """Return how long something took, as exactly as a person wants to know."""
    if seconds < 10:
        return f"{seconds:.3f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3_600} h {whole % 3_600 // 60:02} min"


def shortened(name: str, width: int) -> str:
    """Return a name that fits so many columns: its two ends, which tell most names apart, and an ellipsis between."""
    if cell_len(name) <= width:
        return name
    tail = (width - 1) // 2
    head = set_cell_size(name, width - 1 - tail).rstrip()
    return head + "…" + set_cell_size(name[::-1], tail).rstrip()[::-1]


def wrapped(line: str, width: int, indent: int) -> list[str]:
    """Return a line in parts that fit so many columns; all but the first are indented."""
    parts: list[str] = []
    space = ""
    while cell_len(line) > width - len(space):
        room = _room(line, width - len(space))
        at = line.rfind(" ", indent if not parts else 1, room + 1)
        at = room if at <= 0 else at
        parts.append(space + line[:at].rstrip())
        line, space = line[at:].lstrip(), " " * indent
    return [*parts, space + line]


def _printable(text: str) -> str:
    """A text that can neither forge a line nor colour the terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _room(line: str, width: int) -> int:
    """How many characters of a line fit so many columns; at least one."""
    used = 0
    for number, letter in enumerate(line):
        used += cell_len(letter)
        if used > width:
            return max(number, 1)
    return len(line)


def _style(event: Event) -> str:
    if event.kind == "ended":
        return "none" if event.text.startswith("SUCCESS") else "red"
    return _STYLES.get(event.kind, "none")


def _tick(nominal_s: int, now: float) -> str:
    tick = _moment(nominal_s)
    return f"{tick:%H:%M:%SZ}" if tick.date() == _moment(now).date() else f"{tick:%Y-%m-%d %H:%M:%SZ}"


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
