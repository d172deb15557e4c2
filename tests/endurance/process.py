"""A real ``tompion worker``, its output and the log of its functions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from tompion.model.run import FINAL
from tompion.model.schedule import Run
from tompion.sdk.app import Tompion

SECONDS = 120
"""After which waiting is defaults up."""
POLL_S = 0.01
PAGE = 1_000
TASKS = """
import os
from pathlib import Path
from typing import Any

NOTES = Path(__file__).parent / "notes.txt"

def note(run):
    with NOTES.open("a") as notes:
        notes.write(f"{run.idempotency_key}\\n")
"""
CONFIGURATION = """
[limits]
tick_ms = 200
"""


def until(happened: Callable[[], bool], otherwise: Callable[[], str] = lambda: "it did not happen") -> None:
    """Wait until a condition holds, or fail with a description."""
    deadline = time.monotonic() + SECONDS
    turn = threading.Event()
    while not happened():
        assert time.monotonic() < deadline, otherwise()
        turn.wait(POLL_S)


class Worker:
    """One process, in its own directory."""

    def __init__(self, home: Path, process: subprocess.Popen[bytes]) -> None:
        self._home = home
        self.process = process

    def output(self) -> str:
        """Return its output so far."""
        return (self._home / "output.txt").read_text(errors="replace")

    def wait_for_output(self, *texts: str) -> None:
        """Wait until its output has one of these texts."""
        until(lambda: any(text in self.output() for text in texts) or self._is_over(), self.output)
        assert not self._is_over(), self.output()

    def notes(self) -> list[str]:
        """Return the keys of the launches, in order."""
        path = self._home / "notes.txt"
        return path.read_text().splitlines() if path.exists() else []

    def launches(self, more: int) -> None:
        """Wait for a number of further launches."""
        before = len(self.notes())
        until(lambda: len(self.notes()) >= before + more or self._is_over(), self.output)
        assert not self._is_over(), self.output()

    def stop(self) -> None:
        """Stop it gracefully."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(SECONDS) == 0, self.output()

    def _is_over(self) -> bool:
        return self.process.poll() is not None


@contextmanager
def worker(home: Path, store: str, surroundings: Mapping[str, str] | None = None, limits: str = "") -> Iterator[Worker]:
    """Start a worker, and stop it at the end."""
    home.mkdir(exist_ok=True)
    (home / "tasks.py").write_text(TASKS)
    (home / "tompion.toml").write_text(CONFIGURATION + limits)
    command = [sys.executable, "-m", "tompion", "worker", "--store", store, "--config", "tompion.toml", "--quiet"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TOMPION_")}
    with (home / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**kept, **(surroundings or {})},
        )
    try:
        yield Worker(home, process)
    finally:
        process.kill()
        process.wait(SECONDS)


def create(tompion: Tompion, count: int, **fields: Any) -> list[str]:
    """Create schedules that tick each second and drop nothing."""
    names = [f"every-second-{number}" for number in range(count)]
    defaults: dict[str, Any] = {"cron": "* * * * * *", "function": "tasks:note", "overlap_policy": "allow"}
    for name in names:
        tompion.create(name, **{**defaults, "catchup_policy": "fire_immediately", **fields})
    return names


def runs_of(tompion: Tompion, name: str) -> list[Run]:
    """Return all runs of a schedule, oldest first."""
    runs: list[Run] = []
    page = tompion.runs.list(name, limit=PAGE)
    runs += page.items
    while page.next_page is not None:
        page = tompion.runs.list(name, limit=PAGE, before=page.next_page)
        runs += page.items
    return sorted(runs, key=lambda run: run.run_at)


def problems(tompion: Tompion, names: list[str], notes: list[str]) -> list[str]:
    """Return missing and repeated ticks, unrecorded launches and open runs."""
    violations = []
    launched = Counter(notes)
    for name in names:
        violations += [f"{name}: {problem}" for problem in tompion.schedules.verify(name).problems]
        runs = runs_of(tompion, name)
        seconds = [int(run.run_at.timestamp()) for run in runs if run.source == "schedule"]
        if len(seconds) != len(set(seconds)):
            violations.append(f"{name}: a tick was decided twice: {seconds}")
        violations += [f"{name}: still open: {run}" for run in runs if run.status not in FINAL]
        for run in runs:
            times = launched.pop(run.idempotency_key, 0)
            if run.status == "SUCCESS" and not 1 <= times <= run.attempt:
                violations.append(f"{name}: launched {times} times, by the ledger {run.attempt}: {run}")
    return violations + [f"launched, and not in the ledger: {key}" for key in launched]


def gaps(tompion: Tompion, name: str) -> list[tuple[int, int]]:
    """Return the seconds between two runs of a schedule that have no run."""
    seconds = [int(run.run_at.timestamp()) for run in runs_of(tompion, name)]
    return [(a, b) for a, b in pairwise(seconds) if b != a + 1]
