"""``tompion migrate``: upgrade the schema of a store."""

from __future__ import annotations

from typing import Annotated

import typer

from tompion.cli.lazy import command_group
from tompion.cli.options import DEFAULT_STORE, Output, Store
from tompion.cli.output import console
from tompion.cli.output.formats import OutputFormat, print_data

Worker = Annotated[str, typer.Option("--worker", metavar="ROLE", help="Role that processes connect as.")]
Tenant = Annotated[str, typer.Option("--tenant", metavar="ROLE", help="Role of each request's transaction.")]

migrate_app: typer.Typer = command_group("Create or upgrade the schema of a store.")


@migrate_app.command("up")
def up_command(store: Store = DEFAULT_STORE, output: Output = OutputFormat.TABLE) -> None:
    """Apply the missing migrations. Safe to repeat and to run concurrently.

    Example: tompion migrate up --store postgresql://user:secret@host/name
    """
    from tompion.bootstrap.store import open_migrator

    with open_migrator(store, create=True) as migrator:
        applied = migrator.up()
    if output.is_data:
        print_data({"applied": list(applied)}, output)
        return
    for name in applied:
        console.paragraph(f"applied {name}")
    if not applied:
        console.paragraph("Nothing to do.")


@migrate_app.command("status")
def status_command(store: Store = DEFAULT_STORE, output: Output = OutputFormat.TABLE) -> None:
    """Show applied and missing migrations. Nothing is changed.

    Example: tompion migrate status --store sqlite:///jobs.db
    """
    from tompion.bootstrap.store import open_migrator

    with open_migrator(store) as migrator:
        migrator.reject_newer()
        migrations = migrator.status()
    if output.is_data:
        print_data([{"number": row.number, "name": row.name, "applied": row.applied} for row in migrations], output)
        return
    rows = [(f"{row.number:04}", row.name, "applied" if row.applied else "missing") for row in migrations]
    console.columns([("number", "name", "state"), *rows])


@migrate_app.command("sql")
def sql_command(store: Store = DEFAULT_STORE, output: Output = OutputFormat.TABLE) -> None:
    """Print the missing migrations as SQL. Nothing is changed.

    Example: tompion migrate sql --store postgresql://user:secret@host/name
    """
    from tompion.bootstrap.store import open_migrator

    with open_migrator(store) as migrator:
        migrator.reject_newer()
        script = migrator.sql()
    _print_script(script, output)


@migrate_app.command("roles")
def roles_command(
    store: Store = DEFAULT_STORE,
    worker: Worker = "tompion_worker",
    tenant: Tenant = "tompion_tenant",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print the SQL that creates the roles of a PostgreSQL database.

    An administrator runs it. Nothing is changed.

    Example: tompion migrate roles --store postgresql://owner@host/name | psql postgresql://admin@host/name
    """
    from tompion.bootstrap.store import open_migrator

    with open_migrator(store) as migrator:
        script = migrator.roles(worker, tenant)
    _print_script(script, output)


def _print_script(script: str, output: OutputFormat) -> None:
    if output.is_data:
        print_data({"sql": script.rstrip()}, output)
    else:
        typer.echo(script.rstrip() or "-- nothing to do")
