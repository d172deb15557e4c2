"""``tompion worker`` as a user meets it: a real process, a file of schedules, and signals."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.service import serve_runner
from tompion import Tompion
from tompion.model.run import FINAL

TASKS = """
import logging
import threading
from pathlib import Path

HERE = Path(__file__).parent

def note(run):
    with (HERE / "notes.txt").open("a") as notes:
        notes.write(f"{run.idempotency_key}\\n")

def fail(run):
    logging.getLogger("tasks").info("working")
    raise ValueError("boom")

def hang():
    (HERE / "hanging.txt").touch()
    threading.Event().wait()
"""
EVENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ (\S+) +(launched|ended|skipped) +(\S.*)")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "tasks.py").write_text(TASKS)
    return tmp_path


@contextmanager
def worker(home: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start a worker in the directory of the tasks, and stop it at the end."""
    command = [sys.executable, "-m", "tompion", "worker", "--store", "sqlite:///jobs.db", *arguments]
    with subprocess.Popen(
        command, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=buffered_environment()
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def buffered_environment() -> dict[str, str]:
    """An environment in which output is buffered unless it is flushed."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONUNBUFFERED", "TOMPION_STORE")}


def wait_for(process: subprocess.Popen[str], wanted: Callable[[str], bool]) -> list[str]:
    """Read lines until the expected one."""
    assert process.stdout is not None
    seen: list[str] = []
    for line in process.stdout:
        seen.append(line.rstrip("\n"))
        if wanted(line):
            return seen
    raise AssertionError(f"it ended: {seen} {process.stderr.read() if process.stderr else ''}")


def schedules(home: Path) -> Tompion:
    return Tompion(f"sqlite:///{home / 'jobs.db'}", engine=False)


def test_a_worker_runs_due_schedules_and_stops_gracefully(home: Path) -> None:
    with schedules(home) as tompion:
        tompion.create("notes", cron="* * * * * *", function="tasks:note")
    with worker(home) as process:
        lines = wait_for(process, lambda line: "SUCCESS" in line)
        lines += wait_for(process, lambda line: "SUCCESS" in line)
        process.send_signal(signal.SIGTERM)
        rest, problems = process.communicate(timeout=120)
    assert (process.returncode, problems) == (0, "")
    assert lines[0] == "running the schedules of sqlite:///jobs.db, queue default (Ctrl-C to stop)"
    assert rest.splitlines()[-1] == "stopped"
    events = [EVENT.fullmatch(line) for line in lines[1:]]
    assert all(event and event[1] == "notes" for event in events), lines
    assert max(map(len, lines)) <= 80
    notes = (home / "notes.txt").read_text().splitlines()
    with schedules(home) as tompion:
        runs = tompion.runs.list("notes", limit=1_000).items
        assert tompion.schedules.verify("notes").ok
        assert tompion.get("notes").in_flight == 0
    assert {run.status for run in runs} <= FINAL, "nothing may be left in flight"
    assert sorted(run.idempotency_key for run in runs if run.status == "SUCCESS") == sorted(notes), "each once"
    assert len(notes) == len(set(notes)) >= 2


def test_a_second_interrupt_exits_immediately(home: Path) -> None:
    with schedules(home) as tompion:
        tompion.create("hanging", cron="0 0 1 1 *", function="tasks:hang")
        tompion.trigger("hanging")
    with worker(home) as process:
        wait_for(process, lambda line: "launched" in line)
        process.send_signal(signal.SIGINT)
        wait_for(process, lambda line: line.startswith("stopping"))
        process.send_signal(signal.SIGINT)
        rest, problems = process.communicate(timeout=120)
    assert (process.returncode, rest, problems) == (130, "", "")


def test_an_interrupted_worker_exits_with_130(home: Path) -> None:
    with worker(home) as process:
        wait_for(process, lambda line: "running" in line)
        process.send_signal(signal.SIGINT)
        rest, problems = process.communicate(timeout=120)
    assert (process.returncode, problems) == (130, "")
    assert rest.splitlines()[-1] == "stopped"


def test_functions_are_imported_from_the_app_dir(home: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with schedules(home) as tompion:
        tompion.create("notes", cron="0 0 1 1 *", function="tasks:note", queue="reports")
        tompion.trigger("notes")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    store = f"sqlite:///{home / 'jobs.db'}"
    with worker(elsewhere, "--store", store, "--app-dir", str(home), "--queue", "reports") as process:
        lines = wait_for(process, lambda line: "ended" in line)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
    assert "queue reports" in lines[0]
    assert "SUCCESS in" in lines[-1]
    assert (home / "notes.txt").exists()


@contextmanager
def service(home: Path) -> Iterator[tuple[Tompion, str]]:
    """A service with an engine, on a store in this process."""
    with Tompion(f"sqlite:///{home / 'service.db'}") as tompion, serve_runner(tompion._runner) as url:
        yield tompion, url


@contextmanager
def remote(home: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start a worker that has no store."""
    command = [sys.executable, "-m", "tompion", "worker", *arguments]
    with subprocess.Popen(
        command, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=buffered_environment()
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_worker_without_a_store_executes_the_runs_of_a_service(home: Path) -> None:
    with service(home) as (tompion, url):
        tompion.create("notes", cron="0 0 1 1 *", function="tasks:note", queue="reports")
        run = tompion.trigger("notes")
        with remote(home, "--url", url, "--queue", "reports") as process:
            lines = wait_for(process, lambda line: "ended" in line)
            process.send_signal(signal.SIGTERM)
            rest, problems = process.communicate(timeout=120)
        assert (process.returncode, problems) == (0, "")
        assert lines[0] == f"executing runs of {url}, queue reports (Ctrl-C to stop)"
        assert rest.splitlines()[-1] == "stopped"
        assert tompion.runs.get(run.run_id).status == "SUCCESS"
    assert (home / "notes.txt").read_text().splitlines() == [run.idempotency_key]
    assert not (home / "tompion.db").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--url", "http://127.0.0.1:9", "--store", "sqlite:///jobs.db"), 2, "use a service or a store"),
        (("--key", "tpn_x"), 2, "need --url"),
        (("--url", "http://127.0.0.1:9"), 6, "no answer from http://127.0.0.1:9"),
    ],
)
def test_an_unreachable_service_is_a_one_line_error(
    home: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    with remote(home, *arguments) as process:
        out, problems = process.communicate(timeout=120)
    assert (process.returncode, out) == (code, "")
    assert message in problems
    assert problems.count("\n") == 1


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_failing_function_is_logged_once_with_the_records_of_its_code(home: Path, log_format: str) -> None:
    with Tompion(f"sqlite:///{home / 'jobs.db'}", engine=False) as app:
        app.create("report", cron="0 0 1 1 *", function="tasks:fail")
        run_id = app.trigger("report").run_id
    with worker(home, "--log-format", log_format) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "ended" in line:
                process.terminate()
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert [line for line in lines if "boom" in line] == [line for line in lines if "ended" in line]
    (record,) = [line for line in lines if "working" in line]
    assert "report" in record
    if log_format == "json":
        assert json.loads(record)["run_id"] == run_id
