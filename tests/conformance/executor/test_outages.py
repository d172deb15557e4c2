"""Outages of a real HTTP target in a real engine: its runs wait and are delivered when it is back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.app import QUICK, SECONDS, Home
from tests.support.executors import Server, http_server
from tompion.executors.http import HttpExecutor
from tompion.executors.options import ExecutorEnv
from tompion.model.run import RunState

SETTINGS = replace(QUICK, launch_backoff_ms=20, max_launch_backoff_ms=50)


def run_scenario(server: Server, tmp_path: Path, scenario: Callable[[Home], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        executor = HttpExecutor({"allow": ["127.0.0.0/8"]}, ExecutorEnv())
        app = Home(f"sqlite:///{tmp_path}/tompion.db", {"http": executor}, SETTINGS)
        async with asyncio.timeout(SECONDS), app as home:
            await home.workflows.put("call", {"executor": "http", "options": {"url": server.url}})
            await home.create("call", cron="0 0 1 1 *", workflow_id="call", max_attempts=1)
            return await scenario(home)

    return asyncio.run(run())


def test_runs_wait_while_the_target_is_unavailable(tmp_path: Path) -> None:
    with http_server() as server:
        server.answer = lambda _: (503, {}, b"deploying")

        async def scenario(home: Home) -> Any:
            run = await home.trigger("call")
            await home.wait_for_events("waiting", "call")
            waiting = await home.runs.get(run.run_id)
            server.answer = lambda _: (200, {}, b"")
            return waiting, await home.wait_until_final(run)

        waiting, ended = run_scenario(server, tmp_path, scenario)
    assert (waiting.status, waiting.reason, waiting.started_at) == (RunState.ENQUEUED, "target_unreachable", None)
    assert str(waiting.error).startswith("the target responded with 503: deploying")
    assert (ended.status, ended.reason, ended.error) == (RunState.SUCCESS, None, None)
    assert len({request.headers["idempotency-key"] for request in server.seen}) == 1


def test_runs_wait_while_the_port_is_closed(tmp_path: Path) -> None:
    with http_server() as closed:
        port = int(closed.url.rpartition(":")[2])

    async def scenario(home: Home) -> Any:
        run = await home.trigger("call")
        await home.wait_for_events("waiting", "call")
        with http_server(port) as server:
            return await home.wait_until_final(run), len(server.seen)

    ended, requests = run_scenario(closed, tmp_path, scenario)
    assert (ended.status, ended.error, requests) == (RunState.SUCCESS, None, 1)
