"""``tompion queues`` and ``tompion instances``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tompion.cli.commands.schedule_control import Note
from tompion.cli.connection import (
    Connection,
    Limit,
    connection_options,
    drop_unset,
    request_options,
    watch_options,
    with_options,
)
from tompion.cli.output import console
from tompion.cli.output.tables import Column, absolute, now, relative, table

if TYPE_CHECKING:
    from tompion.model.worker import InstanceInfo, Queue

queues_app = typer.Typer(help="Show, pause and resume queues.", no_args_is_help=True, rich_markup_mode="rich")
instances_app = typer.Typer(help="Show engines and workers.", no_args_is_help=True, rich_markup_mode="rich")

QueueName = Annotated[str, typer.Argument(metavar="QUEUE", help="Name of the queue.")]


@queues_app.command("list")
@with_options(connection=watch_options)
def list_queues_command(connection: Connection) -> None:
    """Show queues, their workers and their waiting runs.

    Example: tompion queues list --watch 2
    """
    connection.show(lambda api: api.list_queues(), print_queues)


@queues_app.command("pause")
@with_options(change=request_options, connection=connection_options)
def pause_queue_command(connection: Connection, change: dict[str, Any], queue: QueueName, note: Note = None) -> None:
    """Pause a queue. Its runs wait, and ticks are still recorded.

    Example: tompion queues pause reports --note "the warehouse moves"
    """
    connection.show(
        lambda api: api.pause_target(queue=queue, **drop_unset(note=note), **change),
        lambda _: console.note(f"Paused queue {queue}."),
    )


@queues_app.command("resume")
@with_options(change=request_options, connection=connection_options)
def resume_queue_command(connection: Connection, change: dict[str, Any], queue: QueueName) -> None:
    """Resume a queue. Its waiting runs start.

    Example: tompion queues resume reports
    """
    connection.show(
        lambda api: api.resume_target(queue=queue, **change),
        lambda was_paused: console.note(f"Resumed queue {queue}." if was_paused else f"Queue {queue} was not paused."),
    )


@instances_app.command("list")
@with_options(connection=watch_options)
def list_instances_command(connection: Connection, limit: Limit = None) -> None:
    """Show engines and workers and their last heartbeats.

    Example: tompion instances list
    """
    connection.show(lambda api: api.list_instances(**drop_unset(limit=limit)), print_instances)


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


def print_instances(instances: Sequence[InstanceInfo]) -> None:
    """Print engines and workers."""
    if not instances:
        console.note("No engine is running. Start one with 'tompion serve' or 'tompion worker'.")
        return
    present = now()
    columns = (
        Column("id"),
        Column("name", 12),
        Column("kind"),
        Column("state"),
        Column("heartbeat"),
        Column("queues", 8),
        Column("skew", extra=True),
        Column("release", extra=True),
        Column("started", extra=True),
    )
    table(
        columns,
        [
            (
                str(instance.instance_id),
                instance.name,
                instance.kind,
                "stopped" if instance.stopped_at else "alive" if instance.alive else "silent",
                relative(instance.last_heartbeat_at, present),
                ", ".join(instance.queues),
                f"{instance.skew_ms} ms",
                instance.release or "-",
                absolute(instance.started_at),
            )
            for instance in instances
        ],
    )
