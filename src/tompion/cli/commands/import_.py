"""``tompion import``: the schedules of another system, copied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tompion.cli.connection import Ca, Cert, CertKey, Connection, Json, Key, Store, Url, connection_options
from tompion.cli.options import ConfigFile
from tompion.cli.output import console

if TYPE_CHECKING:
    from collections.abc import Callable

    from tompion.model.import_result import ImportResult
    from tompion.sdk.app import Tompion

import_app = typer.Typer(help="Schedules of other systems, copied.", no_args_is_help=True, rich_markup_mode="rich")
NOT_ALL = 1
File = "FILE"


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
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only compare: copy nothing.")] = False,
    api_key: Annotated[
        str | None, typer.Option("--api-key", metavar="KEY", envvar="TEMPORAL_API_KEY", help="To be let in there.")
    ] = None,
    tls: Annotated[
        bool | None, typer.Option("--tls/--no-tls", help="Connect with TLS (if there is an --api-key).")
    ] = None,
    tls_ca: Annotated[str | None, typer.Option("--tls-ca", metavar=File, help="Whom to trust there, in PEM.")] = None,
    tls_cert: Annotated[
        str | None, typer.Option("--tls-cert", metavar=File, help="The certificate to show there, in PEM.")
    ] = None,
    tls_key: Annotated[str | None, typer.Option("--tls-key", metavar=File, help="Its key.")] = None,
    url: Url = None,
    key: Key = None,
    ca: Ca = None,
    cert: Cert = None,
    cert_key: CertKey = None,
    store: Store = None,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Copy the schedules of a Temporal cluster to a store or a service, and compare when they would run next.

    Nothing is changed there.  One that is here already stays as it is.  Exit code 1 says that one could not be copied.

    Example: tompion import temporal --address 127.0.0.1:7233 --shadow
    """
    import asyncio

    where = {
        "address": address, "namespace": source, "api_key": api_key, "tls": tls,
        "tls_ca": tls_ca, "tls_cert": tls_cert, "tls_key": tls_key,
    }  # fmt: skip
    connection = connection_options(url, key, ca, cert, cert_key, store, into, as_json)
    said: Callable[[ImportResult], None] = (lambda _: None) if as_json else (lambda each: console.line(_line(each)))
    found = asyncio.run(_gathered(_home(connection, store, config), where, shadow, dry_run, said))
    connection.print_result(found, lambda moved: _sum_up(moved, dry_run))
    if not all(each.possible for each in found):
        raise typer.Exit(NOT_ALL)


def _home(connection: Connection, store: str | None, config: str | None) -> Tompion:
    """Return where schedules are copied to: a service, or the store of the configuration."""
    from tompion.config.loader import load_config
    from tompion.sdk.app import Tompion

    namespace = connection.namespace or "default"
    if connection.is_service:
        return Tompion(
            connection.address, engine=False, namespace=namespace, key=connection.key, tls=connection.tls.context()
        )
    configured = load_config({"store": store}, config)
    return Tompion(configured.store, engine=False, namespace=namespace, actor="import", settings=configured.settings)


async def _gathered(
    api: Tompion, where: dict[str, Any], shadow: bool, dry_run: bool, said: Callable[[ImportResult], None]
) -> list[ImportResult]:
    """Copy, and say of each schedule what became of it as soon as that is known."""
    from tompion.bootstrap.temporal import import_temporal

    found = []
    async for each in import_temporal(api, where, shadow=shadow, dry_run=dry_run):
        said(each)
        found.append(each)
    return found


def _sum_up(found: list[ImportResult], dry_run: bool) -> None:
    if dry_run:
        refused = sum(not each.possible for each in found)
        console.note(f"{len(found)} compared, nothing copied" + (f"; {refused} cannot be" if refused else ""))
    else:
        copied = sum(each.created for each in found)
        console.note(f"{copied} of {len(found)} copied; 'tompion schedules resume' lets one start")


def _line(moved: ImportResult) -> str:
    same, compared = moved.same_times, moved.compared_times
    times = [f"{same} of {compared} times ahead are the same"] if compared else []
    return "  ".join([moved.schedule_id, *times, *moved.differs])
