"""A worker that is stopped in the middle of a run and goes on when another one has long taken over."""

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
"""After which a test gives up waiting."""
LOOK_S = 0.05
ROOT = Path(__file__).parents[3]
FUNCTION = "tests.conformance.executor.lethal:freeze"
pytestmark = pytest.mark.server


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/tompion.db"
    url: str = request.getfixturevalue("migrated_url")
    return url


@contextmanager
def worker(store: str, fate: str) -> Iterator[subprocess.Popen[str]]:
    argv = [sys.executable, "-m", "tests.conformance.executor.lethal", store, "function", "{}", fate]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(argv, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


async def over(tompion: AsyncTompion, run: Run) -> Run:
    """Wait until a run is over."""
    while (found := await tompion.get_run(run.run_id)).state not in FINAL:
        await pause(LOOK_S)
    return found


def test_a_worker_that_wakes_up_late_changes_nothing(store: str) -> None:
    """Its word is refused and counted, and it is as good as any other from then on."""

    async def story() -> None:
        in_thread = asyncio.get_running_loop().run_in_executor
        async with asyncio.timeout(SECONDS), AsyncTompion(store, engine=False) as tompion:
            await tompion.create("frozen", cron="0 0 1 1 *", function=FUNCTION)
            run = await tompion.trigger("frozen")
            with worker(store, "tells") as frozen:
                await in_thread(None, os.waitid, os.P_PID, frozen.pid, os.WSTOPPED)
                with worker(store, "lives"):
                    taken_over = await over(tompion, run)
                assert (taken_over.state, taken_over.attempt) == (RunState.SUCCESS, 2)
                frozen.send_signal(signal.SIGCONT)
                assert frozen.stdout is not None
                counts = json.loads(await in_thread(None, frozen.stdout.readline))
                assert counts["stale_writes_rejected"] == 1
                assert await tompion.get_run(run.run_id) == taken_over
                assert (await tompion.get("frozen")).counters.successes == 1
                later = await tompion.trigger("frozen")
                await in_thread(None, os.waitid, os.P_PID, frozen.pid, os.WSTOPPED)
                frozen.send_signal(signal.SIGCONT)
                assert (await over(tompion, later)).state is RunState.SUCCESS
            assert taken_over.result == "attempt 2"
            assert (await tompion.verify("frozen")).ok

    asyncio.run(story())
