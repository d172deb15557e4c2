"""Commands that are imported on first use, so that help and completion do not load all of them."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

PROGRAM = "tompion"
"""Name of the command and of its distribution."""
CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"]}


class CommandEntry(NamedTuple):
    """A command or a group: its name, its description, and the module and attribute that define it."""

    name: str
    help: str
    module: str
    attribute: str


class LazyCommand(TyperCommand):
    """Name and description of a command whose module is not loaded yet."""

    def __init__(self, entry: CommandEntry, panel: str) -> None:
        super().__init__(entry.name, help=entry.help, rich_help_panel=panel)
        self.entry = entry

    @cached_property
    def command(self) -> Any:
        """The command itself. Its module is imported on first access."""
        target = getattr(import_module(self.entry.module), self.entry.attribute)
        app = target
        if not isinstance(target, typer.Typer):
            app = typer.Typer(add_completion=False, context_settings=CONTEXT_SETTINGS)
            app.command(self.entry.name)(target)
        command = _hide_flag_types(get_command(app))
        command.name = self.entry.name
        command.rich_help_panel = self.rich_help_panel
        return command


def _hide_flag_types(command: Any) -> Any:
    """Remove the type of flags from the help of a command and of the commands below it. A flag takes no value."""
    for parameter in command.params:
        if getattr(parameter, "is_flag", False) and parameter.metavar is None:
            parameter.metavar = ""
    for inner in getattr(command, "commands", {}).values():
        _hide_flag_types(inner)
    return command


class LazyGroup(TyperGroup):
    """A group that lists its commands from a table, and imports the one that is used."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name, loaded."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.command if isinstance(command, LazyCommand) else command, rest


def command_group(description: str) -> typer.Typer:
    """Return a group of commands."""
    return typer.Typer(
        help=description,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        context_settings=CONTEXT_SETTINGS,
    )
