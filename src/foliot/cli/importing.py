"""``foliot import``: the schedules of another system, copied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from foliot.cli import render
from foliot.cli.options import Config, StoreFlag

if TYPE_CHECKING:
    from foliot.configuration import Configuration
    from foliot.model.moved import Moved

import_app = typer.Typer(help="Schedules of other systems, copied.", no_args_is_help=True, rich_markup_mode="rich")
NOT_ALL = 1


@import_app.callback()
def _group() -> None:
    """Copy the schedules of another system."""


@import_app.command("temporal")
def temporal_command(  # noqa: PLR0913 - what can be said on the command line
    address: Annotated[str, typer.Option("--address", metavar="HOST:PORT", help="The cluster.")] = "127.0.0.1:7233",
    source: Annotated[str, typer.Option("--namespace", metavar="NAME", help="Its namespace.")] = "default",
    into: Annotated[str, typer.Option("--into", metavar="NAME", help="The namespace here.")] = "default",
    shadow: Annotated[
        bool, typer.Option("--shadow", help="Let them tick and record, and start nothing; otherwise they are paused.")
    ] = False,
    api_key: Annotated[
        str | None, typer.Option("--api-key", metavar="KEY", envvar="TEMPORAL_API_KEY", help="To be let in there.")
    ] = None,
    tls: Annotated[bool, typer.Option("--tls", help="Connect with TLS.")] = False,
    store: StoreFlag = None,
    config: Config = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines; errors too.")] = False,
) -> None:
    """Copy the schedules of a Temporal cluster, and compare when they would run next.

    Nothing is changed there.  One that is here already stays as it is.  Exit code 1 says that not all were copied.

    Example: foliot import temporal --address 127.0.0.1:7233 --shadow
    """
    import asyncio

    from foliot.configuration import told

    where = {"address": address, "namespace": source, "api_key": api_key, "tls": tls}
    found = asyncio.run(_gathered(told({"store": store}, config), where, into, shadow))
    if as_json:
        from foliot.wire import encode

        render.print_json(encode(found))
    else:
        for each in found:
            render.line(_line(each))
        copied = sum(each.made for each in found)
        render.note(f"{copied} of {len(found)} copied; 'foliot schedules resume' lets one start")
    if not all(each.made for each in found):
        raise typer.Exit(NOT_ALL)


async def _gathered(told: Configuration, where: dict[str, Any], into: str, shadow: bool) -> list[Moved]:
    from foliot.wiring import import_temporal

    return [each async for each in import_temporal(told, where, namespace=into, shadow=shadow)]


def _line(moved: Moved) -> str:
    same = f"{moved.same_times} times ahead are the same" if moved.made else "not here"
    return "  ".join([moved.schedule_id, same, *moved.differs])
