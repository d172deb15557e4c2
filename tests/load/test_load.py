"""The short form of ``python -m tests.load.http``."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from multiprocessing import get_context
from pathlib import Path

import pytest
from aiohttp import web

from tests.load.slow_runs import DOOMED, LOOK_S, QUICK_RUNS, Report, load, start_runs, wait_for_ends
from tests.support.app import Home
from tests.support.servers import LOOPBACK
from tompion.executors.http import HttpExecutor
from tompion.executors.options import ExecutorEnv
from tompion.runtime.clock import pause

RUNS = 1_000
MOST_BYTES = 64 * 1024
"""For each run that waits for its answer: its task, its connection and what is known about it."""
HANGING, AT_EACH, WANTED = 8, 2, 10
"""Targets that do not answer, how many runs each may have at a time, and how many it is to have."""
SECONDS = 120
pytestmark = pytest.mark.server


def measure(directory: Path) -> Report:
    return asyncio.run(load(RUNS, directory))


def test_slow_target_does_not_delay_other_runs(tmp_path: Path) -> None:
    """Runs to another target end while these are held, some of these are cancelled, and all are accounted for."""
    with ProcessPoolExecutor(1, get_context("spawn")) as fresh:  # a new process, without the memory of other tests
        report = fresh.submit(measure, tmp_path).result()
    assert report.held == RUNS
    assert report.cut == RUNS // DOOMED
    assert report.states == {"SUCCESS": RUNS - RUNS // DOOMED + QUICK_RUNS + 1, "CANCELLED": RUNS // DOOMED}
    assert report.bytes_per_run < MOST_BYTES


class Targets:
    """Targets on one port each. All but the first hold their requests until they are released."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.is_full = asyncio.Event()
        self.here: Counter[int] = Counter()
        self.most: Counter[int] = Counter()
        self.most_of_all = 0
        self.ports: list[int] = []

    @asynccontextmanager
    async def served(self) -> AsyncIterator[None]:
        application = web.Application()
        application.router.add_post("/run", self._answer)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        for _ in range(HANGING + 1):
            await web.TCPSite(runner, LOOPBACK, 0).start()
        self.ports = [address[1] for address in runner.addresses]
        try:
            yield
        finally:
            self.may_answer.set()
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        port = request.url.port or 0
        self.here[port] += 1
        self.most |= self.here
        self.most_of_all = max(self.most_of_all, self.here.total())
        if self.here.total() == HANGING * AT_EACH:
            self.is_full.set()
        await (pause(LOOK_S) if port == self.ports[0] else self.may_answer.wait())
        self.here[port] -= 1
        return web.json_response("done")


def test_hanging_targets_are_limited(tmp_path: Path) -> None:
    """Each hanging target takes its own slots only, so runs to another target end."""

    async def scenario() -> Targets:
        crowd = Targets()
        bounds = {"max_active": HANGING * AT_EACH + 1, "max_per_target": AT_EACH, "timeout_ms": SECONDS * 1000}
        home = Home(
            f"sqlite:///{tmp_path}/hang.db", {"http": HttpExecutor({"allow": [LOOPBACK], **bounds}, ExecutorEnv())}
        )
        async with asyncio.timeout(SECONDS), crowd.served(), home:
            for port in crowd.ports:
                url = f"http://{LOOPBACK}:{port}/run"
                await home.workflows.put(f"{port}", {"executor": "http", "options": {"url": url}})
                await home.create(f"{port}", cron="* * * * *", workflow_id=f"{port}", paused=True)
            quick, *hanging = map(str, crowd.ports)
            for name in hanging:
                await start_runs(home, name, WANTED)
            await crowd.is_full.wait()
            await start_runs(home, quick, WANTED)
            await wait_for_ends(home, quick, WANTED)
            assert not [event for event in home.events if event.kind == "ended" and event.schedule_id in hanging]
            crowd.may_answer.set()
            for name in hanging:
                await wait_for_ends(home, name, WANTED)
        return crowd

    crowd = asyncio.run(scenario())
    assert {crowd.most[port] for port in crowd.ports[1:]} == {AT_EACH}
    assert crowd.most_of_all == HANGING * AT_EACH + 1
