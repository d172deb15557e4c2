"""``tompion schedules``: pause, resume, trigger, skip, backfill, hints, and the runs of a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tompion.cli.bulk import BulkAction, BulkSelection, ScheduleIds, run_bulk_action, selection_options
from tompion.cli.commands.schedules import INSPECT, Fields
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
from tompion.cli.options import milliseconds
from tompion.cli.output import console, progress, views
from tompion.cli.output.tables import moment, now, times_in
from tompion.cli.schedule_options import read_json
from tompion.cli.times import TIME_HELP, ScheduleZone, no_zone, resolve_time
from tompion.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from tompion.cli.connection import Api
    from tompion.model.hint import Outlook
    from tompion.model.schedule import Backfill, Run, Schedule
    from tompion.model.verification import Verification

control_app: typer.Typer = typer.Typer()
CONTROL, BACKFILL, ADAPTIVE = "Control", "Backfill", "Adaptive schedules"
"""Panels of 'tompion schedules --help'."""

Note = Annotated[str | None, typer.Option("--note", metavar="TEXT", help="Reason, recorded with the change.")]
Reason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Reason of the change.")]
BackfillId = Annotated[int, typer.Argument(metavar="BACKFILL", help="Id of the backfill.")]
RunStatusFilter = Annotated[str | None, typer.Option("--status", help="Status of the run, such as FAILED.")]
RunSourceFilter = Annotated[str | None, typer.Option("--source", help="schedule, trigger, backfill or hint.")]
OverlapOverride = Annotated[
    str | None, typer.Option("--overlap", metavar="POLICY", help="Overlap policy of these runs: skip, allow, queue, ….")
]


PAUSE = BulkAction("pause", "Paused", "already paused", lambda api: api.schedules.pause_matching)
RESUME = BulkAction("resume", "Resumed", "not paused", lambda api: api.schedules.resume_matching)
TRIGGER = BulkAction("trigger", "Triggered", "", lambda api: api.schedules.trigger_matching)


@control_app.command("pause", rich_help_panel=CONTROL)
@with_options(selection=selection_options, change=change_options, connection=connection_options)
def pause_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    change: Fields,
    selection: BulkSelection,
    schedule_ids: ScheduleIds = None,
    note: Note = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help=f"Resume automatically: {TIME_HELP}.")
    ] = None,
    paused_by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="Name recorded as the author.")] = None,
) -> None:
    """Pause schedules. Running runs are not affected.

    Example: tompion schedules pause report --note "migration" --until "tomorrow 9:00"
    """
    options = drop_unset(note=note, paused_by=paused_by) | change
    if not schedule_ids or not selection.is_single(schedule_ids):
        options |= drop_unset(until=resolve_time(until, no_zone))
        run_bulk_action(connection, PAUSE, selection, schedule_ids, options)
        return

    def pause(api: Api) -> Schedule:
        until_time = resolve_time(until, ScheduleZone(api, schedule_ids[0]))
        return api.pause(schedule_ids[0], **drop_unset(until=until_time), **options)

    def render(schedule: Schedule) -> None:
        with times_in(views.zone_of(schedule)):
            until = "" if schedule.paused_until is None else f" until {moment(schedule.paused_until, now())}"
        console.note(f"Paused {schedule.schedule_id}{until}.")

    connection.show(pause, render)


@control_app.command("resume", rich_help_panel=CONTROL)
@with_options(selection=selection_options, change=change_options, connection=connection_options)
def resume_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    change: Fields,
    selection: BulkSelection,
    schedule_ids: ScheduleIds = None,
    on_resume: Annotated[
        str | None,
        typer.Option("--on-resume", metavar="RULE", help="Ticks missed in the pause: policy, skip or fire_once."),
    ] = None,
    note: Note = None,
) -> None:
    """Resume paused schedules.

    Example: tompion schedules resume --label team=a --on-resume fire_once
    """
    options = drop_unset(on_resume=on_resume) | change
    if not schedule_ids or not selection.is_single(schedule_ids):
        run_bulk_action(connection, RESUME, selection, schedule_ids, options)
        return
    options |= drop_unset(note=note)
    connection.show(
        lambda api: api.resume(schedule_ids[0], **options),
        lambda schedule: console.note(f"Resumed {schedule.schedule_id}. {_next_run(schedule)}"),
    )


@control_app.command("trigger", rich_help_panel=CONTROL)
@with_options(selection=selection_options, change=request_options, connection=connection_options)
def trigger_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    change: Fields,
    selection: BulkSelection,
    schedule_ids: ScheduleIds = None,
    overlap: OverlapOverride = None,
    payload: Annotated[str | None, typer.Option("--payload", metavar="JSON", help="Payload of these runs.")] = None,
) -> None:
    """Run schedules now, paused or not.

    Example: tompion schedules trigger report --payload '{"day": "2027-01-04"}'
    """
    options = drop_unset(overlap=overlap) | change
    if payload is not None:
        options["payload"] = read_json("--payload", payload)
    if not schedule_ids or not selection.is_single(schedule_ids):
        run_bulk_action(connection, TRIGGER, selection, schedule_ids, options)
        return

    def render(run: Run) -> None:
        console.line(run.run_id)
        console.note(f"The run is {run.status}. Follow it with 'tompion runs get {run.run_id} --watch 1'.")

    connection.show(lambda api: api.trigger(schedule_ids[0], **options), render)


@control_app.command("skip", rich_help_panel=CONTROL)
@with_options(change=change_options, connection=connection_options)
def skip_command(
    connection: Connection,
    change: Fields,
    schedule_id: ScheduleId,
    at: Annotated[
        list[str] | None, typer.Option("--at", metavar="TIME", help="Time of the tick (the next one). Repeatable.")
    ] = None,
    note: Note = None,
) -> None:
    """Skip the next tick, or the ticks at given times.

    Example: tompion schedules skip report --at "tomorrow 9:00" --note "bank holiday"
    """
    connection.show(
        lambda api: api.schedules.skip(
            schedule_id, **drop_unset(at=_resolve_each(api, schedule_id, at), note=note), **change
        ),
        _print_next_run,
    )


@control_app.command("unskip", rich_help_panel=CONTROL)
@with_options(change=change_options, connection=connection_options)
def unskip_command(
    connection: Connection,
    change: Fields,
    schedule_id: ScheduleId,
    at: Annotated[
        list[str] | None, typer.Option("--at", metavar="TIME", help="Time of the tick (all skipped ticks). Repeatable.")
    ] = None,
    note: Note = None,
) -> None:
    """Undo skips: all of them, or those at given times.

    Example: tompion schedules unskip report --at 2027-01-06T09:00
    """
    connection.show(
        lambda api: api.schedules.unskip(
            schedule_id, **drop_unset(at=_resolve_each(api, schedule_id, at), note=note), **change
        ),
        _print_next_run,
    )


@control_app.command("backfill", rich_help_panel=BACKFILL)
@with_options(change=request_options, connection=connection_options)
def backfill_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    change: Fields,
    schedule_id: ScheduleId,
    start: Annotated[
        str | None, typer.Argument(metavar="START", help="Start of the range: 7d, yesterday, 2026-11-12.")
    ] = None,
    end: Annotated[str | None, typer.Argument(metavar="END", help="End of the range: now, 2026-11-19.")] = None,
    ranges: Annotated[
        list[str] | None, typer.Option("--range", metavar="START/END", help="Range of times. Repeatable.")
    ] = None,
    overlap: OverlapOverride = None,
    only: Annotated[
        str | None, typer.Option("--only", metavar="WHICH", help="Ticks to run: all, missing or failed.")
    ] = None,
    last: Annotated[str | None, typer.Option("--last", metavar="DURATION", help="Range up to now: 7d, 12h.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the ticks, start nothing.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not wait for the backfill.")] = False,
) -> None:
    """Run past ticks, and wait until they are done.

    Ctrl-C stops waiting, not the backfill.

    Times without an offset are in the zone of the schedule.

    Example: tompion schedules backfill report --last 7d --only missing
    """
    if sum(option is not None for option in (start, ranges or None, last)) > 1:
        raise InvalidInput("START, --range and --last exclude each other")
    options: dict[str, Any] = drop_unset(overlap=overlap, only=only, dry_run=dry_run or None)
    if last is not None:
        start, end = f"{last} ago", "now"
    with connection.open() as api:
        zone = ScheduleZone(api, schedule_id)
        first, until = resolve_time(start, zone, past=True), resolve_time(end, zone, past=True)
        options |= drop_unset(start=first, end=until)
        if ranges:
            options["ranges"] = [
                tuple(resolve_time(part, zone, past=True) for part in _parse_range(text)) for text in ranges
            ]
        backfills = api.backfill(schedule_id, **options, **change)
        if not no_wait and not dry_run:
            backfills = progress.wait_for_backfills(api, backfills)
        with times_in(zone() if connection.is_local else None):
            connection.print_result(backfills, views.print_dry_run if dry_run else views.print_backfills)


@control_app.command("backfills", rich_help_panel=BACKFILL)
@with_options(connection=watch_options)
def backfills_command(connection: Connection, schedule_id: ScheduleId, limit: Limit = None) -> None:
    """Show the backfills of a schedule and their progress.

    Example: tompion schedules backfills report --watch 1
    """
    connection.show(
        lambda api: api.schedules.backfills(schedule_id, **drop_unset(limit=limit)),
        views.print_backfills,
        schedule_id=schedule_id,
    )


@control_app.command("get-backfill", rich_help_panel=BACKFILL)
@with_options(connection=watch_options)
def get_backfill_command(connection: Connection, backfill_id: BackfillId) -> None:
    """Show one backfill and its progress.

    Example: tompion schedules get-backfill 12 --watch 1
    """
    _show_backfill(connection, lambda api: api.schedules.get_backfill(backfill_id))


@control_app.command("cancel-backfill", rich_help_panel=BACKFILL)
@with_options(change=request_options, connection=connection_options)
def cancel_backfill_command(connection: Connection, change: Fields, backfill_id: BackfillId) -> None:
    """Cancel a backfill. Runs that it has started complete.

    Example: tompion schedules cancel-backfill 12
    """
    _show_backfill(connection, lambda api: api.schedules.cancel_backfill(backfill_id, **change))


@control_app.command("hint", rich_help_panel=ADAPTIVE)
@with_options(change=change_options, connection=connection_options)
def hint_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    change: Fields,
    schedule_id: ScheduleId,
    interval_ms: Annotated[
        str | None, typer.Option("--interval-ms", metavar="MS", help="Run at this interval: 120000 or 2m.")
    ] = None,
    at: Annotated[str | None, typer.Option("--at", metavar="TIME", help="Run once at this time.")] = None,
    ttl_ms: Annotated[
        str | None, typer.Option("--ttl-ms", metavar="MS", help="Time until the hint expires (1 hour).")
    ] = None,
    reason: Reason = None,
    author: Annotated[str | None, typer.Option("--author", metavar="NAME", help="Name recorded as the author.")] = None,
) -> None:
    """Suggest an interval or a time to an adaptive schedule.

    Example: tompion schedules hint poll --interval-ms 2m --ttl-ms 1h --reason quiet
    """
    durations = drop_unset(interval_ms=milliseconds(interval_ms), ttl_ms=milliseconds(ttl_ms))
    options = drop_unset(**durations, reason=reason, author=author)

    def hint(api: Api) -> Outlook:
        at_time = resolve_time(at, ScheduleZone(api, schedule_id))
        return api.schedules.hint(schedule_id, **drop_unset(at=at_time), **options, **change)

    connection.show(hint, views.print_outlook, schedule_id=schedule_id)


@control_app.command("hints", rich_help_panel=ADAPTIVE)
@with_options(connection=watch_options)
def hints_command(connection: Connection, schedule_id: ScheduleId) -> None:
    """Show the active hints of an adaptive schedule.

    Example: tompion schedules hints poll
    """
    connection.show(lambda api: api.schedules.hints(schedule_id), views.print_outlook, schedule_id=schedule_id)


@control_app.command("clear-hints", rich_help_panel=ADAPTIVE)
@with_options(change=change_options, connection=connection_options)
def clear_hints_command(connection: Connection, change: Fields, schedule_id: ScheduleId, reason: Reason = None) -> None:
    """Remove all hints. The schedule returns to its own interval.

    Example: tompion schedules clear-hints poll
    """
    connection.show(
        lambda api: api.schedules.clear_hints(schedule_id, **drop_unset(reason=reason), **change), views.print_outlook
    )


@control_app.command("reset-failures", rich_help_panel=CONTROL)
@with_options(change=change_options, connection=connection_options)
def reset_failures_command(connection: Connection, change: Fields, schedule_id: ScheduleId) -> None:
    """Reset the consecutive failures and their back-off.

    Example: tompion schedules reset-failures poll
    """
    connection.show(lambda api: api.schedules.reset_failures(schedule_id, **change), _print_next_run)


@control_app.command("runs", rich_help_panel=INSPECT)
@with_options(connection=watch_options)
def runs_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    schedule_id: ScheduleId,
    status: RunStatusFilter = None,
    source: RunSourceFilter = None,
    limit: Limit = None,
    before: Before = None,
) -> None:
    """Show the runs of a schedule, the newest first.

    Example: tompion schedules runs report --status FAILED
    """
    options = drop_unset(status=status, source=source, limit=limit, before=before)
    connection.show(lambda api: api.runs.list(schedule_id, **options), views.print_runs, schedule_id=schedule_id)


@control_app.command("dropped", rich_help_panel=INSPECT)
@with_options(connection=watch_options)
def dropped_command(connection: Connection, schedule_id: ScheduleId, limit: Limit = None) -> None:
    """Show the ranges of dropped ticks and their reasons.

    Example: tompion schedules dropped report
    """
    connection.show(
        lambda api: api.schedules.dropped_ranges(schedule_id, **drop_unset(limit=limit)),
        views.print_dropped,
        schedule_id=schedule_id,
    )


@control_app.command("verify", rich_help_panel=INSPECT)
@with_options(connection=watch_options)
def verify_schedule_command(
    connection: Connection,
    schedule_id: ScheduleId,
    start: Annotated[str | None, typer.Option("--start", metavar="TIME", help="Check ticks from this time.")] = None,
    end: Annotated[str | None, typer.Option("--end", metavar="TIME", help="Check ticks up to this time.")] = None,
) -> None:
    """Verify the ledger of one schedule.

    Each tick must be in the ledger exactly once.
    Exits 1 if there are problems.

    Example: tompion schedules verify report
    """

    def verify(api: Api) -> Verification:
        zone = ScheduleZone(api, schedule_id)
        first, last = resolve_time(start, zone, past=True), resolve_time(end, zone, past=True)
        return api.schedules.verify(schedule_id, **drop_unset(start=first, end=last))

    verification = connection.show(verify, views.print_verification, schedule_id=schedule_id)
    if not verification.ok:
        raise typer.Exit(1)


def _resolve_each(api: Api, schedule_id: str, times: list[str] | None) -> list[Any]:
    return [resolve_time(text, ScheduleZone(api, schedule_id)) for text in times or ()]


def _show_backfill(connection: Connection, read: Callable[[Api], Backfill]) -> None:
    """Print a backfill, with times in the zone of its schedule."""
    with connection.open() as api:

        def render(backfill: Backfill) -> None:
            zones = connection.zones(api, [backfill.schedule_id])
            with times_in(zones.get(backfill.schedule_id)):
                views.print_backfills((backfill,))

        connection.repeat(lambda: read(api), render)


def _print_next_run(schedule: Schedule) -> None:
    console.note(f"{schedule.schedule_id}: {_next_run(schedule)}")


def _next_run(schedule: Schedule) -> str:
    if schedule.next_run_at is None:
        return "No next run."
    with times_in(views.zone_of(schedule)):
        return f"Next run: {moment(schedule.next_run_at, now())}."


def _parse_range(text: str) -> tuple[str, str]:
    start, slash, end = text.partition("/")
    if not slash:
        raise InvalidInput(f"--range: {text!r} is not a range; expected START/END")
    return start, end
