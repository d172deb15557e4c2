"""``tompion version``: versions of Tompion and of its time zone data."""

from __future__ import annotations

import typer

from tompion.cli.lazy import PROGRAM


def version_command() -> None:
    """Show the version of Tompion and of its time zone data.

    Example: tompion version
    """
    typer.echo(version_line())


def version_line() -> str:
    """Return the versions in one line."""
    from importlib.metadata import version

    from tompion.sdk.spec import TZDATA_VERSION

    return f"{PROGRAM} {version(PROGRAM)} (time zone data {TZDATA_VERSION})"
