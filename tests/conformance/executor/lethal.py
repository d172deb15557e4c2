"""A worker process that can be made to die at the worst moment: its target has the run, and the ledger does not know.

``python -m tests.conformance.executor.lethal STORE EXECUTOR CONFIGURATION dies|lives``, and with ``tells`` for one that
says what it has counted as soon as some of its words came too late.
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

DOOMED = Settings(tick_ms=50, lock_ttl_ms=1_000, heartbeat_ms=300, sweep_ms=1_000)
"""Of a worker that is to lose its lease soon."""
HEALTHY = Settings(tick_ms=50)
EXECUTORS = {
    "function": "tompion.executors.function:make",
    "command": "tompion.executors.command:CommandExecutor",
    "http": "tompion.executors.http:HttpExecutor",
    "nats": "tompion.executors.nats:NatsExecutor",
    "redis": "tompion.executors.redis:RedisExecutor",
    "celery": "tompion.executors.celery:CeleryExecutor",
    "temporal": "tompion.executors.temporal.executor:TemporalExecutor",
}
HANDS_OVER = {"celery": "_send", "temporal": "_start"}
"""Where those that follow a run hand it over; for the others it is over when ``run`` returns."""
NOTES = "TOMPION_TEST_NOTES"
PR_SET_PDEATHSIG = 1


def note(run: RunContext) -> None:
    """Leave a note of the key."""
    with Path(os.environ[NOTES]).open("a") as notes:
        notes.write(f"{run.key}\n")


def stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


async def freeze(run: RunContext) -> str:
    """Stop the whole process at the first attempt; when it goes on, this is the first thing that happens.

    Not while it writes into a file of SQLite: whoever is stopped then stops everybody, and is no test of a lease.
    """
    store = None if Home.newest is None else Home.newest._store
    if run.attempt > 1:
        pass
    elif isinstance(store, SqliteStore) and store._write_thread is not None:
        store._write_thread.submit(stop).result()  # the thread that writes does nothing else then
    else:
        stop()
    return f"attempt {run.attempt}"


def made(name: str, configured: dict[str, Any]) -> Executor:
    """Make an executor without a look at what is installed."""
    module, _, called = EXECUTORS[name].partition(":")
    executor: Executor = getattr(import_module(module), called)(configured, ExecutorEnv())
    return executor


def deadly(executor: Executor, name: str) -> None:
    """Let the process die as soon as the target has a run."""
    hands_over: Callable[..., Any] = getattr(executor, HANDS_OVER.get(name, "run"))

    async def later(*given: Any) -> None:
        await hands_over(*given)
        os.kill(os.getpid(), signal.SIGKILL)

    def at_once(*given: Any) -> None:
        hands_over(*given)
        os.kill(os.getpid(), signal.SIGKILL)

    fatal = later if inspect.iscoroutinefunction(hands_over) else at_once
    setattr(executor, HANDS_OVER.get(name, "run"), fatal)


async def work(store: str, name: str, configured: str, fate: str) -> None:
    """Work until somebody ends this process, or it does so itself."""
    executor = made(name, json.loads(configured))
    if fate == "dies":
        deadly(executor, name)
    async with Home(store, {name: executor}, HEALTHY if fate == "lives" else DOOMED) as home:
        while fate == "tells" and not home.counts.get("stale_writes_rejected"):
            await pause(0.02)
        sys.stdout.write(json.dumps(home.counts) + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> None:
    """Work, and be killed with whoever started this process."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    asyncio.run(work(*sys.argv[1:]))


if __name__ == "__main__":
    main()
