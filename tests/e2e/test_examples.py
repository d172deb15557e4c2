"""Every example runs with the command from its page, prints the expected output, and stops on Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.support.service import serve_runner
from tompion import Tompion

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SECONDS = 120
SHOWN = re.findall(r"`\.venv/bin/python (examples/[\w/.]+)((?: \w+)?)`", (EXAMPLES / "README.md").read_text())


@contextmanager
def running(where: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start an example in its own directory, interrupt it, and check that it ends."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a script, children would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(
        [sys.executable, *arguments], cwd=where, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        too_long = threading.Timer(SECONDS, process.kill)
        too_long.start()
        try:
            yield process
            process.send_signal(signal.SIGINT)
            assert process.wait(SECONDS) in (0, 130)
        finally:
            too_long.cancel()
            process.kill()


def wait_for(process: subprocess.Popen[str], pattern: str, count: int = 2) -> None:
    """Read the output of an example until a number of lines match."""
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line)
        if sum(bool(re.search(pattern, item)) for item in seen) == count:
            return
    raise AssertionError(f"not enough of {pattern!r}: {''.join(seen)}")


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        (["examples/script.py"], r"^heartbeat for \d\d:\d\d:\d\d$"),
        (["examples/django_site/manage.py", "schedules"], r"^\d\d:\d\d:\d\d \d+ tables$"),
        (["examples/celery_app.py"], r"^SUCCESS: report of Berlin"),
        (["examples/temporal_app.py"], r"^SUCCESS: run number \d+, count-"),
    ],
    ids=lambda value: value[0].rpartition("/")[2] if isinstance(value, list) else "",
)
def test_each_example_prints_its_expected_output(tmp_path: Path, arguments: list[str], pattern: str) -> None:
    with running(tmp_path, str(ROOT / arguments[0]), *arguments[1:]) as process:
        wait_for(process, pattern)


def test_the_web_application_lists_its_runs(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with running(tmp_path, str(EXAMPLES / "fastapi_app.py"), "--port", str(port)) as process:
        assert any("hello at" in _greetings(port, process) for _ in range(100_000))


def _greetings(port: int, process: subprocess.Popen[str]) -> str:
    assert process.poll() is None
    try:
        with urlopen(f"http://127.0.0.1:{port}/greetings", timeout=SECONDS) as answer:
            return str(answer.read().decode())
    except URLError:  # it does not listen yet
        return ""


def test_the_program_without_a_store_executes_runs(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'tompion.db'}"
    with (
        Tompion(store) as home,
        serve_runner(home._runner) as url,
        running(tmp_path, str(EXAMPLES / "remote.py"), url) as process,
    ):
        wait_for(process, r"^heartbeat for \d\d:\d\d:\d\d$")


def test_every_example_is_documented_and_tested() -> None:
    files = {f"examples/{path.name}" for path in EXAMPLES.glob("*.py")} | {"examples/django_site/manage.py"}
    assert {path for path, _ in SHOWN} == files
    assert [path for path in files if Path(path).name not in Path(__file__).read_text()] == []
