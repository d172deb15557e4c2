"""Pause and resume the targets of runs: queues and workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from tompion.cli.connection import Connection, drop_unset
from tompion.cli.output import console

if TYPE_CHECKING:
    from tompion.cli.connection import Api

TargetKind = Literal["queue", "workflow"]


def pause_target(connection: Connection, kind: TargetKind, name: str, note: str | None, change: dict[str, Any]) -> None:
    """Pause a queue or a workflow, and print a message."""
    connection.show(
        lambda api: _targets(api, kind).pause(name, **drop_unset(note=note), **change),
        lambda _: console.note(f"Paused {kind} {name}."),
    )


def resume_target(connection: Connection, kind: TargetKind, name: str, change: dict[str, Any]) -> None:
    """Resume a queue or a workflow, and print whether it was paused."""

    def render(was_paused: bool) -> None:
        console.note(f"Resumed {kind} {name}." if was_paused else f"{kind.capitalize()} {name} was not paused.")

    connection.show(lambda api: _targets(api, kind).resume(name, **change), render)


def _targets(api: Api, kind: TargetKind) -> Any:
    return api.queues if kind == "queue" else api.workflows
