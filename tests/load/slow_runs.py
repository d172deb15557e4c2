"""Thousands of runs at a slow target: the memory of each, the effect on other runs, and their cancellation."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp

from tests.load.target import argv
from tests.support.app import Home
from tests.support.servers import LOOPBACK
from tompion.config.settings import Settings
from tompion.executors.http import HttpExecutor
from tompion.executors.options import ExecutorEnv
from tompion.runtime.clock import pause

ROOT = Path(__file__).resolve().parents[2]
LOOK_S = 0.02
DOOMED = 10
"""Every n-th slow run is cancelled."""
QUICK_RUNS = 200
SETTINGS = Settings(max_active_launches=20_000, max_page=20_000, backfills_per_iteration=1_000)
SECONDS = 300
PAST = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Report:
    """Measurements and counts."""

    runs: int
    held: int
    """How many requests the slow target had at the same time."""
    begun_s: float
    quick_s: float
    """The duration of the runs to another target meanwhile."""
    cancelled_s: float
    ended_s: float
    bytes_before: int
    bytes_at_most: int
    cut: int
    """How many requests the slow target saw being cut off."""
    states: dict[str, int]

    @property
    def bytes_per_run(self) -> int:
        """Return how much the process grew for each run."""
        return (self.bytes_at_most - self.bytes_before) // self.runs

    def lines(self) -> list[str]:
        """Return the report as lines of text."""
        memory_mib = f"{self.bytes_before / 2**20:.0f} MiB before, {self.bytes_at_most / 2**20:.0f} MiB at most"
        return [
            f"{self.held} requests at a time, all begun within {self.begun_s:.1f} s",
            f"{QUICK_RUNS} runs to another target meanwhile: {self.quick_s:.2f} s",
            f"{self.cut} cancelled within {self.cancelled_s:.1f} s, the others ended within {self.ended_s:.1f} s",
            f"memory {memory_mib}: {self.bytes_per_run / 1024:.1f} KiB for each run",
            f"states {self.states}",
        ]


class Targets:
    """The targets' process."""

    def __init__(self, slow: str, fast: str, session: aiohttp.ClientSession) -> None:
        self.slow = f"http://{LOOPBACK}:{slow}"
        self.fast = f"http://{LOOPBACK}:{fast}"
        self._session = session

    async def until(self, name: str, count: int) -> int:
        """Wait until a counter has reached a value, and return it."""
        while True:
            async with self._session.get(f"{self.fast}/stats") as answer:
                value: int = (await answer.json())[name]
            if value >= count:
                return value
            await pause(LOOK_S)

    async def release(self) -> None:
        """Let the slow target answer."""
        await self._session.post(f"{self.fast}/release")


@asynccontextmanager
async def targets() -> AsyncIterator[Targets]:
    """Start the targets."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = await asyncio.create_subprocess_exec(*argv(), cwd=ROOT, env=environment, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        slow, fast = (await process.stdout.readline()).decode().split()
        async with aiohttp.ClientSession() as session:
            yield Targets(slow, fast, session)
    finally:
        process.kill()
        await process.wait()


async def load(runs: int, directory: Path) -> Report:
    """Hold runs at a slow target and measure the effect on others."""
    bounds = {"max_active": runs + QUICK_RUNS, "max_per_target": runs, "timeout_ms": SECONDS * 1000}
    executor = HttpExecutor({"allow": [LOOPBACK], **bounds}, ExecutorEnv())
    home = Home(f"sqlite:///{directory}/load.db", {"http": executor}, SETTINGS)
    async with asyncio.timeout(SECONDS), targets() as target, home:
        for name, url in (("slow", target.slow), ("doomed", target.slow), ("quick", target.fast)):
            await home.workflows.put(name, {"executor": "http", "options": {"url": f"{url}/run"}})
            await home.create(name, cron="* * * * *", workflow_id=name, paused=True)
        return await _measure(home, target, runs)


async def _measure(home: Home, target: Targets, runs: int) -> Report:
    doomed = runs // DOOMED
    before, begin = memory("VmRSS"), time.perf_counter()
    await start_runs(home, "slow", runs - doomed)
    await start_runs(home, "doomed", doomed)
    held = await target.until("held", runs)
    all_held, at_most = time.perf_counter(), memory("VmHWM")
    await start_runs(home, "quick", QUICK_RUNS)
    await wait_for_ends(home, "quick", QUICK_RUNS)
    answered = time.perf_counter()
    await home.trigger("doomed", overlap="cancel_other")
    cut = await target.until("cut", doomed)
    await wait_for_ends(home, "doomed", doomed)
    cancelled = time.perf_counter()
    await target.release()
    await wait_for_ends(home, "slow", runs - doomed)
    await wait_for_ends(home, "doomed", doomed + 1)
    over = time.perf_counter()
    pages = [await home.runs.list(name, limit=SETTINGS.max_page) for name in ("slow", "doomed", "quick")]
    states = Counter([str(run.status) for page in pages for run in page.items])
    return Report(
        runs,
        held,
        all_held - begin,
        answered - all_held,
        cancelled - answered,
        over - cancelled,
        before,
        max(at_most, memory("VmHWM")),
        cut,
        dict(states),
    )


async def start_runs(home: Home, name: str, count: int) -> None:
    """Start a number of runs of a schedule at once, by a backfill."""
    await home.backfill(name, start=PAST, end=PAST + timedelta(minutes=count - 1), overlap="allow")


async def wait_for_ends(home: Home, name: str, count: int) -> None:
    """Wait until the engine has reported the end of a number of runs of a schedule."""
    await home.wait_for_events("ended", name, count)


def memory(kind: str) -> int:
    """Return the memory of this process in bytes, now or at its peak."""
    lines: dict[str, Any] = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines[kind].split()[0]) * 1024
