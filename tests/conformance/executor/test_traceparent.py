"""Every executor passes the ``traceparent`` of a run to its target, in the place that is usual for the target."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from typing import Any

import nats
import pytest
from opentelemetry import trace
from redis.asyncio import Redis
from temporalio.converter import PayloadConverter

from tests.support.executors import RUN, http_server, launch_of, python
from tests.support.temporal_workflows import QUEUE, temporal_worker
from tompion.encoding.trace_context import Parent, read_traceparent
from tompion.executors.base import Executor, RunContext
from tompion.executors.celery import CeleryExecutor
from tompion.executors.command import CommandExecutor
from tompion.executors.function import FunctionExecutor
from tompion.executors.http import HttpExecutor
from tompion.executors.nats import NatsExecutor
from tompion.executors.options import ExecutorEnv
from tompion.executors.redis import RedisExecutor
from tompion.executors.temporal.executor import TemporalExecutor
from tompion.executors.temporal.workflow_ids import workflow_ids
from tompion.model.schedule import Action

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
SITE = ExecutorEnv()
SECONDS = 120


def with_traceparent(launch: RunContext, traceparent: str | None) -> RunContext:
    launch.traceparent = traceparent
    return launch


async def run_traced(executor: Executor, options: dict[str, Any], traceparent: str | None) -> Any:
    async with asyncio.timeout(SECONDS), aclosing(executor):
        return await executor.run(None, with_traceparent(launch_of(options), traceparent))


with_and_without_parent = pytest.mark.parametrize("traceparent", [PARENT, None])


@with_and_without_parent
def test_http_request_has_a_header(traceparent: str | None) -> None:
    with http_server() as server:
        executor = HttpExecutor({"allow": [server.allow]}, SITE)
        asyncio.run(run_traced(executor, {"url": f"{server.url}/run"}, traceparent))
        (seen,) = server.seen
    assert seen.headers.get("traceparent") == traceparent
    assert seen.json["meta"].get("traceparent") == traceparent


@with_and_without_parent
def test_command_has_an_environment_variable(traceparent: str | None) -> None:
    argv = python("import os; print(os.environ.get('TRACEPARENT'))")
    executor = CommandExecutor({"commands": {"print": {"argv": argv}}}, SITE)
    ended = asyncio.run(run_traced(executor, {"command": "print"}, traceparent))
    assert str(traceparent) in ended.result


@pytest.mark.server
@with_and_without_parent
def test_nats_message_has_a_header(nats_url: str, traceparent: str | None) -> None:
    name = f"trace{'d' if traceparent else 'less'}"

    async def scenario() -> Any:
        client = await nats.connect(nats_url)
        await client.jetstream().add_stream(name=name, subjects=[f"{name}.runs"])
        await run_traced(NatsExecutor({"servers": [nats_url]}, SITE), {"subject": f"{name}.runs"}, traceparent)
        message = await client.jetstream().get_msg(name, 1)
        await client.close()
        return message

    assert (asyncio.run(scenario()).headers or {}).get("traceparent") == traceparent


@pytest.mark.server
@with_and_without_parent
def test_redis_stream_entry_has_a_field(valkey_url: str, traceparent: str | None) -> None:
    name = f"trace{'d' if traceparent else 'less'}"

    async def scenario() -> Any:
        await run_traced(RedisExecutor({"url": valkey_url}, SITE), {"stream": name}, traceparent)
        async with aclosing(Redis.from_url(valkey_url)) as redis:
            return await redis.xrange(name)

    ((_, fields),) = asyncio.run(scenario())
    assert fields.get(b"traceparent") == (traceparent.encode() if traceparent else None)


@pytest.mark.server
@with_and_without_parent
def test_celery_task_has_a_header(valkey_url: str, traceparent: str | None) -> None:
    name = f"celery-trace{'d' if traceparent else 'less'}"

    async def scenario() -> Any:
        await run_traced(
            CeleryExecutor({"broker": valkey_url}, SITE), {"task": "tasks.none", "queue": name}, traceparent
        )
        async with aclosing(Redis.from_url(valkey_url)) as redis:
            return await redis.lrange(name, 0, -1)

    (message,) = asyncio.run(scenario())
    assert json.loads(message)["headers"].get("traceparent") == traceparent


@pytest.mark.server
@with_and_without_parent
def test_temporal_workflow_has_the_header_of_the_tracing_interceptor(
    temporal_address: str, traceparent: str | None
) -> None:
    async def scenario() -> Any:
        async with temporal_worker(temporal_address) as client:
            options = {"workflow": "echo", "task_queue": QUEUE}
            launch = with_traceparent(launch_of(options, schedule_id=f"trace-{bool(traceparent)}"), traceparent)
            async with (
                asyncio.timeout(SECONDS),
                aclosing(TemporalExecutor({"address": temporal_address}, SITE)) as executor,
            ):
                await executor.run(None, launch)
            history = await client.get_workflow_handle(workflow_ids(launch).default).fetch_history()
            return history.events[0].workflow_execution_started_event_attributes.header.fields

    fields = asyncio.run(scenario())
    carried = PayloadConverter.default.from_payloads(list(fields.values())) if fields else []
    assert carried == ([] if traceparent is None else [{"traceparent": traceparent}])


def test_function_in_a_thread_has_the_span_of_its_run() -> None:
    """The engine makes the span of the run the current span. A thread that runs the function has it, too."""
    parent = read_traceparent(PARENT)
    assert isinstance(parent, Parent)
    span_ids: list[int] = []
    executor = FunctionExecutor()
    executor.register("tasks:look", lambda: span_ids.append(trace.get_current_span().get_span_context().span_id))
    context = trace.SpanContext(parent.trace_id, parent.span_id, is_remote=False)
    launch = with_traceparent(RunContext(RUN, "default", "report", Action(function="tasks:look")), PARENT)

    async def scenario() -> None:
        with trace.use_span(trace.NonRecordingSpan(context)):
            await executor.run(None, launch)
        await executor.aclose()

    asyncio.run(scenario())
    assert span_ids == [parent.span_id]
