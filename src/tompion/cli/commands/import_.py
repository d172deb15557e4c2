"""``tompion import``: copy the schedules of another system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tompion.cli.connection import Ca, Cert, CertKey, Connection, Key, Output, Store, Url, connection_options
from tompion.cli.lazy import command_group
from tompion.cli.options import ConfigFile
from tompion.cli.output import console
from tompion.cli.output.formats import OutputFormat

if TYPE_CHECKING:
    from tompion.model.import_result import ImportResult
    from tompion.sdk.app import AsyncTompion

import_app: typer.Typer = command_group("Import schedules from other schedulers.")
SOME_FAILED = 1
FILE = "FILE"


@import_app.callback()
def _group() -> None:
    """Import schedules from other schedulers."""


@import_app.command("temporal")
def temporal_command(  # noqa: PLR0913 - each is an option of the command
    address: Annotated[
        str, typer.Option("--address", metavar="HOST:PORT", help="Address of the cluster.")
    ] = "127.0.0.1:7233",
    source_namespace: Annotated[
        str, typer.Option("--namespace", metavar="NAME", help="Namespace in the cluster.")
    ] = "default",
    into: Annotated[str, typer.Option("--into", metavar="NAME", help="Namespace in Tompion.")] = "default",
    shadow: Annotated[
        bool, typer.Option("--shadow", help="Import as shadow: record ticks, start no runs (default: paused).")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Compare only, import nothing.")] = False,
    api_key: Annotated[
        str | None, typer.Option("--api-key", metavar="KEY", envvar="TEMPORAL_API_KEY", help="API key of the cluster.")
    ] = None,
    tls: Annotated[bool | None, typer.Option("--tls/--no-tls", help="Use TLS (default with --api-key).")] = None,
    tls_ca: Annotated[str | None, typer.Option("--tls-ca", metavar=FILE, help="Trusted authority, PEM.")] = None,
    tls_cert: Annotated[str | None, typer.Option("--tls-cert", metavar=FILE, help="Client certificate, PEM.")] = None,
    tls_key: Annotated[str | None, typer.Option("--tls-key", metavar=FILE, help="Key of --tls-cert, PEM.")] = None,
    url: Url = None,
    key: Key = None,
    ca: Ca = None,
    cert: Cert = None,
    cert_key: CertKey = None,
    store: Store = None,
    config: ConfigFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Import the schedules of a Temporal cluster, and compare their next runs.

    The cluster is not changed, and existing schedules are not overwritten.
    Exits 1 if a schedule cannot be imported.

    Example: tompion import temporal --address 127.0.0.1:7233 --shadow
    """
    import asyncio

    source = {
        "address": address, "namespace": source_namespace, "api_key": api_key, "tls": tls,
        "tls_ca": tls_ca, "tls_cert": tls_cert, "tls_key": tls_key,
    }  # fmt: skip
    connection = connection_options(url, key, ca, cert, cert_key, store, into, output)
    print_line = not output.is_data
    results = asyncio.run(_import(_target(connection, store, config), source, shadow, dry_run, print_line))
    connection.print_result(results, lambda results: _print_summary(results, dry_run))
    if not all(result.possible for result in results):
        raise typer.Exit(SOME_FAILED)


def _target(connection: Connection, store: str | None, config: str | None) -> AsyncTompion:
    """Return the app that receives the schedules: a service, or the store of the configuration."""
    from tompion.config.loader import load_config
    from tompion.sdk.app import AsyncTompion

    namespace = connection.namespace or "default"
    if connection.is_service:
        return AsyncTompion(
            connection.address, engine=False, namespace=namespace, key=connection.key, tls=connection.tls.context()
        )
    configured = load_config({"store": store}, config)
    return AsyncTompion(
        configured.store, engine=False, namespace=namespace, actor="import", settings=configured.settings
    )


async def _import(
    target: AsyncTompion, source: dict[str, Any], shadow: bool, dry_run: bool, print_line: bool
) -> list[ImportResult]:
    """Import the schedules, and print a line for each as soon as it is imported."""
    from tompion.bootstrap.temporal import import_temporal

    results = []
    async for result in import_temporal(target, source, shadow=shadow, dry_run=dry_run):
        if print_line:
            console.line(_result_line(result))
        results.append(result)
    return results


def _print_summary(results: list[ImportResult], dry_run: bool) -> None:
    if dry_run:
        failed = sum(not result.possible for result in results)
        suffix = f" {failed} cannot be imported." if failed else ""
        console.note(f"{len(results)} compared, nothing imported.{suffix}")
    else:
        imported = sum(result.created for result in results)
        console.note(f"{imported} of {len(results)} imported. Start one with 'tompion schedules resume'.")


def _result_line(result: ImportResult) -> str:
    same, compared = result.same_times, result.compared_times
    times = [f"{same} of {compared} upcoming times are equal"] if compared else []
    return "  ".join([result.schedule_id, *times, *result.differs])
