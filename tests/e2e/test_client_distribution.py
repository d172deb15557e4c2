"""The distribution ``tompion-client``: built as users get it, installed alone, and used against a live service."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import distribution
from io import StringIO
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.service import runner_of, serve_runner
from tompion.store.sqlite.driver import SqliteStore

SECONDS = 120
ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "packaging" / "client"
SYNC = """
import sys
import tompion_client
from tompion_client import Client

with Client(sys.argv[1]) as client:
    created = client.create("report", cron="0 9 * * *", timezone="Europe/Berlin", function="json:dumps")
    assert isinstance(created, tompion_client.Schedule)
    assert client.get("report") == created
    assert client.schedules.pause_matching(everything=True).schedule_ids == ("report",)
    try:
        client.get("missing")
    except tompion_client.NotFound as error:
        print(error)
"""
ASYNC = """
import asyncio
import sys
from tompion_client import AsyncClient

async def main():
    async with AsyncClient(sys.argv[1]) as client:
        await client.create("report", cron="@daily", function="tasks:report")
        print((await client.trigger("report")).status)

asyncio.run(main())
"""


def build(project: Path, out: Path, *targets: str, **environment: str) -> None:
    """Build distributions with the pinned build backend."""
    flags = [flag for target in targets for flag in ("-t", target)]
    command = [sys.executable, "-m", "hatchling", "build", *flags, "-d", str(out)]
    process = subprocess.run(
        command, cwd=project, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
        timeout=SECONDS,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and a wheel that was built from the sdist, as ``python -m build`` does it."""
    out = tmp_path_factory.mktemp("dist")
    build(PROJECT, out, "sdist")
    unpacked = tmp_path_factory.mktemp("sdist")
    with tarfile.open(next(out.glob("*.tar.gz"))) as archive:
        archive.extractall(unpacked, filter="data")
    build(next(unpacked.iterdir()), out, "wheel")
    return out


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    return next(dist.glob("tompion_client-*.whl"))


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the client and its dependencies, and nothing else."""
    home = tmp_path_factory.mktemp("venv")
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "--no-input"]
    offline = ["install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    subprocess.run([*pip, *offline], check=True, capture_output=True, timeout=SECONDS)
    packages = next((home / "lib").glob("python*/site-packages"))
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    for requirement in project["dependencies"]:
        copy_distribution(requirement, packages)
    checked = subprocess.run([*pip, "check"], capture_output=True, text=True, check=False, timeout=SECONDS)
    assert checked.returncode == 0, checked.stdout
    return home


def copy_distribution(text: str, packages: Path) -> None:
    """Copy an installed distribution and its dependencies."""
    requirement = Requirement(text)
    if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
        return
    installed = distribution(requirement.name)
    for top in {file.parts[0] for file in installed.files or () if file.parts[0] not in ("..", "__pycache__")}:
        source, target = Path(str(installed.locate_file(top))), packages / top
        if target.exists():
            continue
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.suffix == ".py":
            shutil.copy(source, target)
    for dependency in installed.requires or ():
        copy_distribution(dependency, packages)


@pytest.fixture
def url() -> Iterator[str]:
    store = SqliteStore()
    with closing(store), serve_runner(runner_of(store)) as address:
        yield address


def output_of(command: list[str | Path], *, code: int = 0, **variables: str) -> str:
    """Return the standard output of a command, or its standard error if it is to fail."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TOMPION_", "PYTHON"))}
    process = subprocess.run(
        command, env={**kept, **variables}, capture_output=True, text=True, check=False, timeout=SECONDS, cwd="/"
    )
    assert process.returncode == code, process.stderr
    return process.stderr if code else process.stdout


def test_the_installed_synchronous_client_manages_a_service(environment: Path, url: str) -> None:
    output = output_of([environment / "bin" / "python", "-I", "-c", SYNC, url])
    assert output == "there is no schedule 'missing' in namespace 'default'\n"


def test_the_installed_asynchronous_client_needs_aiohttp_besides(environment: Path, url: str, tmp_path: Path) -> None:
    missing = output_of([environment / "bin" / "python", "-I", "-c", ASYNC, url], code=1)
    assert "pip install 'tompion-client[async]'" in missing
    copy_distribution("aiohttp", tmp_path)
    program = f"import sys\nsys.path.append({str(tmp_path)!r})\n{ASYNC}"
    assert output_of([environment / "bin" / "python", "-I", "-c", program, url]) == "ENQUEUED\n"


def test_the_installed_command_manages_a_service(environment: Path, url: str) -> None:
    command = environment / "bin" / "tompion-client"
    words = "schedules create report --cron @daily --tz Europe/Berlin --function json:dumps".split()
    assert output_of([command, *words], TOMPION_URL=url).startswith("schedule   report\n")
    assert "00:00" in output_of([command, "schedules", "list", "--url", url])
    assert output_of([command, "schedules", "get", "missing", "--url", url], code=3) == (
        "tompion-client: there is no schedule 'missing' in namespace 'default'\n"
    )
    assert output_of([command, "version"]).startswith("tompion-client 0.1.0 (time zone data ")


def test_the_installed_command_has_no_stores_and_names_a_way_out(environment: Path) -> None:
    command = environment / "bin" / "tompion-client"
    assert "--store" not in output_of([command, "schedules", "list", "--help"])
    refused = output_of([command, "schedules", "list", "--store", "sqlite:///a.db"], code=2)
    assert refused == "tompion-client: --store needs the distribution tompion; use a service with --url\n"
    unreachable = output_of([command, "schedules", "list", "--url", "http://127.0.0.1:1"], code=6)
    assert unreachable.startswith("tompion-client: no answer from http://127.0.0.1:1: ")
    assert "pass another with --url" in unreachable


def test_every_command_of_the_distribution_can_show_its_help(environment: Path) -> None:
    python, program = (
        environment / "bin" / "python",
        (
            "from tompion_client.cli.main import COMMANDS\n"
            "print(*(entry.name for entries in COMMANDS.values() for entry in entries))"
        ),
    )
    names = output_of([python, "-I", "-c", program]).split()
    assert {"schedules", "runs", "keys", "upcoming", "next"} <= set(names)
    assert not {"serve", "worker", "migrate", "config", "doctor"} & set(names)
    for name in names:
        assert f"Usage: tompion-client {name}" in output_of([environment / "bin" / "tompion-client", name, "--help"])


def test_every_module_of_the_distribution_can_be_imported(environment: Path, wheel: Path) -> None:
    """Every module finds its imports. Only imports inside functions may be missing."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith(".py") and not name.endswith("__main__.py")]
    assert not [name for name in names if "__pycache__" in name]
    modules = [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in names]
    program = "".join(f"import {name}\n" for name in modules) + "import sys\nprint('tompion' in sys.modules)"
    assert output_of([environment / "bin" / "python", "-I", "-c", program]) == "False\n"


def test_the_public_names_of_the_distribution_can_be_imported(environment: Path) -> None:
    program = "import tompion_client as t\nprint(len([getattr(t, name) for name in t.__all__]), *t.__all__)"
    count, *names = output_of([environment / "bin" / "python", "-I", "-c", program]).split()
    assert int(count) == len(names) > 60
    assert {"Client", "AsyncClient", "Schedule", "Run", "Page", "NotFound", "TompionError", "Spec"} <= set(names)
    assert not {"Tompion", "AsyncTompion", "RunContext", "Executor"} & set(names)


def test_the_two_distributions_share_no_file(wheel: Path, tmp_path: Path) -> None:
    build(ROOT, tmp_path, "wheel", TOMPION_SKIP_UI="1")
    own, other = recorded_files(wheel), recorded_files(next(tmp_path.glob("tompion-*.whl")))
    assert len(own) > 60
    assert len(other) > 200
    assert not own & other
    assert {name.split("/")[0] for name in own} == {"tompion_client", "tompion_client-0.1.0.dist-info"}


def recorded_files(wheel: Path) -> set[str]:
    """Return the files in the RECORD of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/RECORD"))
        rows = csv.reader(StringIO(archive.read(name).decode()))
        return {row[0] for row in rows}


def test_the_distribution_passes_the_checks_of_an_index(dist: Path) -> None:
    files = [str(file) for file in sorted(dist.iterdir())]
    assert len(files) == 2
    command = [sys.executable, "-m", "twine", "check", "--strict", *files]
    process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert process.stdout.count("PASSED") == 2, process.stdout + process.stderr
    assert process.returncode == 0


def test_both_distributions_agree_on_what_they_share() -> None:
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    clients = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert clients["version"] == whole["version"]
    assert clients["requires-python"] == whole["requires-python"]
    assert set(clients["dependencies"]) <= set(whole["dependencies"])
    assert set(clients["optional-dependencies"]["async"]) <= set(whole["dependencies"])
    assert not set(clients["scripts"]) & set(whole["scripts"])
    assert (PROJECT / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
