"""The executors of NATS and Redis, on real servers: one message for each key."""

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
    """A queue, its executors, the options of a workflow, and its messages."""

    executor: Callable[[], Executor]
    unreachable: Callable[[], Executor]
    options: dict[str, Any]
    prepare: Callable[[], Awaitable[None]]
    messages: Callable[[], Awaitable[list[dict[str, Any]]]]


@asynccontextmanager
async def _connect(url: str) -> AsyncIterator[Any]:
    client = await nats.connect(url)
    try:
        yield client.jetstream()
    finally:
        await client.close()


def jetstream(url: str, name: str) -> Queue:
    async def prepare() -> None:
        async with _connect(url) as stream:
            await stream.add_stream(name=name, subjects=[f"{name}.*"])

    async def messages() -> list[dict[str, Any]]:
        async with _connect(url) as stream:
            state = (await stream.stream_info(name)).state
            received = [await stream.get_msg(name, number + 1) for number in range(state.messages)]
            return [json.loads(message.data) for message in received]

    return Queue(
        lambda: NatsExecutor({"servers": [url]}, SITE),
        lambda: NatsExecutor({"servers": f"nats://127.0.0.1:{free_port()}", "timeout_ms": 200}, SITE),
        {"subject": f"{name}.runs"},
        prepare,
        messages,
    )


def stream(url: str, name: str) -> Queue:
    async def prepare() -> None:
        """Do nothing. The first entry creates the stream."""

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


def run_scenario(queue: Queue, scenario: Callable[[Executor], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        await queue.prepare()
        async with aclosing(queue.executor()) as executor:
            return await scenario(executor)

    return asyncio.run(run())


def test_run_is_sent_as_a_message(queue: Queue) -> None:
    async def scenario(executor: Executor) -> Any:
        completed = await executor.run({"steps": [1]}, launch_of(queue.options, payload=CANARY))
        return completed, await queue.messages()

    completed, (message,) = run_scenario(queue, scenario)
    assert isinstance(completed, Completed)
    assert completed.execution_id is not None
    assert message["dag"] == {"steps": [1]}
    assert message["meta"]["payload"] == CANARY
    assert message["meta"]["idempotency_key"] == launch_of({}).idempotency_key
    assert message["callback"] == {"url": "https://tompion.example/api/v1/callbacks", "token": launch_of({}).token}


def test_repeated_key_is_one_message(queue: Queue) -> None:
    """A worker dies after the queue has accepted the message. The next worker sends it again."""

    async def scenario(executor: Executor) -> Any:
        first = await executor.run(None, launch_of(queue.options))
        async with aclosing(queue.executor()) as other:
            again = await other.run(None, launch_of(queue.options, attempt=2))
        return first, again, await queue.messages()

    first, again, messages = run_scenario(queue, scenario)
    assert first == again
    assert len(messages) == 1


def test_reported_run_is_sent_again_with_the_token_of_the_new_attempt(queue: Queue) -> None:
    """The token of the first message belongs to an earlier attempt and can no longer report the outcome."""
    options = {**queue.options, "done": "reported"}

    async def scenario(executor: Executor) -> Any:
        for attempt in (1, 2, 2):
            await executor.run(None, launch_of(options, attempt=attempt))
        return await queue.messages()

    messages = run_scenario(queue, scenario)
    tokens = [message["callback"]["token"] for message in messages]
    assert tokens == [launch_of({}, attempt=attempt).token for attempt in (1, 2)]
    assert len({message["meta"]["idempotency_key"] for message in messages}) == 1


def test_invalid_option_sends_no_message(queue: Queue) -> None:
    async def scenario(executor: Executor) -> Any:
        with pytest.raises(LaunchRefused, match="option done"):
            await executor.run(None, launch_of({**queue.options, "done": "perhaps"}))
        return await queue.messages()

    assert run_scenario(queue, scenario) == []


def test_reported_run_is_accepted(queue: Queue) -> None:
    result = run_scenario(queue, lambda executor: executor.run(None, launch_of({**queue.options, "done": "reported"})))
    assert isinstance(result, Accepted)


def test_unreachable_queue_is_a_retryable_error(queue: Queue) -> None:
    async def scenario(_: Executor) -> None:
        async with aclosing(queue.unreachable()) as executor:
            with pytest.raises(LaunchError, match="cannot reach") as caught:
                await executor.run(CANARY, launch_of(queue.options, payload=CANARY))
        assert caught.value.retryable
        assert CANARY not in str(caught.value)

    run_scenario(queue, scenario)


@pytest.mark.parametrize("change", [{"done": "perhaps"}, {"colour": 1}])
def test_invalid_options_are_rejected(queue: Queue, change: dict[str, Any]) -> None:
    with pytest.raises(LaunchRefused, match="option"):
        run_scenario(queue, lambda executor: executor.run(None, launch_of({**queue.options, **change})))


def test_missing_queue_name_is_rejected(queue: Queue) -> None:
    with pytest.raises(LaunchRefused, match="is missing"):
        run_scenario(queue, lambda executor: executor.run(None, launch_of({})))


def test_subject_without_a_stream_is_an_error(nats_url: str) -> None:
    async def scenario() -> None:
        async with aclosing(NatsExecutor({"servers": [nats_url]}, SITE)) as executor:
            await executor.run(None, launch_of({"subject": "no.stream"}))

    with pytest.raises(LaunchError, match=r"no stream accepts the subject 'no\.stream'"):
        asyncio.run(scenario())


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
def test_invalid_configuration_is_rejected(make: Callable[..., Executor], configured: dict[str, Any]) -> None:
    with pytest.raises(InvalidField, match="executors"):
        make(configured, SITE)
