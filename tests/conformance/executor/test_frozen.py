"""A worker is stopped during a run, and continues after another worker has taken the run over."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tompion import AsyncTompion
from tompion.model.run import FINAL, RunState
from tompion.model.schedule import Run
from tompion.runtime.clock import pause

SECONDS = 120
"""Timeout of every wait."""
POLL_S = 0.05
ROOT = Path(__file__).parents[3]
FUNCTION = "tests.conformance.executor.crashing_worker:freeze"
pytestmark = pytest.mark.server


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/tompion.db"
    url: str = request.getfixturevalue("migrated_url")
    return url


@contextmanager
def worker(store: str, mode: str) -> Iterator[subprocess.Popen[str]]:
    argv = [sys.executable, "-m", "tests.conformance.executor.crashing_worker", store, "function", "{}", mode]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(argv, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


async def wait_until_final(tompion: AsyncTompion, run: Run) -> Run:
    """Wait until a run has a final state, and return it."""
    while (current := await tompion.runs.get(run.run_id)).status not in FINAL:
        await pause(POLL_S)
    return current


def test_worker_that_resumes_after_its_lease_changes_nothing(store: str) -> None:
    """Its stale write is rejected and counted. After that it works normally."""

    async def scenario() -> None:
        in_thread = asyncio.get_running_loop().run_in_executor
        async with asyncio.timeout(SECONDS), AsyncTompion(store, engine=False) as tompion:
            await tompion.create("frozen", cron="0 0 1 1 *", function=FUNCTION)
            run = await tompion.trigger("frozen")
            with worker(store, "report") as frozen:
                await in_thread(None, os.waitid, os.P_PID, frozen.pid, os.WSTOPPED)
                with worker(store, "work"):
                    taken_over = await wait_until_final(tompion, run)
                assert (taken_over.status, taken_over.attempt) == (RunState.SUCCESS, 2)
                frozen.send_signal(signal.SIGCONT)
                assert frozen.stdout is not None
                counts = json.loads(await in_thread(None, frozen.stdout.readline))
                assert counts["stale_writes_rejected"] == 1
                assert await tompion.runs.get(run.run_id) == taken_over
                assert (await tompion.get("frozen")).counters.successes == 1
                later = await tompion.trigger("frozen")
                await in_thread(None, os.waitid, os.P_PID, frozen.pid, os.WSTOPPED)
                frozen.send_signal(signal.SIGCONT)
                assert (await wait_until_final(tompion, later)).status is RunState.SUCCESS
            assert taken_over.result == "attempt 2"
            assert (await tompion.schedules.verify("frozen")).ok

    asyncio.run(scenario())
