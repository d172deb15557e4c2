"""``tompion instances``: engines and workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tompion.cli.connection import Connection, Limit, drop_unset, watch_options, with_options
from tompion.cli.lazy import command_group
from tompion.cli.output import console
from tompion.cli.output.tables import Column, absolute, now, relative, table

if TYPE_CHECKING:
    from tompion.model.worker import InstanceInfo

instances_app = command_group("List engines and workers, and whether they are alive.")


@instances_app.callback()
def _group() -> None:
    """List engines and workers, and whether they are alive."""


@instances_app.command("list")
@with_options(connection=watch_options)
def list_instances_command(connection: Connection, limit: Limit = None) -> None:
    """Show engines and workers and their last heartbeats.

    Example: tompion instances list
    """
    connection.show(lambda api: api.instances.list(**drop_unset(limit=limit)), print_instances)


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
