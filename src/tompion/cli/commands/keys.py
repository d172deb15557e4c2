"""``tompion keys``: who may ask a service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tompion.cli.connection import (
    DEFAULT_NAMESPACE,
    After,
    Connection,
    Limit,
    connection_options,
    drop_unset,
    watch_options,
    with_options,
)
from tompion.cli.options import parse_instant
from tompion.cli.output import console, views
from tompion.cli.output.tables import Column, table

if TYPE_CHECKING:
    from tompion.model.page import Page
    from tompion.model.security import ApiKey, NewKey

keys_app = typer.Typer(help="API keys of a service.", no_args_is_help=True, rich_markup_mode="rich")


@keys_app.command("create")
@with_options(connection=connection_options)
def create_command(
    connection: Connection,
    name: Annotated[str, typer.Argument(help="What it is for.")],
    role: Annotated[str, typer.Option("--role", help="reader, operator, editor or admin.")] = "reader",
    expires: Annotated[str | None, typer.Option("--expires", metavar="TIME", help="Such as 2027-01-01T00:00Z.")] = None,
) -> None:
    """Make a key for the namespace ('*' is all of them); it is shown once.

    Example: tompion keys create ci --role editor
    """
    until = parse_instant(expires, "--expires")

    def render(made: NewKey) -> None:
        console.line(made.secret)
        whose = connection.namespace or DEFAULT_NAMESPACE
        console.note(f"key {made.key.key_id} for {name}: {role} in {whose}; it is not shown again")

    connection.show(lambda api: api.create_key(name, role=role, **drop_unset(expires_at=until)), render)


@keys_app.command("list")
@with_options(connection=watch_options)
def list_command(connection: Connection, limit: Limit = None, after: After = None) -> None:
    """Show the keys of a namespace, without their secrets.

    Example: tompion keys list --json
    """
    connection.show(lambda api: api.list_keys(**drop_unset(limit=limit, after=after)), _keys)


@keys_app.command("revoke")
@with_options(connection=connection_options)
def revoke_command(
    connection: Connection, key_id: Annotated[str, typer.Argument(metavar="KEY", help="The id that the list shows.")]
) -> None:
    """Let a key be worth nothing from now on.

    Example: tompion keys revoke 1f2e3d4c5b6a
    """
    connection.show(
        lambda api: api.revoke_key(key_id), lambda _: console.note(f"revoked {key_id}; services know within seconds")
    )


def _keys(page: Page[ApiKey]) -> None:
    if not page.items:
        console.note("there are no keys; 'tompion keys create' makes one")
        return
    columns = (Column("key"), Column("role"), Column("ends"), Column("name", 12), Column("made by", 8, extra=True))
    table(columns, [(each.key_id, each.role, _end(each), each.name, each.created_by) for each in page.items])
    views.more(page.next_page, "--after")


def _end(key: ApiKey) -> str:
    if key.revoked_at is not None:
        return f"revoked {key.revoked_at:%Y-%m-%d}"
    return "no end" if key.expires_at is None else f"until {key.expires_at:%Y-%m-%d}"
