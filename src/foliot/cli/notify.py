"""``foliot notify``: whether notices arrive, and what became of them."""

from __future__ import annotations

from typing import Annotated

import typer

from foliot.cli import render
from foliot.cli.options import DEFAULT_STORE, Config, Store

notify_app = typer.Typer(help="Notifications.", no_args_is_help=True, rich_markup_mode="rich")

AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]
NOT_DELIVERED = 1


@notify_app.command("test")
def try_command(
    name: Annotated[str, typer.Argument(help="What the notification is called in the file.")], config: Config = None
) -> None:
    """Send a test notice, signed as all others, and say what the receiver answered.

    Nothing is kept or tried again.  Exit code 1 says that it has not arrived.

    Example: foliot notify test ops --config production.toml
    """
    import asyncio

    from foliot.configuration import told
    from foliot.wiring import send_test_notice

    answer = asyncio.run(send_test_notice(told({}, config), name))
    render.line(f"{'delivered' if answer.arrived else 'not delivered'}: {answer.said}")
    if not answer.arrived:
        raise typer.Exit(NOT_DELIVERED)


@notify_app.command("list")
def list_command(
    state: Annotated[
        str | None, typer.Option("--state", metavar="STATE", help="PENDING, DELIVERED, GIVEN_UP or SUMMARIZED.")
    ] = None,
    namespace: Annotated[str, typer.Option("--namespace", metavar="NAME", help="Whose notices.")] = "default",
    store: Store = DEFAULT_STORE,
    as_json: AsJson = False,
) -> None:
    """Show notices, the newest first: whether they arrived, and what went wrong.

    Example: foliot notify list --state GIVEN_UP
    """
    from foliot.embedded import SyncFoliot
    from foliot.wire import encode

    with SyncFoliot(store, engine=False, namespace=namespace) as foliot:
        found = foliot.list_notices(state=state).items
    if as_json:
        render.print_json(encode(found))
        return
    for each in found:
        about = f"{each.topic} {each.schedule_id}".rstrip()
        said = f"  {each.last_error}" if each.last_error else ""
        tries = "1 try" if each.attempts == 1 else f"{each.attempts} tries"
        when = f"{each.created_at:%Y-%m-%dT%H:%M:%SZ}"
        render.line(f"{when}  {each.state:<10}  {each.notification}  {about}  {tries}{said}")
    if not found:
        render.note("there are no notices")
