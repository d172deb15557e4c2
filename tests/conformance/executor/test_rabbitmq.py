"""A real RabbitMQ, where Debian's package is installed: confirmed, under one id, refused where no queue takes it."""

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


def told(url: str, story: Callable[[RabbitExecutor, Any, str], Awaitable[Any]]) -> Any:
    """Tell a story with an executor, a channel of one's own, and a queue of its name."""

    async def tell() -> Any:
        async with asyncio.timeout(SECONDS), await aio_pika.connect(url) as connection:
            channel = await connection.channel()
            queue = await channel.declare_queue(f"q-{uuid4().hex}", durable=True)
            async with aclosing(RabbitExecutor({"url": url}, SITE)) as executor:
                return await story(executor, queue, queue.name)

    return asyncio.run(tell())


def test_a_run_is_a_message_that_outlives_the_server(url: str) -> None:
    async def story(executor: RabbitExecutor, queue: Any, name: str) -> Any:
        ended = await executor.run({"steps": [1]}, launch_of({"queue": name}, payload=CANARY))
        return ended, await queue.get()

    ended, message = told(url, story)
    assert isinstance(ended, Completed)
    key = launch_of({}).key
    assert (message.message_id, message.correlation_id, message.delivery_mode) == (key, key, 2)
    said = json.loads(message.body)
    assert (said["dag"], said["meta"]["payload"], said["meta"]["idempotency_key"]) == ({"steps": [1]}, CANARY, key)


def test_launched_again_it_has_the_same_id(url: str) -> None:
    async def story(executor: RabbitExecutor, queue: Any, name: str) -> list[str]:
        for attempt in (1, 2):
            await executor.run(None, launch_of({"queue": name}, attempt=attempt))
        return [(await queue.get()).message_id for _ in range(2)]

    assert told(url, story) == [launch_of({}).key] * 2


def test_an_exchange_with_a_key(url: str) -> None:
    async def story(executor: RabbitExecutor, queue: Any, name: str) -> Any:
        await queue.bind("amq.topic", f"{name}.#")
        await executor.run(None, launch_of({"exchange": "amq.topic", "routing_key": f"{name}.daily"}))
        return (await queue.get()).routing_key

    assert told(url, story).endswith(".daily")


def test_what_no_queue_takes_is_refused_and_the_next_one_is_sent(url: str) -> None:
    async def story(executor: RabbitExecutor, queue: Any, name: str) -> Any:
        with pytest.raises(LaunchRefused, match="no queue takes"):
            await executor.run(None, launch_of({"queue": "nobody"}))
        with pytest.raises(LaunchRefused, match="no exchange 'nowhere'"):
            await executor.run(None, launch_of({"exchange": "nowhere"}))
        return await executor.run(None, launch_of({"queue": name, "done": "reported"}))

    assert isinstance(told(url, story), Accepted)


def test_nobody_is_there() -> None:
    async def story() -> None:
        nowhere = f"amqp://user:{CANARY}@127.0.0.1:{free_port()}/"
        async with aclosing(RabbitExecutor({"url": nowhere, "timeout_ms": 500}, SITE)) as executor:
            await executor.run(CANARY, launch_of({"queue": "q"}, payload=CANARY))

    with pytest.raises(LaunchError, match="cannot reach RabbitMQ") as caught:
        asyncio.run(story())
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
def test_options_that_cannot_be(url: str, options: dict[str, Any]) -> None:
    with pytest.raises(LaunchRefused):
        told(url, lambda executor, _queue, _name: executor.run(None, launch_of(options)))


def test_what_is_refused_was_not_sent(url: str) -> None:
    async def story(executor: RabbitExecutor, queue: Any, name: str) -> Any:
        with pytest.raises(LaunchRefused, match="option done"):
            await executor.run(None, launch_of({"queue": name, "done": "perhaps"}))
        return await queue.get(fail=False)

    assert told(url, story) is None


@pytest.mark.parametrize("configured", [{}, {"url": "http://x"}, {"url": "amqp://x", "timeout_ms": 0}, {"colour": 1}])
def test_a_configuration_that_cannot_be(configured: dict[str, Any]) -> None:
    with pytest.raises(InvalidField, match=r"executors\.rabbitmq"):
        RabbitExecutor(configured, SITE)


def test_a_trace_goes_on_in_a_header(url: str) -> None:
    async def story(executor: RabbitExecutor, queue: Any, name: str) -> Any:
        launch = launch_of({"queue": name})
        launch.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        await executor.run(None, launch)
        return await queue.get()

    assert told(url, story).headers["traceparent"].startswith("00-4bf92f35")
