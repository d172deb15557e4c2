"""Builds the Temporal-compatible API and the importer of Temporal schedules."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from tompion.config.schema import CLIENT_CERTIFICATE_REQUIRED, Config
from tompion.errors import InvalidField, InvalidInput
from tompion.model.import_result import ImportResult
from tompion.runtime.clock import Clock, SystemClock

if TYPE_CHECKING:
    from tompion.operations.runner import OperationRunner
    from tompion.sdk.app import AsyncTompion


def check_temporal(config: Config) -> None:
    """Raise if Temporal's SDKs cannot be served: the namespaces are invalid, or gRPC is not installed."""
    if not config.temporal_address:
        return
    try:
        from tompion.api.temporal.dispatcher import read_namespaces
        from tompion.api.temporal.server import TemporalServer  # noqa: F401 - it needs gRPC
    except ImportError:
        raise InvalidField("temporal_address", "needs gRPC; install tompion[temporal]") from None
    read_namespaces(config.temporal_namespaces)


@asynccontextmanager
async def serve_temporal(
    find_runner: Callable[[], OperationRunner],
    config: Config,
    *,
    clock: Clock | None = None,
    on_internal_error: Callable[[BaseException], None],
) -> AsyncIterator[str | None]:
    """Serve Temporal's SDKs if an address is configured. Yield the address, or ``None``.

    ``on_internal_error`` receives errors that are bugs of Tompion.
    """
    address = config.temporal_address
    if not address:
        yield None
        return
    check_temporal(config)
    from tompion.api.rate_limit import NamespaceRateLimiter
    from tompion.api.temporal.dispatcher import Dispatcher, ServiceDeps, read_namespaces
    from tompion.api.temporal.server import GrpcTls, TemporalServer
    from tompion.api.temporal.system_service import METHODS
    from tompion.bootstrap.security import build_authenticator

    runner, namespaces = find_runner(), read_namespaces(config.temporal_namespaces)
    dependencies = ServiceDeps(
        runner,
        version("tompion"),
        namespaces,
        build_authenticator(runner, config, clock),
        config.read_only,
        on_internal_error,
        NamespaceRateLimiter(config.namespace_requests_per_s),
    )
    client_ca = config.tls_client_ca if config.tls_client == CLIENT_CERTIFICATE_REQUIRED else ""
    tls = GrpcTls(config.tls_cert, config.tls_key, client_ca) if config.tls_cert else None
    server = TemporalServer(Dispatcher(dependencies, METHODS), address, tls)
    listening = await server.start()
    try:
        yield listening
    finally:
        await server.stop()


async def import_temporal(
    target: AsyncTompion, source: Mapping[str, Any], *, shadow: bool, dry_run: bool = False, clock: Clock | None = None
) -> AsyncIterator[ImportResult]:
    """Copy the schedules of a Temporal cluster to a store or a service. Yield the result of each."""
    try:
        from tompion.api.temporal.importer import ScheduleImporter, temporal_cluster
    except ImportError:
        raise InvalidInput("needs Temporal's SDK; install tompion[temporal]") from None
    now_s = int((clock or SystemClock()).now())
    async with target:
        async for result in ScheduleImporter(target, temporal_cluster(source), shadow, dry_run).import_all(now_s):
            yield result
