"""The ``tompion schedules`` group. Its commands are in several modules."""

from __future__ import annotations

from tompion.cli.commands.schedule_control import control_app
from tompion.cli.commands.schedules import definition_app
from tompion.cli.lazy import command_group

schedules_app = command_group("Create, change, pause, trigger and inspect schedules.")
schedules_app.add_typer(definition_app)
schedules_app.add_typer(control_app)
