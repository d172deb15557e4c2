"""``tompion queues``: list, pause and resume queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tompion.cli.commands.schedule_control import Note
from tompion.cli.commands.target_pause import pause_target, resume_target
from tompion.cli.connection import Connection, connection_options, request_options, watch_options, with_options
from tompion.cli.lazy import command_group
from tompion.cli.output import console
from tompion.cli.output.tables import Column, now, relative, table

if TYPE_CHECKING:
    from tompion.model.worker import Queue

queues_app: typer.Typer = command_group("List, pause and resume queues of runs.")

QueueName = Annotated[str, typer.Argument(metavar="QUEUE", help="Name of the queue.")]


@queues_app.command("list")
@with_options(connection=watch_options)
def list_queues_command(connection: Connection) -> None:
    """Show queues, their workers and their waiting runs.

    Example: tompion queues list --watch 2
    """
    connection.show(lambda api: api.queues.list(), print_queues)


@queues_app.command("pause")
@with_options(change=request_options, connection=connection_options)
def pause_queue_command(connection: Connection, change: dict[str, Any], queue: QueueName, note: Note = None) -> None:
    """Pause a queue. Its runs wait, and ticks are still recorded.

    Example: tompion queues pause reports --note "the warehouse moves"
    """
    pause_target(connection, "queue", queue, note, change)


@queues_app.command("resume")
@with_options(change=request_options, connection=connection_options)
def resume_queue_command(connection: Connection, change: dict[str, Any], queue: QueueName) -> None:
    """Resume a queue. Its waiting runs start.

    Example: tompion queues resume reports
    """
    resume_target(connection, "queue", queue, change)


def print_queues(queues: Sequence[Queue]) -> None:
    """Print queues."""
    if not queues:
        console.note("No queues. Serve one with 'tompion worker --queue NAME'.")
        return
    present = now()
    columns = (Column("queue", 12), Column("state"), Column("served by"), Column("waiting"), Column("oldest"))
    table(
        columns,
        [
            (
                queue.queue,
                "paused" if queue.paused else "active",
                str(queue.served_by),
                f"{queue.waiting:,}",
                relative(queue.waiting_since, present),
            )
            for queue in queues
        ],
    )
