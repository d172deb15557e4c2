"""Builds a process from its parts; the only place that knows all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from tompion.config.loader import REQUIRED, Config
from tompion.errors import InvalidField, InvalidInput
from tompion.model.import_result import ImportResult
from tompion.runtime.clock import Clock, SystemClock

if TYPE_CHECKING:
    from tompion.operations.runner import OperationRunner
    from tompion.sdk.app import Tompion


@asynccontextmanager
async def serve_temporal(
    find_runner: Callable[[], OperationRunner],
    told: Config,
    *,
    clock: Clock | None = None,
    mistakes: Callable[[BaseException], None],
) -> AsyncIterator[str | None]:
    """Let Temporal's SDKs in, if a configuration says where; give the address.  ``mistakes`` is told of our own."""
    address = told.get("temporal_address")
    if not address:
        yield None
        return
    try:
        from tompion.api.temporal.dispatcher import Dispatcher, ServiceDeps, read_namespaces
        from tompion.api.temporal.server import GrpcTls, TemporalServer
        from tompion.api.temporal.system_service import METHODS
    except ImportError:
        raise InvalidField("temporal_address", "it needs gRPC: install tompion[temporal]") from None
    from tompion.api.rate_limit import NamespaceRateLimiter
    from tompion.bootstrap.security import gate_of

    runner, namespaces = find_runner(), read_namespaces(told.get("temporal_namespaces"))
    house = ServiceDeps(
        runner,
        version("tompion"),
        namespaces,
        gate_of(runner, told, clock),
        told.get("read_only"),
        mistakes,
        NamespaceRateLimiter(told.get("namespace_requests_per_s")),
    )
    demanded = told.get("tls_client_ca") if told.get("tls_client") == REQUIRED else ""
    tls = GrpcTls(told.get("tls_cert"), told.get("tls_key"), demanded) if told.get("tls_cert") else None
    server = TemporalServer(Dispatcher(house, METHODS), address, tls)
    listening = await server.start()
    try:
        yield listening
    finally:
        await server.stop()


async def import_temporal(
    home: Tompion, source: Mapping[str, Any], *, shadow: bool, dry_run: bool = False, clock: Clock | None = None
) -> AsyncIterator[ImportResult]:
    """Copy the schedules of a Temporal cluster to a store or a service, and tell of each."""
    try:
        from tompion.api.temporal.importer import ScheduleImporter, temporal_cluster
    except ImportError:
        raise InvalidInput("this needs Temporal's SDK: install tompion[temporal]") from None
    now_s = int((clock or SystemClock()).now())
    async with home:
        async for moved in ScheduleImporter(home, temporal_cluster(source), shadow, dry_run).move(now_s):
            yield moved
