"""Pause and resume the targets of runs: queues and workflows."""

from __future__ import annotations

from typing import Any, Literal

from tompion.cli.connection import Connection, drop_unset
from tompion.cli.output import console

TargetKind = Literal["queue", "workflow"]
ARGUMENTS: dict[TargetKind, str] = {"queue": "queue", "workflow": "workflow_id"}
"""The argument of the operations that names a target, by its kind."""


def pause_target(connection: Connection, kind: TargetKind, name: str, note: str | None, change: dict[str, Any]) -> None:
    """Pause a queue or a workflow, and print a message."""
    target = {ARGUMENTS[kind]: name}
    connection.show(
        lambda api: api.pause_target(**target, **drop_unset(note=note), **change),
        lambda _: console.note(f"Paused {kind} {name}."),
    )


def resume_target(connection: Connection, kind: TargetKind, name: str, change: dict[str, Any]) -> None:
    """Resume a queue or a workflow, and print whether it was paused."""
    target = {ARGUMENTS[kind]: name}

    def render(was_paused: bool) -> None:
        console.note(f"Resumed {kind} {name}." if was_paused else f"{kind.capitalize()} {name} was not paused.")

    connection.show(lambda api: api.resume_target(**target, **change), render)
