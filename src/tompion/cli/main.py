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

An error is one line on standard error, with the reason and a remedy. With ``-o json`` it is a problem document.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.exceptions import Abort, TyperException

from tompion.cli.lazy import CONTEXT_SETTINGS, PROGRAM, CommandEntry, LazyCommand, LazyGroup
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
DESCRIPTION = "Durable scheduler: run, inspect and manage schedules."


def _command(name: str, description: str, module: str | None = None) -> CommandEntry:
    return CommandEntry(name, description, f"tompion.cli.commands.{module or name}", f"{name}_command")


def _group(name: str, description: str, module: str | None = None) -> CommandEntry:
    return CommandEntry(name, description, f"tompion.cli.commands.{module or name}", f"{name}_app")


COMMANDS = {
    "Run": (
        _command("serve", "Serve the API and the web UI, and run schedules."),
        _command("worker", "Run schedules without the API, or as a worker of a service."),
        _command("top", "Watch ticks, runs, engines and queues. Press q to quit."),
    ),
    "Manage": (
        _group("schedules", "Create, change, pause, trigger and inspect schedules.", "schedule_group"),
        _group("runs", "List, cancel and retry runs."),
        _group("workflows", "Store, pause and start workflows, the targets of runs."),
        _group("calendars", "Store and show named calendars of excluded dates."),
        _group("queues", "List, pause and resume queues of runs."),
        _group("instances", "List engines and workers, and whether they are alive."),
    ),
    "Inspect": (
        _command("upcoming", "List the upcoming ticks of all schedules, the earliest first.", "stats"),
        _command("stats", "Count schedules, and the outcomes of recent ticks."),
        _command("problems", "List current problems, the most urgent first.", "stats"),
        _command("forecast", "Forecast how many runs start when, and find load spikes.", "stats"),
        _command("audit", "Show or verify the audit log."),
    ),
    "Operate": (
        _command("doctor", "Check store, clocks, versions, engines, queues and runs."),
        _command("verify", "Verify that each tick was recorded exactly once."),
        _command("config", "Check the configuration and show every setting."),
        _group("migrate", "Create or upgrade the schema of a store."),
        _group("keys", "Create, list and revoke API keys."),
        _group("notifications", "Test and list notifications."),
        _group("import", "Import schedules from other schedulers.", "import_"),
    ),
    "Write specs (no store needed)": (
        _command("next", "Show the next ticks of a spec, and how DST changes them.", "spec"),
        _command("explain", "Explain a spec in plain English.", "spec"),
        _command("lint", "Find likely errors in a spec.", "spec"),
    ),
    "Help": (_command("version", "Show the version of Tompion and of its time zone data."),),
}
"""Commands of ``tompion --help``, by panel."""


class RootGroup(LazyGroup):
    """The group of all commands."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for panel, entries in COMMANDS.items():
            for entry in entries:
                self.add_command(LazyCommand(entry, panel))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name, or name the groups that have such a command."""
        try:
            return super().resolve_command(ctx, args)
        except TyperException:
            full_names = self._full_names(args[0])
            if not full_names:
                raise
            choices = " or ".join(repr(name) for name in full_names)
            raise InvalidInput(f"there is no command {args[0]!r}; use {choices}") from None

    def _full_names(self, name: str) -> list[str]:
        """Return the commands of that name in all groups, with the program and the group."""
        groups = [command.command for command in self.commands.values() if isinstance(command, LazyCommand)]
        return [f"{PROGRAM} {group.name} {name}" for group in groups if name in getattr(group, "commands", {})]


app: typer.Typer = typer.Typer(
    name=PROGRAM,
    help=DESCRIPTION,
    cls=RootGroup,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT_SETTINGS,
)


def _print_version(show: bool) -> None:
    if show:
        from tompion.cli.commands.version import version_line

        typer.echo(version_line())
        raise typer.Exit


@app.callback()
def _root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Durable scheduler: run, inspect and manage schedules."""


def main() -> None:
    """Run the command. An error of the user is one line with a remedy, not a traceback."""
    try:
        code = app(prog_name=PROGRAM, standalone_mode=False)
    except TompionError as error:
        _print_error(error)
        code = exit_code(error)
    except TyperException as error:
        if message := error.format_message().rstrip("."):  # without one typer has printed the help
            _print_error(InvalidInput(f"{message}{' ' if message.endswith('?') else '; '}{_help_hint(error)}"))
        code = WRONG_INPUT
    except (Abort, KeyboardInterrupt):
        from tompion.runtime.stop_signals import INTERRUPTED

        code = INTERRUPTED
    except BrokenPipeError:
        from tompion.cli.output.console import silence_stdout

        silence_stdout()
        code = 0
    sys.exit(code if isinstance(code, int) else 0)


def exit_code(error: TompionError) -> int:
    """Return the exit code of an error."""
    return next(EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES)


def _print_error(error: TompionError) -> None:
    """Print an error as one line, or as a problem document with ``-o json`` or ``-o yaml``."""
    from tompion.cli.output.console import error_line
    from tompion.cli.output.formats import OutputFormat, print_error, requested_format

    output = requested_format(sys.argv[1:])
    if output in (OutputFormat.JSON, OutputFormat.YAML):
        print_error(error, output)
    else:
        error_line(str(error))


def _help_hint(error: TyperException) -> str:
    context = getattr(error, "ctx", None)
    return f"'{context.command_path if context else PROGRAM} --help' shows the options"
