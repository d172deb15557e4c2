"""Every executor as the contract tests use it: options that succeed, fail and hold, and the deliveries at its target.

Each entry of ``SUBJECTS`` builds a :class:`Subject` from the fixtures of the servers that it needs.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, ExitStack, aclosing, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nats
import pytest
from celery import Celery
from redis.asyncio import Redis
from temporalio.client import Client, WorkflowFailureError

from tests.support.executors import CANARY, ReceivedRequest, Server, http_server, python
from tests.support.servers import LOOPBACK
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
from tompion.runtime.clock import pause

SITE = ExecutorEnv(public_url="https://tompion.example")
POLL_S = 0.02
"""Pause between two polls of a target."""
Options = dict[str, Any]
SECRET = "whsec_" + "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"


@dataclass
class Subject:
    """One executor, its target, and the parts of the contract that apply to it."""

    make: Callable[[], Executor]
    work: Options
    deliveries: Callable[[RunContext], Awaitable[list[str]]]
    """Returns an id for each delivery of a run that the target has processed."""
    unreachable: Callable[[int], Executor]
    """Builds an executor whose target is at a port without a server, or with a server that never answers."""
    unreachable_options: Callable[[int], Options] | None = None
    """Options of a workflow whose target is at that port. The default is ``work``."""
    is_remote: bool = True
    fail: Options | None = None
    hold: Options | None = None
    started: Callable[[RunContext], Awaitable[None]] | None = None
    stopped: Callable[[RunContext], Awaitable[None]] | None = None
    """Waits until the target has stopped a run."""
    has_result: bool = True
    deduplicates: bool = True
    """Whether the target ignores a repeated delivery. Otherwise it receives the same key twice."""
    secret: Options | None = None
    """Options that contain a secret."""
    configured: Options = field(default_factory=dict)
    """Configuration of the executor in another process."""
    around: Callable[[], AbstractAsyncContextManager[Any]] = nullcontext


def function(request: pytest.FixtureRequest, stack: ExitStack) -> Subject:
    seen: list[str] = []
    started, stopped = asyncio.Event(), asyncio.Event()

    def work(run: RunContext) -> str:
        seen.append(run.idempotency_key)
        return "worked"

    def fail(run: RunContext) -> None:
        seen.append(run.idempotency_key)
        raise ValueError("no luck today")

    async def hold(run: RunContext) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    def make() -> Executor:
        executor = FunctionExecutor()
        for task in (work, fail, hold):
            executor.register(f"tests:{task.__name__}", task)
        return executor

    async def deliveries(launch: RunContext) -> list[str]:
        return [key for key in seen if key == launch.idempotency_key]

    return Subject(
        make,
        {"function": "tests:work"},
        deliveries,
        lambda _: FunctionExecutor(),
        unreachable_options=lambda _: {"function": "no_such_module:work"},
        is_remote=False,
        fail={"function": "tests:fail"},
        hold={"function": "tests:hold"},
        started=lambda _: _wait(started),
        stopped=lambda _: _wait(stopped),
        deduplicates=False,
    )


async def _wait(event: asyncio.Event) -> None:
    await event.wait()


NOTE = """
import os, sys
with open(sys.argv[1], "a") as notes:
    notes.write(os.environ["TOMPION_KEY"] + "\\n")
"""
HOLD = """
import os, signal, sys
with open(sys.argv[1], "w") as pipe:
    pipe.write("started")
    pipe.flush()
    signal.pause()
"""


def command(request: pytest.FixtureRequest, stack: ExitStack) -> Subject:
    folder: Path = request.getfixturevalue("tmp_path")
    notes, pipe = folder / "notes", folder / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    stack.callback(os.close, reader)
    declared = {
        "work": {"argv": [*python(NOTE + "print('worked')"), str(notes)], "env": {"TOKEN": CANARY}},
        "fail": {"argv": [*python(NOTE + "sys.exit('no luck today')"), str(notes)]},
        "hold": {"argv": [*python(HOLD), str(pipe)]},
        "nowhere": {"argv": [str(folder / "no-such-program")], "env": {"TOKEN": CANARY}},
    }

    async def deliveries(launch: RunContext) -> list[str]:
        return [key for key in notes.read_text().split() if key == launch.idempotency_key] if notes.exists() else []

    async def wait_for_output(output: bytes) -> None:
        """Wait until the command writes this to the pipe. The pipe is empty when no process of the command is left."""
        while True:
            try:
                if os.read(reader, 7) == output:
                    return
            except BlockingIOError:
                pass
            await pause(POLL_S)

    configured = {"commands": declared, "grace_ms": 200}

    def make() -> Executor:
        return CommandExecutor(configured, SITE)

    return Subject(
        make,
        {"command": "work"},
        deliveries,
        lambda _: make(),
        unreachable_options=lambda _: {"command": "nowhere"},
        is_remote=False,
        fail={"command": "fail"},
        hold={"command": "hold"},
        started=lambda _: wait_for_output(b"started"),
        stopped=lambda _: wait_for_output(b""),
        deduplicates=False,
        configured=configured,
    )


def http(request: pytest.FixtureRequest, stack: ExitStack) -> Subject:
    server: Server = stack.enter_context(http_server())

    def answer(seen: ReceivedRequest) -> tuple[int, dict[str, str], bytes]:
        return (422, {}, b"no luck today") if seen.path == "/fail" else (200, {}, b'"worked"')

    server.answer = answer

    async def deliveries(launch: RunContext) -> list[str]:
        keys = [seen.headers["idempotency-key"] for seen in server.seen]
        return [key for key in keys if key == launch.idempotency_key]

    async def started(launch: RunContext) -> None:
        await asyncio.get_running_loop().run_in_executor(None, server.arrived.acquire)

    def make(port: str = server.allow) -> Executor:
        return HttpExecutor({"allow": [port], "secrets": {"team": SECRET}}, SITE)

    headers = {"Authorization": f"Bearer {CANARY}"}

    def unreachable_options(port: int) -> Options:
        url = f"http://{LOOPBACK}:{port}/?token={CANARY}"
        return {"url": url, "headers": headers, "secret": "team", "timeout_ms": 300}

    return Subject(
        make,
        {"url": f"{server.url}/work"},
        deliveries,
        lambda port: make(f"{LOOPBACK}:{port}"),
        unreachable_options=unreachable_options,
        fail={"url": f"{server.url}/fail"},
        hold={"url": f"{server.url}/hold"},
        started=started,
        deduplicates=False,
        configured={"allow": [server.allow]},
        secret={"url": f"{server.url}/work?token={CANARY}", "headers": headers, "secret": "team"},
    )


def jetstream(request: pytest.FixtureRequest, stack: ExitStack) -> Subject:
    url: str = request.getfixturevalue("nats_url")
    name = f"contract{abs(hash(request.getfixturevalue('tmp_path'))) % 10**9}"

    @asynccontextmanager
    async def around() -> AsyncIterator[None]:
        client = await nats.connect(url)
        await client.jetstream().add_stream(name=name, subjects=[f"{name}.*"])
        await client.close()
        yield

    async def deliveries(launch: RunContext) -> list[str]:
        client = await nats.connect(url)
        try:
            stream = client.jetstream()
            count = (await stream.stream_info(name)).state.messages
            messages = [await stream.get_msg(name, number + 1) for number in range(count)]
        finally:
            await client.close()
        ids = [(message.headers or {})["Nats-Msg-Id"] for message in messages]
        return [message_id for message_id in ids if message_id.startswith(launch.idempotency_key)]

    unreachable = f"nats://user:{CANARY}@{LOOPBACK}"
    return Subject(
        lambda: NatsExecutor({"servers": [url]}, SITE),
        {"subject": f"{name}.runs"},
        deliveries,
        lambda port: NatsExecutor({"servers": f"{unreachable}:{port}", "timeout_ms": 300}, SITE),
        has_result=False,
        configured={"servers": [url]},
        around=around,
    )


def redis(request: pytest.FixtureRequest, stack: ExitStack) -> Subject:
    url: str = request.getfixturevalue("valkey_url")
    name = f"contract{abs(hash(request.getfixturevalue('tmp_path'))) % 10**9}"

    async def deliveries(launch: RunContext) -> list[str]:
        async with aclosing(Redis.from_url(url)) as client:
            entries: Any = await client.xrange(name)
            return [
                fields[b"key"].decode() for _, fields in entries if fields[b"key"].decode() == launch.idempotency_key
            ]

    unreachable = f"redis://user:{CANARY}@{LOOPBACK}"
    return Subject(
        lambda: RedisExecutor({"url": url}, SITE),
        {"stream": name},
        deliveries,
        lambda port: RedisExecutor({"url": f"{unreachable}:{port}/0", "timeout_ms": 300}, SITE),
        has_result=False,
        configured={"url": url},
    )


def celery(request: pytest.FixtureRequest, stack: ExitStack) -> Subject:
    url: str = request.getfixturevalue("celery_url")
    tasks = "tests.conformance.executor.celery_tasks"

    def is_idle() -> bool:
        """Return whether the worker has neither reserved nor active tasks."""
        worker = Celery(broker=url, set_as_current=False).control.inspect(limit=1)
        return not any(
            tasks for inspect in (worker.reserved, worker.active) for tasks in (inspect() or {"": [1]}).values()
        )

    async def deliveries(launch: RunContext) -> list[str]:
        async with aclosing(Redis.from_url(url)) as client:
            while await client.exists("celery") or not await asyncio.to_thread(is_idle):
                await pause(POLL_S)
            ids: Any = await client.lrange(f"ids:{launch.idempotency_key}", 0, -1)
            return [task_id.decode() for task_id in ids]

    async def started(launch: RunContext) -> None:
        async with aclosing(Redis.from_url(url)) as client:
            await client.blmove(f"marks:{launch.idempotency_key}", f"seen:{launch.idempotency_key}", 60)

    async def stopped(launch: RunContext) -> None:
        async with aclosing(Redis.from_url(url)) as client:
            while True:
                meta = await client.get(f"celery-task-meta-{launch.delivery_id}")
                if meta is not None and json.loads(meta)["status"] == "REVOKED":
                    return
                await pause(POLL_S)

    def unreachable(port: int) -> Executor:
        broker = f"redis://user:{CANARY}@{LOOPBACK}:{port}/0"
        return CeleryExecutor({"broker": broker, "backend": broker, "timeout_ms": 300}, SITE)

    configured = {"broker": url, "backend": url, "poll_ms": 20}
    return Subject(
        lambda: CeleryExecutor(configured, SITE),
        {"task": f"{tasks}.work"},
        deliveries,
        unreachable,
        fail={"task": f"{tasks}.fail"},
        hold={"task": f"{tasks}.hold"},
        started=started,
        stopped=stopped,
        configured=configured,
    )


def temporal(request: pytest.FixtureRequest, stack: ExitStack) -> Subject:
    address: str = request.getfixturevalue("temporal_address")
    clients: list[Client] = []

    @asynccontextmanager
    async def around() -> AsyncIterator[None]:
        async with temporal_worker(address) as client:
            clients.append(client)
            yield

    async def deliveries(launch: RunContext) -> list[str]:
        query = f"TemporalScheduledById = '{launch.schedule_id}'"
        return [workflow.run_id async for workflow in clients[0].list_workflows(query)]

    async def started(launch: RunContext) -> None:
        while not await deliveries(launch):
            await pause(POLL_S)

    async def stopped(launch: RunContext) -> None:
        async for workflow in clients[0].list_workflows(f"TemporalScheduledById = '{launch.schedule_id}'"):
            with pytest.raises(WorkflowFailureError):
                await clients[0].get_workflow_handle(workflow.id).result()

    def unreachable(port: int) -> Executor:
        configured = {"address": f"{LOOPBACK}:{port}", "api_key": CANARY, "tls": False, "timeout_ms": 300}
        return TemporalExecutor(configured, SITE)

    queue = {"task_queue": QUEUE}
    return Subject(
        lambda: TemporalExecutor({"address": address}, SITE),
        {"workflow": "echo", **queue},
        deliveries,
        unreachable,
        fail={"workflow": "fail", **queue},
        hold={"workflow": "hold", **queue},
        started=started,
        stopped=stopped,
        configured={"address": address},
        secret={"workflow": "echo", **queue, "memo": {"token": CANARY}},
        around=around,
    )


SUBJECTS: dict[str, Callable[[pytest.FixtureRequest, ExitStack], Subject]] = {
    "function": function,
    "command": command,
    "http": http,
    "nats": jetstream,
    "redis": redis,
    "celery": celery,
    "temporal": temporal,
}
