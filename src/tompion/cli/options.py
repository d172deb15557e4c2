"""Options that several commands share, and how they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tompion.errors import InvalidTime

if TYPE_CHECKING:
    from tompion.cli.logging.queue import QueuedLog
    from tompion.config.loader import Config

DEFAULT_STORE = "sqlite:///tompion.db"

Store = Annotated[
    str,
    typer.Option("--store", metavar="URL", envvar="TOMPION_STORE", help="sqlite:///file.db or postgresql://…"),
]
StoreFlag = Annotated[
    str | None,
    typer.Option("--store", metavar="URL", help=f"sqlite:///file.db or postgresql://… ({DEFAULT_STORE})"),
]
Json = Annotated[bool, typer.Option("--json", help="For machines; errors too.")]
AppDir = Annotated[str | None, typer.Option("--app-dir", metavar="DIR", help="Where functions are found (here).")]
ConfigFile = Annotated[
    str | None, typer.Option("--config", metavar="FILE", help="A TOML file (tompion.toml, if there is one).")
]

Pairs = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any setting by its name; may be repeated.", show_default=False),
]
LogFormat = Annotated[str | None, typer.Option("--log-format", metavar="FORMAT", help="text or json (text).")]
LogLevel = Annotated[
    str | None, typer.Option("--log-level", metavar="LEVEL", help="debug, info, warning or error (info).")
]


def lines_of(load_config: Config, *, quiet: bool = False) -> QueuedLog:
    """Return what prints the events of this process, as it is told."""
    from tompion.cli.logging.queue import QueuedLog
    from tompion.runtime.clock import SystemClock

    if load_config.get("log_format") == "json":
        from tompion.cli.logging.json import JsonLog

        return QueuedLog(JsonLog(SystemClock(), "warning" if quiet else load_config.get("log_level")))
    from tompion.cli.logging.text import TextLog

    return QueuedLog(TextLog(SystemClock(), quiet=quiet, level=load_config.get("log_level")))


def prepared(config: str | None, flags: Mapping[str, Any], pairs: Sequence[str] | None = None) -> Config:
    """Return what this process is told, and let functions be found."""
    from tompion.bootstrap.engine import add_function_path
    from tompion.config.loader import load_config

    found = load_config(flags, config, pairs or ())
    add_function_path(Path(found.get("app_dir")))
    return found


def instant(text: str | None, option: str) -> datetime | None:
    """Return the instant that an option names, if it was given."""
    if text is None:
        return None
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidTime(f"{option}: {text!r} is not a time; expected ISO 8601 such as 2026-03-29T00:00Z") from None
    if when.tzinfo is None:
        full = text if len(text) > len("2026-03-29") else f"{text}T00:00"
        raise InvalidTime(f"{option}: {text!r} has no offset; write {full}Z for UTC, or {full}+01:00")
    try:
        when.astimezone(UTC)
    except OverflowError:
        raise InvalidTime(f"{option}: {text!r} lies outside the years 1 to 9999, in UTC") from None
    return when
