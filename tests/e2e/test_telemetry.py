"""Telemetry of a service and a worker: metrics on a port, logs as JSON, spans at a collector."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.executors import Server, http_server
from tests.support.servers import free_port
from tompion import Tompion
from tompion.encoding.trace_context import trace_id_of

CANARY = "canary-4711-hunter2"
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
TASKS = f"""
def work(run):
    assert run.payload == {{"secret": "{CANARY}"}}
    return {{"result": "{CANARY}"}}

def fail(run):
    raise ValueError("no luck")
"""


@contextmanager
def started(
    home: Path, *arguments: str, **variables: str
) -> Iterator[tuple[subprocess.Popen[str], list[dict[str, Any]]]]:
    """Start a process that logs JSON. Yield it and its log lines so far."""
    (home / "tasks.py").write_text(TASKS)
    surroundings = {
        **os.environ,
        "TOMPION_STORE": f"sqlite:///{home}/jobs.db",
        "TOMPION_LOG_FORMAT": "json",
        **variables,
    }
    command = [sys.executable, "-m", "tompion", *arguments]
    with subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, text=True, env=surroundings) as process:
        try:
            yield process, []
        finally:
            process.kill()


def until(process: subprocess.Popen[str], log_lines: list[dict[str, Any]], **wanted: str) -> dict[str, Any]:
    """Read lines until one matches."""
    assert process.stdout is not None
    for line in process.stdout:
        log_lines.append(json.loads(line))
        if all(wanted[name] in str(log_lines[-1].get(name, "")) for name in wanted):
            return log_lines[-1]
    raise AssertionError(f"no line with {wanted}: {log_lines}")


def post(url: str, body: object, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **named})
    with urlopen(request, timeout=120) as answer:
        return json.load(answer)


def spans_of(collector: Server) -> list[Any]:
    result = []
    for seen in collector.seen:
        message = ExportTraceServiceRequest.FromString(seen.body)
        result += [span for item in message.resource_spans for scope in item.scope_spans for span in scope.spans]
    return result


def test_a_service_logs_json_and_sends_spans_and_no_secret_is_in_them(tmp_path: Path) -> None:
    with http_server() as collector, started(
        tmp_path, "serve", "--port", "0",
        TOMPION_TRACING="otlp", TOMPION_ACCESS_LOG="true", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
    ) as (process, log_lines):  # fmt: skip
        line = until(process, log_lines, message="Tompion is running on http://")
        url = line["message"].split()[4]
        for name, function in (("good", "tasks:work"), ("bad", "tasks:fail")):
            fields = {"cron": "0 0 1 1 *", "function": function, "payload": {"secret": CANARY}}
            post(f"{url}/api/v1/schedules", {"schedule_id": name, **fields})
        with urlopen(f"{url}/api/v1/schedules?text={CANARY}", timeout=120) as answer:
            assert answer.status == 200
        run = post(f"{url}/api/v1/schedules/good/trigger", {}, traceparent=PARENT)
        ended = until(process, log_lines, event="ended", schedule_id="good")
        post(f"{url}/api/v1/schedules/bad/trigger", {})
        failed = until(process, log_lines, event="ended", schedule_id="bad")
        process.terminate()
        until(process, log_lines, message="stopping")
        assert process.stdout is not None
        log_lines += [json.loads(line) for line in process.stdout]
        assert process.wait(120) == 0
        spans = spans_of(collector)
    assert (ended["status"], ended["run_id"]) == ("SUCCESS", run["run_id"])
    assert ended["idempotency_key"] == run["idempotency_key"]
    assert ended["trace_id"] == f"{trace_id_of(run['idempotency_key']):032x}"
    assert (failed["status"], failed["error"], failed["level"]) == ("FAILED", "ValueError: no luck", "warning")
    assert [item["path"] for item in log_lines if item["event"] == "request"][-1] == "/api/v1/schedules/bad/trigger"
    assert CANARY not in json.dumps(log_lines)
    names = {span.name for span in spans if span.trace_id.hex() == ended["trace_id"]}
    assert names >= {"tompion.run", "tompion.decide", "tompion.launch", "tompion.execute", "tompion.trigger"}
    (trigger,) = [span for span in spans if span.name == "tompion.trigger"]
    assert trigger.links[0].trace_id.hex() == "4bf92f3577b34da6a3ce929d0e0e4736"
    assert CANARY not in str(spans)


def test_a_worker_serves_metrics_on_its_port(tmp_path: Path) -> None:
    port = free_port()
    with started(tmp_path, "worker", "--metrics-port", str(port)) as (process, log_lines):
        where = until(process, log_lines, message="metrics: http")["message"].split()[-1]
        until(process, log_lines, message="running the schedules")
        with Tompion(f"sqlite:///{tmp_path}/jobs.db", engine=False) as tompion:
            tompion.create("good", cron="0 0 1 1 *", function="tasks:work", payload={"secret": CANARY})
            tompion.trigger("good")
        until(process, log_lines, event="ended")
        with urlopen(where, timeout=120) as answer:
            text = answer.read().decode()
        process.terminate()
        assert process.wait(120) == 0
    result = {sample.name: sample.value for item in text_string_to_metric_families(text) for sample in item.samples}
    assert (result["tompion_runs_emitted_total"], result["tompion_store_up"], result["tompion_instances_live"]) == (
        1,
        1,
        1,
    )


def test_a_metrics_port_in_use_is_a_one_line_error(tmp_path: Path) -> None:
    with http_server() as server:
        port = server.url.rpartition(":")[2]
        ran = subprocess.run(
            [sys.executable, "-m", "tompion", "worker", "--store", "sqlite:///jobs.db", "--metrics-port", port],
            cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    assert ran.returncode == 2
    assert "metrics_port" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
