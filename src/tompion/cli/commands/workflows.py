"""``tompion workflows``: stored documents, which executors are given."""

from __future__ import annotations

import json
from secrets import token_hex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tompion.cli.commands.schedule_control import Note
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
from tompion.cli.output.tables import Column, absolute, facts, table
from tompion.cli.schedule_options import read_document, read_json
from tompion.errors import InvalidInput

if TYPE_CHECKING:
    from tompion.model.page import Page
    from tompion.model.schedule import Workflow

workflows_app = typer.Typer(help="Workflows.", no_args_is_help=True, rich_markup_mode="rich")

WorkflowId = Annotated[str, typer.Argument(metavar="WORKFLOW", help="The workflow's id.")]
Version = Annotated[int | None, typer.Option("--version", metavar="N", help="That version (the newest).")]


@workflows_app.command("list")
@with_options(connection=watch_options)
def list_command(connection: Connection, limit: Limit = None, after: After = None) -> None:
    """Show workflows and who executes them.

    Example: tompion workflows list
    """

    def render(page: Page[Workflow]) -> None:
        if not page.items:
            console.note("no workflows; 'tompion workflows put NAME --file workflow.json' stores one")
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
                    each.workflow_id,
                    str(each.version),
                    "paused" if each.paused else "active",
                    str(each.document.get("executor", "function")),
                    absolute(each.created_at),
                )
                for each in page.items
            ],
        )
        views.more(page.next_page, "--after")

    connection.show(lambda api: api.list_workflows(**drop_unset(limit=limit, after=after)), render)


@workflows_app.command("get")
@with_options(connection=watch_options)
def get_command(connection: Connection, workflow_id: WorkflowId, version: Version = None) -> None:
    """Show one workflow and its document.

    Example: tompion workflows get billing --version 2
    """
    connection.show(lambda api: api.get_workflow(workflow_id, **drop_unset(version=version)), _facts)


@workflows_app.command("put")
@with_options(change=request_options, connection=connection_options)
def put_command(
    connection: Connection,
    change: dict[str, Any],
    workflow_id: WorkflowId,
    file: Annotated[
        str | None, typer.Option("--file", metavar="FILE", help="JSON, or TOML; - is standard input.")
    ] = None,
    document: Annotated[str | None, typer.Option("--document", metavar="JSON", help="The document itself.")] = None,
) -> None:
    """Store a workflow; a document that differs is a new version.

    Example: tompion workflows put billing --document '{"executor": "http", "options": {"url": "https://example.com"}}'
    """
    if (file is None) == (document is None):
        raise InvalidInput("--file: give either a file or a --document")
    read = read_document(file) if file is not None else read_json("--document", document or "")
    connection.show(lambda api: api.put_workflow(workflow_id, read, **change), _facts)


@workflows_app.command("pause")
@with_options(change=request_options, connection=connection_options)
def pause_command(connection: Connection, change: dict[str, Any], workflow_id: WorkflowId, note: Note = None) -> None:
    """Let the runs of a workflow wait; ticks are still recorded.

    Example: tompion workflows pause billing --note "the bank is closed"
    """
    connection.show(
        lambda api: api.pause_target(workflow_id=workflow_id, **drop_unset(note=note), **change),
        lambda _: console.note(f"paused workflow {workflow_id}"),
    )


@workflows_app.command("resume")
@with_options(change=request_options, connection=connection_options)
def resume_command(connection: Connection, change: dict[str, Any], workflow_id: WorkflowId) -> None:
    """Start what waited for a workflow.

    Example: tompion workflows resume billing
    """
    connection.show(
        lambda api: api.resume_target(workflow_id=workflow_id, **change),
        lambda was: console.note(f"{'resumed' if was else 'was not paused:'} workflow {workflow_id}"),
    )


@workflows_app.command("start")
@with_options(connection=connection_options)
def start_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    workflow_id: WorkflowId,
    version: Version = None,
    user: Annotated[str | None, typer.Option("--user", metavar="ID", help="On whose behalf.")] = None,
    scheduled_for: Annotated[
        str | None, typer.Option("--scheduled-for", metavar="TIME", help="For which time (now).")
    ] = None,
    idempotency_key: Annotated[
        str | None, typer.Option("--idempotency-key", metavar="KEY", help="The same key again starts nothing.")
    ] = None,
) -> None:
    """Start a run of a workflow, without a schedule.

    Example: tompion workflows start billing --idempotency-key invoice-17
    """
    key = idempotency_key or f"c-{token_hex(16)}"
    connection.show(
        lambda api: api.start_run(
            workflow_id, **drop_unset(version=version, user_id=user, scheduled_for=scheduled_for), idempotency_key=key
        ),
        lambda new: console.note(
            f"{'started' if new else 'not started, there is no'} workflow {workflow_id}; "
            f"'tompion runs list run-launcher/{workflow_id}' shows its runs"
        ),
    )


def _facts(found: Workflow) -> None:
    facts(
        [
            ("workflow", found.workflow_id),
            ("version", f"{found.version}, stored {absolute(found.created_at)}"),
            ("state", "paused" if found.paused else "active"),
        ]
    )
    console.line(json.dumps(found.document, ensure_ascii=False, indent=2))
