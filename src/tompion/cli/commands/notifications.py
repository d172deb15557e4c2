"""``tompion notify``: whether notices arrive, and what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tompion.cli.connection import Before, Connection, Limit, OneSchedule, drop_unset, watch_options, with_options
from tompion.cli.options import ConfigFile, Json
from tompion.cli.output import console, views
from tompion.cli.output.tables import Column, absolute, table

if TYPE_CHECKING:
    from tompion.model.notification import Notification
    from tompion.model.page import Page

notify_app = typer.Typer(help="Notifications.", no_args_is_help=True, rich_markup_mode="rich")

NOT_DELIVERED = 1


@notify_app.command("test")
def try_command(
    name: Annotated[str, typer.Argument(help="What the notification is called in the file.")],
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Send a test notice, signed as all others, and say what the receiver answered.

    Nothing is kept or tried again.  Exit code 1 says that it has not arrived.

    Example: tompion notify test ops --config production.toml
    """
    import asyncio

    from tompion.bootstrap.engine import send_test_notification
    from tompion.config.loader import load_config

    answer = asyncio.run(send_test_notification(load_config({}, config), name))
    if as_json:
        console.print_json({"arrived": answer.arrived, "said": answer.message})
    else:
        console.line(f"{'delivered' if answer.arrived else 'not delivered'}: {answer.message}")
    if not answer.arrived:
        raise typer.Exit(NOT_DELIVERED)


@notify_app.command("list")
@with_options(connection=watch_options)
def list_command(
    connection: Connection,
    state: Annotated[
        str | None, typer.Option("--state", metavar="STATE", help="PENDING, DELIVERED, GIVEN_UP or SUMMARIZED.")
    ] = None,
    schedule: OneSchedule = None,
    limit: Limit = None,
    before: Before = None,
) -> None:
    """Show notices, the newest first: whether they arrived, and what went wrong.

    Example: tompion notify list --state GIVEN_UP
    """
    options = drop_unset(state=state, schedule_id=schedule, limit=limit, before=before)
    connection.show(lambda api: api.list_notifications(**options), notice_list)


def notice_list(page: Page[Notification]) -> None:
    """Print notices."""
    if not page.items:
        console.note("there are no notices; 'tompion notify test NAME' tries a notification")
        return
    columns = (
        Column("at"),
        Column("state"),
        Column("notification", 8),
        Column("about"),
        Column("schedule", 12),
        Column("tries"),
        Column("last error", 10, prose=True),
    )
    table(
        columns,
        [
            (
                absolute(each.created_at),
                each.state,
                each.rule_name,
                each.topic,
                each.schedule_id or "-",
                str(each.attempts),
                each.last_error or "",
            )
            for each in page.items
        ],
    )
    views.more(page.next_page, "--before")
