"""Where commands ask, what they read, how they end, and what they say when there is nothing."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import Left, run
from tompion.cli import connection
from tompion.cli.connection import connection_options
from tompion.errors import InvalidInput

REPORT = ("schedules", "create", "report", "--cron", "@daily", "--function", "tasks:report")


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty directory, and none of what whoever runs the tests has set."""
    for name in ("TOMPION_URL", "TOMPION_KEY", "TOMPION_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def read(*argv: str) -> dict[str, object]:
    left = run([*argv, "--json"])
    assert left.code == 0, left
    found: dict[str, object] = json.loads(left.out)
    return found


# --- where --------------------------------------------------------------------------------------------------------


def test_the_command_line_counts_before_the_environment_and_a_service_before_a_store(
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


def test_a_service_and_a_store_at_once_are_a_mistake() -> None:
    with pytest.raises(InvalidInput, match="use a service or a store"):
        connection_options(url="http://a", store="sqlite:///b.db")
    with pytest.raises(InvalidInput, match="needs no API key"):
        connection_options(store="sqlite:///b.db", key="tpn_x")


def test_a_key_is_never_shown() -> None:
    left = run(["schedules", "list", "--url", "http://127.0.0.1:1", "--key", "tpn_hush"])
    assert left.code == 6
    assert "hush" not in left.out + left.err
    assert "hush" not in run(["schedules", "list", "--help"]).out


def test_a_namespace_is_its_own() -> None:
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
def test_a_definition_from_a_file_is_replaced_by_options_and_by_what_is_set(name: str, text: str) -> None:
    Path(name).write_text(text)
    made = read("schedules", "put", "a", "--file", name, "--cron", "@hourly", "--set", "max_attempts=3")
    definition = made["definition"]
    assert definition == {
        "spec": {"cron": ["@hourly"], "jitter_ms": 0},
        "function": "tasks:a",
        "overlap_policy": "skip",
        "catchup_policy": "none",
        "min_interval_ms": 0,
        "max_attempts": 3,
        "labels": {"team": "a"},
    }


@pytest.mark.parametrize(
    "text", ['{"spec": {"cron": "@daily"}, "function": "tasks:a"}', 'cron = "@daily"\nfunction = "x:y"']
)
def test_a_definition_comes_from_standard_input_too(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    made = read("schedules", "put", "a", "--file", "-", "--tz", "Europe/Berlin")
    spec = made["definition"]["spec"]  # type: ignore[index]  # it is parsed JSON
    assert spec == {"cron": ["@daily"], "timezone": "Europe/Berlin", "jitter_ms": 0}


def test_what_get_shows_can_be_put_again() -> None:
    read(*REPORT, "--overlap", "queue", "--catchup-window", "1h", "--payload", '{"n": [1, null]}', "--label", "a=b=c")
    shown = read("schedules", "get", "report")["definition"]
    Path("again.json").write_text(json.dumps(shown))
    assert read("schedules", "put", "copy", "--file", "again.json")["definition"] == shown


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("--set", "payload=x"), "--set payload: not JSON"),
        (("--set", "payload"), "expected NAME=VALUE"),
        (("--label", "x"), "--label: 'x'; expected NAME=VALUE"),
        (("--file", "none.json"), "cannot read none.json: No such file"),
        (("--set", "colour=1"), "colour: there is no such field"),
        (("--overlap", "sometimes"), "overlap_policy:"),
    ],
)
def test_a_wrong_definition_is_one_line(argv: tuple[str, ...], told: str) -> None:
    left = run([*REPORT, *argv])
    assert (left.code, left.out, left.err.count("\n")) == (2, "", 1)
    assert told in left.err


def test_a_calendar_comes_from_an_icalendar_file() -> None:
    event = "BEGIN:VEVENT\r\nUID:1\r\nDTSTART;VALUE=DATE:20261224\r\nEND:VEVENT\r\n"
    Path("off.ics").write_text(f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{event}END:VCALENDAR\r\n")
    assert read("calendars", "put", "bank", "--file", "off.ics")["dates"] == ["2026-12-24"]


# --- endings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "code", "problem"),
    [
        (("schedules", "get", "nobody"), 3, "not_found"),
        (("schedules", "create", "report", "--cron", "@daily", "--function", "a:b"), 4, "already_exists"),
        (("schedules", "pause", "report", "--token", "99"), 4, "stale_token"),
        (("schedules", "list", "--limit", "0"), 2, "invalid_field"),
        (("schedules", "list", "--url", "http://127.0.0.1:1"), 6, "store_unavailable"),
        (("queues", "pause"), 2, "invalid_input"),
        (("schedules", "dance"), 2, "invalid_input"),
    ],
)
def test_an_error_is_a_line_or_a_problem_with_its_exit_code(argv: tuple[str, ...], code: int, problem: str) -> None:
    read(*REPORT)
    line, machine = run([*argv]), run([*argv, "--json"])
    assert (line.code, line.out, line.err.count("\n"), line.err[:9]) == (code, "", 1, "tompion: ")
    assert (machine.code, machine.out) == (code, "")
    said = json.loads(machine.err)
    assert (said["code"], line.err) == (problem, f"tompion: {said['detail']}\n")


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("schedules", "list"), "tompion schedules create"),
        (("workflows", "list"), "tompion workflows put"),
        (("calendars", "list"), "tompion calendars put"),
        (("instances", "list"), "tompion worker"),
        (("keys", "list"), "tompion keys create"),
    ],
)
def test_where_there_is_nothing_the_next_command_is_told(argv: tuple[str, ...], told: str) -> None:
    left = run(list(argv))
    assert (left.code, left.out) == (0, "")
    assert told in left.err


# --- waiting ------------------------------------------------------------------------------------------------------


def test_what_is_watched_is_shown_again_until_it_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_backfill_that_nobody_would_run_is_recorded_and_not_waited_for() -> None:
    read("schedules", "create", "a", "--every", "1h", "--function", "tasks:a")
    left = run(["schedules", "backfill", "a", "2026-01-01T00:00Z", "2026-01-01T05:00Z"])
    assert left.code == 0
    assert "No engine is running" in left.err
    assert "0 of 6" in left.out
    ranges = ["--range", "2026-01-01T00:00Z/2026-01-01T01:00Z", "--range", "2026-01-02T00:00Z/2026-01-02T03:00Z"]
    several = run(["schedules", "backfill", "a", *ranges, "--no-wait", "--json"])
    assert [each["total"] for each in json.loads(several.out)] == [2, 4]


# --- completion ---------------------------------------------------------------------------------------------------


def completed(words: str, number: int) -> Left:
    """What a shell is offered."""
    known = {
        **os.environ,
        "_TOMPION_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(number),
    }
    left = subprocess.run([sys.executable, "-m", "tompion"], env=known, capture_output=True, text=True, check=False)
    return Left(left.returncode, left.stdout, left.stderr)


def test_a_shell_is_offered_the_ids_that_begin_so() -> None:
    for name in ("report", "reporting", "other"):
        read("schedules", "create", name, "--cron", "@daily", "--function", "tasks:a")
    assert completed("tompion schedules get re", 3).out.split() == ["report", "reporting"]


def test_a_shell_is_offered_nothing_where_nobody_answers() -> None:
    left = completed("tompion schedules get --store postgresql://127.0.0.1:1/x re", 5)
    assert (left.out.strip(), left.err) == ("", "")
