"""``tompion runs``: what became of ticks, and ending or repeating it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tompion.cli.commands.schedule_control import TheSource, TheState
from tompion.cli.connection import (
    Before,
    Connection,
    Limit,
    complete_schedules,
    connection_options,
    drop_unset,
    request_options,
    watch_options,
    with_options,
)
from tompion.cli.output import console, views
from tompion.cli.schedule_options import read_json
from tompion.cli.snapshot import latest_runs
from tompion.errors import InvalidInput

if TYPE_CHECKING:
    from tompion.model.schedule import Run

runs_app = typer.Typer(help="Runs.", no_args_is_help=True, rich_markup_mode="rich")

RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")]
PAGE = 50
"""How many runs are shown unless somebody says how many."""


@runs_app.command("list")
@with_options(connection=watch_options)
def list_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    schedule_id: Annotated[
        str | None,
        typer.Argument(metavar="[SCHEDULE]", help="Only of this one.", autocompletion=complete_schedules),
    ] = None,
    state: TheState = None,
    source: TheSource = None,
    limit: Limit = None,
    before: Before = None,
) -> None:
    """Show the runs of all schedules, or of one, the newest first.

    Example: tompion runs list --state FAILED --watch 5
    """
    options = drop_unset(state=state, source=source, limit=limit, before=before)
    if schedule_id is not None:
        connection.show(lambda api: api.runs(schedule_id, **options), views.run_list)
        return
    if source is not None:
        raise InvalidInput("--source: only for the runs of one schedule; name it")
    options.setdefault("limit", PAGE)
    connection.show(lambda api: latest_runs(api, **options), lambda page: views.run_list(page, of_many=True))


@runs_app.command("get")
@with_options(connection=watch_options)
def get_command(connection: Connection, run_id: RunId) -> None:
    """Show one run.

    Example: tompion runs get 1-1800000030-1 --watch 1
    """
    connection.show(lambda api: api.get_run(run_id), views.run_facts)


@runs_app.command("cancel")
@with_options(change=request_options, connection=connection_options)
def cancel_command(connection: Connection, change: dict[str, Any], run_id: RunId) -> None:
    """Ask a run to end; its function or target decides how.

    Example: tompion runs cancel 1-1800000030-1
    """
    connection.show(lambda api: api.cancel_run(run_id, **change), _state)


@runs_app.command("terminate")
@with_options(change=request_options, connection=connection_options)
def terminate_command(connection: Connection, change: dict[str, Any], run_id: RunId) -> None:
    """End a run at once, whatever it says.

    Example: tompion runs terminate 1-1800000030-1
    """
    connection.show(lambda api: api.terminate_run(run_id, **change), _state)


@runs_app.command("retry")
@with_options(change=request_options, connection=connection_options)
def retry_command(connection: Connection, change: dict[str, Any], run_id: RunId) -> None:
    """Run the same once more, as a run of its own.

    Example: tompion runs retry 1-1800000030-1
    """

    def render(found: Run) -> None:
        console.line(found.run_id)
        _state(found)

    connection.show(lambda api: api.retry_run(run_id, **change), render)


@runs_app.command("report")
@with_options(connection=connection_options)
def report_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="The token that came with the run.")],
    event: Annotated[str, typer.Argument(metavar="EVENT", help="started, heartbeat, progress, succeeded, failed, ….")],
    result: Annotated[str | None, typer.Option("--result", metavar="JSON", help="What came out.")] = None,
    error: Annotated[str | None, typer.Option("--error", metavar="TEXT", help="What went wrong.")] = None,
    progress: Annotated[str | None, typer.Option("--progress", metavar="JSON", help="How far it is.")] = None,
    execution_id: Annotated[
        str | None, typer.Option("--execution-id", metavar="ID", help="What it is called where it runs.")
    ] = None,
) -> None:
    """Say what becomes of a run that is executed elsewhere.

    Example: tompion runs report "$TOMPION_TOKEN" succeeded --result '{"rows": 12}'
    """
    options = drop_unset(error=error, execution_id=execution_id)
    for name, text in (("result", result), ("progress", progress)):
        if text is not None:
            options[name] = read_json(f"--{name}", text)

    def render(found: Any) -> None:
        console.line(f"{found.run_id}{': it is to end' if found.cancel_requested else ''}")

    connection.show(lambda api: api.report_run(token, event, **options), render)


def _state(found: Run) -> None:
    console.note(
        f"run {found.run_id} of {found.schedule_id}: {found.state}{f' ({why})' if (why := found.reason) else ''}"
    )
