"""``tompion config`` and ``--set``: every setting from the command line, and a file that is checked before it counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command_line import Left, run

GOOD = '[[schedule]]\nid = "report"\ncron = "0 9 * * *"\nfunction = "tasks:report"\noverlap = "queue"\n'


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOMPION_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)


def value(left: Left, name: str) -> tuple[object, str]:
    assert left.code == 0, left
    return next((each["value"], each["origin"]) for each in json.loads(left.out)["values"] if each["name"] == name)


def test_any_setting_is_set_by_its_name_and_says_that_a_flag_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOMPION_READ_ONLY", "false")
    monkeypatch.setenv("TOMPION_TICK_MS", "300")
    given = ["read_only=true", "public-url=https://a.example", "queues=a, b", "tick_ms=500", "limits.max_buffer=7"]
    shown = run(["config", "--json", *(f"--set={each}" for each in given)])
    assert value(shown, "read_only") == (True, "flag")
    assert value(shown, "public_url") == ("https://a.example", "flag")
    assert value(shown, "queues") == (["a", "b"], "flag")
    assert value(shown, "limits.tick_ms") == (500, "flag")
    assert value(shown, "limits.max_buffer") == (7, "flag")


@pytest.mark.parametrize(
    ("pair", "told"),
    [
        ("read_only", "--set: 'read_only'; expected NAME=VALUE"),
        ("read_onyl=true", "--set read_onyl: unknown setting; did you mean read_only?"),
        ("zzz=1", "--set zzz: unknown setting; 'tompion config' lists all"),
        ("read_only=perhaps", "--set read_only: 'perhaps'; expected true or false"),
        ("tick_ms=soon", "--set tick_ms: 'soon'; expected a whole number"),
        ("auth=none", "--set auth: 'none'; expected open or required"),
    ],
)
@pytest.mark.parametrize("command", ["config", "serve", "worker"])
def test_what_cannot_be_set_is_one_line(command: str, pair: str, told: str) -> None:
    left = run([command, "--set", pair])
    assert left.code == 2
    assert told in left.err


def test_a_flag_of_its_own_counts_before_what_is_set() -> None:
    left = run(["serve", "--set", "host=127.0.0.1", "--host", "192.0.2.1"])
    assert left.code == 2
    assert "loopback" in left.err


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ('id = "bad"\ncron = "61 * * * *"\nfunction = "tasks:a"', "[[schedule]] bad: cron.minute"),
        ('id = "bad"\ncron = "@daily"\ntimezone = "Mars/X"\nfunction = "tasks:a"', "[[schedule]] bad: timezone"),
        ('id = "bad"\ncron = "@daily"\nfunction = "tasks:a"\ncolour = 1', "[[schedule]] bad: colour"),
        ('id = "bad"\ncron = "@daily"', "[[schedule]] bad: "),
        ('id = "bad"\nfunction = "tasks:a"', "[[schedule]] bad: "),
    ],
)
def test_a_schedule_of_the_file_that_cannot_be_is_named(block: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "tompion.toml").write_text(f"{GOOD}\n[[schedule]]\n{block}\n")
    left = run(["config"])
    assert (left.code, left.out) == (2, "")
    assert f"tompion.toml: {told}" in left.err


def test_a_calendar_that_only_a_store_knows_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "tompion.toml").write_text(f'{GOOD}exclude = {{ named = ["bank"] }}\n')
    shown = run(["config"])
    assert shown.code == 0, shown
    assert "report" in shown.out
