"""Options that several commands share, and their parsers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tompion.cli.output.formats import OutputFormat
from tompion.errors import InvalidTime

if TYPE_CHECKING:
    from tompion.cli.logging.queue import QueuedLog
    from tompion.config.schema import Config

DEFAULT_STORE = "sqlite:///tompion.db"
MAX_DIGITS = 18

Store = Annotated[
    str,
    typer.Option("--store", metavar="URL", envvar="TOMPION_STORE", help="Store: sqlite:///file.db or postgresql://…"),
]
StoreFlag = Annotated[
    str | None,
    typer.Option("--store", metavar="URL", help=f"Store: sqlite:///file.db or postgresql://… ({DEFAULT_STORE})."),
]
Output = Annotated[
    OutputFormat,
    typer.Option(
        "-o", "--output", metavar="FORMAT", help="table, wide, json, yaml or name. Errors, too.", show_default=False
    ),
]
AppDir = Annotated[str | None, typer.Option("--app-dir", metavar="DIR", help="Directory of your functions (here).")]
ConfigFile = Annotated[
    str | None, typer.Option("--config", metavar="FILE", help="TOML file (tompion.toml if it exists).")
]

Pairs = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Set any setting by name. Repeatable.", show_default=False),
]
LogFormat = Annotated[
    str | None, typer.Option("--log-format", metavar="FORMAT", help="Log format: text or json (text).")
]
LogLevel = Annotated[
    str | None, typer.Option("--log-level", metavar="LEVEL", help="debug, info, warning or error (info).")
]


def open_log(config: Config, *, quiet: bool = False) -> QueuedLog:
    """Return the log of this process, in the configured format and level."""
    from tompion.cli.logging.json import JsonLog
    from tompion.cli.logging.queue import QueuedLog
    from tompion.cli.logging.records import capture_logging
    from tompion.cli.logging.text import TextLog
    from tompion.runtime.clock import SystemClock

    level = "warning" if quiet else config.log_level
    if config.log_format == "json":
        process_log = QueuedLog(JsonLog(SystemClock(), level))
    else:
        process_log = QueuedLog(TextLog(SystemClock(), quiet=quiet, level=level))
    capture_logging(process_log, level)
    return process_log


def load_process_config(path: str | None, flags: Mapping[str, Any], pairs: Sequence[str] | None = None) -> Config:
    """Return the configuration of this process, and import functions from its ``app_dir``."""
    from tompion.bootstrap.engine import add_function_path
    from tompion.config.loader import load_config

    config = load_config(flags, path, pairs or ())
    add_function_path(Path(config.app_dir))
    return config


def milliseconds(text: str | None) -> int | str | None:
    """Return a duration as the API takes it: a number of milliseconds, or text with a unit."""
    digits = (text or "").removeprefix("-")
    return int(text) if text and digits.isascii() and digits.isdecimal() and len(digits) <= MAX_DIGITS else text


def parse_instant(text: str | None, option: str, *, zone: str | None = None, past: bool = False) -> datetime | None:
    """Return the instant that an option names, or ``None`` if it is not set. A wall time is in the zone."""
    from tompion.cli.times import resolve_time

    text = resolve_time(text, lambda: zone or "UTC", past=past)
    if text is None:
        return None
    problem = f"{option}: {text!r} is not a time; expected 2h, tomorrow 9:00, 2026-03-29T09:00 or 2026-03-29T09:00Z"
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidTime(problem) from None
    if when.tzinfo is None:  # an unusual notation, such as a week date
        raise InvalidTime(problem)
    try:
        when.astimezone(UTC)
    except OverflowError:
        raise InvalidTime(f"{option}: {text!r} is outside the years 1 to 9999 in UTC") from None
    return when
