"""The clients without the server's dependencies: from the source tree, and as the distribution that users install."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import tompion
from tests.support.service import runner_of, serve_runner
from tompion.store.sqlite.driver import SqliteStore

SECONDS = 120
SOURCE = Path(tompion.__file__).parents[1]
ROOT = Path(__file__).parents[2]
DISTRIBUTION = ROOT / "packaging" / "client"
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


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The distribution ``tompion-client``, built with the pinned tools."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    subprocess.run(command, cwd=DISTRIBUTION, check=True, capture_output=True, timeout=SECONDS)
    return next(out.glob("tompion_client-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A separate interpreter that has only the distribution and the time zone data that it depends on."""
    home = tmp_path_factory.mktemp("venv")
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "--no-input"]
    offline = ["install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, *offline, str(wheel)], check=True, capture_output=True, timeout=SECONDS)
    packages = next((home / "lib").glob("python*/site-packages"))
    for item in Path(str(find_spec("tzdata").origin)).parents[1].glob("tzdata*"):  # type: ignore[union-attr]  # it is there
        shutil.copytree(item, packages / item.name)
    checked = subprocess.run([*pip, "check"], capture_output=True, text=True, check=False, timeout=SECONDS)
    assert checked.returncode == 0, checked.stdout
    return python


def output_of_installed(python: Path, program: str, url: str, *more: Path) -> str:
    """Return the output of a program in that interpreter."""
    begin = f"import sys\nsys.path += {[str(item) for item in more]!r}\n"
    left = subprocess.run(
        [str(python), "-I", "-c", begin + program, url], capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert left.returncode == 0, left.stderr
    return left.stdout


def test_the_installed_synchronous_client_manages_a_service(installed: Path, url: str) -> None:
    assert output_of_installed(installed, SYNC, url) == "there is no schedule 'missing' in namespace 'default'\n"


def test_the_installed_asynchronous_client_needs_aiohttp_besides(installed: Path, url: str, tmp_path: Path) -> None:
    for name in AIOHTTP:
        result = find_spec(name)
        assert result is not None
        origin = Path(str(result.origin))
        origin = origin.parent if origin.name == "__init__.py" else origin
        (tmp_path / origin.name).symlink_to(origin)
    assert output_of_installed(installed, ASYNC, url, tmp_path) == "ENQUEUED\n"


def test_every_module_of_the_distribution_can_be_imported(installed: Path, wheel: Path) -> None:
    """Every module finds its imports. Only imports inside functions may be missing."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith(".py")]
    assert not [name for name in names if "__pycache__" in name]
    modules = [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in names]
    importing = "".join(f"import {name}\n" for name in modules)
    assert output_of_installed(installed, f"{importing}print(len(sys.modules) > 0)", "") == "True\n"


def test_both_distributions_have_the_same_version_and_time_zone_data() -> None:
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    clients = tomllib.loads((DISTRIBUTION / "pyproject.toml").read_text())["project"]
    assert clients["version"] == whole["version"]
    assert clients["requires-python"] == whole["requires-python"]
    assert set(clients["dependencies"]) <= set(whole["dependencies"])
    assert set(clients["optional-dependencies"]["async"]) <= set(whole["dependencies"])
