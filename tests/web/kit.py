"""A running service and the browser for the tests of the web UI."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tompion.client import Client

UI = Path(__file__).parents[2] / "src" / "tompion" / "web" / "ui"
INSTALLING = runpy.run_path(str(Path(__file__).parents[2] / "requirements" / "browser.py"), run_name="browser")
NO_BROWSER: str = INSTALLING["NO_BROWSER"]
FREEZE = """
const start = Date.now()
Date.now = () => start
const { setInterval } = window
window.setInterval = (task, ms, ...rest) => setInterval(task, ms >= 10_000 ? 2 ** 31 - 1 : ms, ...rest)
"""
"""Init script for tests that count requests: on a slow machine cached answers do not expire, and nothing is polled."""
TASKS = '''
"""Functions that the schedules of these tests run."""

HOSTILE = "<img src=x onerror=alert(1)><script>document.title='owned'</script>"

def work(**given):
    return {"rows": 12}

def hostile(**given):
    return HOSTILE

def refused(**given):
    raise ConnectionError("warehouse.example.org refused the connection")

def fails(**given):
    raise ValueError(HOSTILE)
'''


def browser_path() -> str | None:
    """Return the path of the browser. ``TOMPION_TEST_BROWSER`` overrides it."""
    path: str | None = INSTALLING["browser_path"]()
    return path


class Service:
    """A running service and a client of it."""

    def __init__(self, url: str, home: Path, key: str | None = None) -> None:
        self.url = url
        self.home = home
        self.client = Client(url, key=key)


@contextmanager
def serving(home: Path, *arguments: str, key: str | None = None) -> Iterator[Service]:
    """Start a service with an engine on a SQLite file in its own directory."""
    (home / "tasks.py").write_text(TASKS)
    command = [sys.executable, "-m", "tompion", "serve", "--port", "0", "--store", "sqlite:///web.db", *arguments]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TOMPION_")}
    with subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, text=True, env=clean) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            match = re.search(r"http://127\.0\.0\.1:\d+", line)
            assert match, line
            service = Service(match.group(), home, key)
            try:
                yield service
            finally:
                service.client.close()
        finally:
            process.terminate()
            process.wait(120)


def make_key(home: Path, role: str) -> str:
    """Create an API key directly in the store, as an operator does on the server."""
    command = [sys.executable, "-m", "tompion", "keys", "create", "tests", "--role", role, "-o", "json"]
    output = subprocess.run(
        [*command, "--store", "sqlite:///web.db"], cwd=home, capture_output=True, text=True, check=True
    )
    match = re.search(r"tpn_[0-9a-f_]+", output.stdout)
    assert match, output.stdout
    return match.group()
