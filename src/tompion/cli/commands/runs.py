"""``tompion runs``: list, cancel, terminate, retry and report runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tompion.cli.commands.schedule_control import RunSourceFilter, RunStatusFilter
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
from tompion.cli.lazy import command_group
from tompion.cli.output import console, views
from tompion.cli.output.tables import times_in
from tompion.cli.schedule_options import read_json
from tompion.cli.snapshot import latest_runs
from tompion.errors import InvalidInput

if TYPE_CHECKING:
    from tompion.cli.connection import Api
    from tompion.model.page import Page
    from tompion.model.schedule import Run

runs_app: typer.Typer = command_group("List, cancel and retry runs.")

RunId = Annotated[str, typer.Argument(metavar="RUN", help="Id of the run.")]
DEFAULT_LIMIT = 50


@runs_app.command("list")
@with_options(connection=watch_options)
def list_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    schedule_id: Annotated[
        str | None,
        typer.Argument(metavar="SCHEDULE", help="Only runs of this schedule.", autocompletion=complete_schedules),
    ] = None,
    status: RunStatusFilter = None,
    source: RunSourceFilter = None,
    limit: Limit = None,
    before: Before = None,
) -> None:
    """Show the runs of all schedules, or of one, the newest first.

    Example: tompion runs list --status FAILED --watch 5
    """
    options = drop_unset(status=status, source=source, limit=limit, before=before)
    if schedule_id is not None:
        connection.show(lambda api: api.runs.list(schedule_id, **options), views.print_runs, schedule_id=schedule_id)
        return
    if source is not None:
        raise InvalidInput("--source works with one schedule only; give its id")
    options.setdefault("limit", DEFAULT_LIMIT)
    zones: dict[str, str] = {}

    def read(api: Api) -> Page[Run]:
        page = latest_runs(api, **options)
        zones.update(connection.zones(api, (run.schedule_id for run in page.items)))
        return page

    connection.show(read, lambda page: views.print_runs(page, of_many=True, zones=zones))


@runs_app.command("get")
@with_options(connection=watch_options)
def get_command(connection: Connection, run_id: RunId) -> None:
    """Show one run.

    Example: tompion runs get 1-1800000030-1 --watch 1
    """
    zones: dict[str, str] = {}

    def read(api: Api) -> Run:
        run = api.runs.get(run_id)
        zones.update(connection.zones(api, [run.schedule_id]))
        return run

    def render(run: Run) -> None:
        with times_in(zones.get(run.schedule_id)):
            views.print_run(run)

    connection.show(read, render)


@runs_app.command("cancel")
@with_options(change=request_options, connection=connection_options)
def cancel_command(connection: Connection, change: dict[str, Any], run_id: RunId) -> None:
    """Cancel a run. Its function or target decides how it ends.

    Example: tompion runs cancel 1-1800000030-1
    """
    connection.show(lambda api: api.runs.cancel(run_id, **change), _print_state)


@runs_app.command("terminate")
@with_options(change=request_options, connection=connection_options)
def terminate_command(connection: Connection, change: dict[str, Any], run_id: RunId) -> None:
    """Terminate a run immediately.

    Example: tompion runs terminate 1-1800000030-1
    """
    connection.show(lambda api: api.runs.terminate(run_id, **change), _print_state)


@runs_app.command("retry")
@with_options(change=request_options, connection=connection_options)
def retry_command(connection: Connection, change: dict[str, Any], run_id: RunId) -> None:
    """Run the same tick again, as a new run.

    Example: tompion runs retry 1-1800000030-1
    """

    def render(run: Run) -> None:
        console.line(run.run_id)
        _print_state(run)

    connection.show(lambda api: api.runs.retry(run_id, **change), render)


@runs_app.command("report")
@with_options(connection=connection_options)
def report_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="Callback token of the run.")],
    event: Annotated[str, typer.Argument(metavar="EVENT", help="started, heartbeat, progress, succeeded, failed, ….")],
    result: Annotated[str | None, typer.Option("--result", metavar="JSON", help="Result of the run.")] = None,
    error: Annotated[str | None, typer.Option("--error", metavar="TEXT", help="Error of the run.")] = None,
    progress: Annotated[str | None, typer.Option("--progress", metavar="JSON", help="Progress of the run.")] = None,
    execution_id: Annotated[
        str | None, typer.Option("--execution-id", metavar="ID", help="Id of the run in the target system.")
    ] = None,
) -> None:
    """Report the state of a run that another system executes.

    Example: tompion runs report "$TOMPION_TOKEN" succeeded --result '{"rows": 12}'
    """
    options = drop_unset(event=event, error=error, execution_id=execution_id)
    for name, text in (("result", result), ("progress", progress)):
        if text is not None:
            options[name] = read_json(f"--{name}", text)

    def render(acknowledgement: Any) -> None:
        suffix = ": cancellation requested" if acknowledgement.cancel_requested else ""
        console.line(f"{acknowledgement.run_id}{suffix}")

    connection.show(lambda api: api.runs.report(token, **options), render)


def _print_state(run: Run) -> None:
    reason = f" ({run.reason})" if run.reason else ""
    console.note(f"Run {run.run_id} of {run.schedule_id}: {run.status}{reason}")
