"""Options that several commands share, and how they are read."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from foliot.errors import InvalidTime

DEFAULT_STORE = "sqlite:///foliot.db"

Store = Annotated[
    str,
    typer.Option("--store", metavar="URL", envvar="FOLIOT_STORE", help="sqlite:///file.db or postgresql://…"),
]
AppDir = Annotated[
    Path,
    typer.Option("--app-dir", metavar="DIR", help="Where functions are found (default: here)", show_default=False),
]


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
