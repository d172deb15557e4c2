"""The clients without the server's dependencies."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import tompion
from tests.support.service import runner_of, serve_runner
from tompion.store.sqlite.driver import SqliteStore

SECONDS = 120
SOURCE = Path(tompion.__file__).parents[1]
AIOHTTP = (
    "aiohttp", "aiohappyeyeballs", "aiosignal", "attr", "attrs", "frozenlist", "idna", "multidict", "propcache",
    "typing_extensions", "yarl",
)  # fmt: skip
SYNC = """
import tompion
from tompion.client import Client

with Client(sys.argv[1]) as client:
    created = client.create("report", cron="0 9 * * *", timezone="Europe/Berlin", function="json:dumps")
    assert client.get("report") == created
    assert client.schedules.pause_matching(everything=True).schedule_ids == ("report",)
    try:
        client.get("missing")
    except tompion.NotFound as error:
        print(error)
"""
ASYNC = """
import asyncio
from tompion.client import AsyncClient

async def main():
    async with AsyncClient(sys.argv[1]) as client:
        await client.create("report", cron="@daily", function="tasks:report")
        print((await client.trigger("report")).status)

asyncio.run(main())
"""


@pytest.fixture
def url() -> Iterator[str]:
    store = SqliteStore()
    with serve_runner(runner_of(store)) as address:
        yield address
    store.close()


def output_of(home: Path, program: str, url: str, *packages: str) -> str:
    """Return the output of a program with the standard library, our source and a few packages."""
    for name in ("tzdata", *packages):
        result = find_spec(name)
        assert result is not None
        assert result.origin is not None
        origin = Path(result.origin)
        origin = origin.parent if origin.name == "__init__.py" else origin
        (home / origin.name).symlink_to(origin)
    begin = f"import sys\nsys.path[:0] = [{str(SOURCE)!r}, {str(home)!r}]\n"
    command = [sys.executable, "-I", "-S", "-c", begin + program, url]
    left = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert left.returncode == 0, left.stderr
    return left.stdout


def test_the_synchronous_client_needs_nothing_but_time_zone_data(tmp_path: Path, url: str) -> None:
    assert output_of(tmp_path, SYNC, url) == "there is no schedule 'missing' in namespace 'default'\n"


def test_the_asynchronous_client_needs_aiohttp_besides(tmp_path: Path, url: str) -> None:
    assert output_of(tmp_path, ASYNC, url, *AIOHTTP) == "ENQUEUED\n"


@pytest.mark.parametrize(
    "name",
    ["fastapi", "starlette", "pydantic", "uvicorn", "psycopg", "aiohttp", "typer", "rich", "jwt",
     "prometheus_client", "opentelemetry", "cryptography"],
)  # fmt: skip
def test_server_dependencies_are_not_installed(tmp_path: Path, name: str) -> None:
    with pytest.raises(AssertionError, match=f"No module named '{name}'"):
        output_of(tmp_path, f"import {name}\n", "")
