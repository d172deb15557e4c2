"""What needs attention, what is to come, what an edit would do, and the audit of everything, as people see it."""

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
    """A directory with one schedule, and none of what whoever runs the tests has set."""
    for name in ("TOMPION_URL", "TOMPION_KEY", "TOMPION_STORE", "TOMPION_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    assert run(["schedules", "create", "report", *DAILY]).code == 0


def test_what_needs_attention_is_a_table() -> None:
    shown = run(["problems"])
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.split()[:4] == ["urgency", "about", "since", "problem"]
    assert "engine" in shown.out
    assert run(["problems", "--limit", "0"]).code == 2


def test_a_forecast_counts_fires_in_buckets() -> None:
    """The first bucket has begun, so 24 buckets of an hour cover at least the next 23 hours."""
    assert run(["schedules", "delete", "report", "--purge"]).code == 0
    once = f"{datetime.now(UTC) + timedelta(hours=12):%Y-%m-%dT%H:%M:%SZ}"
    assert run(["schedules", "create", "once", "--at", once, "--function", "tasks:report"]).code == 0
    shown = run(["forecast", "--for", "24h", "--buckets", "24"])
    assert shown.code == 0, shown
    rows = [line.split() for line in shown.out.splitlines()]
    assert rows[0] == ["from", "fires"]
    assert len(rows) == 25
    assert sum(int(row[-1]) for row in rows[1:]) == 1


def test_an_edit_is_shown_as_a_comparison_and_writes_nothing() -> None:
    before = run(["schedules", "get", "report", "--json"]).out
    edited = run(["schedules", "diff", "report", "--cron", "30 9 * * *", "--function", "tasks:report", "--count", "2"])
    assert edited.code == 0, edited
    assert {line[0] for line in edited.out.splitlines()} == {"-", "+"}
    assert "Nothing was written" in edited.err
    assert run(["schedules", "get", "report", "--json"]).out == before


def test_the_audit_of_everything_holds_schedules_too_and_proves_itself() -> None:
    assert "report" not in run(["audit"]).out
    assert "report" in run(["audit", "--all"]).out
    proof = run(["audit", "--verify"])
    assert (proof.code, proof.out.split(":")[0]) == (0, "audit")
    for wrong in (["--verify", "--all"], ["--after", "3"], ["--verify", "--before", "9"]):
        assert run(["audit", *wrong]).code == 2


def test_an_audit_that_somebody_changed_is_exit_code_1() -> None:
    with closing(SqliteStore("tompion.db")) as store:
        store.write(seal).result()
    assert run(["audit", "--verify"]).code == 0
    with closing(sqlite3.connect("tompion.db", isolation_level=None)) as database:
        database.execute("DROP TRIGGER audit_append_only")
        changed = database.execute("UPDATE audit SET actor = 'mallory' WHERE position IS NOT NULL").rowcount
    broken = run(["audit", "--verify"])
    assert (broken.code, changed > 0) == (1, True)
    assert json.loads(run(["audit", "--verify", "--json"]).out)["problem"]


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
def test_what_shows_something_can_be_watched(argv: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(connection, "pause_thread", wait)
    watched = run([*argv, "--watch", "5", "--json"])
    assert (watched.code, waits) == (130, [5.0, 5.0])
    decoder, text = json.JSONDecoder(), watched.out
    first, end = decoder.raw_decode(text)
    assert type(decoder.raw_decode(text[end:].lstrip())[0]) is type(first)
