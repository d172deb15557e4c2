"""``tompion doctor`` and ``tompion top``: what they see on a store that something is wrong with."""

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
from tompion import SyncTompion
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
    """The exit code, and of each thing how it is and what is said; the worst counts."""
    left = run(["doctor", *argv, "--json"])
    found: dict[str, tuple[str, str]] = {}
    for each in json.loads(left.out):
        if found.get(each["check"], ("ok", ""))[0] == "ok":
            found[each["check"]] = (each["state"], each["text"])
    return left.code, found


def change(statement: str) -> None:
    with closing(sqlite3.connect("tompion.db")) as connection, connection:
        connection.execute(statement)


def test_a_store_with_an_engine_is_well() -> None:
    with SyncTompion() as tompion:
        tompion.create("a", cron="@daily", function="tasks:a")
        code, found = checks()
    assert (code, {state for state, _ in found.values()}) == (0, {"ok"})
    assert "1 engine alive" in found["instances"][1]


def test_nothing_is_created_where_there_is_no_store() -> None:
    code, found = checks()
    assert (code, found["store"][0]) == (1, "bad")
    assert not Path("tompion.db").exists()


def test_a_service_that_does_not_answer_is_bad() -> None:
    code, found = checks("--url", "http://127.0.0.1:1")
    assert (code, found["service"][0]) == (1, "bad")


def test_schedules_without_an_engine_are_bad_and_the_way_out_is_told() -> None:
    with SyncTompion(engine=False) as tompion:
        tompion.create("a", cron="@daily", function="tasks:a")
    left = run(["doctor"])
    assert left.code == 1
    told = next(line for line in left.out.splitlines() if line.startswith("bad"))
    assert (
        told
        == "bad   instances   no engine is running, no schedule fires; start one with 'tompion serve' or 'tompion worker'"
    )


def test_a_queue_that_nobody_serves_a_stuck_run_and_a_forgotten_pause_are_found() -> None:
    with SyncTompion(engine=False) as tompion:
        tompion.create("a", cron="@daily", function="tasks:a", queue="nowhere")
        tompion.trigger("a")
        tompion.create("b", cron="@daily", function="tasks:a", paused=True)
    change(f"UPDATE schedules SET paused_ms = paused_ms - {40 * DAY_MS} WHERE schedule_id = 'b'")
    change(f"UPDATE schedule_runs SET fire_ms = fire_ms - {DAY_MS}")
    code, found = checks()
    assert code == 1
    assert found["queues"] == ("bad", "runs wait in nowhere, which no worker serves")
    assert found["runs"][0] == "bad"
    assert found["paused"] == ("warn", "paused for more than 30 days: b")


@pytest.mark.parametrize(("seconds", "state"), [(1, "ok"), (30, "warn"), (-30, "warn"), (3_600, "bad")])
def test_a_clock_that_differs_from_the_store_s_is_told(
    seconds: int, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SyncTompion(engine=False):
        pass
    off = SystemClock().now() + seconds
    monkeypatch.setattr(tables, "SystemClock", lambda: ManualClock(off))
    assert checks()[1]["clock"][0] == state


def test_decisions_and_leases_of_a_clock_that_was_set_back_are_told() -> None:
    with SyncTompion() as tompion:
        tompion.create("a", cron="@daily", function="tasks:a")
        change("UPDATE schedule_state SET last_start_ms = (unixepoch() + 3630) * 1000")
        code, found = checks()
        assert (code, found["clock"][0]) == (1, "bad")
        assert found["clock"][1].startswith("the store's clock was set back by at least 1:00:")


def test_a_pipe_gets_one_frame_of_top() -> None:
    with SyncTompion(engine=False) as tompion:
        tompion.create("report", cron="@daily", function="tasks:a")
        tompion.trigger("report")
    left = run(["top"])
    assert (left.code, left.err) == (0, "")
    assert "1 active; 1 runs in flight, 0 waiting" in left.out
    lines = left.out.splitlines()
    assert lines[lines.index("next ticks") + 2].split()[-1] == "report"
    assert "ENQUEUED" in lines[lines.index("running") + 2]
    assert "No finished runs yet." in lines
    frame = json.loads(run(["top", "--json"]).out)
    assert {each["schedule_id"] for each in frame["upcoming"]} == {"report"}
    assert (frame["schedules"]["active"], frame["schedules"]["in_flight"]) == (1, 1)


def test_a_terminal_gets_frames_until_q_is_pressed() -> None:
    with SyncTompion(engine=False) as tompion:
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
