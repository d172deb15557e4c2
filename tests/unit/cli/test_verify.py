"""``foliot verify``: a whole ledger is one line, a damaged one is exit code 1 and says where."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from foliot import SyncFoliot, Verification
from foliot.cli.main import main
from foliot.cli.verify import problem_line
from foliot.model.verification import Problem


class Result(NamedTuple):
    code: object
    out: str
    err: str


Run = Callable[..., Result]
WHOLE = "accounted for exactly once"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


@pytest.fixture
def url(file: Path) -> str:
    return f"sqlite:///{file}"


@pytest.fixture
def verify(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: str) -> Run:
    monkeypatch.setenv("FOLIOT_STORE", url)

    def run(*arguments: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["foliot", "verify", *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        return Result(caught.value.code, *capsys.readouterr())

    return run


@pytest.fixture
def schedules(url: str) -> None:
    """Two that are open and one that has been deleted."""
    with SyncFoliot(url, engine=False) as foliot:
        for name in ("a", "b", "gone"):
            foliot.create(name, cron="* * * * * *", function="tasks:nothing")
        foliot.delete("gone")


def damage(file: Path, name: str, seconds: int = 3) -> None:
    """Move a schedule's dial past ticks that nobody has decided."""
    with closing(sqlite3.connect(file)) as connection, connection:
        key = connection.execute("SELECT schedule_key FROM schedules WHERE schedule_id = ?", [name]).fetchone()[0]
        connection.execute("UPDATE dials SET cursor_s = cursor_s + ? WHERE schedule_key = ?", [seconds, key])


def test_a_whole_ledger_is_one_line(verify: Run, schedules: None) -> None:
    result = verify()
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("3 schedules, ")
    assert result.out.endswith(f"{WHOLE}\n")
    assert result.out.count("\n") == 1


def test_an_empty_namespace_is_whole(verify: Run, schedules: None) -> None:
    assert verify("--namespace", "other") == Result(0, f"0 schedules, 0 ticks: each {WHOLE}\n", "")


def test_a_missing_tick_is_a_line_and_exit_code_1(verify: Run, schedules: None, file: Path) -> None:
    damage(file, "b")
    result = verify()
    assert (result.code, result.err) == (1, "")
    line, summary = result.out.splitlines()
    assert line.startswith("b: 3 missing of ")
    assert line.endswith("Z: no run and no span")
    assert summary.startswith("1 of 3 schedules with problems; ")


def test_one_schedule_alone_can_be_asked_about(verify: Run, schedules: None, file: Path) -> None:
    damage(file, "b")
    assert verify("--schedule", "a").out.startswith("1 schedule, ")
    assert verify("--schedule", "b").code == 1


def test_a_range_leaves_out_what_is_beyond_it(verify: Run, schedules: None, file: Path) -> None:
    damage(file, "b")
    assert verify("--end", "2020-01-01T00:00Z") == Result(0, f"3 schedules, 0 ticks: each {WHOLE}\n", "")
    assert verify("--start", "2999-01-01T00:00Z").code == 0


def test_every_page_is_turned(verify: Run, schedules: None, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foliot.cli.verify.PAGE", 1)
    damage(file, "b")
    assert verify().out.splitlines()[-1].startswith("1 of 3 schedules")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--schedule", "x"), "there is no schedule 'x'"),
        (("--start", "2026-01-01"), "--start: '2026-01-01' has no offset"),
        (("--end", "soon"), "--end: 'soon' is not a time"),
    ],
)
def test_a_wrong_question_is_one_line(arguments: tuple[str, ...], told: str, verify: Run, schedules: None) -> None:
    result = verify(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"foliot: {told}")
    assert result.err.count("\n") == 1


def test_a_mistyped_file_is_refused_and_not_created(verify: Run, file: Path) -> None:
    assert verify() == Result(2, "", f"foliot: store: there is no file {file}\n")
    assert not file.exists()


def test_many_problems_are_counted_by_kind() -> None:
    when = datetime(2026, 3, 29, 1, tzinfo=UTC)
    problems = (Problem("twice", when, "it is in 2 places"), *[Problem("missing", when, "no run")] * 99)
    found = Verification("report", when, when, 12_345, 0, 0, problems)
    assert problem_line(found) == (
        "report: at least 1 twice, 99 missing of 12,345 ticks; first 2026-03-29 01:00:00Z: it is in 2 places"
    )
    found = Verification("report", when, when, 1, 0, 0, (Problem("counter", None, "the dial counts 2"),))
    assert problem_line(found) == "report: 1 counter of 1 tick; first the dial counts 2"
