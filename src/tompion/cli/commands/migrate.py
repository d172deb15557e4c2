"""``tompion migrate``: bring a store's schema to what this release needs."""

from __future__ import annotations

from typing import Annotated

import typer

from tompion.cli.options import DEFAULT_STORE, Json, Store
from tompion.cli.output import console

Worker = Annotated[str, typer.Option("--worker", metavar="ROLE", help="What processes connect as.")]
Tenant = Annotated[str, typer.Option("--tenant", metavar="ROLE", help="What a request becomes for its transaction.")]

migrate_app = typer.Typer(
    help="Bring a store's schema to what this release needs.", no_args_is_help=True, rich_markup_mode="rich"
)


@migrate_app.command("up")
def up_command(store: Store = DEFAULT_STORE, as_json: Json = False) -> None:
    """Run the migrations that are missing; safe to run twice, or by several at once.

    Example: tompion migrate up --store postgresql://user:secret@host/name
    """
    from tompion.bootstrap.store import open_migrator

    with open_migrator(store, create=True) as migrator:
        done = migrator.up()
    if as_json:
        console.print_json({"applied": list(done)})
        return
    for name in done:
        console.paragraph(f"applied {name}")
    if not done:
        console.paragraph("nothing to do")


@migrate_app.command("status")
def status_command(store: Store = DEFAULT_STORE, as_json: Json = False) -> None:
    """Show which migrations the store has had; nothing is changed.

    Example: tompion migrate status --store sqlite:///jobs.db
    """
    from tompion.bootstrap.store import open_migrator

    with open_migrator(store) as migrator:
        migrator.refuse_newer()
        found = migrator.status()
    if as_json:
        named = [{"number": each.number, "name": each.name, "applied": each.applied} for each in found]
        console.print_json(named)
        return
    rows = [(f"{each.number:04}", each.name, "applied" if each.applied else "missing") for each in found]
    console.columns([("number", "name", "state"), *rows])


@migrate_app.command("sql")
def sql_command(store: Store = DEFAULT_STORE, as_json: Json = False) -> None:
    """Print the scripts that are missing, to be run by hand; nothing is changed.

    Example: tompion migrate sql --store postgresql://user:secret@host/name
    """
    from tompion.bootstrap.store import open_migrator

    with open_migrator(store) as migrator:
        migrator.refuse_newer()
        script = migrator.sql()
    _print_script(script, as_json)


@migrate_app.command("roles")
def roles_command(
    store: Store = DEFAULT_STORE,
    worker: Worker = "tompion_worker",
    tenant: Tenant = "tompion_tenant",
    as_json: Json = False,
) -> None:
    """Print the statements that make the roles of a PostgreSQL database, for its administrator; nothing is changed.

    Example: tompion migrate roles --store postgresql://owner@host/name | psql postgresql://admin@host/name
    """
    from tompion.bootstrap.store import open_migrator

    with open_migrator(store) as migrator:
        script = migrator.roles(worker, tenant)
    _print_script(script, as_json)


def _print_script(script: str, as_json: bool) -> None:
    if as_json:
        console.print_json({"sql": script.rstrip()})
    else:
        typer.echo(script.rstrip() or "-- nothing to do")
