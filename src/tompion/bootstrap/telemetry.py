"""Builds a process from its parts; the only place that knows all of them."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING

from tompion.config.loader import Config
from tompion.errors import InvalidField
from tompion.runtime.clock import SystemClock

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor

    from tompion.api.metrics import MetricsExporter
    from tompion.engine.telemetry.tracing import Tracing
    from tompion.operations.runner import OperationRunner


OFF = "off"


def build_tracing(wanted: str | SpanProcessor) -> Tracing | None:
    """Return what writes spans: ``otlp`` sends them to a collector, and a processor takes them as they are.

    Which traces are wanted, and what is said of this process, the variables ``OTEL_…`` tell.
    """
    if wanted == OFF:
        return None
    try:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        from tompion.engine.telemetry.tracing import Tracing

        if isinstance(wanted, str):
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            wanted = BatchSpanProcessor(OTLPSpanExporter())
    except ImportError:
        raise InvalidField("tracing", "it needs OpenTelemetry: install tompion[tracing]") from None
    told = TracerProvider(shutdown_on_exit=False)  # it reads the variables; nobody else asks it for anything
    resource = told.resource
    if str(resource.attributes.get("service.name", "")).startswith("unknown_service"):
        resource = resource.merge(Resource({"service.name": "tompion"}))
    return Tracing(wanted, told.sampler, resource, SystemClock())


def build_metrics(runner: OperationRunner) -> MetricsExporter:
    """Return the numbers of this process."""
    from tompion.api.metrics import MetricsExporter
    from tompion.sdk.spec import TZDATA_VERSION

    return MetricsExporter(
        runner, {"version": version("tompion"), "tzdata": TZDATA_VERSION, "python": platform.python_version()}
    )


@contextmanager
def serve_metrics(runner: OperationRunner, configuration: Config) -> Iterator[str | None]:
    """Show the metrics of a process at a port of their own, if it is told one; give the address."""
    host, port = configuration.get("metrics_host"), configuration.get("metrics_port")
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
