"""``tompion doctor`` and ``tompion top`` on stores with problems."""

from __future__ import annotations

import json
import os
import pty
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.command_line import run
from tompion import Tompion
from tompion.cli.output import tables
from tompion.runtime.clock import SystemClock
from tompion.testing.clock import ManualClock

DAY_MS = 86_400_000


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TOMPION_URL", "TOMPION_KEY", "TOMPION_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def checks(*argv: str) -> tuple[int, dict[str, tuple[str, str]]]:
    """Return the exit code, and the worst state and text of each check."""
    left = run(["doctor", *argv, "-o", "json"])
    result: dict[str, tuple[str, str]] = {}
    for item in json.loads(left.out):
        if result.get(item["name"], ("ok", ""))[0] == "ok":
            result[item["name"]] = (item["state"], item["text"])
    return left.code, result


def change(statement: str) -> None:
    with closing(sqlite3.connect("tompion.db")) as connection, connection:
        connection.execute(statement)


def test_all_checks_pass_for_a_store_with_an_engine() -> None:
    with Tompion() as tompion:
        tompion.create("a", cron="@daily", function="tasks:a")
        code, result = checks()
    assert (code, {state for state, _ in result.values()}) == (0, {"ok"})
    assert "1 engine alive" in result["instances"][1]


def test_doctor_creates_no_store() -> None:
    code, result = checks()
    assert (code, result["store"][0]) == (1, "bad")
    assert not Path("tompion.db").exists()


def test_an_unreachable_service_is_bad() -> None:
    code, result = checks("--url", "http://127.0.0.1:1")
    assert (code, result["service"][0]) == (1, "bad")


def test_schedules_without_an_engine_are_bad_with_a_remedy() -> None:
    with Tompion(engine=False) as tompion:
        tompion.create("a", cron="@daily", function="tasks:a")
    left = run(["doctor"])
    assert left.code == 1
    message = next(line for line in left.out.splitlines() if line.startswith("bad"))
    assert (
        message == "bad   instances   no engine is running, so no schedule fires; "
        "start one with 'tompion serve' or 'tompion worker'"
    )


def test_doctor_finds_unserved_queues_stuck_runs_and_long_pauses() -> None:
    with Tompion(engine=False) as tompion:
        tompion.create("a", cron="@daily", function="tasks:a", queue="nowhere")
        tompion.trigger("a")
        tompion.create("b", cron="@daily", function="tasks:a", paused=True)
    change(f"UPDATE schedules SET paused_ms = paused_ms - {40 * DAY_MS} WHERE schedule_id = 'b'")
    change(f"UPDATE schedule_runs SET fire_ms = fire_ms - {DAY_MS}")
    code, result = checks()
    assert code == 1
    assert result["queues"] == ("bad", "runs wait in nowhere, which no worker serves")
    assert result["runs"][0] == "bad"
    assert result["paused"] == ("warn", "paused for more than 30 days: b")


@pytest.mark.parametrize(("seconds", "state"), [(1, "ok"), (30, "warn"), (-30, "warn"), (3_600, "bad")])
def test_doctor_reports_clock_skew(seconds: int, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Tompion(engine=False):
        pass
    off = SystemClock().now() + seconds
    monkeypatch.setattr(tables, "SystemClock", lambda: ManualClock(off))
    assert checks()[1]["clock"][0] == state


def test_doctor_reports_a_clock_that_was_set_back() -> None:
    with Tompion() as tompion:
        tompion.create("a", cron="@daily", function="tasks:a")
        change("UPDATE schedule_state SET last_start_ms = (unixepoch() + 3630) * 1000")
        code, result = checks()
        assert (code, result["clock"][0]) == (1, "bad")
        assert result["clock"][1].startswith("the store's clock was set back by at least 1:00:")


def test_top_prints_one_frame_into_a_pipe() -> None:
    with Tompion(engine=False) as tompion:
        tompion.create("report", cron="@daily", function="tasks:a")
        tompion.trigger("report")
    left = run(["top"])
    assert (left.code, left.err) == (0, "")
    assert "1 active; 1 runs in flight, 0 waiting" in left.out
    lines = left.out.splitlines()
    assert lines[lines.index("next ticks") + 2].split()[-1] == "report"
    assert "ENQUEUED" in lines[lines.index("running") + 2]
    assert "No finished runs yet." in lines
    frame = json.loads(run(["top", "-o", "json"]).out)
    assert {item["schedule_id"] for item in frame["upcoming"]} == {"report"}
    assert (frame["schedules"]["active"], frame["schedules"]["in_flight"]) == (1, 1)


def test_top_refreshes_a_terminal_until_q_is_pressed() -> None:
    with Tompion(engine=False) as tompion:
        tompion.create("report", cron="@daily", function="tasks:a")
    reader, writer = pty.openpty()
    command = [sys.executable, "-m", "tompion", "top", "--every", "0.1"]
    with subprocess.Popen(command, stdin=writer, stdout=writer, stderr=writer) as process:
        os.close(writer)
        killer = threading.Timer(120, process.kill)
        killer.start()
        seen = b""
        while b"report" not in seen:
            seen += os.read(reader, 65_536)
        os.write(reader, b"q")
        while True:
            try:
                seen += os.read(reader, 65_536)
            except OSError:
                break
        killer.cancel()
        assert process.wait() == 0
    os.close(reader)
    assert seen.endswith(b"\x1b[?1049l")
