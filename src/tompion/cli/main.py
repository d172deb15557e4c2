"""The ``tompion`` command.

Exit codes:

- 0: success, also after SIGTERM
- 1: the command found problems (``lint``, ``verify``, ``doctor``), or was rejected for some schedules
- 2: wrong input or wrong store
- 3: not found
- 4: conflict with the stored state
- 5: missing credentials or role
- 6: service or store unavailable
- 7: outcome unknown, because the response was lost
- 130: interrupted

An error is one line on standard error, with the reason and a remedy. With ``--json`` it is a problem document.
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
from tompion.cli.commands.notifications import notifications_app
from tompion.cli.commands.runs import runs_app
from tompion.cli.commands.schedule_control import control_app
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
"""Exit codes by error class. The nearest base class counts."""
RUN_PANEL = "Run Tompion"
MANAGE_PANEL = "Manage schedules, with a service or a store"
OPERATE_PANEL = "Operate a store or a service"
SPEC_PANEL = "Write specs (no store needed)"

app = typer.Typer(
    name="tompion",
    help="Durable schedules: cron, intervals and calendars, each tick exactly once.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("serve", rich_help_panel=RUN_PANEL)(serve_command)
app.command("worker", rich_help_panel=RUN_PANEL)(worker_command)
app.command("top", rich_help_panel=RUN_PANEL)(top_command)
schedules_app.add_typer(control_app)
app.add_typer(schedules_app, name="schedules", rich_help_panel=MANAGE_PANEL)
app.add_typer(runs_app, name="runs", rich_help_panel=MANAGE_PANEL)
app.add_typer(workflows_app, name="workflows", rich_help_panel=MANAGE_PANEL)
app.add_typer(calendars_app, name="calendars", rich_help_panel=MANAGE_PANEL)
app.add_typer(queues_app, name="queues", rich_help_panel=MANAGE_PANEL)
app.add_typer(instances_app, name="instances", rich_help_panel=MANAGE_PANEL)
app.command("upcoming", rich_help_panel=MANAGE_PANEL)(upcoming_command)
app.command("stats", rich_help_panel=MANAGE_PANEL)(stats_command)
app.command("problems", rich_help_panel=MANAGE_PANEL)(problems_command)
app.command("forecast", rich_help_panel=MANAGE_PANEL)(forecast_command)
app.command("audit", rich_help_panel=MANAGE_PANEL)(audit_command)
app.command("doctor", rich_help_panel=OPERATE_PANEL)(doctor_command)
app.add_typer(migrate_app, name="migrate", rich_help_panel=OPERATE_PANEL)
app.add_typer(keys_app, name="keys", rich_help_panel=OPERATE_PANEL)
app.add_typer(notifications_app, name="notifications", rich_help_panel=OPERATE_PANEL)
app.add_typer(import_app, name="import", rich_help_panel=OPERATE_PANEL)
app.command("config", rich_help_panel=OPERATE_PANEL)(config_command)
app.command("verify", rich_help_panel=OPERATE_PANEL)(verify_command)
app.command("next", rich_help_panel=SPEC_PANEL)(next_command)
app.command("explain", rich_help_panel=SPEC_PANEL)(explain_command)
app.command("lint", rich_help_panel=SPEC_PANEL)(lint_command)


def _print_version(show: bool) -> None:
    if show:
        typer.echo(f"tompion {version('tompion')} (time zone data {TZDATA_VERSION})")
        raise typer.Exit


@app.callback()
def _root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Durable schedules: cron, intervals and calendars, each tick exactly once."""


def main() -> None:
    """Run the command. An error of the user is one line with a remedy, not a traceback."""
    try:
        code = app(prog_name="tompion", standalone_mode=False)
    except TompionError as error:
        _print_error(error)
        code = exit_code(error)
    except TyperException as error:
        if message := error.format_message().rstrip("."):  # without one typer has printed the help
            _print_error(InvalidInput(f"{message}{' ' if message.endswith('?') else '; '}{_help_hint(error)}"))
        code = WRONG_INPUT
    except (Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except (console.BrokenOutput, BrokenPipeError):
        console.silence_stdout()
        code = 0
    sys.exit(code if isinstance(code, int) else 0)


def exit_code(error: TompionError) -> int:
    """Return the exit code of an error."""
    return next(EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES)


def _print_error(error: TompionError) -> None:
    """Print an error as one line, or as a problem document with ``--json``."""
    if "--json" not in sys.argv:
        console.error_line(str(error))
        return
    from tompion.contract.json import encode_error

    typer.echo(json.dumps(encode_error(error), ensure_ascii=False), err=True)


def _help_hint(error: TyperException) -> str:
    context = getattr(error, "ctx", None)
    return f"'{context.command_path if context else 'tompion'} --help' shows the options"
