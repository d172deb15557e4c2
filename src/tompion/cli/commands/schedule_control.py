"""``tompion schedules``: operating them, from pause to backfill, and reading what became of their ticks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tompion.cli.bulk import BulkSelection, BulkWork, ScheduleIds, choosing, touch
from tompion.cli.commands.schedules import Fields
from tompion.cli.connection import (
    Before,
    Connection,
    Limit,
    ScheduleId,
    change_options,
    connection_options,
    drop_unset,
    request_options,
    watch_options,
    with_options,
)
from tompion.cli.output import console, progress, views
from tompion.cli.output.tables import moment, now
from tompion.cli.schedule_options import read_json
from tompion.errors import InvalidInput

if TYPE_CHECKING:
    from tompion.model.schedule import Backfill, Run, Schedule

operating_app = typer.Typer()

Note = Annotated[str | None, typer.Option("--note", metavar="TEXT", help="Why; it is kept with the change.")]
Reason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why.")]
BackfillId = Annotated[int, typer.Argument(metavar="BACKFILL", help="The id that the list shows.")]
TheState = Annotated[str | None, typer.Option("--state", help="Such as FAILED.")]
TheSource = Annotated[str | None, typer.Option("--source", help="schedule, trigger, backfill or hint.")]
TheOverlap = Annotated[
    str | None, typer.Option("--overlap", metavar="POLICY", help="If runs are in flight: skip, allow, queue, ….")
]


PAUSE = BulkWork("pause", "paused", "were paused already", lambda api: api.pause_matching)
RESUME = BulkWork("resume", "resumed", "were not paused", lambda api: api.resume_matching)
TRIGGER = BulkWork("trigger", "triggered", "", lambda api: api.trigger_matching)


@operating_app.command("pause")
@with_options(chosen=choosing, change=change_options, connection=connection_options)
def pause_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    change: Fields,
    chosen: BulkSelection,
    schedule_ids: ScheduleIds = None,
    note: Note = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Resume by itself then.")] = None,
    paused_by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="On whose word.")] = None,
) -> None:
    """Start nothing by itself until it is resumed; runs in flight go on.  One schedule, some, or all that match.

    Example: tompion schedules pause report --note "migration" --until 2027-01-02T00:00Z
    """
    options = drop_unset(note=note, until=until, paused_by=paused_by) | change
    if not schedule_ids or not chosen.is_one(schedule_ids):
        touch(connection, PAUSE, chosen, schedule_ids, options)
        return

    def render(found: Schedule) -> None:
        end = "" if found.paused_until is None else f" until {moment(found.paused_until, now())}"
        console.note(f"paused {found.schedule_id}{end}; 'tompion schedules resume' lets it go on")

    connection.show(lambda api: api.pause(schedule_ids[0], **options), render)


@operating_app.command("resume")
@with_options(chosen=choosing, change=change_options, connection=connection_options)
def resume_command(  # noqa: PLR0913 - what can be said on the command line
    connection: Connection,
    change: Fields,
    chosen: BulkSelection,
    schedule_ids: ScheduleIds = None,
    on_resume: Annotated[
        str | None, typer.Option("--on-resume", metavar="RULE", help="The pause's ticks: policy, skip or fire_once.")
    ] = None,
    note: Note = None,
) -> None:
    """Go on after a pause: one schedule, some, or all that match.

    Example: tompion schedules resume --label team=a --on-resume fire_once
    """
    options = drop_unset(on_resume=on_resume) | change
    if not schedule_ids or not chosen.is_one(schedule_ids):
        touch(connection, RESUME, chosen, schedule_ids, options)
        return
    options |= drop_unset(note=note)
    connection.show(
        lambda api: api.resume(schedule_ids[0], **options),
        lambda found: console.note(f"resumed {found.schedule_id}; next run {moment(found.next_run_at, now())}"),
    )


@operating_app.command("trigger")
@with_options(chosen=choosing, change=request_options, connection=connection_options)
def trigger_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    change: Fields,
    chosen: BulkSelection,
    schedule_ids: ScheduleIds = None,
    overlap: TheOverlap = None,
    payload: Annotated[str | None, typer.Option("--payload", metavar="JSON", help="Instead of its own.")] = None,
) -> None:
    """Run it now, paused or not: one schedule, some, or all that match.

    Example: tompion schedules trigger report --payload '{"day": "2027-01-04"}'
    """
    options = drop_unset(overlap=overlap) | change
    if payload is not None:
        options["payload"] = read_json("--payload", payload)
    if not schedule_ids or not chosen.is_one(schedule_ids):
        touch(connection, TRIGGER, chosen, schedule_ids, options)
        return

    def render(found: Run) -> None:
        console.line(found.run_id)
        console.note(f"{found.state}; 'tompion runs get {found.run_id} --watch 1' follows it")

    connection.show(lambda api: api.trigger(schedule_ids[0], **options), render)


@operating_app.command("skip")
@with_options(change=change_options, connection=connection_options)
def skip_command(
    connection: Connection,
    change: Fields,
    schedule_id: ScheduleId,
    at: Annotated[
        list[str] | None, typer.Option("--at", metavar="TIME", help="The tick at this time (the next); repeatable.")
    ] = None,
    note: Note = None,
) -> None:
    """Leave out the next tick, or those at given times.

    Example: tompion schedules skip report --at 2027-01-06T08:00Z --note "bank holiday"
    """
    connection.show(
        lambda api: api.skip(schedule_id, **drop_unset(at=at, note=note), **change),
        lambda found: console.note(f"{found.schedule_id}: next run {moment(found.next_run_at, now())}"),
    )


@operating_app.command("unskip")
@with_options(change=change_options, connection=connection_options)
def unskip_command(
    connection: Connection,
    change: Fields,
    schedule_id: ScheduleId,
    at: Annotated[
        list[str] | None, typer.Option("--at", metavar="TIME", help="The tick at this time (all); repeatable.")
    ] = None,
    note: Note = None,
) -> None:
    """Take back a skip: the ticks that were to be left out, or those at given times, run again.

    Example: tompion schedules unskip report --at 2027-01-06T08:00Z
    """
    connection.show(
        lambda api: api.unskip(schedule_id, **drop_unset(at=at, note=note), **change),
        lambda found: console.note(f"{found.schedule_id}: next run {moment(found.next_run_at, now())}"),
    )


@operating_app.command("backfill")
@with_options(change=request_options, connection=connection_options)
def backfill_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    change: Fields,
    schedule_id: ScheduleId,
    start: Annotated[str | None, typer.Argument(metavar="[START]", help="From this time on.")] = None,
    end: Annotated[str | None, typer.Argument(metavar="[END]", help="Up to this time.")] = None,
    ranges: Annotated[
        list[str] | None, typer.Option("--range", metavar="START/END", help="Another range; repeatable.")
    ] = None,
    overlap: TheOverlap = None,
    only: Annotated[str | None, typer.Option("--only", metavar="WHICH", help="all, missing or failed.")] = None,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not wait until it is done.")] = False,
) -> None:
    """Run the ticks of the past again, and show how far that is; Ctrl-C stops watching, not the backfill.

    Example: tompion schedules backfill report 2027-01-04T00:00Z 2027-01-08T23:00Z --only missing
    """
    options: dict[str, Any] = drop_unset(start=start, end=end, overlap=overlap, only=only)
    if ranges:
        if start is not None:
            raise InvalidInput("--range: give either START and END, or ranges")
        options["ranges"] = [_range(text) for text in ranges]
    with connection.open() as api:
        found = api.backfill(schedule_id, **options, **change)
        if not no_wait:
            found = progress.wait_for_backfills(api, found)
        connection.print_result(found, views.backfill_list)


@operating_app.command("backfills")
@with_options(connection=watch_options)
def backfills_command(connection: Connection, schedule_id: ScheduleId, limit: Limit = None) -> None:
    """Show the backfills of a schedule and how far they are.

    Example: tompion schedules backfills report --watch 1
    """
    connection.show(lambda api: api.backfills(schedule_id, **drop_unset(limit=limit)), views.backfill_list)


@operating_app.command("get-backfill")
@with_options(connection=watch_options)
def get_backfill_command(connection: Connection, backfill_id: BackfillId) -> None:
    """Show one backfill, and how far it is.

    Example: tompion schedules get-backfill 12 --watch 1
    """
    connection.show(lambda api: api.get_backfill(backfill_id), _one_backfill)


@operating_app.command("cancel-backfill")
@with_options(change=request_options, connection=connection_options)
def cancel_backfill_command(connection: Connection, change: Fields, backfill_id: BackfillId) -> None:
    """Stop a backfill where it is; what it has started goes on.

    Example: tompion schedules cancel-backfill 12
    """
    connection.show(lambda api: api.cancel_backfill(backfill_id, **change), _one_backfill)


@operating_app.command("hint")
@with_options(change=change_options, connection=connection_options)
def hint_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    change: Fields,
    schedule_id: ScheduleId,
    interval_ms: Annotated[int | None, typer.Option("--interval-ms", metavar="MS", help="Run so often.")] = None,
    at: Annotated[str | None, typer.Option("--at", metavar="TIME", help="Run once at this time.")] = None,
    ttl_ms: Annotated[int | None, typer.Option("--ttl-ms", metavar="MS", help="For how long (an hour).")] = None,
    reason: Reason = None,
    author: Annotated[str | None, typer.Option("--author", metavar="NAME", help="Whose hint it is.")] = None,
) -> None:
    """Suggest to an adaptive schedule when to run.

    Example: tompion schedules hint poll --interval-ms 120000 --ttl-ms 3600000 --reason quiet
    """
    options = drop_unset(interval_ms=interval_ms, at=at, ttl_ms=ttl_ms, reason=reason, author=author)
    connection.show(lambda api: api.hint(schedule_id, **options, **change), views.outlook)


@operating_app.command("hints")
@with_options(connection=watch_options)
def hints_command(connection: Connection, schedule_id: ScheduleId) -> None:
    """Show the live hints of an adaptive schedule, and what it does next.

    Example: tompion schedules hints poll
    """
    connection.show(lambda api: api.hints(schedule_id), views.outlook)


@operating_app.command("clear-hints")
@with_options(change=change_options, connection=connection_options)
def clear_hints_command(connection: Connection, change: Fields, schedule_id: ScheduleId, reason: Reason = None) -> None:
    """Take back all hints: the schedule goes back to its baseline.

    Example: tompion schedules clear-hints poll
    """
    connection.show(lambda api: api.clear_hints(schedule_id, **drop_unset(reason=reason), **change), views.outlook)


@operating_app.command("reset-failures")
@with_options(change=change_options, connection=connection_options)
def reset_failures_command(connection: Connection, change: Fields, schedule_id: ScheduleId) -> None:
    """Forget the failures in a row, and the back-off that they caused.

    Example: tompion schedules reset-failures poll
    """
    connection.show(
        lambda api: api.reset_failures(schedule_id, **change),
        lambda found: console.note(f"{found.schedule_id}: next run {moment(found.next_run_at, now())}"),
    )


@operating_app.command("runs")
@with_options(connection=watch_options)
def runs_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    schedule_id: ScheduleId,
    state: TheState = None,
    source: TheSource = None,
    limit: Limit = None,
    before: Before = None,
) -> None:
    """Show the runs of a schedule, the newest first.

    Example: tompion schedules runs report --state FAILED
    """
    options = drop_unset(state=state, source=source, limit=limit, before=before)
    connection.show(lambda api: api.runs(schedule_id, **options), views.run_list)


@operating_app.command("dropped")
@with_options(connection=watch_options)
def dropped_command(connection: Connection, schedule_id: ScheduleId, limit: Limit = None) -> None:
    """Show which ticks were dropped together, and why.

    Example: tompion schedules dropped report
    """
    connection.show(lambda api: api.dropped_ranges(schedule_id, **drop_unset(limit=limit)), views.dropped_list)


@operating_app.command("verify")
@with_options(connection=watch_options)
def verify_schedule_command(
    connection: Connection,
    schedule_id: ScheduleId,
    start: Annotated[str | None, typer.Option("--start", metavar="TIME", help="Only ticks from here on.")] = None,
    end: Annotated[str | None, typer.Option("--end", metavar="TIME", help="Only ticks up to here.")] = None,
) -> None:
    """Prove that each tick of one schedule is in the ledger exactly once.  Exits 1 if one is not.

    Example: tompion schedules verify report
    """
    found = connection.show(lambda api: api.verify(schedule_id, **drop_unset(start=start, end=end)), views.verification)
    if not found.ok:
        raise typer.Exit(1)


def _one_backfill(found: Backfill) -> None:
    views.backfill_list((found,))


def _range(text: str) -> tuple[str, str]:
    start, slash, end = text.partition("/")
    if not slash:
        raise InvalidInput(f"--range: {text!r} is no range; expected START/END")
    return start, end
