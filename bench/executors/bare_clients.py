"""The launch by each executor, and by its bare client library with a prepared body."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, NamedTuple

import aiohttp
import nats
from celery import Celery
from redis.asyncio import Redis
from temporalio.client import Client

from tests.support.servers.message_brokers import dying_with_us, nats_server, valkey_server
from tests.support.servers.temporal import temporal_server
from tompion.executors.base import Executor, RunContext
from tompion.executors.celery import CeleryExecutor
from tompion.executors.command import CommandExecutor
from tompion.executors.function import FunctionExecutor
from tompion.executors.http import HttpExecutor
from tompion.executors.nats import NatsExecutor
from tompion.executors.options import ExecutorEnv
from tompion.executors.queue_message import run_message
from tompion.executors.redis import RedisExecutor
from tompion.executors.temporal.executor import TemporalExecutor
from tompion.model.run import RunRow
from tompion.model.schedule import Action

SITE = ExecutorEnv(public_url="https://tompion.example")
DAG = {"steps": ["collect", "send"]}
PAYLOAD = '{"customer": 4711, "report": "daily"}'
RUN = RunRow(
    7, 1_800_000_060, 0, "schedule", "ENQUEUED", None, 1, 1, 0, 1_800_000_060_000, None, 1, 1_800_000_060_000, None,
    None, None, None, None, None, None, False, None, None, None,
)  # fmt: skip
ACTION = Action(workflow_id="flow", user_id="u1")
ROOT = Path(__file__).resolve().parents[2]
Call = Callable[[int], Awaitable[Any]]
"""Hands over the run of a number, each of which is used once."""


class Contestant(NamedTuple):
    """One executor and the library below it, on the same target."""

    tompion: Call
    bare: Call


class Setting(NamedTuple):
    """A contestant before its setup, with a folder of its own."""

    name: str
    library: str
    at_once: int
    share: float
    """The share of the full number of launches to wait for."""
    opened: Callable[[Path], AbstractAsyncContextManager[Contestant]]


def launch(number: int, options: dict[str, Any]) -> RunContext:
    """Return the run of a number."""
    return RunContext(RUN._replace(nominal_s=number), "default", "report", ACTION, PAYLOAD, options, sign=_signed)


def _signed(subject: str) -> str:
    return f"{subject}.0123456789abcdef0123456789abcdef"


def _handing(executor: Executor, options: dict[str, Any]) -> Call:
    async def call(number: int) -> None:
        await executor.run(DAG, launch(number, options))

    return call


@asynccontextmanager
async def function(_folder: Path) -> AsyncIterator[Contestant]:
    """Call an asynchronous function."""

    async def work(run: RunContext) -> None:
        """Do nothing."""

    executor = FunctionExecutor()
    executor.register("bench:work", work)
    async with aclosing(executor):
        yield Contestant(_handing(executor, {"function": "bench:work"}), lambda number: work(launch(number, {})))


@asynccontextmanager
async def thread(_folder: Path) -> AsyncIterator[Contestant]:
    """Call a synchronous function."""

    def work(run: RunContext) -> None:
        """Do nothing."""

    executor = FunctionExecutor()
    executor.register("bench:work", work)
    with ThreadPoolExecutor(32) as pool:
        async with aclosing(executor):

            async def bare(number: int) -> None:
                await asyncio.get_running_loop().run_in_executor(pool, work, launch(number, {}))

            yield Contestant(_handing(executor, {"function": "bench:work"}), bare)


@asynccontextmanager
async def command(_folder: Path) -> AsyncIterator[Contestant]:
    """Start a program."""
    program = "/bin/true"
    message = run_message(DAG, launch(1, {}), SITE)

    async def bare(_number: int) -> None:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(program, stdin=pipe, stdout=pipe, stderr=pipe)
        await process.communicate(message)

    async with aclosing(CommandExecutor({"commands": {"it": {"argv": [program]}}}, SITE)) as executor:
        yield Contestant(_handing(executor, {"command": "it"}), bare)


@contextmanager
def _target() -> Iterator[int]:
    argv = dying_with_us([sys.executable, "-m", "bench.executors.target"])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with Popen(argv, cwd=ROOT, env=environment, stdout=PIPE, text=True) as process:  # noqa: S603 - our own target
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


@asynccontextmanager
async def http(_folder: Path) -> AsyncIterator[Contestant]:
    """Post."""
    with _target() as port:
        url = f"http://127.0.0.1:{port}/run"
        body = run_message(DAG, launch(1, {}), SITE)
        connector = aiohttp.TCPConnector(limit=0)
        async with (
            aclosing(HttpExecutor({"allow": [f"127.0.0.1:{port}"]}, SITE)) as executor,
            aiohttp.ClientSession(connector=connector) as session,
        ):

            async def bare(number: int) -> None:
                headers = {"Content-Type": "application/json", "Idempotency-Key": str(number)}
                async with session.post(url, data=body, headers=headers) as answer:
                    await answer.read()

            yield Contestant(_handing(executor, {"url": url}), bare)


@asynccontextmanager
async def jetstream(folder: Path) -> AsyncIterator[Contestant]:
    """Publish, and wait for the acknowledgement."""
    with nats_server(folder) as url:
        client = await nats.connect(url)
        stream = client.jetstream()
        await stream.add_stream(name="runs", subjects=["runs.*"])
        body = run_message(DAG, launch(1, {}), SITE)

        async def bare(number: int) -> None:
            await stream.publish("runs.bare", body, headers={"Nats-Msg-Id": f"bare-{number}"})

        async with aclosing(NatsExecutor({"servers": [url]}, SITE)) as executor:
            yield Contestant(_handing(executor, {"subject": "runs.tompion"}), bare)
        await client.close()


@asynccontextmanager
async def redis(folder: Path) -> AsyncIterator[Contestant]:
    """Add to a stream. The bare client does not look whether it has done so before."""
    with valkey_server(folder) as url:
        body = run_message(DAG, launch(1, {}), SITE)
        async with aclosing(Redis.from_url(url)) as client, aclosing(RedisExecutor({"url": url}, SITE)) as executor:

            async def bare(number: int) -> None:
                await client.xadd("bare", {"key": str(number), "message": body})

            yield Contestant(_handing(executor, {"stream": "tompion"}), bare)


@asynccontextmanager
async def celery(folder: Path) -> AsyncIterator[Contestant]:
    """Send a task, from one thread: Celery's connections are not for many."""
    with valkey_server(folder) as url, ThreadPoolExecutor(1) as only:
        app = Celery("bench", broker=url, set_as_current=False)
        headers = {"tompion": json.loads(run_message(DAG, launch(1, {}), SITE))}

        async def bare(number: int) -> None:
            send = partial(app.send_task, "bench.work", headers=headers, task_id=f"bare-{number}")
            await asyncio.get_running_loop().run_in_executor(only, send)

        async with aclosing(CeleryExecutor({"broker": url}, SITE)) as executor:
            yield Contestant(_handing(executor, {"task": "bench.work"}), bare)


@asynccontextmanager
async def temporal(_folder: Path) -> AsyncIterator[Contestant]:
    """Start a workflow without a worker."""
    with temporal_server() as address:
        client = await Client.connect(address)
        message = json.loads(run_message(DAG, launch(1, {}), SITE))

        async def bare(number: int) -> None:
            await client.start_workflow("work", message, id=f"bare-{number}", task_queue="no-worker")

        async with aclosing(TemporalExecutor({"address": address}, SITE)) as executor:
            yield Contestant(_handing(executor, {"workflow": "work", "task_queue": "no-worker", "done": "taken"}), bare)


SETTINGS = (
    Setting("function, async", "a call", 64, 5, function),
    Setting("function, in a thread", "a pool", 64, 2, thread),
    Setting("command", "asyncio", 8, 0.05, command),
    Setting("http", "aiohttp", 64, 1, http),
    Setting("nats", "nats-py", 64, 1, jetstream),
    Setting("redis", "redis-py", 64, 1, redis),
    Setting("celery", "Celery", 8, 0.25, celery),
    Setting("temporal", "temporalio", 16, 0.1, temporal),
)
