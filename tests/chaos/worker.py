"""One worker process: ``python -m tests.chaos.worker URL NAME COUNTS``, the log being named by the environment.

It is the real engine on the real store. Only the limits are small, so that seconds do what minutes do in production.
Like any supervised service it keeps trying to start while the database is away.  It writes its counters to a file
regularly, because a killed process cannot report at its end.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import logging
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from tompion.bootstrap.store import open_store
from tompion.config.settings import Settings
from tompion.engine.engine import Engine
from tompion.engine.telemetry.events import EngineEvents
from tompion.errors import StoreUnavailable
from tompion.executors.base import Executor
from tompion.executors.function import FunctionExecutor
from tompion.runtime import clock
from tompion.runtime.clock import SystemClock

T = TypeVar("T")
SETTINGS = Settings(
    tick_ms=200,
    lock_ttl_ms=2_000,
    heartbeat_ms=600,
    misfire_grace_ms=1_000,  # so that an outage of seconds makes missed ticks, and catching up is put to the test
    sweep_ms=1_000,
    max_buffer=100_000,  # no tick may be dropped lawfully, for want of room …
    max_pickups=10_000,  # … or because the nemesis has picked on one run too often
    max_threads=64,
    shutdown_grace_ms=8_000,
)
PR_SET_PDEATHSIG = 1
SAY_S = 0.25
RETRY_S = 0.2


async def live(url: str, name: str, counts: Path) -> None:
    """Work until SIGTERM, then leave in good order."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    store = await _persistently(lambda: loop.run_in_executor(None, open_store, url), stopped)
    if store is None:
        return
    events = EngineEvents()
    executors: dict[str, Executor] = {"function": FunctionExecutor(SETTINGS.max_threads)}
    engine = Engine(store, executors, clock=SystemClock(), settings=SETTINGS, name=name, events=events)
    await _persistently(engine.start, stopped)
    while not stopped.is_set():
        _say(counts, events)
        await clock.wait(stopped, SAY_S)
    await engine.stop()
    await loop.run_in_executor(None, store.close)
    _say(counts, events)
    sys.stdout.write(json.dumps(events.counts) + "\n")


async def _persistently(step: Callable[[], Awaitable[T]], stopped: asyncio.Event) -> T | None:
    while not stopped.is_set():
        try:
            return await step()
        except StoreUnavailable:
            await clock.wait(stopped, RETRY_S)
    return None


def _say(path: Path, events: EngineEvents) -> None:
    """Write what was counted so far, in one piece."""
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(events.counts))
    draft.replace(path)


def main() -> None:
    """Run until the parent process ends, frozen or not."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.WARNING)
    url, name, counts = sys.argv[1:]
    asyncio.run(live(url, name, Path(counts)))


if __name__ == "__main__":
    main()
