"""The lowest versions that pyproject.toml accepts: they install, every module can be imported, and the service runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 180
UV = Path(sys.executable).with_name("uv")
UNREACHABLE = ("Failed to fetch", "error sending request", "dns error", "tcp connect error", "Network connectivity")
"""Messages of uv if there is no package index."""
IMPORTS = """
import importlib, pkgutil, tompion
for module in pkgutil.walk_packages(tompion.__path__, "tompion."):
    if module.name != "tompion.__main__":
        importlib.import_module(module.name)
"""


def uv(*arguments: str) -> None:
    """Run uv. Skip the test if the package index is unreachable."""
    environment = {**os.environ, "UV_SYSTEM_CERTS": "1", "UV_HTTP_TIMEOUT": "20", "TOMPION_SKIP_UI": "1"}
    process = subprocess.run(
        [str(UV), *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
    )
    if process.returncode and any(message in process.stderr for message in UNREACHABLE):
        pytest.skip(f"the package index is unreachable: {process.stderr.strip().splitlines()[-1]}")
    assert process.returncode == 0, process.stderr


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An interpreter with the lowest versions of all dependencies, and Tompion itself."""
    if sys.version_info[:2] != (3, 11):
        pytest.skip("the lowest versions have wheels for Python 3.11, the lowest Python")
    if not UV.exists():
        pytest.skip("uv is not installed: the machine has no wheel of it")
    home = tmp_path_factory.mktemp("lowest") / "venv"
    uv("venv", "--quiet", "--python", sys.executable, str(home))
    install = ("pip", "install", "--quiet", "--python", str(home))
    wheels = ("--only-binary", ":all:")
    uv(*install, *wheels, "--resolution", "lowest-direct", "-r", "pyproject.toml", "--all-extras")
    uv(*install, *wheels, "hatchling", "editables")
    uv(*install, "--no-deps", "--no-build-isolation", "--editable", ".")
    yield home / "bin" / "python"
    shutil.rmtree(home)  # pytest keeps temporary directories, and this one is large


def run(python: Path, *arguments: str) -> str:
    """Return the output of a program in that interpreter."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    process = subprocess.run(
        [str(python), *arguments], capture_output=True, text=True, check=False, timeout=SECONDS, env=environment
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.mark.slow
def test_lowest_versions_import_and_serve(python: Path, tmp_path: Path) -> None:
    """Regression: with the lowest accepted Typer and Temporal SDK the command and the Temporal API did not start."""
    assert run(python, "-m", "tompion", "--version").startswith("tompion ")
    run(python, "-c", IMPORTS)
    (tmp_path / "tasks.py").write_text("def report(run):\n    print('called', run.schedule_id, flush=True)\n")
    command = [str(python), "-m", "tompion", "serve", "--port", "0", "--temporal-address", "127.0.0.1:0"]
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "TOMPION_STORE")}
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, "")
            address = wait_for_line(lines, r"http://127\.0\.0\.1:\d+")
            body = json.dumps({"intervals": "1s", "function": "tasks:report"}).encode()
            request = Request(f"{address}/api/v1/schedules/report", body, {"Content-Type": "application/json"})
            request.method = "PUT"
            with urlopen(request, timeout=SECONDS) as response:
                assert response.status in (200, 201)
            assert wait_for_line(lines, "called report")
            process.terminate()
            assert process.wait(SECONDS) == 0
        finally:
            process.kill()


def wait_for_line(lines: Iterator[str], pattern: str) -> str:
    """Return the first text of the output that matches."""
    for line in lines:
        if match := re.search(pattern, line):
            return match.group()
    raise AssertionError(f"the service ended without a line {pattern!r}")
