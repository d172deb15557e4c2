"""The RabbitMQ executor with a real server, where Debian's package is installed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing
from typing import Any
from uuid import uuid4

import aio_pika
import pytest

from tests.support.executors import CANARY, launch_of
from tests.support.servers import free_port
from tests.support.servers.rabbitmq import PROGRAM, rabbitmq_server
from tompion.errors import InvalidField, LaunchError, LaunchRefused
from tompion.executors.base import Accepted, Completed
from tompion.executors.options import ExecutorEnv
from tompion.executors.rabbitmq import RabbitExecutor

SECONDS = 120
SITE = ExecutorEnv(public_url="https://tompion.example")
pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(not PROGRAM.exists(), reason="Debian's package rabbitmq-server is not installed"),
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with rabbitmq_server(tmp_path_factory.mktemp("rabbitmq")) as address:
        yield address


def run_scenario(url: str, scenario: Callable[[RabbitExecutor, Any, str], Awaitable[Any]]) -> Any:
    """Run a scenario with an executor, a new queue and the name of the queue."""

    async def run() -> Any:
        async with asyncio.timeout(SECONDS), await aio_pika.connect(url) as connection:
            channel = await connection.channel()
            queue = await channel.declare_queue(f"q-{uuid4().hex}", durable=True)
            async with aclosing(RabbitExecutor({"url": url}, SITE)) as executor:
                return await scenario(executor, queue, queue.name)

    return asyncio.run(run())


def test_run_is_sent_as_a_persistent_message(url: str) -> None:
    async def scenario(executor: RabbitExecutor, queue: Any, name: str) -> Any:
        completed = await executor.run({"steps": [1]}, launch_of({"queue": name}, payload=CANARY))
        return completed, await queue.get()

    completed, message = run_scenario(url, scenario)
    assert isinstance(completed, Completed)
    key = launch_of({}).idempotency_key
    assert (message.message_id, message.correlation_id, message.delivery_mode) == (key, key, 2)
    body = json.loads(message.body)
    assert (body["dag"], body["meta"]["payload"], body["meta"]["idempotency_key"]) == ({"steps": [1]}, CANARY, key)


def test_repeated_launch_has_the_same_message_id(url: str) -> None:
    async def scenario(executor: RabbitExecutor, queue: Any, name: str) -> list[str]:
        for attempt in (1, 2):
            await executor.run(None, launch_of({"queue": name}, attempt=attempt))
        return [(await queue.get()).message_id for _ in range(2)]

    assert run_scenario(url, scenario) == [launch_of({}).idempotency_key] * 2


def test_message_is_sent_to_an_exchange_with_a_routing_key(url: str) -> None:
    async def scenario(executor: RabbitExecutor, queue: Any, name: str) -> Any:
        await queue.bind("amq.topic", f"{name}.#")
        await executor.run(None, launch_of({"exchange": "amq.topic", "routing_key": f"{name}.daily"}))
        return (await queue.get()).routing_key

    assert run_scenario(url, scenario).endswith(".daily")


def test_message_without_a_queue_is_rejected_and_the_next_is_sent(url: str) -> None:
    async def scenario(executor: RabbitExecutor, queue: Any, name: str) -> Any:
        with pytest.raises(LaunchRefused, match="no queue is bound"):
            await executor.run(None, launch_of({"queue": "unknown"}))
        with pytest.raises(LaunchRefused, match="no exchange 'nowhere'"):
            await executor.run(None, launch_of({"exchange": "nowhere"}))
        return await executor.run(None, launch_of({"queue": name, "done": "reported"}))

    assert isinstance(run_scenario(url, scenario), Accepted)


def test_unreachable_server_is_a_retryable_error() -> None:
    async def scenario() -> None:
        unreachable = f"amqp://user:{CANARY}@127.0.0.1:{free_port()}/"
        async with aclosing(RabbitExecutor({"url": unreachable, "timeout_ms": 500}, SITE)) as executor:
            await executor.run(CANARY, launch_of({"queue": "q"}, payload=CANARY))

    with pytest.raises(LaunchError, match="cannot reach RabbitMQ") as caught:
        asyncio.run(scenario())
    assert caught.value.retryable
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"queue": "q", "exchange": "e"},
        {"exchange": "e", "routing_key": 5},
        {"queue": "q", "colour": 1},
    ],
)
def test_invalid_options_are_rejected(url: str, options: dict[str, Any]) -> None:
    with pytest.raises(LaunchRefused):
        run_scenario(url, lambda executor, _queue, _name: executor.run(None, launch_of(options)))


def test_rejected_run_sends_no_message(url: str) -> None:
    async def scenario(executor: RabbitExecutor, queue: Any, name: str) -> Any:
        with pytest.raises(LaunchRefused, match="option done"):
            await executor.run(None, launch_of({"queue": name, "done": "perhaps"}))
        return await queue.get(fail=False)

    assert run_scenario(url, scenario) is None


@pytest.mark.parametrize("configured", [{}, {"url": "http://x"}, {"url": "amqp://x", "timeout_ms": 0}, {"colour": 1}])
def test_invalid_configuration_is_rejected(configured: dict[str, Any]) -> None:
    with pytest.raises(InvalidField, match=r"executors\.rabbitmq"):
        RabbitExecutor(configured, SITE)


def test_traceparent_is_sent_in_a_header(url: str) -> None:
    async def scenario(executor: RabbitExecutor, queue: Any, name: str) -> Any:
        launch = launch_of({"queue": name})
        launch.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        await executor.run(None, launch)
        return await queue.get()

    assert run_scenario(url, scenario).headers["traceparent"].startswith("00-4bf92f35")
