"""Lazy imports: quick commands do not load engines, drivers and servers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tompion

HEAVY = ("psycopg", "starlette", "uvicorn", "sqlite3", "tompion.sdk.app", "tompion.engine", "tompion.store")
LOADED = f"import sys; print([name for name in {HEAVY!r} if name in sys.modules])"
NEXT = "import sys; sys.argv = ['tompion', 'next', '@daily', '-n', '1']; from tompion.cli.main import main"


HELP = "import sys; sys.argv = ['tompion', '--help']; from tompion.cli.main import main"
LEAVING = "\ntry: main()\nexcept SystemExit: pass"


@pytest.mark.parametrize(
    "code",
    ["import tompion", f"{NEXT}{LEAVING}", f"{HELP}{LEAVING}"],
    ids=["import tompion", "tompion next", "tompion --help"],
)
def test_importing_tompion_loads_no_heavy_module(code: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\n{LOADED}"], capture_output=True, text=True, check=True, timeout=120
    )
    assert result.stdout.splitlines()[-1] == "[]"


def test_the_app_classes_are_imported_on_first_use() -> None:
    from tompion.sdk.app import AsyncTompion, Tompion

    assert (tompion.AsyncTompion, tompion.Tompion) == (AsyncTompion, Tompion)
    assert set(tompion.__all__) <= set(dir(tompion))
    assert all(getattr(tompion, name) is not None for name in tompion.__all__)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'tompion' has no attribute 'Nothing'"):
        _ = tompion.Nothing  # type: ignore[attr-defined]  # the point of the test


UNUSED = ("celery", "temporalio", "opentelemetry.sdk", "psycopg", "jwt", "cryptography", "nats", "redis", "aio_pika")
SERVE = f"""
import os, sys
from tompion.cli.uvicorn_server import UvicornServer

async def serve(self, sockets=None):
    print([name for name in {UNUSED!r} if name in sys.modules], file=sys.stderr, flush=True)
    os._exit(0)

UvicornServer.serve = serve
sys.argv = ["tompion", "serve", "--port", "0"]
from tompion.cli.main import main
main()
"""


def test_a_service_loads_no_unused_module(tmp_path: Path) -> None:
    left = subprocess.run(
        [sys.executable, "-c", SERVE], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert left.stderr.splitlines()[-1] == "[]", left
