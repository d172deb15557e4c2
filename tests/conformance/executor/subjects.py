"""Every executor as the contract sees it: how to make it work, fail and hold, and what its target saw of it.

``SUBJECTS`` names them; each entry makes a :class:`Subject` from the fixtures of the servers that it needs.
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
LOOK_S = 0.02
"""The pause between two questions to a target that gives no signal."""
Options = dict[str, Any]
SECRET = "whsec_" + "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"


@dataclass
class Subject:
    """One executor, its target, and how far the contract applies to it."""

    make: Callable[[], Executor]
    work: Options
    effects: Callable[[RunContext], Awaitable[list[str]]]
    """What identifies each delivery of a run that its target has acted upon."""
    unreachable: Callable[[int], Executor]
    """One whose target is at a port where nobody listens, or answers."""
    nowhere: Callable[[int], Options] | None = None
    """The options of a workflow whose target is there; those that work, unless said otherwise."""
    is_remote: bool = True
    fail: Options | None = None
    hold: Options | None = None
    begun: Callable[[RunContext], Awaitable[None]] | None = None
    stopped: Callable[[RunContext], Awaitable[None]] | None = None
    """Wait until the target has let go of a run."""
    has_result: bool = True
    recognises: bool = True
    """Whether a delivery that is repeated has no second effect; otherwise the target knows it by its key."""
    secret: Options | None = None
    """Options with a secret in them."""
    configured: Options = field(default_factory=dict)
    """What an executor in another process is made with."""
    around: Callable[[], AbstractAsyncContextManager[Any]] = nullcontext


def function(request: pytest.FixtureRequest, stack: ExitStack) -> Subject:
    seen: list[str] = []
    begun, stopped = asyncio.Event(), asyncio.Event()

    def work(run: RunContext) -> str:
        seen.append(run.key)
        return "worked"

    def fail(run: RunContext) -> None:
        seen.append(run.key)
        raise ValueError("no luck today")

    async def hold(run: RunContext) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    def make() -> Executor:
        executor = FunctionExecutor()
        for each in (work, fail, hold):
            executor.register(f"tests:{each.__name__}", each)
        return executor

    async def effects(launch: RunContext) -> list[str]:
        return [key for key in seen if key == launch.key]

    return Subject(
        make,
        {"function": "tests:work"},
        effects,
        lambda _: FunctionExecutor(),
        nowhere=lambda _: {"function": "no_such_module:work"},
        is_remote=False,
        fail={"function": "tests:fail"},
        hold={"function": "tests:hold"},
        begun=lambda _: _happened(begun),
        stopped=lambda _: _happened(stopped),
        recognises=False,
    )


async def _happened(event: asyncio.Event) -> None:
    await event.wait()


NOTE = """
import os, sys
with open(sys.argv[1], "a") as notes:
    notes.write(os.environ["TOMPION_KEY"] + "\\n")
"""
HOLD = """
import os, signal, sys
with open(sys.argv[1], "w") as pipe:
    pipe.write("begun")
    pipe.flush()
    signal.pause()
"""


def command(request: pytest.FixtureRequest, stack: ExitStack) -> Subject:
    home: Path = request.getfixturevalue("tmp_path")
    notes, pipe = home / "notes", home / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    stack.callback(os.close, reader)
    declared = {
        "work": {"argv": [*python(NOTE + "print('worked')"), str(notes)], "env": {"TOKEN": CANARY}},
        "fail": {"argv": [*python(NOTE + "sys.exit('no luck today')"), str(notes)]},
        "hold": {"argv": [*python(HOLD), str(pipe)]},
        "nowhere": {"argv": [str(home / "no-such-program")], "env": {"TOKEN": CANARY}},
    }

    async def effects(launch: RunContext) -> list[str]:
        return [key for key in notes.read_text().split() if key == launch.key] if notes.exists() else []

    async def said(what: bytes) -> None:
        """Wait until the command says that; it says nothing when nothing of it is left."""
        while True:
            try:
                if os.read(reader, 5) == what:
                    return
            except BlockingIOError:
                pass
            await pause(LOOK_S)

    configured = {"commands": declared, "grace_ms": 200}

    def make() -> Executor:
        return CommandExecutor(configured, SITE)

    return Subject(
        make,
        {"command": "work"},
        effects,
        lambda _: make(),
        nowhere=lambda _: {"command": "nowhere"},
        is_remote=False,
        fail={"command": "fail"},
        hold={"command": "hold"},
        begun=lambda _: said(b"begun"),
        stopped=lambda _: said(b""),
        recognises=False,
        configured=configured,
    )


def http(request: pytest.FixtureRequest, stack: ExitStack) -> Subject:
    server: Server = stack.enter_context(http_server())

    def answer(seen: ReceivedRequest) -> tuple[int, dict[str, str], bytes]:
        return (422, {}, b"no luck today") if seen.path == "/fail" else (200, {}, b'"worked"')

    server.answer = answer

    async def effects(launch: RunContext) -> list[str]:
        keys = [seen.headers["idempotency-key"] for seen in server.seen]
        return [key for key in keys if key == launch.key]

    async def begun(launch: RunContext) -> None:
        await asyncio.get_running_loop().run_in_executor(None, server.arrived.acquire)

    def make(port: str = server.allow) -> Executor:
        return HttpExecutor({"allow": [port], "secrets": {"team": SECRET}}, SITE)

    headers = {"Authorization": f"Bearer {CANARY}"}

    def nowhere(port: int) -> Options:
        url = f"http://{LOOPBACK}:{port}/?token={CANARY}"
        return {"url": url, "headers": headers, "secret": "team", "timeout_ms": 300}

    return Subject(
        make,
        {"url": f"{server.url}/work"},
        effects,
        lambda port: make(f"{LOOPBACK}:{port}"),
        nowhere=nowhere,
        fail={"url": f"{server.url}/fail"},
        hold={"url": f"{server.url}/hold"},
        begun=begun,
        recognises=False,
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

    async def effects(launch: RunContext) -> list[str]:
        client = await nats.connect(url)
        try:
            stream = client.jetstream()
            count = (await stream.stream_info(name)).state.messages
            found = [await stream.get_msg(name, number + 1) for number in range(count)]
        finally:
            await client.close()
        ids = [(each.headers or {})["Nats-Msg-Id"] for each in found]
        return [each for each in ids if each.startswith(launch.key)]

    nowhere = f"nats://user:{CANARY}@{LOOPBACK}"
    return Subject(
        lambda: NatsExecutor({"servers": [url]}, SITE),
        {"subject": f"{name}.runs"},
        effects,
        lambda port: NatsExecutor({"servers": f"{nowhere}:{port}", "timeout_ms": 300}, SITE),
        has_result=False,
        configured={"servers": [url]},
        around=around,
    )


def redis(request: pytest.FixtureRequest, stack: ExitStack) -> Subject:
    url: str = request.getfixturevalue("valkey_url")
    name = f"contract{abs(hash(request.getfixturevalue('tmp_path'))) % 10**9}"

    async def effects(launch: RunContext) -> list[str]:
        async with aclosing(Redis.from_url(url)) as client:
            entries: Any = await client.xrange(name)
            return [fields[b"key"].decode() for _, fields in entries if fields[b"key"].decode() == launch.key]

    nowhere = f"redis://user:{CANARY}@{LOOPBACK}"
    return Subject(
        lambda: RedisExecutor({"url": url}, SITE),
        {"stream": name},
        effects,
        lambda port: RedisExecutor({"url": f"{nowhere}:{port}/0", "timeout_ms": 300}, SITE),
        has_result=False,
        configured={"url": url},
    )


def celery(request: pytest.FixtureRequest, stack: ExitStack) -> Subject:
    url: str = request.getfixturevalue("celery_url")
    tasks = "tests.conformance.executor.celery_tasks"

    def at_rest() -> bool:
        """Whether the worker has taken all there is, and does nothing."""
        asked = Celery(broker=url, set_as_current=False).control.inspect(limit=1)
        return not any(tasks for looked in (asked.reserved, asked.active) for tasks in (looked() or {"": [1]}).values())

    async def effects(launch: RunContext) -> list[str]:
        async with aclosing(Redis.from_url(url)) as client:
            while await client.exists("celery") or not await asyncio.to_thread(at_rest):
                await pause(LOOK_S)
            found: Any = await client.lrange(f"ids:{launch.key}", 0, -1)
            return [each.decode() for each in found]

    async def begun(launch: RunContext) -> None:
        async with aclosing(Redis.from_url(url)) as client:
            await client.blmove(f"marks:{launch.key}", f"seen:{launch.key}", 60)

    async def stopped(launch: RunContext) -> None:
        async with aclosing(Redis.from_url(url)) as client:
            while True:
                said = await client.get(f"celery-task-meta-{launch.delivery_id}")
                if said is not None and json.loads(said)["status"] == "REVOKED":
                    return
                await pause(LOOK_S)

    def nowhere(port: int) -> Executor:
        away = f"redis://user:{CANARY}@{LOOPBACK}:{port}/0"
        return CeleryExecutor({"broker": away, "backend": away, "timeout_ms": 300}, SITE)

    configured = {"broker": url, "backend": url, "poll_ms": 20}
    return Subject(
        lambda: CeleryExecutor(configured, SITE),
        {"task": f"{tasks}.work"},
        effects,
        nowhere,
        fail={"task": f"{tasks}.fail"},
        hold={"task": f"{tasks}.hold"},
        begun=begun,
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

    async def effects(launch: RunContext) -> list[str]:
        asked = f"TemporalScheduledById = '{launch.schedule_id}'"
        return [each.run_id async for each in clients[0].list_workflows(asked)]

    async def begun(launch: RunContext) -> None:
        while not await effects(launch):
            await pause(LOOK_S)

    async def stopped(launch: RunContext) -> None:
        async for each in clients[0].list_workflows(f"TemporalScheduledById = '{launch.schedule_id}'"):
            with pytest.raises(WorkflowFailureError):
                await clients[0].get_workflow_handle(each.id).result()

    def nowhere(port: int) -> Executor:
        configured = {"address": f"{LOOPBACK}:{port}", "api_key": CANARY, "tls": False, "timeout_ms": 300}
        return TemporalExecutor(configured, SITE)

    queue = {"task_queue": QUEUE}
    return Subject(
        lambda: TemporalExecutor({"address": address}, SITE),
        {"workflow": "echo", **queue},
        effects,
        nowhere,
        fail={"workflow": "fail", **queue},
        hold={"workflow": "hold", **queue},
        begun=begun,
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
