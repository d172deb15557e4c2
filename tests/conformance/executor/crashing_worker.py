"""A worker process that can kill itself after its target has accepted a run, and before the ledger has recorded it.

``python -m tests.conformance.executor.crashing_worker STORE EXECUTOR CONFIGURATION MODE``, where the mode is ``crash``,
``work``, or ``report`` for a worker that prints its counters as soon as one of its writes was rejected as stale.
"""

from __future__ import annotations

import asyncio
import ctypes
import inspect
import json
import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.support.app import Home
from tompion.config.settings import Settings
from tompion.executors.base import Executor, RunContext
from tompion.executors.options import ExecutorEnv
from tompion.runtime.clock import pause
from tompion.store.sqlite.driver import SqliteStore

SHORT_LEASE = Settings(tick_ms=50, lock_ttl_ms=1_000, heartbeat_ms=300, sweep_ms=1_000)
"""Settings of a worker that loses its lease soon."""
NORMAL_LEASE = Settings(tick_ms=50)
EXECUTORS = {
    "function": "tompion.executors.function:make",
    "command": "tompion.executors.command:CommandExecutor",
    "http": "tompion.executors.http:HttpExecutor",
    "nats": "tompion.executors.nats:NatsExecutor",
    "redis": "tompion.executors.redis:RedisExecutor",
    "celery": "tompion.executors.celery:CeleryExecutor",
    "temporal": "tompion.executors.temporal.executor:TemporalExecutor",
}
DELIVERY_METHODS = {"celery": "_send", "temporal": "_start"}
"""The method that delivers a run, for executors that follow it. The others deliver it in ``run``."""
NOTES = "TOMPION_TEST_NOTES"
PR_SET_PDEATHSIG = 1


def note(run: RunContext) -> None:
    """Append the key of a run to the file of notes."""
    with Path(os.environ[NOTES]).open("a") as notes:
        notes.write(f"{run.idempotency_key}\n")


def stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


async def freeze(run: RunContext) -> str:
    """Stop the process at the first attempt of a run. After SIGCONT, the process continues here.

    With SQLite, the writing thread stops the process. A process that stops during a write would block every other
    process, and the test would not be about the lease.
    """
    store = None if Home.newest is None else Home.newest._store
    if run.attempt > 1:
        pass
    elif isinstance(store, SqliteStore) and store._write_thread is not None:
        store._write_thread.submit(stop).result()  # the writing thread has no open transaction then
    else:
        stop()
    return f"attempt {run.attempt}"


def build_executor(name: str, configured: dict[str, Any]) -> Executor:
    """Build an executor without the registry of installed executors."""
    module, _, factory = EXECUTORS[name].partition(":")
    executor: Executor = getattr(import_module(module), factory)(configured, ExecutorEnv())
    return executor


def crash_after_delivery(executor: Executor, name: str) -> None:
    """Make the process kill itself as soon as the target has a run."""
    deliver: Callable[..., Any] = getattr(executor, DELIVERY_METHODS.get(name, "run"))

    async def deliver_async(*args: Any) -> None:
        await deliver(*args)
        os.kill(os.getpid(), signal.SIGKILL)

    def deliver_sync(*args: Any) -> None:
        deliver(*args)
        os.kill(os.getpid(), signal.SIGKILL)

    crashing = deliver_async if inspect.iscoroutinefunction(deliver) else deliver_sync
    setattr(executor, DELIVERY_METHODS.get(name, "run"), crashing)


async def work(store: str, name: str, configured: str, mode: str) -> None:
    """Run an engine until the process is killed."""
    executor = build_executor(name, json.loads(configured))
    if mode == "crash":
        crash_after_delivery(executor, name)
    async with Home(store, {name: executor}, NORMAL_LEASE if mode == "work" else SHORT_LEASE) as home:
        while mode == "report" and not home.counts.get("stale_writes_rejected"):
            await pause(0.02)
        sys.stdout.write(json.dumps(home.counts) + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> None:
    """Run the worker. It is killed with its parent process."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    asyncio.run(work(*sys.argv[1:]))


if __name__ == "__main__":
    main()
