"""Queues of others: a message for each run, one for each key, on real servers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nats
import pytest
from redis.asyncio import Redis

from tests.support.executors import CANARY, launch_of
from tests.support.servers import free_port
from tompion.errors import InvalidField, LaunchError, LaunchRefused
from tompion.executors.base import Accepted, Completed, Executor
from tompion.executors.nats import NatsExecutor
from tompion.executors.options import ExecutorEnv
from tompion.executors.redis import RedisExecutor

SITE = ExecutorEnv(public_url="https://tompion.example")
pytestmark = pytest.mark.server


@dataclass
class Queue:
    """A queue of some kind: how to reach it, where messages go, and which it has."""

    executor: Callable[[], Executor]
    unreachable: Callable[[], Executor]
    options: dict[str, Any]
    prepare: Callable[[], Awaitable[None]]
    messages: Callable[[], Awaitable[list[dict[str, Any]]]]


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[Any]:
    client = await nats.connect(url)
    try:
        yield client.jetstream()
    finally:
        await client.close()


def jetstream(url: str, name: str) -> Queue:
    async def prepare() -> None:
        async with _connected(url) as stream:
            await stream.add_stream(name=name, subjects=[f"{name}.*"])

    async def messages() -> list[dict[str, Any]]:
        async with _connected(url) as stream:
            state = (await stream.stream_info(name)).state
            found = [await stream.get_msg(name, number + 1) for number in range(state.messages)]
            return [json.loads(each.data) for each in found]

    return Queue(
        lambda: NatsExecutor({"servers": [url]}, SITE),
        lambda: NatsExecutor({"servers": f"nats://127.0.0.1:{free_port()}", "timeout_ms": 200}, SITE),
        {"subject": f"{name}.runs"},
        prepare,
        messages,
    )


def stream(url: str, name: str) -> Queue:
    async def prepare() -> None:
        """A stream is there when the first entry is."""

    async def messages() -> list[dict[str, Any]]:
        async with aclosing(Redis.from_url(url)) as redis:
            entries: Any = await redis.xrange(name)
            return [json.loads(fields[b"message"]) for _, fields in entries]

    return Queue(
        lambda: RedisExecutor({"url": url}, SITE),
        lambda: RedisExecutor({"url": f"redis://127.0.0.1:{free_port()}/0", "timeout_ms": 200}, SITE),
        {"stream": name},
        prepare,
        messages,
    )


@pytest.fixture(params=["nats", "redis"])
def queue(request: pytest.FixtureRequest, tmp_path: Path) -> Queue:
    name = f"q{abs(hash(tmp_path)) % 10**9}"
    if request.param == "nats":
        return jetstream(request.getfixturevalue("nats_url"), name)
    return stream(request.getfixturevalue("valkey_url"), name)


def told(queue: Queue, story: Callable[[Executor], Awaitable[Any]]) -> Any:
    async def tell() -> Any:
        await queue.prepare()
        async with aclosing(queue.executor()) as executor:
            return await story(executor)

    return asyncio.run(tell())


def test_a_run_is_a_message(queue: Queue) -> None:
    async def story(executor: Executor) -> Any:
        ended = await executor.run({"steps": [1]}, launch_of(queue.options, payload=CANARY))
        return ended, await queue.messages()

    ended, (message,) = told(queue, story)
    assert isinstance(ended, Completed)
    assert ended.execution_id is not None
    assert message["dag"] == {"steps": [1]}
    assert message["meta"]["payload"] == CANARY
    assert message["meta"]["idempotency_key"] == launch_of({}).key
    assert message["callback"] == {"url": "https://tompion.example/api/v1/callbacks", "token": launch_of({}).token}


def test_the_same_key_is_one_message_whoever_sends_it(queue: Queue) -> None:
    """A worker dies after the queue has taken the message; the next one sends it again, from another process."""

    async def story(executor: Executor) -> Any:
        first = await executor.run(None, launch_of(queue.options))
        async with aclosing(queue.executor()) as other:
            again = await other.run(None, launch_of(queue.options, attempt=2))
        return first, again, await queue.messages()

    first, again, messages = told(queue, story)
    assert first == again
    assert len(messages) == 1


def test_a_run_that_is_to_be_reported_is_sent_again_with_the_token_that_counts(queue: Queue) -> None:
    """The first message has the token of an attempt that is over: with that alone nobody could say how it ended."""
    options = {**queue.options, "done": "reported"}

    async def story(executor: Executor) -> Any:
        for attempt in (1, 2, 2):
            await executor.run(None, launch_of(options, attempt=attempt))
        return await queue.messages()

    messages = told(queue, story)
    tokens = [message["callback"]["token"] for message in messages]
    assert tokens == [launch_of({}, attempt=attempt).token for attempt in (1, 2)]
    assert len({message["meta"]["idempotency_key"] for message in messages}) == 1


def test_a_message_that_cannot_be_obeyed_is_not_sent(queue: Queue) -> None:
    async def story(executor: Executor) -> Any:
        with pytest.raises(LaunchRefused, match="option done"):
            await executor.run(None, launch_of({**queue.options, "done": "perhaps"}))
        return await queue.messages()

    assert told(queue, story) == []


def test_a_run_that_is_done_when_it_is_reported(queue: Queue) -> None:
    ended = told(queue, lambda executor: executor.run(None, launch_of({**queue.options, "done": "reported"})))
    assert isinstance(ended, Accepted)


def test_nobody_is_there(queue: Queue) -> None:
    async def story(_: Executor) -> None:
        async with aclosing(queue.unreachable()) as executor:
            with pytest.raises(LaunchError, match="cannot reach") as caught:
                await executor.run(CANARY, launch_of(queue.options, payload=CANARY))
        assert caught.value.retryable
        assert CANARY not in str(caught.value)

    told(queue, story)


@pytest.mark.parametrize("change", [{"done": "perhaps"}, {"colour": 1}])
def test_options_that_cannot_be(queue: Queue, change: dict[str, Any]) -> None:
    with pytest.raises(LaunchRefused, match="option"):
        told(queue, lambda executor: executor.run(None, launch_of({**queue.options, **change})))


def test_a_queue_must_be_named(queue: Queue) -> None:
    with pytest.raises(LaunchRefused, match="is missing"):
        told(queue, lambda executor: executor.run(None, launch_of({})))


def test_a_subject_that_no_stream_takes(nats_url: str) -> None:
    async def story() -> None:
        async with aclosing(NatsExecutor({"servers": [nats_url]}, SITE)) as executor:
            await executor.run(None, launch_of({"subject": "nobody.listens"}))

    with pytest.raises(LaunchError, match=r"no stream accepts the subject 'nobody\.listens'"):
        asyncio.run(story())


@pytest.mark.parametrize(
    ("make", "configured"),
    [
        (NatsExecutor, {}),
        (NatsExecutor, {"servers": [5]}),
        (NatsExecutor, {"servers": "nats://127.0.0.1", "colour": 1}),
        (RedisExecutor, {}),
        (RedisExecutor, {"url": "http://127.0.0.1"}),
        (RedisExecutor, {"url": "redis://127.0.0.1", "timeout_ms": 0}),
    ],
)
def test_a_configuration_that_cannot_be(make: Callable[..., Executor], configured: dict[str, Any]) -> None:
    with pytest.raises(InvalidField, match="executors"):
        make(configured, SITE)
