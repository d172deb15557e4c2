"""``tompion schedules``: create, change and read schedules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tompion.cli.bulk import filter_options
from tompion.cli.commands.stats import print_diff
from tompion.cli.connection import (
    After,
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
from tompion.cli.output import console, views
from tompion.cli.output.changes import print_changes
from tompion.cli.schedule_options import action_options, definition_fields, document_options, timing_options
from tompion.cli.times import ScheduleZone, resolve_fields, resolve_time

if TYPE_CHECKING:
    from tompion.cli.connection import Api
    from tompion.model.schedule import Schedule

definition_app: typer.Typer = typer.Typer()
DEFINE, INSPECT = "Define", "Inspect"
"""Panels of 'tompion schedules --help'."""
Document = tuple[dict[str, Any], dict[str, Any]]
Fields = dict[str, Any]

with_edit_options = with_options(
    timing=timing_options,
    action=action_options,
    document=document_options,
    change=change_options,
    connection=connection_options,
)
"""Adds the options of the commands that change an existing schedule."""


@definition_app.command("list", rich_help_panel=INSPECT)
@with_options(filters=filter_options, connection=watch_options)
def list_command(connection: Connection, filters: Fields, limit: Limit = None, after: After = None) -> None:
    """Show schedules and their next runs.

    Example: tompion schedules list --label team=a --watch 5
    """
    page = drop_unset(limit=limit, after=after)
    connection.show(lambda api: api.schedules.list(**filters, **page), views.print_schedules)


@definition_app.command("count", rich_help_panel=INSPECT)
@with_options(filters=filter_options, connection=watch_options)
def count_command(connection: Connection, filters: Fields) -> None:
    """Count the schedules that match, and all schedules.

    Example: tompion schedules count --status paused
    """
    connection.show(lambda api: api.schedules.count(**filters), views.print_count)


@definition_app.command("same-spec", rich_help_panel=INSPECT)
@with_options(connection=watch_options)
def same_spec_command(
    connection: Connection, schedule_id: ScheduleId, limit: Limit = None, after: After = None
) -> None:
    """Show the active schedules with the same spec as a schedule.

    Example: tompion schedules same-spec report --limit 100
    """
    connection.show(
        lambda api: api.schedules.same_spec(schedule_id, **drop_unset(limit=limit, after=after)), views.print_same_spec
    )


@definition_app.command("get", rich_help_panel=INSPECT)
@with_options(connection=watch_options)
def get_command(connection: Connection, schedule_id: ScheduleId) -> None:
    """Show one schedule.

    Example: tompion schedules get report -o json
    """
    connection.show(lambda api: api.get(schedule_id), views.print_schedule)


@definition_app.command("describe", rich_help_panel=INSPECT)
@with_options(connection=watch_options)
def describe_command(connection: Connection, schedule_id: ScheduleId) -> None:
    """Show a schedule with its runs, next ticks and backfills.

    Example: tompion schedules describe report --watch 2
    """
    connection.show(lambda api: api.describe(schedule_id), views.print_description)


@definition_app.command("create", rich_help_panel=DEFINE)
@with_options(
    timing=timing_options,
    action=action_options,
    document=document_options,
    change=request_options,
    connection=connection_options,
)
def create_command(  # noqa: PLR0913 - bundles of options
    connection: Connection,
    document: Document,
    timing: Fields,
    action: Fields,
    change: Fields,
    schedule_id: Annotated[
        str | None, typer.Argument(metavar="SCHEDULE", help="Id of the new schedule (generated).")
    ] = None,
) -> None:
    """Create a schedule. The id must be new.

    Example: tompion schedules create report --cron "0 9 * * MON-FRI" --tz Europe/Berlin --function tasks:report
    """
    fields = definition_fields(document, timing, action)
    _save_definition(connection, lambda api: api.create, schedule_id, fields, change, create=True)


@definition_app.command("put", rich_help_panel=DEFINE)
@with_edit_options
def put_command(  # noqa: PLR0913 - bundles of options
    connection: Connection, document: Document, timing: Fields, action: Fields, change: Fields, schedule_id: ScheduleId
) -> None:
    """Create a schedule, or replace its definition.

    Pause and counters do not change.

    Example: tompion schedules put report --file report.json
    """
    fields = definition_fields(document, timing, action)
    _save_definition(connection, lambda api: api.put, schedule_id, fields, change, create=True)


@definition_app.command("update", rich_help_panel=DEFINE)
@with_edit_options
def update_command(  # noqa: PLR0913 - bundles of options
    connection: Connection, document: Document, timing: Fields, action: Fields, change: Fields, schedule_id: ScheduleId
) -> None:
    """Replace the definition of an existing schedule.

    Example: tompion schedules update report --cron @daily --function tasks:report --token 7
    """
    fields = definition_fields(document, timing, action)
    _save_definition(connection, lambda api: api.update, schedule_id, fields, change)


@definition_app.command("patch", rich_help_panel=DEFINE)
@with_edit_options
def patch_command(  # noqa: PLR0913 - bundles of options
    connection: Connection, document: Document, timing: Fields, action: Fields, change: Fields, schedule_id: ScheduleId
) -> None:
    """Change some fields of a schedule. null clears a field.

    Example: tompion schedules patch report --overlap queue --set timezone=null
    """
    fields = definition_fields(document, timing, action)
    connection.show(
        lambda api: api.patch(schedule_id, **_patch_times(api, schedule_id, fields), **change), views.print_schedule
    )


@definition_app.command("diff", rich_help_panel=DEFINE)
@with_options(timing=timing_options, action=action_options, document=document_options, connection=connection_options)
def diff_command(  # noqa: PLR0913 - bundles of options
    connection: Connection,
    document: Document,
    timing: Fields,
    action: Fields,
    schedule_id: ScheduleId,
    count: Annotated[int | None, typer.Option("--count", metavar="N", help="Number of ticks (20).")] = None,
) -> None:
    """Show how another definition would change upcoming ticks.

    Nothing is written.

    Example: tompion schedules diff report --cron "30 9 * * *" --function tasks:report
    """
    fields = {**_own_times(definition_fields(document, timing, action)), **drop_unset(count=count)}
    connection.show(lambda api: api.schedules.diff(schedule_id, **fields), print_diff, schedule_id=schedule_id)


@definition_app.command("delete", rich_help_panel=DEFINE)
@with_options(change=change_options, connection=connection_options)
def delete_command(
    connection: Connection,
    change: Fields,
    schedule_id: ScheduleId,
    purge: Annotated[bool, typer.Option("--purge", help="Delete its history, too.")] = False,
) -> None:
    """Delete a schedule.

    Its history stays until its retention ends, unless --purge is set.

    Example: tompion schedules delete report
    """
    connection.show(
        lambda api: api.delete(schedule_id, purge=purge, **change),
        lambda schedule: console.note(f"Deleted {schedule.schedule_id}{' and its history' if purge else ''}."),
    )


@definition_app.command("history", rich_help_panel=INSPECT)
@with_options(connection=watch_options)
def history_command(
    connection: Connection, schedule_id: ScheduleId, limit: Limit = None, before: Before = None
) -> None:
    """Show the changes of a schedule, the newest first.

    Example: tompion schedules history report
    """
    options = drop_unset(limit=limit, before=before)
    connection.show(lambda api: api.schedules.history(schedule_id, **options), print_changes, schedule_id=schedule_id)


@definition_app.command("versions", rich_help_panel=DEFINE)
@with_options(connection=watch_options)
def versions_command(connection: Connection, schedule_id: ScheduleId, limit: Limit = None) -> None:
    """Show the versions of a schedule, the newest first.

    Example: tompion schedules versions report
    """
    connection.show(
        lambda api: api.schedules.versions(schedule_id, **drop_unset(limit=limit)),
        views.print_versions,
        schedule_id=schedule_id,
    )


@definition_app.command("restore", rich_help_panel=DEFINE)
@with_options(change=change_options, connection=connection_options)
def restore_command(
    connection: Connection,
    change: Fields,
    schedule_id: ScheduleId,
    version: Annotated[int, typer.Argument(metavar="VERSION", help="Number of the version.")],
) -> None:
    """Restore an earlier version of a schedule, as a new version.

    Example: tompion schedules restore report 3
    """
    connection.show(lambda api: api.schedules.restore(schedule_id, version, **change), views.print_schedule)


@definition_app.command("preview", rich_help_panel=DEFINE)
@with_options(timing=timing_options, document=document_options, connection=connection_options)
def preview_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    document: Document,
    timing: Fields,
    schedule_id: Annotated[str | None, typer.Option("--id", metavar="ID", help="Id that seeds H and jitter.")] = None,
    after: Annotated[str | None, typer.Option("--after", metavar="TIME", help="Start after this time (now).")] = None,
    count: Annotated[int | None, typer.Option("-n", "--count", metavar="N", help="Number of ticks (20).")] = None,
) -> None:
    """Show the ticks of a spec, with the calendars of the store.

    Nothing is written.

    Example: tompion schedules preview --cron "0 9 * * *" --exclude-calendar bank
    """
    fields = _own_times(definition_fields(document, timing))
    options = drop_unset(after=resolve_time(after, lambda: fields.get("timezone") or "UTC"), count=count)

    def render(preview: Any) -> None:
        has_jitter = any(tick.fire_at != tick.at for tick in preview.ticks)
        console.paragraph(preview.explanation)
        console.tick_table(preview.ticks, preview.timezone, jitter=has_jitter)
        console.finding_lines(preview.findings)

    connection.show(lambda api: api.preview(schedule_id, **options, **fields), render)


def _save_definition(  # noqa: PLR0913 - the parts of one request
    connection: Connection,
    operation: Callable[[Api], Callable[..., Schedule]],
    schedule_id: str | None,
    fields: Fields,
    change: Fields,
    *,
    create: bool = False,
) -> None:
    """Save a whole definition with one of the operations of the API, and print the schedule.

    The conflict token of a file counts only for the schedule that the file was read from.
    """
    document = _own_times(fields)
    token, owner = document.pop("conflict_token", None), document.pop("schedule_id", schedule_id)
    if token is not None and owner == schedule_id:
        document["conflict_token"] = token
    connection.show(
        lambda api: operation(api)(schedule_id, **{**document, **change}), views.print_schedule, create=create
    )


def _own_times(fields: Fields) -> Fields:
    """Return the fields with relative times replaced, in the zone of the fields."""
    return resolve_fields(fields, lambda: fields.get("timezone") or "UTC")


def _patch_times(api: Api, schedule_id: str, fields: Fields) -> Fields:
    """Return the fields with relative times replaced, in the zone of the fields or of the schedule."""
    return _own_times(fields) if fields.get("timezone") else resolve_fields(fields, ScheduleZone(api, schedule_id))
