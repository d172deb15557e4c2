"""The log of an embedded app: failures with their traceback, starts and ends, and the run in records of user code."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tompion
from tests.support.service import runner_of, serve_runner
from tests.support.waiting import wait_until
from tompion import Event, LaunchError, RunContext, RunLogFilter, Tompion, current_run
from tompion.executors.function import resolve
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing import Rehearsal

SECONDS = 120
SOURCE = Path(tompion.__file__).parents[1]
SCRIPT = """
import logging, sys, threading
from tompion import RunLogFilter, Tompion

{settings}
called = threading.Event()
app = Tompion("sqlite:///jobs.db")

@app.schedule(intervals="1s", schedule_id="report")
def report():
    called.set()
    logging.getLogger("tasks").warning("working")
    raise ValueError("boom")

with app:
    called.wait()
"""
BASIC = "logging.basicConfig(level=logging.INFO, format='%(levelname)s %(name)s %(message)s')"
FILTERED = """
handler = logging.StreamHandler()
handler.addFilter(RunLogFilter())
handler.setFormatter(logging.Formatter("%(schedule_id)s %(attempt)s %(message)s"))
logging.basicConfig(level=logging.INFO, handlers=[handler])
"""


@pytest.fixture(autouse=True)
def default_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo what a command of the CLI in the same process has configured."""
    monkeypatch.setattr(logging.getLogger("tompion.runs"), "level", logging.NOTSET)
    logging.getLogger("tompion.runs").manager._clear_cache()  # type: ignore[attr-defined]  # levels are cached


@pytest.fixture
def app() -> Tompion:
    return Tompion("sqlite:///:memory:")


def run_script(home: Path, settings: str) -> str:
    """Return what a script with a failing job prints on standard error."""
    path = home / "jobs.py"
    path.write_text(SCRIPT.format(settings=settings))
    environment = {"PYTHONPATH": str(SOURCE)}
    process = subprocess.run(
        [sys.executable, str(path)], cwd=home, capture_output=True, text=True, timeout=SECONDS, env=environment,
        check=False,
    )  # fmt: skip
    assert (process.returncode, process.stdout) == (0, "")
    return process.stderr


def records(caplog: pytest.LogCaptureFixture, level: int = logging.DEBUG) -> list[str]:
    """Return the records of runs as texts, without the id of the run."""
    return [
        f"{record.levelname} {record.getMessage().split(' (run')[0]}"
        for record in caplog.records
        if record.name == "tompion.runs" and record.levelno >= level
    ]


@pytest.mark.server
def test_script_without_log_settings_prints_the_traceback(tmp_path: Path) -> None:
    """Regression: a job that raised every second left no trace on standard error and in the logging module."""
    lines = run_script(tmp_path, "").splitlines()
    assert lines[0] == "working"
    assert lines[1].startswith("report failed: ValueError: boom (run 1-")
    assert lines[2] == "Traceback (most recent call last):"
    assert lines[3].endswith(", in report")
    assert "ValueError: boom" in lines
    assert not [line for line in lines if "tompion" in line]  # only frames of the user


@pytest.mark.server
def test_script_with_basic_config_prints_start_failure_and_end(tmp_path: Path) -> None:
    text = run_script(tmp_path, BASIC)
    expected = [
        "INFO tompion.runs report created: as declared in the code",
        "INFO tompion.runs report launched: schedule (run 1-",
        "WARNING tasks working",
        "ERROR tompion.runs report failed: ValueError: boom (run 1-",
        "Traceback (most recent call last):",
        "INFO tompion.runs report ended: FAILED: ValueError: boom (run 1-",
    ]
    positions = [text.index(line) for line in expected]
    assert positions == sorted(positions)


@pytest.mark.server
def test_filter_adds_the_run_to_records_of_user_code(tmp_path: Path) -> None:
    text = run_script(tmp_path, FILTERED)
    assert "report 1 working\n" in text
    assert "report 1 report failed: ValueError: boom" in text


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_current_run_is_known_in_threads_and_tasks(kind: str, app: Tompion) -> None:
    runs: list[RunContext | None] = []

    def work() -> None:
        runs.append(current_run())

    async def work_async() -> None:
        await asyncio.sleep(1)
        runs.append(current_run())
        await asyncio.create_task(work_in_task())

    async def work_in_task() -> None:
        runs.append(current_run())

    app.schedule("0 9 * * *", schedule_id="report")(work if kind == "sync" else work_async)
    with Rehearsal(app, at="2026-03-28T00:00:00Z") as rehearsal:
        rehearsal.advance("1d")
        (stored,) = rehearsal.all_runs("report")
    assert {run.run_id for run in runs if run is not None} == {stored.run_id}
    assert None not in runs
    assert current_run() is None


def test_current_run_is_known_in_the_threads_of_an_engine(app: Tompion) -> None:
    names: list[str | None] = []
    for name in ("first", "second"):
        app.schedule(intervals="1s", schedule_id=name)(_append_schedule_id(names))
    with app:
        assert wait_until(lambda: {"first", "second"} <= set(names))
    assert set(names) == {"first", "second"}


def _append_schedule_id(names: list[str | None]) -> Callable[[RunContext], None]:
    def work(run: RunContext) -> None:
        current = current_run()
        names.append(current.schedule_id if current is run else None)

    return work


def test_filter_keeps_attributes_and_has_a_default() -> None:
    record = logging.makeLogRecord({"schedule_id": "report"})
    assert RunLogFilter().filter(record)
    assert (record.schedule_id, record.run_id, record.attempt) == ("report", "-", "-")  # type: ignore[attr-defined]  # added by the filter


def test_failed_attempt_is_a_warning_while_attempts_are_left(app: Tompion, caplog: pytest.LogCaptureFixture) -> None:
    @app.schedule("0 9 * * *", schedule_id="report", max_attempts=2, retry_delay_ms=1_000)
    def report() -> None:
        raise ValueError("boom")

    with caplog.at_level(logging.INFO), Rehearsal(app, at="2026-03-28T08:59:00Z") as rehearsal:
        rehearsal.advance("5m")
    assert records(caplog) == [
        "INFO report launched: schedule",
        "WARNING report failed: ValueError: boom",
        "INFO report retried: FAILED: ValueError: boom",
        "INFO report launched: retry",
        "ERROR report failed: ValueError: boom",
        "INFO report ended: FAILED: ValueError: boom",
    ]
    failures = [record for record in caplog.records if record.exc_info]
    assert [record.exc_info[0] for record in failures if record.exc_info] == [ValueError, ValueError]
    assert [getattr(record, "attempt", None) for record in failures] == [1, 2]


def test_success_is_not_logged_above_info(app: Tompion, caplog: pytest.LogCaptureFixture) -> None:
    app.schedule("0 9 * * *", schedule_id="report")(_succeed)
    with Rehearsal(app, at="2026-03-28T08:59:00Z") as rehearsal:
        rehearsal.advance("5m")
        assert [event.kind for event in rehearsal.events] == ["launched", "ended"]
    assert records(caplog) == []


def test_failure_without_an_exception_is_logged(app: Tompion, caplog: pytest.LogCaptureFixture) -> None:
    app.schedule("0 9 * * *", schedule_id="slow", max_execution_ms=1_000)(_sleep)
    with Rehearsal(app, at="2026-03-28T08:59:00Z") as rehearsal:
        rehearsal.create("gone", cron="0 9 * * *", function="json:no_such_function")
        rehearsal.advance("5m")
    missing = "'json:no_such_function' does not exist: module 'json' has no attribute 'no_such_function'"
    assert sorted(records(caplog, logging.ERROR)) == [
        f"ERROR gone failed: {missing} (3 tries)",
        "ERROR slow failed: it took longer than max_execution_ms (1000)",
    ]


def test_failed_import_keeps_the_error_for_the_log() -> None:
    with pytest.raises(LaunchError) as caught:
        resolve("no_such_module:report")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def _succeed() -> None:
    pass


async def _sleep() -> None:
    await asyncio.sleep(60)


def test_missed_ticks_are_a_warning(app: Tompion, caplog: pytest.LogCaptureFixture) -> None:
    app.schedule("0 9 * * *", schedule_id="report", catchup="none")(_succeed)
    with Rehearsal(app, at="2026-03-28T00:00:00Z") as rehearsal:
        rehearsal.advance("1h")
        rehearsal.outage("3d")
        rehearsal.advance("1h")
    assert [line for line in records(caplog) if "missed" in line] == ["WARNING report missed: 3 ticks: missed"]


def test_broken_handler_does_not_stop_the_engine(app: Tompion) -> None:
    class Broken(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            raise ValueError("no log")

    log = logging.getLogger("tompion.runs")
    broken = Broken()
    log.addFilter(broken)
    try:
        app.schedule("0 * * * *", schedule_id="report")(_fail)
        with Rehearsal(app, at="2026-03-28T00:30:00Z") as rehearsal:
            rehearsal.advance("3h")
            assert [run.status for run in rehearsal.all_runs("report")] == ["FAILED"] * 3
    finally:
        log.removeFilter(broken)


def _fail() -> None:
    raise ValueError("boom")


@pytest.fixture
def url() -> Iterator[str]:
    store = SqliteStore()
    with serve_runner(runner_of(store)) as address:
        yield address
    store.close()


@pytest.mark.server
def test_listener_and_log_of_a_remote_worker_have_the_failure(url: str, caplog: pytest.LogCaptureFixture) -> None:
    events: list[Event] = []
    app = Tompion(url, queues=("remote",), listener=events.append)
    app.schedule("0 9 * * *", schedule_id="report")(_fail)
    with caplog.at_level(logging.INFO), app:
        run = app.trigger("report")
        assert wait_until(lambda: any(event.kind == "ended" for event in events))
    failed, ended = next(record for record in caplog.records if record.exc_info), events[-1]
    assert getattr(failed, "run_id", None) == ended.run_id == run.run_id
    assert (ended.status, ended.error, ended.text) == ("FAILED", "ValueError: boom", "FAILED: ValueError: boom")
