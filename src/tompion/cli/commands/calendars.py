"""``tompion calendars``: store and show named calendars."""

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
from tompion.cli.lazy import command_group
from tompion.cli.output import console, views
from tompion.cli.output.tables import Column, facts, table
from tompion.cli.schedule_options import read_document, read_text
from tompion.errors import InvalidInput

if TYPE_CHECKING:
    from tompion.model.page import Page
    from tompion.model.spec import NamedCalendar

calendars_app: typer.Typer = command_group("Store and show named calendars of excluded dates.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the calendar.")]


@calendars_app.command("list")
@with_options(connection=watch_options)
def list_calendars_command(connection: Connection, limit: Limit = None, after: After = None) -> None:
    """Show the named calendars.

    Example: tompion calendars list
    """

    def render(page: Page[NamedCalendar]) -> None:
        if not page.items:
            console.note("No calendars. Store one with 'tompion calendars put NAME --file days-off.ics'.")
            return
        columns = (Column("calendar", 12), Column("version"), Column("dates"), Column("windows"), Column("time zone"))
        table(
            columns,
            [
                (
                    calendar.name,
                    str(calendar.version),
                    str(len(calendar.dates)),
                    str(len(calendar.windows)),
                    calendar.timezone or "-",
                )
                for calendar in page.items
            ],
        )
        views.print_next_page(page.next_page, "--after")

    connection.show(lambda api: api.calendars.list(**drop_unset(limit=limit, after=after)), render)


@calendars_app.command("get")
@with_options(connection=watch_options)
def get_calendar_command(
    connection: Connection,
    name: Name,
    version: Annotated[int | None, typer.Option("--version", metavar="N", help="Version (newest).")] = None,
) -> None:
    """Show the dates and windows of a calendar.

    Example: tompion calendars get bank
    """
    connection.show(lambda api: api.calendars.get(name, **drop_unset(version=version)), _print_calendar)


@calendars_app.command("put")
@with_options(change=request_options, connection=connection_options)
def put_calendar_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    change: dict[str, Any],
    name: Name,
    file: Annotated[
        str | None,
        typer.Option("--file", "-f", metavar="FILE", help="iCalendar (.ics), JSON, YAML or TOML file, - for stdin."),
    ] = None,
    dates: Annotated[list[str] | None, typer.Option("--date", metavar="DATE", help="Date. Repeatable.")] = None,
    timezone: Annotated[
        str | None, typer.Option("--timezone", "--tz", metavar="ZONE", help="Time zone of the dates (the schedule's).")
    ] = None,
) -> None:
    """Store a calendar. Schedules that exclude it are replanned.

    Example: tompion calendars put bank --date 2026-12-24 --date 2026-12-31
    """
    options = drop_unset(dates=dates, timezone=timezone)
    if (file is None) == (dates is None):
        raise InvalidInput("give either --file or dates, such as --date 2026-12-24")
    calendar = {"name": name, **options} if file is None else _read_calendar(name, file) | options
    connection.show(lambda api: api.calendars.put(calendar, **change), _print_calendar, create=True)


def _print_calendar(calendar: NamedCalendar) -> None:
    facts(
        [
            ("calendar", calendar.name),
            ("version", str(calendar.version)),
            ("time zone", calendar.timezone or "that of the schedule"),
            ("dates", " ".join(calendar.dates) or "none"),
            *(("window", f"{window.begin} to {window.end} {window.note}") for window in calendar.windows),
        ]
    )


def _read_calendar(name: str, file: str) -> dict[str, Any]:
    """Return the calendar in a file, with the name of the command line."""
    if file.endswith(".ics"):
        from tompion.contract.json import encode
        from tompion.sdk.spec import read_icalendar

        calendar: dict[str, Any] = encode(read_icalendar(name, read_text(file)))
        return calendar
    document = read_document(file)
    if not isinstance(document, dict):
        raise InvalidInput(f"--file {file}: expected an object with fields, got a {type(document).__name__}")
    return {**document, "name": name}
