"""``tompion notifications``: test and list notifications."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tompion.cli.connection import Before, Connection, Limit, OneSchedule, drop_unset, watch_options, with_options
from tompion.cli.lazy import command_group
from tompion.cli.options import ConfigFile, Output
from tompion.cli.output import console, views
from tompion.cli.output.formats import OutputFormat, print_data
from tompion.cli.output.tables import Column, absolute, table

if TYPE_CHECKING:
    from tompion.model.notification import Notification
    from tompion.model.page import Page

notifications_app: typer.Typer = command_group("Test and list notifications.")

NOT_DELIVERED = 1


@notifications_app.command("test")
def send_test_command(
    name: Annotated[str, typer.Argument(help="Name of the [[notification]] in the file.")],
    config: ConfigFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Send a test notification and show the response.

    It is signed like all others, but neither stored nor retried.
    Exits 1 if the delivery failed.

    Example: tompion notifications test ops --config production.toml
    """
    import asyncio

    from tompion.bootstrap.engine import send_test_notification
    from tompion.config.loader import load_config

    delivery = asyncio.run(send_test_notification(load_config({}, config), name))
    if output.is_data:
        print_data({"arrived": delivery.arrived, "message": delivery.message}, output)
    else:
        console.line(f"{'delivered' if delivery.arrived else 'not delivered'}: {delivery.message}")
    if not delivery.arrived:
        raise typer.Exit(NOT_DELIVERED)


@notifications_app.command("list")
@with_options(connection=watch_options)
def list_command(
    connection: Connection,
    status: Annotated[
        str | None, typer.Option("--status", metavar="STATUS", help="PENDING, DELIVERED, GIVEN_UP or SUMMARIZED.")
    ] = None,
    schedule: OneSchedule = None,
    limit: Limit = None,
    before: Before = None,
) -> None:
    """Show notifications and their delivery, the newest first.

    Example: tompion notifications list --status GIVEN_UP
    """
    options = drop_unset(status=status, schedule_id=schedule, limit=limit, before=before)
    connection.show(lambda api: api.notifications.list(**options), print_notifications)


def print_notifications(page: Page[Notification]) -> None:
    """Print notifications."""
    if not page.items:
        console.note("No notifications. Test a receiver with 'tompion notifications test NAME'.")
        return
    columns = (
        Column("at"),
        Column("status"),
        Column("notification", 8),
        Column("topic"),
        Column("schedule", 12),
        Column("attempts"),
        Column("last error", 10, prose=True),
    )
    table(
        columns,
        [
            (
                absolute(notification.created_at),
                notification.status,
                notification.rule_name,
                notification.topic,
                notification.schedule_id or "-",
                str(notification.attempts),
                notification.last_error or "",
            )
            for notification in page.items
        ],
    )
    views.print_next_page(page.next_page, "--before")
