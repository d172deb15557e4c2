"""Startup: the time until an installed service answers, and ``make serve`` in a fresh clone, as in the README."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 120
TRIES = 3
SOON_S = 3.0
TIMES_BARE = 6
"""On a slow machine, starting may use this many times the CPU time that importing the server uses."""
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
CURL_JSON = (7, 82)
"""The first curl that knows --json."""


def environment_with(**more: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("TOMPION_")} | more


def first_address(process: subprocess.Popen[str]) -> str:
    """Read up to the line with the address of the service, which now accepts connections."""
    assert process.stdout is not None
    for line in process.stdout:
        if result := ADDRESS.search(line):
            return result.group()
    raise AssertionError("it ended without printing its address")


def seconds_until_healthy(home: Path) -> float:
    """Return the CPU time that a service uses until it answers. Wall time would depend on the load of the machine."""
    command = [str(Path(sys.executable).parent / "tompion"), "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, text=True, env=environment_with()) as process:
        try:
            with urlopen(f"{first_address(process)}/healthz", timeout=SECONDS) as answer:
                assert json.load(answer)["status"] == "ok"
        finally:
            process.kill()
            usage = os.wait4(process.pid, 0)[2]
            process.returncode = -signal.SIGKILL
    return usage.ru_utime + usage.ru_stime


def seconds_to_import() -> float:
    before = os.times()
    subprocess.run([sys.executable, "-c", "import starlette, uvicorn"], check=True, timeout=SECONDS)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


@pytest.mark.slow
def test_an_installed_service_responds_within_three_seconds(tmp_path: Path) -> None:
    """The best of three on an empty directory, compared with the startup time of Python alone."""
    bare, result = [], []
    for number in range(TRIES):
        home = tmp_path / str(number)
        home.mkdir()
        bare.append(seconds_to_import())
        result.append(seconds_until_healthy(home))
    assert min(result) < max(SOON_S, TIMES_BARE * min(bare)), (result, bare)


def clone_repository(home: Path) -> Path:
    """A clone of this repository that uses the ``.venv`` of the tests, so ``make`` has nothing to install."""
    clone = home / "tompion"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True, timeout=SECONDS)
    binaries = clone / ".venv" / "bin"
    binaries.mkdir(parents=True)
    for name, words in {"python": "", "tompion": "-m tompion "}.items():
        (binaries / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words}"$@"\n')
        (binaries / name).chmod(0o755)
    (clone / ".venv" / "tompion-installed-dev").write_text(stamp_of(clone))
    return clone


def stamp_of(clone: Path) -> str:
    """The stamp with which the installer of a clone skips the installation."""
    spec = spec_from_file_location("installer", clone / "requirements" / "install.py")
    assert spec is not None
    assert spec.loader is not None
    installer: Any = module_from_spec(spec)
    spec.loader.exec_module(installer)
    stamp: str = installer.digest_of(installer.DEV)
    return stamp


def can_curl() -> bool:
    """Return whether curl supports the options that the README uses."""
    if shutil.which("curl") is None:
        return False
    message = subprocess.run(["curl", "--version"], capture_output=True, text=True, check=True, timeout=SECONDS).stdout
    return tuple(map(int, message.split()[1].split(".")[:2])) >= CURL_JSON


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no clone")
def test_make_serve_in_a_clone_responds_and_stops_on_sigint(tmp_path: Path) -> None:
    clone = clone_repository(tmp_path)
    arguments = environment_with(TOMPION_SKIP_UI="1", PYTHONPATH=str(clone / "src"), PYTHON=sys.executable)
    command = ["make", "serve", "ARGS=--port 0"]
    with subprocess.Popen(
        command,
        cwd=clone,
        env=arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            address = first_address(process)
            with urlopen(f"{address}/healthz", timeout=SECONDS) as answer:
                assert answer.status == 200
            if can_curl():
                curl_as_the_readme(clone, address)
            os.killpg(process.pid, signal.SIGINT)  # like a terminal: the whole process group gets it
            out, problems = process.communicate(timeout=SECONDS)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert "Traceback" not in problems
    assert "stopping" in out
    assert (clone / "tompion.db").exists()


def curl_as_the_readme(clone: Path, address: str) -> None:
    """Run the README's commands with the real curl."""
    text = (clone / "README.md").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.startswith("curl ")]
    message: list[dict[str, Any]] = []
    for line in lines:
        words = shlex.split(line.replace("http://127.0.0.1:8640", address))
        words[1:1] = ["--silent", "--show-error", "--fail-with-body"]
        left = subprocess.run(words, capture_output=True, text=True, check=False, timeout=SECONDS)
        assert left.returncode == 0, (line, left.stdout, left.stderr)
        message.append(json.loads(left.stdout))
    assert len(message) == 3
    assert (message[0]["schedule_id"], len(message[1]["next_ticks"]), message[2]["status"]) == ("report", 10, "paused")
