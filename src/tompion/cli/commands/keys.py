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
from tompion.cli.lazy import command_group
from tompion.cli.options import parse_instant
from tompion.cli.output import console, views
from tompion.cli.output.tables import Column, table

if TYPE_CHECKING:
    from tompion.model.api_key import ApiKey, NewKey
    from tompion.model.page import Page

keys_app: typer.Typer = command_group("Create, list and revoke API keys.")


@keys_app.command("create")
@with_options(connection=connection_options)
def create_command(
    connection: Connection,
    name: Annotated[str, typer.Argument(help="Name of the key, such as its purpose.")],
    role: Annotated[str, typer.Option("--role", help="Role: reader, operator, editor or admin.")] = "reader",
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="TIME", help="Expiry: 90d, or 2027-01-01 in UTC.")
    ] = None,
) -> None:
    """Create an API key for the namespace ('*' for all). It is shown once.

    Example: tompion keys create ci --role editor
    """
    expires_at = parse_instant(expires, "--expires")

    def render(new: NewKey) -> None:
        console.line(new.secret)
        namespace = connection.namespace or DEFAULT_NAMESPACE
        console.note(f"Created key {new.key.key_id} for {name}: {role} in {namespace}. It is not shown again.")

    connection.show(
        lambda api: api.keys.create(name, **drop_unset(role=role, expires_at=expires_at)), render, create=True
    )


@keys_app.command("list")
@with_options(connection=watch_options)
def list_command(connection: Connection, limit: Limit = None, after: After = None) -> None:
    """Show the keys of a namespace, without their secrets.

    Example: tompion keys list -o json
    """
    connection.show(lambda api: api.keys.list(**drop_unset(limit=limit, after=after)), _print_keys)


@keys_app.command("revoke")
@with_options(connection=connection_options)
def revoke_command(
    connection: Connection, key_id: Annotated[str, typer.Argument(metavar="KEY", help="Id of the key.")]
) -> None:
    """Revoke an API key.

    Example: tompion keys revoke 1f2e3d4c5b6a
    """
    connection.show(
        lambda api: api.keys.revoke(key_id),
        lambda _: console.note(f"Revoked {key_id}. Services reject it within seconds."),
    )


def _print_keys(page: Page[ApiKey]) -> None:
    """Print a table of keys."""
    if not page.items:
        console.note("No keys. Create one with 'tompion keys create NAME'.")
        return
    columns = (
        Column("key"),
        Column("role"),
        Column("expires"),
        Column("name", 12),
        Column("created by", 8, extra=True),
    )
    table(columns, [(key.key_id, key.role, _expiry(key), key.name, key.created_by) for key in page.items])
    views.print_next_page(page.next_page, "--after")


def _expiry(key: ApiKey) -> str:
    if key.revoked_at is not None:
        return f"revoked {key.revoked_at:%Y-%m-%d}"
    return "never" if key.expires_at is None else f"{key.expires_at:%Y-%m-%d}"
