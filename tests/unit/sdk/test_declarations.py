"""Functions that a program declares as schedules: created once, unchanged by a restart, updated with the code."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tompion import AsyncTompion, InvalidField, RunContext, Tompion
from tompion.engine.telemetry.events import Event

SECONDS = 120
"""After which a test gives up waiting."""
YEARLY = "0 0 1 1 *"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/tompion.db"


def declared(url: str, cron: str = YEARLY, **arguments: Any) -> tuple[Tompion, list[Event]]:
    """A program with one schedule, and its events."""
    events: list[Event] = []
    app = Tompion(url, engine=False, listener=events.append)

    @app.schedule(cron, **arguments)
    def report(run: RunContext) -> None:
        """Nothing."""

    return app, events


def events_at_start(url: str, cron: str = YEARLY, **arguments: Any) -> list[tuple[str, str]]:
    """Start the program and return its events."""
    app, events = declared(url, cron, **arguments)
    with app:
        return [(event.kind, event.text) for event in events]


ID = "tests.unit.sdk.test_declarations.declared.report"


def test_a_declared_schedule_is_created_at_start(url: str) -> None:
    app, events = declared(url, overlap="queue", catchup="coalesce", timezone="America/New_York")
    with app:
        created = app.get(ID)
    assert [(event.kind, event.schedule_id) for event in events] == [("created", ID)]
    assert (created.definition.policy.overlap_policy, created.definition.policy.catchup_policy) == ("queue", "coalesce")
    assert created.definition.spec.timezone == "America/New_York"
    assert created.definition.action.function == "tests.unit.sdk.test_declarations:declared.report"


def test_a_restart_with_the_same_code_changes_nothing(url: str) -> None:
    assert events_at_start(url) == [("created", "as declared in the code")]
    app, events = declared(url)
    with app:
        assert (app.get(ID).definition_version, app.get(ID).conflict_token, events) == (1, 1, [])


def test_changes_by_operators_are_kept(url: str) -> None:
    """A change of the code overrides them, except the pause."""
    events_at_start(url)
    with Tompion(url, engine=False) as operator:
        operator.pause(ID, note="maintenance")
        operator.patch(ID, cron="0 6 * * *", max_attempts=3)
    assert events_at_start(url) == [("drift", "differs from the code: cron, max_attempts")]
    app, _ = declared(url)
    with app:
        assert app.get(ID).definition.policy.max_attempts == 3
    assert events_at_start(url, cron="0 7 * * *") == [("updated", "as declared in the code")]
    app, _ = declared(url, cron="0 7 * * *")
    with app:
        now = app.get(ID)
    assert (now.status, now.note, now.definition.policy.max_attempts) == ("paused", "maintenance", 1)


def test_a_deleted_schedule_is_created_again(url: str) -> None:
    events_at_start(url)
    with Tompion(url, engine=False) as operator:
        operator.delete(ID)
    assert events_at_start(url) == [("created", "as declared in the code")]


def test_a_function_of_the_main_program_is_called(url: str) -> None:
    """The function cannot be imported, only this process has it."""
    app = Tompion(url)
    called, results = threading.Event(), []

    @app.schedule(YEARLY, schedule_id="local", payload={"n": 5})
    def local(run: RunContext) -> str:
        results.append((run.payload, run.should_continue, run.heartbeat(), run.progress({"percent": 10})))
        called.set()
        return "done"

    with app:
        created = app.trigger("local")
        assert called.wait(SECONDS)
    with Tompion(url, engine=False) as reader:
        assert reader.runs.get(created.run_id).result == "done"
    assert results == [({"n": 5}, True, True, True)]


def test_wrong_declarations_raise_at_the_declaration(url: str) -> None:
    app = Tompion(url, engine=False)
    app.schedule(YEARLY, schedule_id="twice")(print)
    with pytest.raises(InvalidField, match="declared twice"):
        app.schedule(YEARLY, schedule_id="twice")(print)
    with pytest.raises(InvalidField, match="is not a function"):
        app.schedule(YEARLY)("tasks:report")  # type: ignore[type-var]  # an incorrect use
    other = Tompion(url, engine=False)
    other.schedule("61 * * * *", schedule_id="wrong")(print)
    with pytest.raises(ValueError, match="61"), other:
        pass


def test_the_asynchronous_app_declares_too(url: str) -> None:
    app = AsyncTompion(url, engine=False)

    @app.schedule(YEARLY, schedule_id="async")
    async def report() -> None:
        """Nothing."""

    async def scenario() -> str:
        async with app:
            return (await app.get("async")).schedule_id

    assert asyncio.run(scenario()) == "async"


SCRIPT = """
import sys
from tompion import {kind}
app = {kind}(sys.argv[1], listener=lambda event: print(event.kind, event.schedule_id, flush=True))

@app.schedule("@every 1s")
{function} report(run):
    print("called", run.run_at.isoformat(), flush=True)

sys.exit(app.run())
"""


@pytest.mark.parametrize(("kind", "function"), [("AsyncTompion", "async def"), ("Tompion", "def")])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_script_runs_until_a_signal(
    tmp_path: Path, url: str, kind: str, function: str, number: signal.Signals, code: int
) -> None:
    script = tmp_path / "jobs.py"
    script.write_text(SCRIPT.format(kind=kind, function=function))
    with subprocess.Popen(
        [sys.executable, str(script), url],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        watchdog = threading.Timer(SECONDS, process.kill)
        watchdog.start()
        lines = []
        for line in process.stdout:
            lines.append(line.strip())
            if line.startswith("called"):
                break
        process.send_signal(number)
        process.stdout.read()
        watchdog.cancel()
        assert process.wait(SECONDS) == code
    assert lines[0] == "created jobs.report"


@pytest.mark.parametrize("kind", ["AsyncTompion", "Tompion"])
def test_an_unreachable_service_at_start_is_a_one_line_error(tmp_path: Path, kind: str) -> None:
    script = tmp_path / "jobs.py"
    script.write_text(SCRIPT.format(kind=kind, function="def"))
    command = [sys.executable, str(script), "http://127.0.0.1:1"]
    left = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert (left.returncode, left.stdout, left.stderr.count("\n")) == (6, "", 1)
    assert left.stderr.startswith("tompion: no answer from http://127.0.0.1:1: ")


def test_a_lambda_is_rejected_at_the_declaration(url: str) -> None:
    app = Tompion(url, engine=False)
    with pytest.raises(InvalidField, match="a lambda has no importable name"):
        app.schedule("@daily", schedule_id="report")(lambda: None)
