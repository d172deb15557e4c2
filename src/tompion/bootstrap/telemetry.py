"""Builds tracing and metrics of a process."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING

from tompion.config.schema import Config
from tompion.errors import InvalidField
from tompion.runtime.clock import SystemClock

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor

    from tompion.api.metrics import MetricsExporter
    from tompion.engine.telemetry.tracing import Tracing
    from tompion.operations.runner import OperationRunner


OFF = "off"


def build_tracing(processor: str | SpanProcessor) -> Tracing | None:
    """Return the tracing of a process: ``off``, ``otlp`` (spans go to a collector) or a span processor of the caller.

    The variables ``OTEL_…`` configure the sampler and the resource attributes.
    """
    if processor == OFF:
        return None
    try:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        from tompion.engine.telemetry.tracing import Tracing

        if isinstance(processor, str):
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            processor = BatchSpanProcessor(OTLPSpanExporter())
    except ImportError:
        raise InvalidField("tracing", "needs OpenTelemetry; install tompion[tracing]") from None
    provider = TracerProvider(shutdown_on_exit=False)  # used only to read the OTEL_… variables
    resource = provider.resource
    if str(resource.attributes.get("service.name", "")).startswith("unknown_service"):
        resource = resource.merge(Resource({"service.name": "tompion"}))
    return Tracing(processor, provider.sampler, resource, SystemClock())


def build_metrics(runner: OperationRunner) -> MetricsExporter:
    """Return the metrics of this process."""
    from tompion.api.metrics import MetricsExporter
    from tompion.sdk.spec import TZDATA_VERSION

    return MetricsExporter(
        runner, {"version": version("tompion"), "tzdata": TZDATA_VERSION, "python": platform.python_version()}
    )


@contextmanager
def serve_metrics(runner: OperationRunner, config: Config) -> Iterator[str | None]:
    """Serve metrics on their own port if one is configured. Yield the address, or ``None``."""
    host, port = config.metrics_host, config.metrics_port
    if not port:
        yield None
        return
    from prometheus_client import start_http_server

    try:
        server, thread = start_http_server(port, host, build_metrics(runner).registry)
    except OSError as error:
        raise InvalidField("metrics_port", f"cannot listen on {host}:{port}: {error.strerror}") from None
    try:
        yield f"http://{host}:{port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
