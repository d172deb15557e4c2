"""Connections of the commands: store or service, input files, exit codes and empty answers."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import CommandResult, run
from tompion.cli import connection
from tompion.cli.connection import connection_options
from tompion.errors import InvalidInput

REPORT = ("schedules", "create", "report", "--cron", "@daily", "--function", "tasks:report")


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty directory, and an environment without the developer's own variables."""
    for name in ("TOMPION_URL", "TOMPION_KEY", "TOMPION_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def read(*argv: str) -> dict[str, object]:
    left = run([*argv, "-o", "json"])
    assert left.code == 0, left
    result: dict[str, object] = json.loads(left.out)
    return result


# --- where --------------------------------------------------------------------------------------------------------


def test_options_win_over_the_environment_and_a_service_over_a_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert (connection_options().address, connection_options().is_service) == ("sqlite:///tompion.db", False)
    monkeypatch.setenv("TOMPION_STORE", "sqlite:///b.db")
    assert connection_options().address == "sqlite:///b.db"
    monkeypatch.setenv("TOMPION_URL", "http://a")
    monkeypatch.setenv("TOMPION_KEY", "tpn_x")
    assert (connection_options().address, connection_options().is_service, connection_options().key) == (
        "http://a",
        True,
        "tpn_x",
    )
    assert (connection_options(url="http://b").address, connection_options(url="http://b", key="k").key) == (
        "http://b",
        "k",
    )
    assert (connection_options(store="sqlite:///c.db").address, connection_options(store="sqlite:///c.db").key) == (
        "sqlite:///c.db",
        None,
    )


def test_url_and_store_exclude_each_other() -> None:
    with pytest.raises(InvalidInput, match="use a service or a store"):
        connection_options(url="http://a", store="sqlite:///b.db")
    with pytest.raises(InvalidInput, match="needs no API key"):
        connection_options(store="sqlite:///b.db", key="tpn_x")


def test_an_api_key_is_not_printed() -> None:
    left = run(["schedules", "list", "--url", "http://127.0.0.1:1", "--key", "tpn_hush"])
    assert left.code == 6
    assert "hush" not in left.out + left.err
    assert "hush" not in run(["schedules", "list", "--help"]).out


def test_commands_use_the_given_namespace() -> None:
    read(*REPORT, "--namespace", "team")
    assert read("schedules", "list")["items"] == []
    assert read("schedules", "get", "report", "--namespace", "team")["namespace"] == "team"


# --- definitions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("d.json", '{"cron": "@daily", "function": "tasks:a", "labels": {"team": "a"}}'),
        ("d.toml", 'cron = "@daily"\nfunction = "tasks:a"\nlabels = {team = "a"}\n'),
    ],
)
def test_options_and_set_override_the_definition_file(name: str, text: str) -> None:
    Path(name).write_text(text)
    created = read("schedules", "put", "a", "--file", name, "--cron", "@hourly", "--set", "max_attempts=3")
    expected = {
        "cron": ["@hourly"],
        "timezone": "UTC",
        "jitter_ms": 0,
        "function": "tasks:a",
        "overlap_policy": "skip",
        "catchup_policy": "none",
        "min_interval_ms": 0,
        "max_attempts": 3,
        "labels": {"team": "a"},
    }
    assert {name: created[name] for name in expected} == expected


@pytest.mark.parametrize(
    "text",
    [
        '{"spec": {"cron": "@daily"}, "function": "tasks:a"}',
        'cron = "@daily"\nfunction = "x:y"',
        'cron: "@daily"\nfunction: x:y\n',
    ],
)
def test_a_definition_can_be_read_from_standard_input(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    created = read("schedules", "put", "a", "--file", "-", "--tz", "Europe/Berlin")
    assert (created["cron"], created["timezone"]) == (["@daily"], "Europe/Berlin")


def test_the_json_of_get_can_be_put_again() -> None:
    read(*REPORT, "--overlap", "queue", "--catchup-window", "1h", "--payload", '{"n": [1, null]}', "--label", "a=b=c")
    output = read("schedules", "get", "report")
    Path("again.json").write_text(json.dumps(output))
    copied = read("schedules", "put", "copy", "--file", "again.json")
    assert {name for name in output if copied[name] != output[name]} <= {
        "schedule_id",
        "created_at",
        "cursor",  # the second in which the copy was created
        "updated_at",
    }
    assert read("schedules", "put", "report", "--file", "again.json") == output


def test_a_yaml_file_has_the_same_values_as_json() -> None:
    """YAML would read a time without quotes as a datetime."""
    Path("report.yaml").write_text(
        "times: [2027-06-01T12:00:00Z]\nstart_at: 2027-01-01\nfunction: tasks:a\npayload: {n: 1}"
    )
    created = read("schedules", "put", "report", "-f", "report.yaml")
    assert (created["times"], created["start_at"]) == (["2027-06-01T12:00:00Z"], "2027-01-01")
    assert created["payload"] == {"n": 1}
    Path("again.yml").write_text(run(["schedules", "get", "report", "-o", "yaml"]).out)
    assert read("schedules", "put", "report", "-f", "again.yml") == created


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.yaml", "cron: [", "--file a.yaml: not YAML: while parsing"),
        ("a.yaml", "- 1", "--file: expected an object with fields, got a list"),
        ("a.yaml", "!!python/name:os.system", "--file a.yaml: not YAML: could not determine a constructor"),
        ("a.toml", "cron: 1", "--file a.toml: not TOML"),
        ("a.json", "cron: 1", "--file a.json: not JSON"),
        ("-", "nothing", "--file -: not JSON, YAML or TOML"),
    ],
)
def test_an_unreadable_file_is_a_one_line_error(
    name: str, text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    if name != "-":
        Path(name).write_text(text)
    left = run(["schedules", "put", "a", "-f", name])
    assert (left.code, left.out, left.err.count("\n")) == (2, "", 1)
    assert message in left.err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--set", "payload=x"), "--set payload: not JSON"),
        (("--set", "payload"), "expected NAME=VALUE"),
        (("--label", "x"), "--label: 'x'; expected NAME=VALUE"),
        (("--file", "none.json"), "cannot read none.json: No such file"),
        (("--set", "colour=1"), "colour: there is no such field"),
        (("--overlap", "sometimes"), "overlap_policy:"),
    ],
)
def test_a_wrong_definition_is_a_one_line_error(argv: tuple[str, ...], message: str) -> None:
    left = run([*REPORT, *argv])
    assert (left.code, left.out, left.err.count("\n")) == (2, "", 1)
    assert message in left.err


def test_a_calendar_comes_from_an_icalendar_file() -> None:
    event = "BEGIN:VEVENT\r\nUID:1\r\nDTSTART;VALUE=DATE:20261224\r\nEND:VEVENT\r\n"
    Path("off.ics").write_text(f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{event}END:VCALENDAR\r\n")
    assert read("calendars", "put", "bank", "--file", "off.ics")["dates"] == ["2026-12-24"]


# --- endings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "code", "problem"),
    [
        (("schedules", "get", "missing"), 3, "not_found"),
        (("schedules", "create", "report", "--cron", "@daily", "--function", "a:b"), 4, "already_exists"),
        (("schedules", "pause", "report", "--token", "99"), 4, "stale_token"),
        (("schedules", "list", "--limit", "0"), 2, "invalid_field"),
        (("schedules", "list", "--url", "http://127.0.0.1:1"), 6, "store_unavailable"),
        (("queues", "pause"), 2, "invalid_input"),
        (("schedules", "dance"), 2, "invalid_input"),
    ],
)
def test_an_error_is_one_line_or_a_problem_document_with_its_exit_code(
    argv: tuple[str, ...], code: int, problem: str
) -> None:
    read(*REPORT)
    line, machine = run([*argv]), run([*argv, "-o", "json"])
    assert (line.code, line.out, line.err.count("\n"), line.err[:9]) == (code, "", 1, "tompion: ")
    assert (machine.code, machine.out) == (code, "")
    message = json.loads(machine.err)
    assert (message["code"], line.err) == (problem, f"tompion: {message['detail']}\n")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("schedules", "list"), "tompion schedules create"),
        (("workflows", "list"), "tompion workflows put"),
        (("calendars", "list"), "tompion calendars put"),
        (("instances", "list"), "tompion worker"),
        (("keys", "list"), "tompion keys create"),
    ],
)
def test_an_empty_list_names_the_command_that_helps(argv: tuple[str, ...], message: str) -> None:
    assert run(["migrate", "up"]).code == 0
    left = run(list(argv))
    assert (left.code, left.out) == (0, "")
    assert message in left.err


@pytest.mark.parametrize(
    "argv",
    [
        "schedules list",
        "schedules get a",
        "schedules pause a",
        "schedules diff a --cron @daily --function tasks:a",
        "runs list",
        "keys list",
        "queues pause a",
        "upcoming",
        "top --once",
        "doctor",
        "verify",
    ],
)
def test_a_missing_file_is_an_error_and_is_not_created(argv: str, tmp_path: Path) -> None:
    result = run([*argv.split(), "--store", "sqlite:///missing.db"])
    assert result.code == (1 if argv == "doctor" else 2)
    assert "tompion migrate up" in result.err + result.out
    assert not Path("missing.db").exists()


@pytest.mark.parametrize(
    "argv",
    [
        "schedules create a --cron @daily --function tasks:a",
        "schedules put a --cron @daily --function tasks:a",
        "keys create ci",
        "calendars put bank --date 2026-12-24",
    ],
)
def test_commands_that_create_something_create_the_file(argv: str, tmp_path: Path) -> None:
    assert run([*argv.split(), "--store", f"sqlite:///{tmp_path / 'new.db'}"]).code == 0
    assert (tmp_path / "new.db").exists()


def test_a_service_that_does_not_answer_is_an_error_with_a_remedy() -> None:
    result = run(["schedules", "list", "--url", "http://127.0.0.1:1"])
    assert (result.code, result.out) == (6, "")
    assert result.err.startswith("tompion: no answer from http://127.0.0.1:1: ")
    assert "is the service running? Start one with 'tompion serve', or pass another with --url" in result.err


# --- waiting ------------------------------------------------------------------------------------------------------


def test_watch_refreshes_until_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    read(*REPORT)
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(connection, "pause_thread", wait)
    left = run(["schedules", "get", "report", "--watch", "2"])
    assert (left.code, left.err, waits) == (130, "", [2.0, 2.0, 2.0])
    assert left.out.count("schedule   report\n") == 3


def test_backfill_does_not_wait_without_an_engine() -> None:
    read("schedules", "create", "a", "--every", "1h", "--function", "tasks:a")
    left = run(["schedules", "backfill", "a", "2026-01-01T00:00Z", "2026-01-01T05:00Z"])
    assert left.code == 0
    assert "No engine is running" in left.err
    assert "0 of 6" in left.out
    ranges = ["--range", "2026-01-01T00:00Z/2026-01-01T01:00Z", "--range", "2026-01-02T00:00Z/2026-01-02T03:00Z"]
    several = run(["schedules", "backfill", "a", *ranges, "--no-wait", "-o", "json"])
    assert [item["total"] for item in json.loads(several.out)] == [2, 4]


# --- completion ---------------------------------------------------------------------------------------------------


def completed(words: str, number: int) -> CommandResult:
    """Return the completions of a shell."""
    existing = {
        **os.environ,
        "_TOMPION_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(number),
    }
    left = subprocess.run([sys.executable, "-m", "tompion"], env=existing, capture_output=True, text=True, check=False)
    return CommandResult(left.returncode, left.stdout, left.stderr)


def test_completion_offers_schedule_ids_with_the_prefix() -> None:
    for name in ("report", "reporting", "other"):
        read("schedules", "create", name, "--cron", "@daily", "--function", "tasks:a")
    assert completed("tompion schedules get re", 3).out.split() == ["report", "reporting"]


def test_completion_is_empty_without_a_connection() -> None:
    left = completed("tompion schedules get --store postgresql://127.0.0.1:1/x re", 5)
    assert (left.out.strip(), left.err) == ("", "")
