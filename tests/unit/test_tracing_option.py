"""How a program says that its runs are to be traced; one that does not pays nothing for it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tompion import Tompion
from tompion.bootstrap.telemetry import build_tracing
from tompion.engine.telemetry.events import Event
from tompion.executors.base import RunContext

SECONDS = 120
current: list[int] = []
told: list[str | None] = []


def work(run: RunContext) -> None:
    current.append(trace.get_current_span().get_span_context().trace_id)
    told.append(run.traceparent)


def test_a_program_hands_over_the_processor_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "reports")
    exporter = InMemorySpanExporter()
    ended = threading.Event()

    def listen(event: Event) -> None:
        if event.kind == "ended":
            ended.set()

    async def story() -> None:
        async with Tompion("sqlite://", tracing=SimpleSpanProcessor(exporter), listener=listen) as tompion:
            await tompion.create("report", cron="0 0 1 1 *", function=f"{__name__}:work")
            await tompion.trigger("report")
            assert await asyncio.to_thread(ended.wait, SECONDS)

    asyncio.run(story())
    (root,) = [span for span in exporter.get_finished_spans() if span.name == "tompion.run"]
    assert current == [root.context.trace_id]
    assert told[0] is not None
    assert f"{root.context.trace_id:032x}" in told[0]
    assert root.resource.attributes["service.name"] == "reports"


def test_off_is_off() -> None:
    assert build_tracing("off") is None
    code = "import sys, tompion, tompion.bootstrap.service; print('opentelemetry.sdk' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=SECONDS)
    assert ran.stdout.strip() == "False"


def test_the_process_has_a_name_of_its_own() -> None:
    tracing = build_tracing(SimpleSpanProcessor(InMemorySpanExporter()))
    assert tracing is not None
    assert tracing._resource.attributes["service.name"] == "tompion"
