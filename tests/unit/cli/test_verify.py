"""``tompion verify``: one line for a complete ledger, and exit code 1 with the place of the damage."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from tompion import Tompion, Verification
from tompion.cli.commands.verify import problem_line
from tompion.cli.main import main
from tompion.model.verification import Violation


class Result(NamedTuple):
    code: object
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


@pytest.fixture
def url(file: Path) -> str:
    return f"sqlite:///{file}"


@pytest.fixture
def verify(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: str) -> Run:
    monkeypatch.setenv("TOMPION_STORE", url)

    def run(*arguments: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["tompion", "verify", *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        return Result(caught.value.code, *capsys.readouterr())

    return run


@pytest.fixture
def schedules(url: str) -> None:
    """Two open schedules and a deleted one."""
    with Tompion(url, engine=False) as tompion:
        for name in ("a", "b", "gone"):
            tompion.create(name, cron="* * * * * *", function="tasks:nothing")
        tompion.delete("gone")


def damage(file: Path, name: str, seconds: int = 3) -> None:
    """Move the cursor of a schedule past undecided ticks."""
    with closing(sqlite3.connect(file)) as connection, connection:
        key = connection.execute("SELECT schedule_key FROM schedules WHERE schedule_id = ?", [name]).fetchone()[0]
        connection.execute(
            "UPDATE schedule_state SET cursor_s = cursor_s + :by, next_nominal_s = next_nominal_s + :by, "
            "next_fire_ms = next_fire_ms + :by * 1000 WHERE schedule_key = :key",
            {"by": seconds, "key": key},
        )


def test_a_complete_ledger_is_one_line(verify: Run, schedules: None, file: Path) -> None:
    damage(file, "b")
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(
            "INSERT INTO dropped_ranges "
            "SELECT schedule_key, cursor_s - 3, cursor_s, 3, 'missed', 1, 0 FROM schedule_state "
            "WHERE schedule_key = 2"
        )
    result = verify()
    assert (result.code, result.err) == (0, "")
    assert re.fullmatch(r"3 schedules, \d+ ticks: each accounted for exactly once\n", result.out)


def test_an_empty_namespace_exits_with_3(verify: Run, schedules: None) -> None:
    """Regression: a mistyped name was reported as complete."""
    message = "tompion: nothing to verify: no schedule in namespace 'other'\n"
    assert verify("--namespace", "other") == Result(3, "", message)


def test_a_missing_tick_is_reported_with_exit_code_1(verify: Run, schedules: None, file: Path) -> None:
    damage(file, "b")
    result = verify()
    assert (result.code, result.err) == (1, "")
    line, summary = result.out.splitlines()
    assert line.startswith("b: 3 ticks missing (")
    assert line.endswith("Z: no run and no dropped range")
    assert summary.startswith("1 of 3 schedules with problems; ")


def test_each_damaged_schedule_is_one_line_and_the_others_are_checked(verify: Run, schedules: None, file: Path) -> None:
    """Regression: an unreadable spec was a traceback, and a schedule without its state row was left out."""
    with Tompion(f"sqlite:///{file}", engine=False) as tompion:
        tompion.create("c", cron="* * * * *", function="tasks:nothing")
    key = "schedule_key = (SELECT schedule_key FROM schedules WHERE schedule_id = ?)"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(f"UPDATE schedule_versions SET spec = '{{' WHERE {key}", ["a"])
        connection.execute(f"DELETE FROM schedule_state WHERE {key}", ["b"])
        connection.execute(f"DELETE FROM schedule_versions WHERE {key}", ["gone"])
    result = verify()
    assert (result.code, result.err) == (1, "")
    first, lost, gone, summary = result.out.splitlines()
    assert first.startswith("a: 1 version missing or unreadable; first version 1 cannot be read: ")
    assert gone == "gone: 1 version missing or unreadable; first all its versions are missing"
    assert lost.startswith("b: 1 schedule state missing or wrong; first it has no ")
    assert summary.startswith("3 of 4 schedules with problems; ")


def test_schedules_with_a_fixed_delay_are_counted_as_unchecked(verify: Run, url: str) -> None:
    with Tompion(url, engine=False) as tompion:
        for name in ("a", "b"):
            tompion.create(name, intervals=[{"every": 60, "anchor": "completion"}], function="tasks:nothing")
    result = verify()
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(
        "2 schedules, no ticks to account for; not fully checked: 2 schedules with a fixed delay, "
    )


def test_one_schedule_can_be_verified(verify: Run, schedules: None, file: Path) -> None:
    damage(file, "b")
    assert verify("--schedule", "a").out.startswith("1 schedule, ")
    assert verify("--schedule", "b").code == 1


def test_a_range_limits_the_verified_ticks(verify: Run, schedules: None, file: Path) -> None:
    damage(file, "b")
    assert verify("--end", "2020-01-01T00:00Z") == Result(0, "3 schedules, no ticks to account for\n", "")
    assert verify("--start", "2999-01-01T00:00Z").code == 0


def test_all_pages_of_schedules_are_verified(
    verify: Run, schedules: None, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tompion.operations.verify.namespace.PAGE", 1)
    damage(file, "b")
    assert verify().out.splitlines()[-1].startswith("1 of 3 schedules")


def age_schedules(file: Path, days: int) -> None:
    """Move the creation of all schedules back by some days, without deciding any tick."""
    seconds = days * 86_400
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE schedule_versions SET after_s = after_s - ?, until_s = until_s - ?", [seconds] * 2)
        connection.execute("UPDATE schedule_versions SET created_ms = created_ms - ? * 1000", [seconds])


def test_ticks_older_than_the_retention_are_not_verified(verify: Run, url: str, file: Path) -> None:
    """Regression: it expected 90 days of ticks for every retention."""
    with Tompion(url, engine=False) as tompion:
        tompion.create("old", cron="0 0 * * *", function="tasks:nothing")
    age_schedules(file, 120)
    assert re.match(r"old: (89|90) ticks missing", verify().out)
    assert re.match(r"old: (29|30) ticks missing", verify("--retention", "30d").out)
    assert re.match(r"old: at least 100 ticks missing", verify("--retention", "1000d").out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--start", "2026-W01"), "--start: '2026-W01' is not a time; expected 2h"),
        (("--end", "soon"), "--end: 'soon' is not a time"),
        (("--end", "9999-12-31T23:59:59-14:00"), "--end: '9999-12-31T23:59:59-14:00' is outside the years 1 to 9999"),
        (("--start", "0001-01-01T00:00:00+14:00"), "--start: '0001-01-01T00:00:00+14:00' is outside the years"),
        (
            ("--start", "2026-01-02T00:00Z", "--end", "2026-01-01T00:00Z"),
            "--end: 2026-01-01T00:00Z is before --start, 2026-01-02T00:00Z",
        ),
        (("--namespace", ""), "namespace: '' is not a name"),
        (("--retention", "long"), "--retention: 'long' is not a duration"),
        (("--retention", "0s"), "--retention: '0s' is too short"),
    ],
)
def test_wrong_options_are_a_one_line_error(
    arguments: tuple[str, ...], message: str, verify: Run, schedules: None
) -> None:
    result = verify(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"tompion: {message}")
    assert result.err.count("\n") == 1


def test_an_unknown_schedule_exits_with_3(verify: Run, schedules: None) -> None:
    assert verify("--schedule", "x") == Result(3, "", "tompion: there is no schedule 'x' in namespace 'default'\n")


REMEDY = "pass another one with --store, use a service with --url, or create it with 'tompion migrate up'"


def test_a_missing_file_is_rejected_and_not_created(verify: Run, file: Path) -> None:
    assert verify() == Result(2, "", f"tompion: store: there is no SQLite file {file}; {REMEDY}\n")
    assert not file.exists()


def test_an_empty_file_is_rejected_and_not_changed(verify: Run, file: Path) -> None:
    """Regression: it was turned into a store, and then reported as an empty store."""
    file.touch()
    message = f"tompion: store: the file {file} is empty, it holds no store; {REMEDY}\n"
    assert verify() == Result(2, "", message)
    assert (file.read_bytes(), [item.name for item in file.parent.iterdir()]) == (b"", [file.name])


def test_a_store_of_an_older_release_is_not_migrated(verify: Run, file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("VACUUM")  # a file with a header and no table of any release
    before = file.read_bytes()
    assert before
    result = verify()
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("tompion: the store has schema 0, this release needs ")
    assert (file.read_bytes(), [item.name for item in file.parent.iterdir()]) == (before, [file.name])


def test_a_file_of_another_program_is_rejected_and_unchanged(verify: Run, file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE schedules (name TEXT)")
    before = file.read_bytes()
    result = verify()
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"tompion: {file} is not a Tompion store")
    assert (file.read_bytes(), [item.name for item in file.parent.iterdir()]) == (before, [file.name])


def test_json_has_the_counts_and_the_problems(verify: Run, schedules: None, file: Path) -> None:
    whole = json.loads(verify("-o", "json").out)
    assert (whole["schedules"], whole["wrong"], whole["problems"]) == (3, 0, [])
    damage(file, "b")
    result = verify("-o", "json")
    verification = json.loads(result.out)
    assert (result.code, verification["wrong"]) == (1, 1)
    assert [item["schedule_id"] for item in verification["problems"]] == ["b"]


def test_many_problems_are_counted_by_kind() -> None:
    when = datetime(2026, 3, 29, 1, tzinfo=UTC)
    problems = (Violation("twice", when, "it is in 2 places"), *[Violation("missing", when, "no run")] * 99)
    verification = Verification("report", when, when, 12_345, 0, 0, problems)
    assert problem_line(verification) == (
        "report: at least 1 tick twice, 99 ticks missing (12,345 ticks checked); "
        "first 2026-03-29 01:00:00Z: it is in 2 places"
    )


def test_a_wrong_counter_is_not_counted_as_a_tick() -> None:
    """Regression: the line was "1 counter of 0 ticks"."""
    when = datetime(2026, 3, 29, 1, tzinfo=UTC)
    verification = Verification("report", when, when, 0, 0, 0, (Violation("counter", None, "the state counts 2"),))
    assert problem_line(verification) == "report: 1 counter wrong; first the state counts 2"


def test_every_kind_of_problem_has_a_description() -> None:
    """The documentation of a problem lists them."""
    when = datetime(2026, 3, 29, 1, tzinfo=UTC)
    kinds = re.findall(r"``(\w+)``", Violation.__doc__ or "")
    assert len(kinds) > 10
    for kind in kinds:
        assert problem_line(Verification("x", when, when, 0, 0, 0, (Violation(kind, None, "so"),))).endswith(
            "; first so"
        )


def test_a_changed_audit_row_is_named(verify: Run, schedules: None, file: Path) -> None:
    from tompion.engine.steps.audit import seal
    from tompion.store.sqlite.driver import SqliteStore

    store = SqliteStore(file)
    store.write(seal).result()
    store.close()
    assert re.search(
        r"audit: \d+ rows unchanged; the hash chain ends at position \d+ with [0-9a-f]{64}\n", verify().out
    )
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DROP TRIGGER audit_append_only")
        connection.execute("UPDATE audit SET actor = 'eve' WHERE position = 2")
    result = verify()
    assert result.code == 1
    assert re.search(r"audit: row \d+, at position 2 of the chain, was changed\n", result.out)
    assert verify("--schedule", "a").code == 0
