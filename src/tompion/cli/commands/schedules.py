"""``tompion schedules``: making, changing and reading schedules."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tompion.cli.commands.stats import diff_lines
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
from tompion.cli.schedule_options import acting, definition, timing, whole

schedules_app = typer.Typer(help="Schedules.", no_args_is_help=True, rich_markup_mode="rich")
Base = tuple[dict[str, Any], dict[str, Any]]
Fields = dict[str, Any]
State = Annotated[str | None, typer.Option("--state", help="active, paused, exhausted or closed.")]
Label = Annotated[str | None, typer.Option("--label", metavar="NAME=VALUE", help="With this label.")]
Text = Annotated[str | None, typer.Option("--text", help="In the id or the description.")]
Workflow = Annotated[str | None, typer.Option("--workflow", metavar="ID", help="Of this workflow.")]
User = Annotated[str | None, typer.Option("--user", metavar="ID", help="Of this user.")]


@schedules_app.command("list")
@with_options(connection=watch_options)
def list_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    state: State = None,
    label: Label = None,
    text: Text = None,
    workflow: Workflow = None,
    user: User = None,
    limit: Limit = None,
    after: After = None,
) -> None:
    """Show schedules and when they run next.

    Example: tompion schedules list --label team=a --watch 5
    """
    asked_for = drop_unset(
        state=state, label=label, text=text, workflow_id=workflow, user_id=user, limit=limit, after=after
    )
    connection.show(lambda api: api.list_schedules(**asked_for), views.schedule_list)


@schedules_app.command("count")
@with_options(connection=watch_options)
def count_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    state: State = None,
    label: Label = None,
    text: Text = None,
    workflow: Workflow = None,
    user: User = None,
) -> None:
    """Show how many schedules a list would show, and how many there are.

    Example: tompion schedules count --state paused
    """
    asked_for = drop_unset(state=state, label=label, text=text, workflow_id=workflow, user_id=user)
    connection.show(lambda api: api.count_schedules(**asked_for), views.counted)


@schedules_app.command("same-spec")
@with_options(connection=watch_options)
def same_spec_command(
    connection: Connection, schedule_id: ScheduleId, limit: Limit = None, after: After = None
) -> None:
    """Show the active schedules with the same spec as one: what fires together.

    Example: tompion schedules same-spec report --limit 100
    """
    connection.show(lambda api: api.same_spec(schedule_id, **drop_unset(limit=limit, after=after)), views.sharers)


@schedules_app.command("get")
@with_options(connection=watch_options)
def get_command(connection: Connection, schedule_id: ScheduleId) -> None:
    """Show one schedule.

    Example: tompion schedules get report --json
    """
    connection.show(lambda api: api.get(schedule_id), views.schedule_facts)


@schedules_app.command("describe")
@with_options(connection=watch_options)
def describe_command(connection: Connection, schedule_id: ScheduleId) -> None:
    """Show everything about one schedule: its runs, its next ticks, what a resume would run.

    Example: tompion schedules describe report --watch 2
    """
    connection.show(lambda api: api.describe(schedule_id), views.description)


@schedules_app.command("create")
@with_options(timed=timing, acted=acting, base=whole, change=request_options, connection=connection_options)
def create_command(  # noqa: PLR0913 - bundles of options
    connection: Connection,
    base: Base,
    timed: Fields,
    acted: Fields,
    change: Fields,
    schedule_id: Annotated[
        str | None, typer.Argument(metavar="[SCHEDULE]", help="Its id; one is chosen if you give none.")
    ] = None,
) -> None:
    """Make a schedule; an id that is taken is refused.

    Example: tompion schedules create report --cron "0 9 * * MON-FRI" --tz Europe/Berlin --function tasks:report
    """
    fields = definition(base, timed, acted)
    connection.show(lambda api: api.create(schedule_id, **fields, **change), views.schedule_facts)


@schedules_app.command("put")
@with_options(timed=timing, acted=acting, base=whole, change=change_options, connection=connection_options)
def put_command(  # noqa: PLR0913 - bundles of options
    connection: Connection, base: Base, timed: Fields, acted: Fields, change: Fields, schedule_id: ScheduleId
) -> None:
    """Make a schedule, or replace its definition; pause and counters stay.

    Example: tompion schedules put report --file report.json
    """
    fields = definition(base, timed, acted)
    connection.show(lambda api: api.upsert(schedule_id, **fields, **change), views.schedule_facts)


@schedules_app.command("update")
@with_options(timed=timing, acted=acting, base=whole, change=change_options, connection=connection_options)
def update_command(  # noqa: PLR0913 - bundles of options
    connection: Connection, base: Base, timed: Fields, acted: Fields, change: Fields, schedule_id: ScheduleId
) -> None:
    """Replace the definition of a schedule that exists.

    Example: tompion schedules update report --cron @daily --function tasks:report --token 7
    """
    fields = definition(base, timed, acted)
    connection.show(lambda api: api.update(schedule_id, **fields, **change), views.schedule_facts)


@schedules_app.command("patch")
@with_options(timed=timing, acted=acting, base=whole, change=change_options, connection=connection_options)
def patch_command(  # noqa: PLR0913 - bundles of options
    connection: Connection, base: Base, timed: Fields, acted: Fields, change: Fields, schedule_id: ScheduleId
) -> None:
    """Change some fields; null clears one.

    Example: tompion schedules patch report --overlap queue --set timezone=null
    """
    fields = definition(base, timed, acted)
    connection.show(lambda api: api.patch(schedule_id, **fields, **change), views.schedule_facts)


@schedules_app.command("diff")
@with_options(timed=timing, acted=acting, base=whole, connection=connection_options)
def diff_command(  # noqa: PLR0913 - bundles of options
    connection: Connection,
    base: Base,
    timed: Fields,
    acted: Fields,
    schedule_id: ScheduleId,
    count: Annotated[int | None, typer.Option("--count", metavar="N", help="How many ticks (20).")] = None,
) -> None:
    """Show which coming ticks would stay, go and come with another definition; nothing is written.

    Example: tompion schedules diff report --cron "30 9 * * *" --function tasks:report
    """
    fields = {**definition(base, timed, acted), **drop_unset(count=count)}
    connection.show(lambda api: api.diff(schedule_id, **fields), diff_lines)


@schedules_app.command("delete")
@with_options(change=change_options, connection=connection_options)
def delete_command(
    connection: Connection,
    change: Fields,
    schedule_id: ScheduleId,
    purge: Annotated[bool, typer.Option("--purge", help="Its history too.")] = False,
) -> None:
    """Close a schedule: no more ticks; its history stays until its retention ends.

    Example: tompion schedules delete report
    """
    connection.show(
        lambda api: api.delete(schedule_id, purge=purge, **change),
        lambda found: console.note(f"deleted {found.schedule_id}{' and its history' if purge else ''}"),
    )


@schedules_app.command("history")
@with_options(connection=watch_options)
def history_command(
    connection: Connection, schedule_id: ScheduleId, limit: Limit = None, before: Before = None
) -> None:
    """Show who changed a schedule, and how; the newest first.

    Example: tompion schedules history report
    """
    options = drop_unset(limit=limit, before=before)
    connection.show(lambda api: api.history(schedule_id, **options), views.change_list)


@schedules_app.command("versions")
@with_options(connection=watch_options)
def versions_command(connection: Connection, schedule_id: ScheduleId, limit: Limit = None) -> None:
    """Show the versions of a schedule's definition, the newest first.

    Example: tompion schedules versions report
    """
    connection.show(lambda api: api.versions(schedule_id, **drop_unset(limit=limit)), views.version_list)


@schedules_app.command("restore")
@with_options(change=change_options, connection=connection_options)
def restore_command(
    connection: Connection,
    change: Fields,
    schedule_id: ScheduleId,
    version: Annotated[int, typer.Argument(metavar="VERSION", help="Its number.")],
) -> None:
    """Make an earlier version the definition again, as a new version.

    Example: tompion schedules restore report 3
    """
    connection.show(lambda api: api.restore(schedule_id, version, **change), views.schedule_facts)


@schedules_app.command("preview")
@with_options(timed=timing, base=whole, connection=connection_options)
def preview_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    base: Base,
    timed: Fields,
    schedule_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="The id that H and jitter hash.")
    ] = None,
    after: Annotated[str | None, typer.Option("--after", metavar="TIME", help="Begin after this (now).")] = None,
    count: Annotated[int | None, typer.Option("-n", "--count", metavar="N", help="How many ticks (20).")] = None,
) -> None:
    """Show what a spec would do, with the calendars of the store; nothing is written.

    Example: tompion schedules preview --cron "0 9 * * *" --exclude-calendar bank
    """
    options = drop_unset(after=after, count=count)

    def render(found: Any) -> None:
        console.paragraph(found.explanation)
        console.tick_table(found.ticks, found.timezone, jitter=any(tick.fire_at != tick.at for tick in found.ticks))
        console.finding_lines(found.findings)

    connection.show(lambda api: api.preview(schedule_id, **options, **definition(base, timed)), render)
