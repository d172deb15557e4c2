"""``tompion calendars``, ``queues``, ``instances`` and ``audit``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tompion.cli.connection import (
    After,
    Connection,
    Limit,
    connection_options,
    drop_unset,
    request_options,
    watch_options,
    with_options,
)
from tompion.cli.output import console, views
from tompion.cli.output.tables import Column, facts, table
from tompion.cli.schedule_options import read_document, read_text
from tompion.errors import InvalidInput

if TYPE_CHECKING:
    from tompion.model.page import Page
    from tompion.model.spec import NamedCalendar


calendars_app = typer.Typer(help="Named calendars.", no_args_is_help=True, rich_markup_mode="rich")


Name = Annotated[str, typer.Argument(metavar="NAME", help="The calendar's name.")]


@calendars_app.command("list")
@with_options(connection=watch_options)
def list_calendars_command(connection: Connection, limit: Limit = None, after: After = None) -> None:
    """Show the named calendars.

    Example: tompion calendars list
    """

    def render(page: Page[NamedCalendar]) -> None:
        if not page.items:
            console.note("no calendars; 'tompion calendars put NAME --file days-off.ics' stores one")
            return
        columns = (Column("calendar", 12), Column("version"), Column("dates"), Column("windows"), Column("time zone"))
        table(
            columns,
            [
                (each.name, str(each.version), str(len(each.dates)), str(len(each.windows)), each.timezone or "-")
                for each in page.items
            ],
        )
        views.more(page.next_page, "--after")

    connection.show(lambda api: api.list_calendars(**drop_unset(limit=limit, after=after)), render)


@calendars_app.command("get")
@with_options(connection=watch_options)
def get_calendar_command(
    connection: Connection,
    name: Name,
    version: Annotated[int | None, typer.Option("--version", metavar="N", help="That version (the newest).")] = None,
) -> None:
    """Show what a calendar leaves out.

    Example: tompion calendars get bank
    """
    connection.show(lambda api: api.get_calendar(name, **drop_unset(version=version)), _calendar)


@calendars_app.command("put")
@with_options(change=request_options, connection=connection_options)
def put_calendar_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    change: dict[str, Any],
    name: Name,
    file: Annotated[
        str | None, typer.Option("--file", metavar="FILE", help="iCalendar (.ics), JSON or TOML; - is standard input.")
    ] = None,
    dates: Annotated[list[str] | None, typer.Option("--date", metavar="DATE", help="A date; repeatable.")] = None,
    timezone: Annotated[
        str | None, typer.Option("--timezone", "--tz", metavar="ZONE", help="Whose days they are (the schedule's).")
    ] = None,
) -> None:
    """Store a calendar; every schedule that leaves it out is planned anew.

    Example: tompion calendars put bank --date 2026-12-24 --date 2026-12-31
    """
    options = drop_unset(dates=dates, timezone=timezone)
    if (file is None) == (dates is None):
        raise InvalidInput("--file: give either a file or dates, --date 2026-12-24")
    calendar = {"name": name, **options} if file is None else _read_calendar(name, file) | options
    connection.show(lambda api: api.put_calendar(calendar, **change), _calendar)


def _calendar(found: NamedCalendar) -> None:
    facts(
        [
            ("calendar", found.name),
            ("version", str(found.version)),
            ("time zone", found.timezone or "that of the schedule"),
            ("dates", " ".join(found.dates) or "none"),
            *(("window", f"{each.begin} to {each.end} {each.note}") for each in found.windows),
        ]
    )


def _read_calendar(name: str, file: str) -> dict[str, Any]:
    """Return the calendar of a file, under the name that it is given here."""
    if file.endswith(".ics"):
        from tompion.contract.json import encode
        from tompion.sdk.spec import read_icalendar

        found: dict[str, Any] = encode(read_icalendar(name, read_text(file)))
        return found
    read = read_document(file)
    if not isinstance(read, dict):
        raise InvalidInput(f"--file {file}: a {type(read).__name__} is not an object with fields")
    return {**read, "name": name}
