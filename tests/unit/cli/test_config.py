"""``tompion config`` and ``--set``: every setting from the command line, and a file that is checked before use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command_line import CommandResult, run

SCHEDULE = '[[schedule]]\nid = "a"\ncron = "@daily"\n'
GOOD = '[[schedule]]\nid = "report"\ncron = "0 9 * * *"\nfunction = "tasks:report"\noverlap = "queue"\n'


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOMPION_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)


def value(left: CommandResult, name: str) -> tuple[object, str]:
    assert left.code == 0, left
    return next((item["value"], item["origin"]) for item in json.loads(left.out)["values"] if item["name"] == name)


def test_set_changes_any_setting_and_its_origin_is_a_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOMPION_READ_ONLY", "false")
    monkeypatch.setenv("TOMPION_TICK_MS", "300")
    arguments = ["read_only=true", "public-url=https://a.example", "queues=a, b", "tick_ms=500", "limits.max_buffer=7"]
    output = run(["config", "-o", "json", *(f"--set={item}" for item in arguments)])
    assert value(output, "read_only") == (True, "flag")
    assert value(output, "public_url") == ("https://a.example", "flag")
    assert value(output, "queues") == (["a", "b"], "flag")
    assert value(output, "limits.tick_ms") == (500, "flag")
    assert value(output, "limits.max_buffer") == (7, "flag")


@pytest.mark.parametrize(
    ("pair", "message"),
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
def test_an_invalid_set_option_is_a_one_line_error(command: str, pair: str, message: str) -> None:
    left = run([command, "--set", pair])
    assert left.code == 2
    assert message in left.err


def test_a_dedicated_option_wins_over_set() -> None:
    left = run(["serve", "--set", "host=127.0.0.1", "--host", "192.0.2.1"])
    assert left.code == 2
    assert "loopback" in left.err


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ('id = "bad"\ncron = "61 * * * *"\nfunction = "tasks:a"', "[[schedule]] bad: cron.minute"),
        ('id = "bad"\ncron = "@daily"\ntimezone = "Mars/X"\nfunction = "tasks:a"', "[[schedule]] bad: timezone"),
        ('id = "bad"\ncron = "@daily"\nfunction = "tasks:a"\ncolour = 1', "[[schedule]] bad: colour"),
        ('id = "bad"\ncron = "@daily"', "[[schedule]] bad: "),
        ('id = "bad"\nfunction = "tasks:a"', "[[schedule]] bad: "),
    ],
)
def test_an_invalid_schedule_in_the_file_is_named(block: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "tompion.toml").write_text(f"{GOOD}\n[[schedule]]\n{block}\n")
    left = run(["config"])
    assert (left.code, left.out) == (2, "")
    assert f"tompion.toml: {message}" in left.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[executors.command.commands.backup]\nargv = ["/bin/sh", "-c", "true"]', "executors.command"),
        ("[executors.http]\nsecrets = 5", "executors.http"),
        ("[executors.celry]", "executors.celry"),
        ('[[notification]]\nname = "ops"\nurl = "http://127.0.0.1:9/"\nevents = ["failed"]', "[[notification]] ops"),
        ('store = "mysql://host/name"', "is not a store"),
        ('host = "192.0.2.1"', "only a loopback address"),
        ('app_dir = "missing"', "no such directory"),
        (f'{SCHEDULE}command = "nope"', "[[schedule]] a: command: no executor 'command' is configured"),
        (
            f'[executors.command.commands]\nb = ["/bin/true"]\n{SCHEDULE}command = "nope"',
            "[[schedule]] a: command: no command 'nope' is configured",
        ),
        (
            f'{SCHEDULE}http = {{ url = "https://a.example/", secret = "nope" }}',
            "[[schedule]] a: http.secret: no secret 'nope' is configured",
        ),
        (f'{SCHEDULE}celery = {{ task = "t" }}', "[[schedule]] a: celery: no executor 'celery' is configured"),
        (f'{SCHEDULE}postgres = {{ table = "t" }}', "[[schedule]] a: postgres"),
        (f'{SCHEDULE}function = "a:b"\nend_at = "2020-01-01T00:00Z"', "[[schedule]] a: end_at: there is no tick"),
        (
            f'{SCHEDULE}workflow_id = "w"\ncommand = "nope"',
            "[[schedule]] a: ",
        ),
    ],
)
@pytest.mark.parametrize("command", ["config", "serve"])
def test_config_rejects_what_serve_rejects(
    command: str, text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOMPION_PORT", "0")
    (tmp_path / "tompion.toml").write_text(f"{text}\n")
    left = run([command])
    assert (left.code, left.out) == (2, "")
    assert message in left.err


def test_a_calendar_of_the_store_is_not_an_error_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "tompion.toml").write_text(f'{GOOD}exclude = {{ named = ["bank"] }}\n')
    output = run(["config"])
    assert output.code == 0, output
    assert "report" in output.out
