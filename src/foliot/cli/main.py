"""The ``foliot`` command.

Exit codes: 0 all is well; 1 the command found something wrong (``lint``); 2 the input is wrong, and one line on
standard error says what and where; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from typing import Annotated

import typer
from typer.exceptions import Abort, TyperException

from foliot.authoring import TZDATA_VERSION
from foliot.cli import render
from foliot.cli.serve import serve_command
from foliot.cli.spec import explain_command, lint_command, next_command
from foliot.errors import FoliotError

WRONG_INPUT = 2
INTERRUPTED = 130

app = typer.Typer(
    name="foliot",
    help="Foliot starts workflows at the right times.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("serve")(serve_command)
app.command("next")(next_command)
app.command("explain")(explain_command)
app.command("lint")(lint_command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"foliot {version('foliot')} (time zone data {TZDATA_VERSION})")
        raise typer.Exit


@app.callback()
def _root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Foliot starts workflows at the right times."""


def main() -> None:
    """Run the command; an error that is the user's is one line with a way out, never a traceback."""
    try:
        code = app(standalone_mode=False)
    except FoliotError as error:
        render.error_line(str(error))
        code = WRONG_INPUT
    except TyperException as error:
        if message := error.format_message().rstrip("."):  # without one it has shown the help already
            render.error_line(f"{message}{' ' if message.endswith('?') else '; '}{_help_hint(error)}")
        code = WRONG_INPUT
    except (Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except (render.ReaderGone, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that leaving has nothing to complain of
        code = 0
    sys.exit(code if isinstance(code, int) else 0)


def _help_hint(error: TyperException) -> str:
    context = getattr(error, "ctx", None)
    return f"'{context.command_path if context else 'foliot'} --help' shows what there is"
