"""``tompion calendars``, ``queues``, ``instances`` and ``audit``."""

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


queues_app = typer.Typer(help="Queues.", no_args_is_help=True, rich_markup_mode="rich")


instances_app = typer.Typer(help="Engines and workers.", no_args_is_help=True, rich_markup_mode="rich")


QueueName = Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name.")]


@queues_app.command("list")
@with_options(connection=watch_options)
def list_queues_command(connection: Connection) -> None:
    """Show queues: who serves them, and what waits.

    Example: tompion queues list --watch 2
    """
    connection.show(lambda api: api.list_queues(), queue_rows)


@queues_app.command("pause")
@with_options(change=request_options, connection=connection_options)
def pause_queue_command(connection: Connection, change: dict[str, Any], queue: QueueName, note: Note = None) -> None:
    """Let the runs of a queue wait; ticks are still recorded.

    Example: tompion queues pause reports --note "the warehouse moves"
    """
    connection.show(
        lambda api: api.pause_target(queue=queue, **drop_unset(note=note), **change),
        lambda _: console.note(f"paused queue {queue}"),
    )


@queues_app.command("resume")
@with_options(change=request_options, connection=connection_options)
def resume_queue_command(connection: Connection, change: dict[str, Any], queue: QueueName) -> None:
    """Start what waited for a queue.

    Example: tompion queues resume reports
    """
    connection.show(
        lambda api: api.resume_target(queue=queue, **change),
        lambda was: console.note(f"{'resumed' if was else 'was not paused:'} queue {queue}"),
    )


@instances_app.command("list")
@with_options(connection=watch_options)
def list_instances_command(connection: Connection, limit: Limit = None) -> None:
    """Show the engines and workers of a store, and when each was heard of.

    Example: tompion instances list
    """
    connection.show(lambda api: api.list_instances(**drop_unset(limit=limit)), instance_rows)


def queue_rows(found: Sequence[Queue]) -> None:
    """Print queues."""
    if not found:
        console.note("no queues; 'tompion worker --queue NAME' serves one")
        return
    present = now()
    columns = (Column("queue", 12), Column("state"), Column("served by"), Column("waiting"), Column("oldest"))
    table(
        columns,
        [
            (
                each.queue,
                "paused" if each.paused else "active",
                str(each.served_by),
                f"{each.waiting:,}",
                relative(each.waiting_since, present),
            )
            for each in found
        ],
    )


def instance_rows(found: Sequence[InstanceInfo]) -> None:
    """Print engines and workers."""
    if not found:
        console.note("nobody runs schedules here; 'tompion worker' or 'tompion serve' does")
        return
    present = now()
    columns = (
        Column("id"),
        Column("name", 12),
        Column("kind"),
        Column("state"),
        Column("heard of"),
        Column("queues", 8),
        Column("skew", extra=True),
        Column("release", extra=True),
        Column("started", extra=True),
    )
    table(
        columns,
        [
            (
                str(each.instance_id),
                each.name,
                each.kind,
                "stopped" if each.stopped_at else "alive" if each.alive else "silent",
                relative(each.last_heartbeat_at, present),
                ", ".join(each.queues),
                f"{each.skew_ms} ms",
                each.release or "-",
                absolute(each.started_at),
            )
            for each in found
        ],
    )
