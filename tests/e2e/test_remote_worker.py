"""Programs that are connected to a service: the service fires, and they execute, over HTTP only."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.support.service import serve_runner
from tompion import AsyncTompion, Settings, Tompion
from tompion.engine.telemetry.events import Event
from tompion.executors.base import RunContext

SECONDS = 120
QUICK = Settings(lock_ttl_ms=1_500, heartbeat_ms=300, tick_ms=100)
EVERY_SECOND = "* * * * * *"
NEVER = "0 0 1 1 *"
ALARM = threading.Event()

PROGRAM = """
import sys
from tompion import Tompion

app = Tompion(sys.argv[1])

@app.schedule("0 0 1 1 *", schedule_id="held")
def held(run):
    print(run.idempotency_key, run.attempt, flush=True)
    if sys.argv[2] == "hold":
        sys.stdin.read()
    return "done"

raise SystemExit(app.run())
"""


class Service:
    """A service with an engine, the events of its engine, and its address."""

    def __init__(self, directory: Path, tracing: str | SpanProcessor = "off") -> None:
        store = f"sqlite:///{directory / 'tompion.db'}"
        self.home = Tompion(store, settings=QUICK, listener=self._on_event, tracing=tracing)
        self.url = ""
        self._ended: list[str] = []
        self._changed = threading.Condition()

    def _on_event(self, event: Event) -> None:
        with self._changed:
            if event.kind == "ended":
                self._ended.append(event.schedule_id)
            self._changed.notify_all()

    def wait_for_end(self, count: int = 1) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self._ended) >= count, SECONDS)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    created = Service(tmp_path)
    with created.home, serve_runner(created.home._runner) as created.url:
        yield created


def test_a_declared_function_runs_in_the_worker_and_is_recorded_in_the_service(service: Service) -> None:
    home, url = service.home, service.url
    app = AsyncTompion(url, settings=QUICK)
    seen: list[RunContext] = []
    enough = asyncio.Event()

    @app.schedule(EVERY_SECOND, schedule_id="report", payload={"n": 1})
    async def report(run: RunContext) -> dict[str, Any]:
        run.progress({"half": True})
        seen.append(run)
        if len(seen) == 2:
            enough.set()
        return {"payload": run.payload}

    async def scenario() -> None:
        async with app, asyncio.timeout(SECONDS):
            await enough.wait()
            assert (await app.get("report")).definition.action.queue == "remote"

    asyncio.run(scenario())
    service.wait_for_end(2)
    ended = {run.run_id: run for run in home.runs.list("report").items if run.status == "SUCCESS"}
    assert [run.run_id in ended for run in seen[:2]] == [True, True]
    first = ended[seen[0].run_id]
    assert (first.result, first.idempotency_key, first.run_at) == (
        {"payload": {"n": 1}},
        seen[0].idempotency_key,
        seen[0].run_at,
    )


def test_a_remote_function_continues_the_trace(tmp_path: Path) -> None:
    """Its parent is the span of the run, which the service writes when the run has ended."""
    exporter = InMemorySpanExporter()
    created = Service(tmp_path, tracing=SimpleSpanProcessor(exporter))
    handed_on: list[str | None] = []
    with created.home, serve_runner(created.home._runner) as url:
        app = Tompion(url, settings=QUICK)

        @app.schedule(NEVER, schedule_id="report")
        def report(run: RunContext) -> None:
            handed_on.append(run.traceparent)

        with app:
            key = app.trigger("report").idempotency_key
            created.wait_for_end()
    (run,) = (span for span in exporter.get_finished_spans() if span.name == "tompion.run")
    assert run.context is not None
    assert handed_on == [f"00-{key[:32]}-{run.context.span_id:016x}-01"]
    assert run.context.trace_id == int(key[:32], 16)


def test_without_tracing_there_is_no_traceparent(service: Service) -> None:
    app = Tompion(service.url, settings=QUICK)
    handed_on: list[str | None] = []

    @app.schedule(NEVER, schedule_id="report")
    def report(run: RunContext) -> None:
        handed_on.append(run.traceparent)

    with app:
        app.trigger("report")
        service.wait_for_end()
    assert handed_on == [None]


def test_the_synchronous_app_executes_remote_runs(service: Service) -> None:
    app = Tompion(service.url)
    ran = threading.Event()

    @app.schedule(NEVER, schedule_id="report")
    def report() -> str:
        ran.set()
        return "done"

    with app:
        run = app.trigger("report")
        assert ran.wait(SECONDS)
        service.wait_for_end()
        assert app.runs.get(run.run_id).result == "done"


def test_a_run_is_cancelled_at_the_worker(service: Service) -> None:
    home, url = service.home, service.url
    app = AsyncTompion(url, settings=QUICK)
    begun, cancelled = asyncio.Event(), asyncio.Event()

    @app.schedule(NEVER, schedule_id="report", overlap_policy="cancel_other")
    async def report(run: RunContext) -> None:
        if begun.is_set():
            return
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def scenario() -> tuple[str, str]:
        async with app, asyncio.timeout(SECONDS):
            first = await app.trigger("report")
            await begun.wait()
            second = await app.trigger("report", overlap="cancel_other")
            await cancelled.wait()
            await asyncio.get_running_loop().run_in_executor(None, service.wait_for_end)
            return first.run_id, second.run_id

    first, second = asyncio.run(scenario())
    assert home.runs.get(first).status == "CANCELLED"
    assert home.runs.get(second).status in ("ENQUEUED", "STARTED", "SUCCESS")


@pytest.mark.parametrize("outcome", ["error", "result", "late"])
def test_an_outcome_that_cannot_be_stored_is_escaped_or_rejected(service: Service, outcome: str) -> None:
    """Regression: the service rejected it, the worker dropped it, and the function was called repeatedly."""
    app = Tompion(service.url, settings=QUICK)
    calls: list[int] = []

    @app.schedule(NEVER, schedule_id="odd", max_execution_ms=200 if outcome == "late" else None)
    def odd(run: RunContext) -> Any:
        calls.append(run.attempt)
        if outcome == "error":
            raise ValueError("bad byte \x00")
        while outcome == "late" and run.should_continue:
            ALARM.wait(0.01)
        return {"a": "\ud800", "b": "\x00"}

    with app:
        run = app.trigger("odd")
        service.wait_for_end()
        ended = app.runs.get(run.run_id)
    assert ended.status == {"error": "FAILED", "result": "SUCCESS", "late": "TIMED_OUT"}[outcome]
    assert calls == [1]


def test_another_worker_takes_over_the_run_of_a_killed_worker_with_the_same_key(
    service: Service, tmp_path: Path
) -> None:
    home, url = service.home, service.url
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    with _start(program, url, "hold") as first:
        assert any(home.schedules.list().items for _ in range(100_000)), "the program has not declared its schedule"
        run = home.trigger("held")
        assert _output_line(first) == (run.idempotency_key, "1")
        first.send_signal(signal.SIGKILL)
    with _start(program, url, "end") as second:
        assert _output_line(second) == (run.idempotency_key, "2")
        service.wait_for_end()
        assert home.runs.get(run.run_id).status == "SUCCESS"
        second.send_signal(signal.SIGTERM)
        assert second.wait(SECONDS) == 0


def _start(program: Path, url: str, mode: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(program), url, mode]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def _output_line(process: subprocess.Popen[str]) -> tuple[str, ...]:
    assert process.stdout is not None
    return tuple(process.stdout.readline().split())
