"""Functions that a program declares as schedules: made once, left alone by a restart, changed with the code."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tompion import InvalidField, RunContext, SyncTompion, Tompion
from tompion.engine.telemetry.events import Event

SECONDS = 120
"""After which a test gives up waiting."""
YEARLY = "0 0 1 1 *"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/tompion.db"


def declared(url: str, cron: str = YEARLY, **given: Any) -> tuple[SyncTompion, list[Event]]:
    """A program with one schedule, and what it says."""
    events: list[Event] = []
    app = SyncTompion(url, engine=False, listener=events.append)

    @app.schedule(cron, **given)
    def report(run: RunContext) -> None:
        """Nothing."""

    return app, events


def told(url: str, cron: str = YEARLY, **given: Any) -> list[tuple[str, str]]:
    """Start the program, and return what it says."""
    app, events = declared(url, cron, **given)
    with app:
        return [(event.kind, event.text) for event in events]


ID = "tests.unit.test_declaring.declared.report"


def test_a_schedule_is_made_when_the_program_starts(url: str) -> None:
    app, events = declared(url, overlap="queue", catchup="coalesce", timezone="America/New_York")
    with app:
        made = app.get(ID)
    assert [(event.kind, event.schedule_id) for event in events] == [("created", ID)]
    assert (made.definition.policy.overlap_policy, made.definition.policy.catchup_policy) == ("queue", "coalesce")
    assert made.definition.spec.timezone == "America/New_York"
    assert made.definition.action.function == "tests.unit.test_declaring:declared.report"


def test_a_restart_with_the_same_code_changes_nothing(url: str) -> None:
    assert told(url) == [("created", "as declared in the code")]
    app, events = declared(url)
    with app:
        assert (app.get(ID).version, app.get(ID).token, events) == (1, 1, [])


def test_operators_own_the_pause_and_what_they_change(url: str) -> None:
    """Until the code changes: then it wins, and the pause stays."""
    told(url)
    with SyncTompion(url, engine=False) as operator:
        operator.pause(ID, note="maintenance")
        operator.patch(ID, cron="0 6 * * *", max_attempts=3)
    assert told(url) == [("drift", "differs from the code: cron, max_attempts")]
    app, _ = declared(url)
    with app:
        assert app.get(ID).definition.policy.max_attempts == 3
    assert told(url, cron="0 7 * * *") == [("updated", "as declared in the code")]
    app, _ = declared(url, cron="0 7 * * *")
    with app:
        now = app.get(ID)
    assert (now.state, now.pause_note, now.definition.policy.max_attempts) == ("paused", "maintenance", 1)


def test_what_was_deleted_comes_back_with_the_code(url: str) -> None:
    told(url)
    with SyncTompion(url, engine=False) as operator:
        operator.delete(ID)
    assert told(url) == [("created", "as declared in the code")]


def test_a_function_of_the_program_itself_is_called(url: str) -> None:
    """It cannot be imported by anybody; this very process knows it."""
    app = SyncTompion(url)
    called, results = threading.Event(), []

    @app.schedule(YEARLY, schedule_id="local", payload={"n": 5})
    def local(run: RunContext) -> str:
        results.append((run.payload, run.is_wanted, run.heartbeat(), run.progress({"percent": 10})))
        called.set()
        return "done"

    with app:
        made = app.trigger("local")
        assert called.wait(SECONDS)
    with SyncTompion(url, engine=False) as reader:
        assert reader.get_run(made.run_id).result == "done"
    assert results == [({"n": 5}, True, True, True)]


def test_mistakes_are_said_where_they_are_made(url: str) -> None:
    app = SyncTompion(url, engine=False)
    app.schedule(YEARLY, schedule_id="twice")(print)
    with pytest.raises(InvalidField, match="declared twice"):
        app.schedule(YEARLY, schedule_id="twice")(print)
    with pytest.raises(InvalidField, match="is not a function"):
        app.schedule(YEARLY)("tasks:report")  # type: ignore[type-var]  # as somebody might write
    other = SyncTompion(url, engine=False)
    other.schedule("61 * * * *", schedule_id="wrong")(print)
    with pytest.raises(ValueError, match="61"), other:
        pass


def test_the_asynchronous_twin_declares_too(url: str) -> None:
    app = Tompion(url, engine=False)

    @app.schedule(YEARLY, schedule_id="async")
    async def report() -> None:
        """Nothing."""

    async def story() -> str:
        async with app:
            return (await app.get("async")).schedule_id

    assert asyncio.run(story()) == "async"


SCRIPT = """
import sys
from tompion import {kind}
app = {kind}(sys.argv[1], listener=lambda event: print(event.kind, event.schedule_id, flush=True))

@app.schedule("@every 1s")
{function} report(run):
    print("called", run.scheduled_for.isoformat(), flush=True)

sys.exit(app.run())
"""


@pytest.mark.parametrize(("kind", "function"), [("Tompion", "async def"), ("SyncTompion", "def")])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_script_runs_until_it_is_told_to_stop(
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


@pytest.mark.parametrize("kind", ["Tompion", "SyncTompion"])
def test_a_program_whose_service_is_not_there_says_so_in_one_line(tmp_path: Path, kind: str) -> None:
    script = tmp_path / "jobs.py"
    script.write_text(SCRIPT.format(kind=kind, function="def"))
    command = [sys.executable, str(script), "http://127.0.0.1:1"]
    left = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert (left.returncode, left.stdout, left.stderr.count("\n")) == (6, "", 1)
    assert left.stderr.startswith("tompion: no answer from http://127.0.0.1:1: ")


def test_a_lambda_is_refused_where_it_is_declared(url: str) -> None:
    app = SyncTompion(url, engine=False)
    with pytest.raises(InvalidField, match="a lambda has no importable name"):
        app.schedule("@daily", schedule_id="report")(lambda: None)
