"""The ``foliot`` command.

Exit codes: 0 all is well, also after SIGTERM has ended a worker; 1 the command found something wrong (``lint``,
``verify``); 2 the input or the store is wrong or empty, and one line on standard error says what and where; 130
interrupted.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer
from typer.exceptions import Abort, TyperException

from foliot.authoring import TZDATA_VERSION
from foliot.cli import render
from foliot.cli.config import config_command
from foliot.cli.keys import keys_app
from foliot.cli.migrate import migrate_app
from foliot.cli.notify import notify_app
from foliot.cli.serve import serve_command
from foliot.cli.spec import explain_command, lint_command, next_command
from foliot.cli.verify import verify_command
from foliot.cli.worker import worker_command
from foliot.errors import FoliotError
from foliot.stopping import INTERRUPTED

WRONG_INPUT = 2
RUNNING = "Running"
KEEPING = "Looking after a store"
WRITING = "Writing specs (no store needed)"

app = typer.Typer(
    name="foliot",
    help="Foliot starts workflows at the right times.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("serve", rich_help_panel=RUNNING)(serve_command)
app.command("worker", rich_help_panel=RUNNING)(worker_command)
app.add_typer(migrate_app, name="migrate", rich_help_panel=KEEPING)
app.add_typer(keys_app, name="keys", rich_help_panel=KEEPING)
app.add_typer(notify_app, name="notify", rich_help_panel=KEEPING)
app.command("config", rich_help_panel=KEEPING)(config_command)
app.command("verify", rich_help_panel=KEEPING)(verify_command)
app.command("next", rich_help_panel=WRITING)(next_command)
app.command("explain", rich_help_panel=WRITING)(explain_command)
app.command("lint", rich_help_panel=WRITING)(lint_command)


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
        render.forget_reader()
        code = 0
    sys.exit(code if isinstance(code, int) else 0)


def _help_hint(error: TyperException) -> str:
    context = getattr(error, "ctx", None)
    return f"'{context.command_path if context else 'foliot'} --help' shows what there is"
