"""``tompion calendars``, ``queues``, ``instances`` and ``audit``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tompion.cli import render, views
from tompion.cli.asking import After, Ask, Before, Limit, asked, given, requesting, taking, watched
from tompion.cli.definition import read_document, read_text
from tompion.cli.operating import Note
from tompion.cli.tables import Column, absolute, facts, now, relative, table
from tompion.cli.verify import audit_line
from tompion.errors import InvalidInput

if TYPE_CHECKING:
    from tompion.model.page import Page
    from tompion.model.spec import NamedCalendar
    from tompion.model.work import Instance, Queue

calendars_app = typer.Typer(help="Named calendars.", no_args_is_help=True, rich_markup_mode="rich")
queues_app = typer.Typer(help="Queues.", no_args_is_help=True, rich_markup_mode="rich")
instances_app = typer.Typer(help="Engines and workers.", no_args_is_help=True, rich_markup_mode="rich")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The calendar's name.")]
QueueName = Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name.")]


@calendars_app.command("list")
@taking(ask=watched)
def list_calendars_command(ask: Ask, limit: Limit = None, after: After = None) -> None:
    """Show the named calendars.

    Example: tompion calendars list
    """

    def people(page: Page[NamedCalendar]) -> None:
        if not page.items:
            render.note("no calendars; 'tompion calendars put NAME --file days-off.ics' stores one")
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

    ask.show(lambda home: home.list_calendars(**given(limit=limit, after=after)), people)


@calendars_app.command("get")
@taking(ask=watched)
def get_calendar_command(
    ask: Ask,
    name: Name,
    version: Annotated[int | None, typer.Option("--version", metavar="N", help="That version (the newest).")] = None,
) -> None:
    """Show what a calendar leaves out.

    Example: tompion calendars get bank
    """
    ask.show(lambda home: home.get_calendar(name, **given(version=version)), _calendar)


@calendars_app.command("put")
@taking(change=requesting, ask=asked)
def put_calendar_command(  # noqa: PLR0913 - each is an option of the command
    ask: Ask,
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
    options = given(dates=dates, timezone=timezone)
    if (file is None) == (dates is None):
        raise InvalidInput("--file: give either a file or dates, --date 2026-12-24")
    calendar = {"name": name, **options} if file is None else _read_calendar(name, file) | options
    ask.show(lambda home: home.put_calendar(calendar, **change), _calendar)


@queues_app.command("list")
@taking(ask=watched)
def list_queues_command(ask: Ask) -> None:
    """Show queues: who serves them, and what waits.

    Example: tompion queues list --watch 2
    """
    ask.show(lambda home: home.list_queues(), queue_rows)


@queues_app.command("pause")
@taking(change=requesting, ask=asked)
def pause_queue_command(ask: Ask, change: dict[str, Any], queue: QueueName, note: Note = None) -> None:
    """Let the runs of a queue wait; ticks are still recorded.

    Example: tompion queues pause reports --note "the warehouse moves"
    """
    ask.show(
        lambda home: home.pause_target(queue=queue, **given(note=note), **change),
        lambda _: render.note(f"paused queue {queue}"),
    )


@queues_app.command("resume")
@taking(change=requesting, ask=asked)
def resume_queue_command(ask: Ask, change: dict[str, Any], queue: QueueName) -> None:
    """Start what waited for a queue.

    Example: tompion queues resume reports
    """
    ask.show(
        lambda home: home.resume_target(queue=queue, **change),
        lambda was: render.note(f"{'resumed' if was else 'was not paused:'} queue {queue}"),
    )


@instances_app.command("list")
@taking(ask=watched)
def list_instances_command(ask: Ask, limit: Limit = None) -> None:
    """Show the engines and workers of a store, and when each was heard of.

    Example: tompion instances list
    """
    ask.show(lambda home: home.list_instances(**given(limit=limit)), instance_rows)


@taking(ask=watched)
def audit_command(  # noqa: PLR0913 - each is an option of the command
    ask: Ask,
    everything: Annotated[bool, typer.Option("--all", help="Changes of schedules, too.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Prove that it is as it was written.")] = False,
    limit: Limit = None,
    before: Before = None,
    after: Annotated[
        int | None, typer.Option("--after", metavar="PLACE", help="With --verify: go on after this place.")
    ] = None,
) -> None:
    """Show who changed workflows, calendars, keys and targets, or everything; prove that nobody changed the audit.

    With --verify, exits 1 if a row is not as it was written.

    Example: tompion audit --all --limit 20
    """
    if not verify:
        if after is not None:
            raise InvalidInput("--after: only with --verify; --before goes on where a page ended")
        options = given(everything=everything or None, limit=limit, before=before)
        ask.show(lambda home: home.history(**options), views.change_list)
        return
    if everything or before is not None:
        raise InvalidInput("--verify: it is about all rows, from the oldest on; --all and --before are for looking")
    found = ask.show(
        lambda home: home.verify_audit(**given(after=after, limit=limit)),
        lambda proof: render.paragraph(audit_line(proof)),
    )
    if not found.ok:
        raise typer.Exit(1)


def queue_rows(found: Sequence[Queue]) -> None:
    """Print queues."""
    if not found:
        render.note("no queues; 'tompion worker --queue NAME' serves one")
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


def instance_rows(found: Sequence[Instance]) -> None:
    """Print engines and workers."""
    if not found:
        render.note("nobody runs schedules here; 'tompion worker' or 'tompion serve' does")
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
                relative(each.heard_of_at, present),
                ", ".join(each.queues),
                f"{each.skew_ms} ms",
                each.release or "-",
                absolute(each.started_at),
            )
            for each in found
        ],
    )


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
        from tompion.authoring import read_icalendar
        from tompion.wire import encode

        found: dict[str, Any] = encode(read_icalendar(name, read_text(file)))
        return found
    read = read_document(file)
    if not isinstance(read, dict):
        raise InvalidInput(f"--file {file}: a {type(read).__name__} is not an object with fields")
    return {**read, "name": name}
