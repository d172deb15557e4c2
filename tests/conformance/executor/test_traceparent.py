"""A trace goes on in every target: each finds the ``traceparent`` where its kind looks for one, and none without it."""

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
from tompion.model.trace_context import Parent, read_traceparent

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
SITE = ExecutorEnv()
SECONDS = 120


def traced(launch: RunContext, traceparent: str | None) -> RunContext:
    launch.traceparent = traceparent
    return launch


async def ran(executor: Executor, options: dict[str, Any], traceparent: str | None) -> Any:
    async with asyncio.timeout(SECONDS), aclosing(executor):
        return await executor.run(None, traced(launch_of(options), traceparent))


both = pytest.mark.parametrize("traceparent", [PARENT, None])


@both
def test_http_has_a_header(traceparent: str | None) -> None:
    with http_server() as server:
        executor = HttpExecutor({"allow": [server.allow]}, SITE)
        asyncio.run(ran(executor, {"url": f"{server.url}/run"}, traceparent))
        (seen,) = server.seen
    assert seen.headers.get("traceparent") == traceparent
    assert seen.json["meta"].get("traceparent") == traceparent


@both
def test_a_command_has_a_variable(traceparent: str | None) -> None:
    tell = python("import os; print(os.environ.get('TRACEPARENT'))")
    executor = CommandExecutor({"commands": {"tell": {"argv": tell}}}, SITE)
    ended = asyncio.run(ran(executor, {"command": "tell"}, traceparent))
    assert str(traceparent) in ended.result


@pytest.mark.server
@both
def test_nats_has_a_header(nats_url: str, traceparent: str | None) -> None:
    name = f"trace{'d' if traceparent else 'less'}"

    async def story() -> Any:
        client = await nats.connect(nats_url)
        await client.jetstream().add_stream(name=name, subjects=[f"{name}.runs"])
        await ran(NatsExecutor({"servers": [nats_url]}, SITE), {"subject": f"{name}.runs"}, traceparent)
        message = await client.jetstream().get_msg(name, 1)
        await client.close()
        return message

    assert (asyncio.run(story()).headers or {}).get("traceparent") == traceparent


@pytest.mark.server
@both
def test_a_stream_has_a_field(valkey_url: str, traceparent: str | None) -> None:
    name = f"trace{'d' if traceparent else 'less'}"

    async def story() -> Any:
        await ran(RedisExecutor({"url": valkey_url}, SITE), {"stream": name}, traceparent)
        async with aclosing(Redis.from_url(valkey_url)) as redis:
            return await redis.xrange(name)

    ((_, fields),) = asyncio.run(story())
    assert fields.get(b"traceparent") == (traceparent.encode() if traceparent else None)


@pytest.mark.server
@both
def test_a_task_of_celery_has_a_header(valkey_url: str, traceparent: str | None) -> None:
    name = f"celery-trace{'d' if traceparent else 'less'}"

    async def story() -> Any:
        await ran(CeleryExecutor({"broker": valkey_url}, SITE), {"task": "tasks.none", "queue": name}, traceparent)
        async with aclosing(Redis.from_url(valkey_url)) as redis:
            return await redis.lrange(name, 0, -1)

    (message,) = asyncio.run(story())
    assert json.loads(message)["headers"].get("traceparent") == traceparent


@pytest.mark.server
@both
def test_a_workflow_of_temporal_has_the_header_of_its_interceptors(
    temporal_address: str, traceparent: str | None
) -> None:
    async def story() -> Any:
        async with temporal_worker(temporal_address) as client:
            options = {"workflow": "echo", "task_queue": QUEUE}
            launch = traced(launch_of(options, schedule_id=f"trace-{bool(traceparent)}"), traceparent)
            async with (
                asyncio.timeout(SECONDS),
                aclosing(TemporalExecutor({"address": temporal_address}, SITE)) as executor,
            ):
                await executor.run(None, launch)
            history = await client.get_workflow_handle(workflow_ids(launch).default).fetch_history()
            return history.events[0].workflow_execution_started_event_attributes.header.fields

    fields = asyncio.run(story())
    carried = PayloadConverter.default.from_payloads(list(fields.values())) if fields else []
    assert carried == ([] if traceparent is None else [{"traceparent": traceparent}])


def test_a_function_that_traces_itself_is_part_of_its_run_also_in_a_thread() -> None:
    """The engine makes the run's span the current one of the task; a thread has it, too."""
    parent = read_traceparent(PARENT)
    assert isinstance(parent, Parent)
    found: list[int] = []
    executor = FunctionExecutor()
    executor.register("tasks:look", lambda: found.append(trace.get_current_span().get_span_context().span_id))
    context = trace.SpanContext(parent.trace_id, parent.span_id, is_remote=False)
    launch = traced(RunContext(RUN, "default", "report", Action(function="tasks:look")), PARENT)

    async def story() -> None:
        with trace.use_span(trace.NonRecordingSpan(context)):
            await executor.run(None, launch)
        await executor.aclose()

    asyncio.run(story())
    assert found == [parent.span_id]
