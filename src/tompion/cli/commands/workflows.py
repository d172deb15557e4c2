"""``tompion workflows``: store, show, pause and start workflows."""

from __future__ import annotations

import json
from secrets import token_hex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tompion.cli.commands.schedule_control import Note
from tompion.cli.commands.target_pause import pause_target, resume_target
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
from tompion.cli.output.tables import Column, absolute, facts, table
from tompion.cli.schedule_options import read_document, read_json
from tompion.cli.times import resolve_time, utc
from tompion.errors import InvalidInput

if TYPE_CHECKING:
    from tompion.model.page import Page
    from tompion.model.schedule import Workflow

workflows_app: typer.Typer = command_group("Store, pause and start workflows, the targets of runs.")

WorkflowId = Annotated[str, typer.Argument(metavar="WORKFLOW", help="Id of the workflow.")]
Version = Annotated[int | None, typer.Option("--version", metavar="N", help="Version (newest).")]


@workflows_app.command("list")
@with_options(connection=watch_options)
def list_command(connection: Connection, limit: Limit = None, after: After = None) -> None:
    """Show workflows and their executors.

    Example: tompion workflows list
    """

    def render(page: Page[Workflow]) -> None:
        if not page.items:
            console.note("No workflows. Store one with 'tompion workflows put NAME --file workflow.json'.")
            return
        columns = (
            Column("workflow", 12),
            Column("version"),
            Column("state"),
            Column("executor"),
            Column("stored", extra=True),
        )
        table(
            columns,
            [
                (
                    workflow.workflow_id,
                    str(workflow.version),
                    "paused" if workflow.paused else "active",
                    str(workflow.document.get("executor", "function")),
                    absolute(workflow.created_at),
                )
                for workflow in page.items
            ],
        )
        views.print_next_page(page.next_page, "--after")

    connection.show(lambda api: api.workflows.list(**drop_unset(limit=limit, after=after)), render)


@workflows_app.command("get")
@with_options(connection=watch_options)
def get_command(connection: Connection, workflow_id: WorkflowId, version: Version = None) -> None:
    """Show one workflow and its document.

    Example: tompion workflows get billing --version 2
    """
    connection.show(lambda api: api.workflows.get(workflow_id, **drop_unset(version=version)), _print_workflow)


@workflows_app.command("put")
@with_options(change=request_options, connection=connection_options)
def put_command(
    connection: Connection,
    change: dict[str, Any],
    workflow_id: WorkflowId,
    file: Annotated[
        str | None, typer.Option("--file", "-f", metavar="FILE", help="JSON, YAML or TOML file, - for stdin.")
    ] = None,
    document: Annotated[str | None, typer.Option("--document", metavar="JSON", help="Document as JSON.")] = None,
) -> None:
    """Store a workflow. A changed document is a new version.

    Example: tompion workflows put billing --document '{"executor": "http", "options": {"url": "https://example.com"}}'
    """
    if (file is None) == (document is None):
        raise InvalidInput("give either --file or --document")
    content = read_document(file) if file is not None else read_json("--document", document or "")
    connection.show(lambda api: api.workflows.put(workflow_id, content, **change), _print_workflow, create=True)


@workflows_app.command("pause")
@with_options(change=request_options, connection=connection_options)
def pause_command(connection: Connection, change: dict[str, Any], workflow_id: WorkflowId, note: Note = None) -> None:
    """Pause a workflow. Its runs wait, and ticks are still recorded.

    Example: tompion workflows pause billing --note "the bank is closed"
    """
    pause_target(connection, "workflow", workflow_id, note, change)


@workflows_app.command("resume")
@with_options(change=request_options, connection=connection_options)
def resume_command(connection: Connection, change: dict[str, Any], workflow_id: WorkflowId) -> None:
    """Resume a workflow. Its waiting runs start.

    Example: tompion workflows resume billing
    """
    resume_target(connection, "workflow", workflow_id, change)


@workflows_app.command("start")
@with_options(connection=connection_options)
def start_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    workflow_id: WorkflowId,
    version: Version = None,
    user: Annotated[str | None, typer.Option("--user", metavar="ID", help="User that the run belongs to.")] = None,
    scheduled_for: Annotated[
        str | None, typer.Option("--scheduled-for", metavar="TIME", help="Scheduled time of the run (now).")
    ] = None,
    idempotency_key: Annotated[
        str | None, typer.Option("--idempotency-key", metavar="KEY", help="A repeated key starts no second run.")
    ] = None,
) -> None:
    """Start a run of a workflow without a schedule.

    Example: tompion workflows start billing --idempotency-key invoice-17
    """
    key = idempotency_key or f"c-{token_hex(16)}"
    connection.show(
        lambda api: api.runs.start(
            workflow_id,
            **drop_unset(version=version, user_id=user, scheduled_for=resolve_time(scheduled_for, utc)),
            idempotency_key=key,
        ),
        lambda exists: console.note(
            f"{'Started workflow' if exists else 'Not started: no workflow'} {workflow_id}. "
            f"Show its runs with 'tompion runs list run-launcher/{workflow_id}'."
        ),
    )


def _print_workflow(workflow: Workflow) -> None:
    facts(
        [
            ("workflow", workflow.workflow_id),
            ("version", f"{workflow.version}, stored {absolute(workflow.created_at)}"),
            ("state", "paused" if workflow.paused else "active"),
        ]
    )
    console.line(json.dumps(workflow.document, ensure_ascii=False, indent=2))
