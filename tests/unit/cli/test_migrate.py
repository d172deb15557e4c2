"""``tompion migrate``: applied migrations, read-only commands, and one-line errors."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from tompion.cli.main import main
from tompion.store.sqlite.driver import APPLICATION_ID


class Result(NamedTuple):
    code: object
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def migrate(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.delenv("TOMPION_STORE", raising=False)

    def run(*arguments: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["tompion", "migrate", *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        return Result(caught.value.code, *capsys.readouterr())

    return run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


@pytest.fixture
def url(file: Path) -> str:
    return f"sqlite:///{file}"


def test_up_prints_applied_migrations_then_nothing_to_do(migrate: Run, url: str, file: Path) -> None:
    first = migrate("up", "--store", url)
    assert (first.code, first.err) == (0, "")
    assert first.out.splitlines()[0] == "applied 0001_first"
    assert file.exists()
    assert migrate("up", "--store", url) == Result(0, "Nothing to do.\n", "")


def test_status_is_a_table_of_migrations(migrate: Run, url: str) -> None:
    before = migrate("status", "--store", url).out.splitlines()
    assert before[0].split() == ["number", "name", "state"]
    assert before[1].split() == ["0001", "first", "missing"]
    migrate("up", "--store", url)
    after = migrate("status", "--store", url).out.splitlines()
    assert len(after) == len(before)
    assert {line.split()[-1] for line in after[1:]} == {"applied"}


@pytest.mark.parametrize("command", ["status", "sql"])
def test_read_only_commands_create_no_file(command: str, migrate: Run, url: str, file: Path) -> None:
    assert migrate(command, "--store", url).code == 0
    assert not file.exists()


def test_the_printed_sql_does_the_same_as_up(migrate: Run, url: str, file: Path) -> None:
    script = migrate("sql", "--store", url).out
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(script)
    assert migrate("up", "--store", url).out == "Nothing to do.\n"
    assert migrate("sql", "--store", url).out == "-- nothing to do\n", "a comment, so that it can be piped as it is"


def test_the_environment_names_the_store(
    migrate: Run, url: str, file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOMPION_STORE", url)
    assert migrate("up").code == 0
    assert file.exists()
    assert not (tmp_path / "tompion.db").exists()


def test_the_default_store_is_a_file_in_the_current_directory(
    migrate: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert migrate("up").code == 0
    assert (tmp_path / "tompion.db").exists()


@pytest.mark.parametrize("command", ["up", "status", "sql"])
def test_a_newer_schema_is_rejected(command: str, migrate: Run, url: str, file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 99")
    result = migrate(command, "--store", url)
    assert (result.code, result.out) == (2, "")
    assert result.err.count("\n") == 1
    assert "newer release" in result.err


@pytest.mark.parametrize("command", ["up", "status", "sql"])
def test_a_file_that_is_not_a_database_is_a_one_line_error(command: str, migrate: Run, url: str, file: Path) -> None:
    file.write_text("hello " * 200)
    result = migrate(command, "--store", url)
    assert (result.code, result.out) == (2, "")
    assert result.err == f"tompion: cannot use the SQLite file {file}: file is not a database\n"


@pytest.mark.parametrize("command", ["up", "status", "sql"])
@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE schedules (name TEXT)",
        "CREATE TABLE songs (name TEXT)",
        "PRAGMA user_version = 1",
        "PRAGMA user_version = 99",
        "PRAGMA application_id = 7",
    ],
)
def test_a_file_of_another_program_is_rejected_and_unchanged(
    command: str, script: str, migrate: Run, url: str, file: Path
) -> None:
    """Regression: its tables were mixed with ours, or its version was read as the number of our migrations."""
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(script)
    before = file.read_bytes()
    result = migrate(command, "--store", url)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"tompion: {file} is not a Tompion store")
    assert result.err.count("\n") == 1
    assert (file.read_bytes(), [item.name for item in file.parent.iterdir()]) == (before, [file.name])


def test_an_empty_file_is_accepted_as_a_new_store(migrate: Run, url: str, file: Path) -> None:
    file.touch()
    assert migrate("up", "--store", url).out.startswith("applied 0001_first\n")


@pytest.mark.parametrize(
    ("store", "message"),
    [
        ("mysql://me:hush@host/x", "'mysql://me:***@host/x' is not a store; expected sqlite:///file.db "),
        ("postgresql:me:hush@host", "'postgresql:***@host' is not a store; expected sqlite:///file.db "),
        ("jobs.db", "'jobs.db' is not a store; expected sqlite:///jobs.db "),
        ("", "'' is not a store; expected sqlite:///file.db "),
        ("sqlite:", "'sqlite:' is not a store; expected sqlite:///file.db "),
        ("sqlite:///", "'sqlite:///' is not a store; expected sqlite:///file.db "),
        ("sqlite:jobs.db", "'sqlite:jobs.db' is not a store; expected sqlite:///jobs.db "),
        ("sqlite://jobs.db", "'sqlite://jobs.db' is not a store; expected sqlite:///jobs.db "),
        ("sqlite://data/jobs.db", "'sqlite://data/jobs.db' is not a store; expected sqlite:///data/jobs.db "),
        ("sqlite:/var/jobs.db", "'sqlite:/var/jobs.db' is not a store; expected sqlite:////var/jobs.db "),
        ("/var/jobs.db", "'/var/jobs.db' is not a store; expected sqlite:////var/jobs.db "),
        (
            "sqlite:///jobs.db?mode=ro",
            "'sqlite:///jobs.db?mode=ro' has a query string, but a SQLite store takes no par",
        ),
        ("sqlite://?cache=shared", "'sqlite://?cache=shared' has a query string"),
    ],
)
def test_an_unknown_store_url_is_masked_and_corrected(store: str, message: str, migrate: Run) -> None:
    """Regression: only ``sqlite:`` of ``sqlite://jobs.db`` was printed."""
    result = migrate("status", "--store", store)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"tompion: store: {message}")
    assert "hush" not in result.err


def test_an_unreachable_server_is_a_one_line_error_without_password(migrate: Run) -> None:
    result = migrate("status", "--store", "postgresql://me:hush@127.0.0.1:1/x")
    assert (result.code, result.out) == (6, "")
    assert result.err.count("\n") == 1
    assert "hush" not in result.err


@pytest.mark.parametrize("command", ["up", "status", "sql"])
def test_a_query_string_is_rejected_in_a_sqlite_url(migrate: Run, url: str, file: Path, command: str) -> None:
    """Regression: ``?mode=ro`` created a new file of that name."""
    assert migrate(command, "--store", f"{url}?mode=ro").code == 2
    assert list(file.parent.iterdir()) == []


def test_json_lists_applied_and_missing_migrations(migrate: Run, url: str) -> None:
    before = json.loads(migrate("status", "--store", url, "-o", "json").out)
    assert {item["applied"] for item in before} == {False}
    done = json.loads(migrate("up", "--store", url, "-o", "json").out)
    assert len(done["applied"]) == len(before)
    assert json.loads(migrate("up", "--store", url, "-o", "json").out) == {"applied": []}


def test_json_contains_the_sql_scripts(migrate: Run, url: str) -> None:
    text = json.loads(migrate("sql", "--store", url, "-o", "json").out)
    assert text["sql"] == migrate("sql", "--store", url).out.rstrip()
    migrate("up", "--store", url)
    assert json.loads(migrate("sql", "--store", url, "-o", "json").out) == {"sql": ""}


def test_a_number_sign_is_part_of_a_file_name(migrate: Run, url: str, file: Path) -> None:
    migrate("up", "--store", f"{url}#1")
    assert [item.name for item in file.parent.iterdir()] == [f"{file.name}#1"]
