"""The client in an interpreter that has Foliot and the time zone data, and nothing of what a server needs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import foliot
from foliot.store.sqlite.driver import SqliteStore
from tests.conformance.api.kit import desk_of, serving

SECONDS = 60
SOURCE = Path(foliot.__file__).parents[1]
AIOHTTP = (
    "aiohttp", "aiohappyeyeballs", "aiosignal", "attr", "attrs", "frozenlist", "idna", "multidict", "propcache",
    "typing_extensions", "yarl",
)  # fmt: skip
SYNC = """
import foliot
from foliot.client import Client

with Client(sys.argv[1]) as client:
    made = client.create("report", cron="0 9 * * *", timezone="Europe/Berlin", function="tasks:report")
    assert client.get("report") == made
    assert client.pause_matching(everything=True).schedule_ids == ("report",)
    try:
        client.get("nobody")
    except foliot.NotFound as error:
        print(error)
"""
ASYNC = """
import asyncio
from foliot.client import AsyncClient

async def story():
    async with AsyncClient(sys.argv[1]) as client:
        await client.create("report", cron="@daily", function="tasks:report")
        print((await client.trigger("report")).state)

asyncio.run(story())
"""


@pytest.fixture
def url() -> Iterator[str]:
    store = SqliteStore()
    with serving(desk_of(store)) as address:
        yield address
    store.close()


def told(home: Path, program: str, url: str, *packages: str) -> str:
    """What a program prints whose import path holds the standard library, our source and a few packages."""
    for name in ("tzdata", *packages):
        found = find_spec(name)
        assert found is not None
        assert found.origin is not None
        origin = Path(found.origin)
        origin = origin.parent if origin.name == "__init__.py" else origin
        (home / origin.name).symlink_to(origin)
    begin = f"import sys\nsys.path[:0] = [{str(SOURCE)!r}, {str(home)!r}]\n"
    command = [sys.executable, "-I", "-S", "-c", begin + program, url]
    left = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert left.returncode == 0, left.stderr
    return left.stdout


def test_the_synchronous_client_needs_nothing_but_time_zone_data(tmp_path: Path, url: str) -> None:
    assert told(tmp_path, SYNC, url) == "there is no schedule 'nobody' in namespace 'default'\n"


def test_the_asynchronous_client_needs_aiohttp_besides(tmp_path: Path, url: str) -> None:
    assert told(tmp_path, ASYNC, url, *AIOHTTP) == "ENQUEUED\n"


@pytest.mark.parametrize(
    "name",
    ["fastapi", "starlette", "pydantic", "uvicorn", "psycopg", "aiohttp", "typer", "rich", "jwt", "structlog",
     "prometheus_client", "opentelemetry", "cryptography"],
)  # fmt: skip
def test_what_a_server_needs_is_not_there(tmp_path: Path, name: str) -> None:
    with pytest.raises(AssertionError, match=f"No module named '{name}'"):
        told(tmp_path, f"import {name}\n", "")
