"""The ``tracing`` option of an app."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tompion import AsyncTompion
from tompion.bootstrap.telemetry import build_tracing
from tompion.engine.telemetry.events import Event
from tompion.executors.base import RunContext

SECONDS = 120
current: list[int] = []
message: list[str | None] = []


def work(run: RunContext) -> None:
    current.append(trace.get_current_span().get_span_context().trace_id)
    message.append(run.traceparent)


def test_a_span_processor_can_be_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "reports")
    exporter = InMemorySpanExporter()
    ended = threading.Event()

    def listen(event: Event) -> None:
        if event.kind == "ended":
            ended.set()

    async def scenario() -> None:
        async with AsyncTompion("sqlite://", tracing=SimpleSpanProcessor(exporter), listener=listen) as tompion:
            await tompion.create("report", cron="0 0 1 1 *", function=f"{__name__}:work")
            await tompion.trigger("report")
            assert await asyncio.to_thread(ended.wait, SECONDS)

    asyncio.run(scenario())
    (root,) = [span for span in exporter.get_finished_spans() if span.name == "tompion.run"]
    assert current == [root.context.trace_id]
    assert message[0] is not None
    assert f"{root.context.trace_id:032x}" in message[0]
    assert root.resource.attributes["service.name"] == "reports"


def test_tracing_is_off_by_default() -> None:
    assert build_tracing("off") is None
    code = "import sys, tompion, tompion.bootstrap.service; print('opentelemetry.sdk' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=SECONDS)
    assert ran.stdout.strip() == "False"


def test_the_service_name_is_tompion() -> None:
    tracing = build_tracing(SimpleSpanProcessor(InMemorySpanExporter()))
    assert tracing is not None
    assert tracing._resource.attributes["service.name"] == "tompion"
