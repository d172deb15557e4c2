"""A worker is killed during a run: others take the run over long before its lease expires. A slow worker keeps it."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from tests.conformance.executor.crashing_worker import NORMAL_LEASE, build_executor
from tests.conformance.executor.test_frozen import FUNCTION, store, wait_until_final, worker
from tests.support.app import Home
from tompion import AsyncTompion
from tompion.model.run import RunState
from tompion.model.schedule import Run
from tompion.runtime.clock import pause

pytestmark = pytest.mark.server
__all__ = ["store"]

BEFORE_THE_LEASE_S = NORMAL_LEASE.lock_ttl_ms / 1000 / 2
"""A run that is taken over in this time was not taken over because of its lease."""
CHECKS = 6


async def start_run(tompion: AsyncTompion) -> Run:
    """Start a run that stops its process with SIGSTOP at the first attempt."""
    await tompion.create("frozen", cron="0 0 1 1 *", function=FUNCTION)
    return await tompion.trigger("frozen")


async def wait_until_stopped(pid: int) -> None:
    await asyncio.get_running_loop().run_in_executor(None, os.waitid, os.P_PID, pid, os.WSTOPPED)


@pytest.mark.parametrize("successor", ["started again", "beside it"])
def test_run_of_a_killed_worker_is_taken_over_before_its_lease_expires(store: str, successor: str) -> None:
    """Regression: the schedule of a killed worker was blocked for two minutes."""

    async def scenario() -> None:
        async with AsyncTompion(store, engine=False) as tompion:
            run = await start_run(tompion)
            with worker(store, "work") as killed:
                await wait_until_stopped(killed.pid)
                if successor == "beside it":
                    async with Home(store, {"function": build_executor("function", {})}, NORMAL_LEASE) as home:
                        await until_checked(home)
                        killed.kill()
                        async with asyncio.timeout(BEFORE_THE_LEASE_S):
                            taken_over = await wait_until_final(tompion, run)
                else:
                    killed.kill()
                    killed.wait()
                    with worker(store, "work"):
                        async with asyncio.timeout(BEFORE_THE_LEASE_S):
                            taken_over = await wait_until_final(tompion, run)
            assert (taken_over.status, taken_over.attempt) == (RunState.SUCCESS, 2)
            assert (await tompion.schedules.verify("frozen")).ok

    asyncio.run(scenario())


def test_run_of_a_frozen_worker_is_not_taken_over_before_its_lease_expires(store: str) -> None:
    async def scenario() -> None:
        async with asyncio.timeout(BEFORE_THE_LEASE_S), AsyncTompion(store, engine=False) as tompion:
            run = await start_run(tompion)
            with worker(store, "work") as frozen:
                await wait_until_stopped(frozen.pid)
                async with Home(store, {"function": build_executor("function", {})}, NORMAL_LEASE) as home:
                    await until_checked(home, CHECKS)
                    assert not home.counts.get("instances_found_dead")
                    frozen.send_signal(signal.SIGCONT)
                    ended = await wait_until_final(tompion, run)
            assert (ended.status, ended.attempt) == (RunState.SUCCESS, 1)

    asyncio.run(scenario())


async def until_checked(home: Home, checks: int = 1) -> None:
    """Wait until the engine has checked the other instances a number of times."""
    engine = home.engine
    assert engine is not None
    while engine.watch.checks < checks:
        await pause(0.02)
