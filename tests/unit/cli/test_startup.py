"""What a quick command must not wait for: engines, drivers and servers are loaded by those who use them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import foliot

HEAVY = ("psycopg", "fastapi", "uvicorn", "sqlite3", "foliot.embedded", "foliot.engine", "foliot.store")
LOADED = f"import sys; print([name for name in {HEAVY!r} if name in sys.modules])"
NEXT = "import sys; sys.argv = ['foliot', 'next', '@daily', '-n', '1']; from foliot.cli.main import main"


HELP = "import sys; sys.argv = ['foliot', '--help']; from foliot.cli.main import main"
LEAVING = "\ntry: main()\nexcept SystemExit: pass"


@pytest.mark.parametrize(
    "code",
    ["import foliot", f"{NEXT}{LEAVING}", f"{HELP}{LEAVING}"],
    ids=["import foliot", "foliot next", "foliot --help"],
)
def test_nothing_heavy_is_loaded(code: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\n{LOADED}"], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stdout.splitlines()[-1] == "[]"


def test_the_twins_are_there_when_they_are_asked_for() -> None:
    from foliot.embedded import Foliot, SyncFoliot

    assert (foliot.Foliot, foliot.SyncFoliot) == (Foliot, SyncFoliot)
    assert set(foliot.__all__) <= set(dir(foliot))
    assert all(getattr(foliot, name) is not None for name in foliot.__all__)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'foliot' has no attribute 'Nothing'"):
        _ = foliot.Nothing  # type: ignore[attr-defined]  # the point of the test


UNUSED = ("celery", "temporalio", "opentelemetry.sdk", "psycopg", "jwt", "cryptography", "nats", "redis", "aio_pika")
SERVE = f"""
import os, sys
from foliot.cli.server import Server

async def serve(self, sockets=None):
    print([name for name in {UNUSED!r} if name in sys.modules], file=sys.stderr, flush=True)
    os._exit(0)

Server.serve = serve
sys.argv = ["foliot", "serve", "--port", "0"]
from foliot.cli.main import main
main()
"""


def test_a_service_loads_nothing_that_it_does_not_use(tmp_path: Path) -> None:
    left = subprocess.run(
        [sys.executable, "-c", SERVE], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert left.stderr.splitlines()[-1] == "[]", left
