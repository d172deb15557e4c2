"""``tompion problems``, ``forecast``, ``schedules diff`` and ``audit``."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.command_line import run
from tompion.cli import connection
from tompion.engine.steps.audit import seal
from tompion.store.sqlite.driver import SqliteStore

DAILY = ("--cron", "0 9 * * *", "--function", "tasks:report")


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory with one schedule, and an environment without the developer's own variables."""
    for name in ("TOMPION_URL", "TOMPION_KEY", "TOMPION_STORE", "TOMPION_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    assert run(["schedules", "create", "report", *DAILY]).code == 0


def test_problems_are_a_table() -> None:
    output = run(["problems"])
    assert (output.code, output.err) == (0, "")
    assert output.out.split()[:4] == ["urgency", "about", "since", "problem"]
    assert "engine" in output.out
    assert run(["problems", "--limit", "0"]).code == 2


def test_a_forecast_counts_fires_in_buckets() -> None:
    """The first bucket has begun, so 24 buckets of an hour cover at least the next 23 hours."""
    assert run(["schedules", "delete", "report", "--purge"]).code == 0
    once = f"{datetime.now(UTC) + timedelta(hours=12):%Y-%m-%dT%H:%M:%SZ}"
    assert run(["schedules", "create", "once", "--at", once, "--function", "tasks:report"]).code == 0
    output = run(["forecast", "--for", "24h", "--buckets", "24"])
    assert output.code == 0, output
    rows = [line.split() for line in output.out.splitlines()]
    assert rows[0] == ["from", "fires"]
    assert len(rows) == 25
    assert sum(int(row[-1]) for row in rows[1:]) == 1


def test_diff_marks_removed_and_added_ticks_and_writes_nothing() -> None:
    before = run(["schedules", "get", "report", "-o", "json"]).out
    edited = run(["schedules", "diff", "report", "--cron", "30 9 * * *", "--function", "tasks:report", "--count", "2"])
    assert edited.code == 0, edited
    assert {line[0] for line in edited.out.splitlines()} == {"-", "+"}
    assert "Nothing was written" in edited.err
    assert run(["schedules", "get", "report", "-o", "json"]).out == before


def test_audit_all_includes_schedules_and_verifies() -> None:
    assert "report" not in run(["audit"]).out
    assert "report" in run(["audit", "--all"]).out
    proof = run(["audit", "--verify"])
    assert (proof.code, proof.out.split(":")[0]) == (0, "audit")
    for wrong in (["--verify", "--all"], ["--after", "3"], ["--verify", "--before", "9"]):
        assert run(["audit", *wrong]).code == 2


def test_a_changed_audit_row_exits_with_1() -> None:
    with closing(SqliteStore("tompion.db")) as store:
        store.write(seal).result()
    assert run(["audit", "--verify"]).code == 0
    with closing(sqlite3.connect("tompion.db", isolation_level=None)) as database:
        database.execute("DROP TRIGGER audit_append_only")
        changed = database.execute("UPDATE audit SET actor = 'mallory' WHERE position IS NOT NULL").rowcount
    broken = run(["audit", "--verify"])
    assert (broken.code, changed > 0) == (1, True)
    assert json.loads(run(["audit", "--verify", "-o", "json"]).out)["problem"]


@pytest.mark.parametrize(
    "argv",
    [
        ("schedules", "versions", "report"),
        ("schedules", "dropped", "report"),
        ("schedules", "verify", "report"),
        ("keys", "list"),
        ("doctor",),
        ("problems",),
        ("forecast",),
    ],
)
def test_read_commands_can_be_watched(argv: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(connection, "pause_thread", wait)
    watched = run([*argv, "--watch", "5", "-o", "json"])
    assert (watched.code, waits) == (130, [5.0, 5.0])
    decoder, text = json.JSONDecoder(), watched.out
    first, end = decoder.raw_decode(text)
    assert type(decoder.raw_decode(text[end:].lstrip())[0]) is type(first)
