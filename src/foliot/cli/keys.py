"""``foliot keys``: who may ask a service, straight on its store."""

from __future__ import annotations

from typing import Annotated

import typer

from foliot.cli import render
from foliot.cli.options import DEFAULT_STORE, Store, instant

keys_app = typer.Typer(help="API keys of a service.", no_args_is_help=True, rich_markup_mode="rich")

Namespace = Annotated[str, typer.Option("--namespace", metavar="NAME", help="Whose key; '*' is all namespaces.")]
AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]


@keys_app.command("create")
def create_command(  # noqa: PLR0913 - what a key is made of
    name: Annotated[str, typer.Argument(help="What it is for.")],
    role: Annotated[str, typer.Option("--role", help="reader, operator, editor or admin.")] = "reader",
    expires: Annotated[str | None, typer.Option("--expires", metavar="TIME", help="Such as 2027-01-01T00:00Z.")] = None,
    namespace: Namespace = "default",
    store: Store = DEFAULT_STORE,
    as_json: AsJson = False,
) -> None:
    """Make a key; it is shown once.

    Example: foliot keys create ci --role editor
    """
    from foliot.embedded import SyncFoliot
    from foliot.wire import encode

    with SyncFoliot(store, engine=False, namespace=namespace) as foliot:
        made = foliot.create_key(name, role=role, expires_at=instant(expires, "--expires"))
    if as_json:
        render.print_json(encode(made))
    else:
        render.line(made.secret)
        render.note(f"key {made.key.key_id} for {name}: {role} in {namespace}; it is not shown again")


@keys_app.command("list")
def list_command(namespace: Namespace = "default", store: Store = DEFAULT_STORE, as_json: AsJson = False) -> None:
    """Show the keys of a namespace, without their secrets.

    Example: foliot keys list --json
    """
    from foliot.embedded import SyncFoliot
    from foliot.wire import encode

    with SyncFoliot(store, engine=False, namespace=namespace) as foliot:
        found = foliot.list_keys(limit=1_000).items
    if as_json:
        render.print_json(encode(found))
        return
    for key in found:
        ends = f"revoked {key.revoked_at:%Y-%m-%d}" if key.revoked_at else ""
        ends = ends or (f"until {key.expires_at:%Y-%m-%d}" if key.expires_at else "no end")
        render.line(f"{key.key_id}  {key.role:<8}  {ends:<18}  {key.name}")
    if not found:
        render.note("there are no keys; 'foliot keys create' makes one")


@keys_app.command("revoke")
def revoke_command(
    key_id: Annotated[str, typer.Argument(help="The id that the list shows.")],
    namespace: Namespace = "default",
    store: Store = DEFAULT_STORE,
) -> None:
    """Let a key be worth nothing from now on.

    Example: foliot keys revoke 1f2e3d4c5b6a
    """
    from foliot.embedded import SyncFoliot

    with SyncFoliot(store, engine=False, namespace=namespace) as foliot:
        foliot.revoke_key(key_id)
    render.note(f"revoked {key_id}; services know within seconds")
