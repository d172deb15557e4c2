"""The ``tompion`` command.

Exit codes: 0 all is well, also after SIGTERM has ended a worker; 1 the command found something wrong (``lint``,
``verify``, ``doctor``), or was refused for some of the schedules that were meant; 2 the input or the store is wrong;
3 there is no such thing; 4 it conflicts with what is stored; 5 whoever asks may not; 6 nobody answers just now; 7 the
answer was lost; 130 interrupted.  One line on standard error says what is wrong and what to do; with ``--json`` it is a
problem as a service would answer with.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import Annotated

import typer
from typer.exceptions import Abort, TyperException

from tompion.cli.commands.audit import audit_command
from tompion.cli.commands.calendars import calendars_app
from tompion.cli.commands.config import config_command
from tompion.cli.commands.doctor import doctor_command
from tompion.cli.commands.import_ import import_app
from tompion.cli.commands.keys import keys_app
from tompion.cli.commands.migrate import migrate_app
from tompion.cli.commands.notifications import notify_app
from tompion.cli.commands.runs import runs_app
from tompion.cli.commands.schedule_control import operating_app
from tompion.cli.commands.schedules import schedules_app
from tompion.cli.commands.serve import serve_command
from tompion.cli.commands.spec import explain_command, lint_command, next_command
from tompion.cli.commands.stats import forecast_command, problems_command, stats_command, upcoming_command
from tompion.cli.commands.top import top_command
from tompion.cli.commands.verify import verify_command
from tompion.cli.commands.worker import worker_command
from tompion.cli.commands.workers import instances_app, queues_app
from tompion.cli.commands.workflows import workflows_app
from tompion.cli.output import console
from tompion.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    OutcomeUnknown,
    StoreUnavailable,
    TompionError,
    TooManyRequests,
    Unauthenticated,
)
from tompion.runtime.signals import INTERRUPTED
from tompion.sdk.spec import TZDATA_VERSION

WRONG_INPUT = 2
EXIT_CODES: dict[type[TompionError], int] = {
    TompionError: WRONG_INPUT,
    NotFound: 3,
    Conflict: 4,
    Unauthenticated: 5,
    Forbidden: 5,
    StoreUnavailable: 6,
    TooManyRequests: 6,
    OutcomeUnknown: 7,
}
"""The exit code of each branch of the error tree; the nearest ancestor counts."""
RUNNING = "Running"
MANAGING = "Managing schedules, over a service or straight on a store"
KEEPING = "Looking after a store"
WRITING = "Writing specs (no store needed)"

app = typer.Typer(
    name="tompion",
    help="Tompion starts workflows at the right times.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("serve", rich_help_panel=RUNNING)(serve_command)
app.command("worker", rich_help_panel=RUNNING)(worker_command)
app.command("top", rich_help_panel=RUNNING)(top_command)
schedules_app.add_typer(operating_app)
app.add_typer(schedules_app, name="schedules", rich_help_panel=MANAGING)
app.add_typer(runs_app, name="runs", rich_help_panel=MANAGING)
app.add_typer(workflows_app, name="workflows", rich_help_panel=MANAGING)
app.add_typer(calendars_app, name="calendars", rich_help_panel=MANAGING)
app.add_typer(queues_app, name="queues", rich_help_panel=MANAGING)
app.add_typer(instances_app, name="instances", rich_help_panel=MANAGING)
app.command("upcoming", rich_help_panel=MANAGING)(upcoming_command)
app.command("stats", rich_help_panel=MANAGING)(stats_command)
app.command("problems", rich_help_panel=MANAGING)(problems_command)
app.command("forecast", rich_help_panel=MANAGING)(forecast_command)
app.command("audit", rich_help_panel=MANAGING)(audit_command)
app.command("doctor", rich_help_panel=KEEPING)(doctor_command)
app.add_typer(migrate_app, name="migrate", rich_help_panel=KEEPING)
app.add_typer(keys_app, name="keys", rich_help_panel=KEEPING)
app.add_typer(notify_app, name="notify", rich_help_panel=KEEPING)
app.add_typer(import_app, name="import", rich_help_panel=KEEPING)
app.command("config", rich_help_panel=KEEPING)(config_command)
app.command("verify", rich_help_panel=KEEPING)(verify_command)
app.command("next", rich_help_panel=WRITING)(next_command)
app.command("explain", rich_help_panel=WRITING)(explain_command)
app.command("lint", rich_help_panel=WRITING)(lint_command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tompion {version('tompion')} (time zone data {TZDATA_VERSION})")
        raise typer.Exit


@app.callback()
def _root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Tompion starts workflows at the right times."""


def main() -> None:
    """Run the command; an error that is the user's is one line with a way out, never a traceback."""
    try:
        code = app(prog_name="tompion", standalone_mode=False)
    except TompionError as error:
        _tell(error)
        code = exit_code(error)
    except TyperException as error:
        if message := error.format_message().rstrip("."):  # without one it has shown the help already
            _tell(InvalidInput(f"{message}{' ' if message.endswith('?') else '; '}{_help_hint(error)}"))
        code = WRONG_INPUT
    except (Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except (console.BrokenOutput, BrokenPipeError):
        console.silence_stdout()
        code = 0
    sys.exit(code if isinstance(code, int) else 0)


def exit_code(error: TompionError) -> int:
    """Return the exit code that an error ends a command with."""
    return next(EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES)


def _tell(error: TompionError) -> None:
    """Say what is wrong: in one line, or as the problem that a service would answer with."""
    if "--json" not in sys.argv:
        console.error_line(str(error))
        return
    from tompion.contract.json import encode_error

    typer.echo(json.dumps(encode_error(error), ensure_ascii=False), err=True)


def _help_hint(error: TyperException) -> str:
    context = getattr(error, "ctx", None)
    return f"'{context.command_path if context else 'tompion'} --help' shows what there is"
