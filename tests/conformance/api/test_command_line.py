"""The command line against a service that requires keys, and commands that are not single operations."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.support.command_line import CommandLine, run
from tests.support.service import Direct, Served, runner_of
from tompion.cli.connection import KEY, STORE, URL
from tompion.config.loader import load
from tompion.store.base import Store
from tompion.store.sqlite.driver import SqliteStore

DAILY = ("--cron", "@daily", "--function", "tasks:report")


@pytest.fixture
def guarded(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Direct]]:
    """A service that wants keys, and its operation runner."""
    for name in (URL, KEY, STORE):
        monkeypatch.delenv(name, raising=False)
    store = SqliteStore()
    runner = runner_of(store)
    served = Served(runner, load({}, {"auth": "required"}))
    yield served.url, Direct(runner)
    served.close()
    store.close()


def test_the_key_comes_from_the_environment_and_a_missing_key_is_exit_code_5(
    guarded: tuple[str, Direct], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, direct = guarded
    monkeypatch.setenv(URL, url)
    anonymous = run(["schedules", "list", "-o", "json"])
    assert (anonymous.code, json.loads(anonymous.err)["code"]) == (5, "unauthenticated")
    monkeypatch.setenv(KEY, direct.keys.create("ci", role="reader").secret)
    assert run(["schedules", "list", "-o", "json"]).code == 0
    reader = run(["schedules", "create", "report", *DAILY, "-o", "json"])
    assert (reader.code, json.loads(reader.err)["code"]) == (5, "forbidden")


def test_keys_are_created_listed_and_revoked_over_a_service(guarded: tuple[str, Direct]) -> None:
    url, direct = guarded
    where = ("--url", url, "--key", direct.keys.create("root", role="admin").secret)
    command_line = CommandLine(*where)
    created = command_line.keys.create("ci", role="editor", expires_at="2099-01-01T00:00:00+00:00")
    assert run(["schedules", "create", "report", *DAILY, "--url", url, "--key", created.secret]).code == 0
    assert [key.name for key in command_line.keys.list().items if key.key_id == created.key.key_id] == ["ci"]
    command_line.keys.revoke(created.key.key_id)
    listed = run(["keys", "list", *where])
    assert "revoked" in listed.out
    assert created.secret not in listed.out


def test_lists_continue_after_the_last_page(url: str) -> None:
    command_line = CommandLine("--url", url)
    for number in range(5):
        command_line.create(f"s{number}", cron="@daily", function="tasks:a")
    first = command_line.schedules.list(limit=3)
    rest = command_line.schedules.list(limit=3, after=first.next_page)
    assert [schedule.schedule_id for page in (first, rest) for schedule in page.items] == [
        f"s{number}" for number in range(5)
    ]


def test_doctor_uses_the_limits_of_the_service_if_it_can_read_them(guarded: tuple[str, Direct], url: str) -> None:
    def settings(*where: str) -> str:
        checks = json.loads(run(["doctor", *where, "-o", "json"]).out)
        return str(next(check["text"] for check in checks if check["name"] == "settings"))

    assert settings("--url", url) == "limits of the service"
    address, direct = guarded
    key = direct.keys.create("ci", role="admin").secret
    assert "only a key for all namespaces" in settings("--url", address, "--key", key)


def test_verify_checks_ledger_and_audit_over_a_service(url: str) -> None:
    command_line = CommandLine("--url", url)
    nothing = run(["verify", "--url", url])
    assert nothing.code == 3
    for number in range(3):
        command_line.create(f"s{number}", cron="@daily", function="tasks:a")
    command_line.delete("s2")
    report = json.loads(run(["verify", "--url", url, "-o", "json"]).out)
    assert (report["schedules"], report["wrong"], report["problems"]) == (3, 0, [])
    assert report["audit"]["problem"] is None
    assert run(["verify", "--url", url]).out.splitlines()[-1].startswith("3 schedules, ")
    one = run(["verify", "--url", url, "--schedule", "s1", "--start", "2027-01-01T00:00Z"])
    assert one.out.startswith("1 schedule, ")
    assert run(["verify", "--url", url, "--schedule", "missing"]).code == 3
    result = run(["verify", "--url", url, "--retention", "30d"])
    assert (result.code, "--retention" in result.err) == (2, True)


def test_a_problem_that_the_service_finds_is_exit_code_1(url: str, store: Store) -> None:
    """A schedule state that counts a run that does not exist."""
    CommandLine("--url", url).create("s", cron="* * * * *", function="tasks:a")
    store.write(lambda t: t.state_update([t.state_get([1])[1]._replace(in_flight=1)])).result()
    left = run(["verify", "--url", url])
    assert left.code == 1, left
    assert left.out.startswith("s: ")


def test_an_http_job_with_retry_and_signature_is_one_command(url: str) -> None:
    argv = ["schedules", "create", "report", "--cron", "@daily", "--http", "https://a.example/run", "--method", "put"]
    argv += ["--header", "X-Team: a", "--body", '{"n": 1}', "--secret", "reports", "--expect", "204", "--expect", "3xx"]
    created = run([*argv, "--max-attempts", "3", "--url", url])
    assert (created.code, "http PUT https://a.example/run" in created.out) == (0, True)
    definition = CommandLine("--url", url).get("report").definition
    assert definition.action.target == {
        "url": "https://a.example/run",
        "method": "PUT",
        "headers": {"X-Team": "a"},
        "body": {"n": 1},
        "secret": "reports",
        "expect": [204, "3xx"],
    }
    assert definition.policy.max_attempts == 3


@pytest.mark.parametrize(
    ("options", "target"),
    [
        (["--command", "backup"], "backup"),
        (["--celery", "shop.refresh"], {"task": "shop.refresh"}),
        (
            ["--celery", "shop.close_day", "--arg", "berlin", "--arg", "5", "--kwarg", "dry=true"],
            {"task": "shop.close_day", "args": ["berlin", 5], "kwargs": {"dry": True}},
        ),
        (["--http", "https://a.example", "--body", "plain text"], {"url": "https://a.example", "body": "plain text"}),
        (["--set", 'nats={"subject": "jobs"}'], {"subject": "jobs"}),
    ],
)
def test_options_name_the_target(url: str, options: list[str], target: object) -> None:
    assert run(["schedules", "put", "a", "--cron", "@daily", *options, "--url", url]).code == 0
    assert CommandLine("--url", url).get("a").definition.action.target == target


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--header", "A: b"], "--header: only --http has this option"),
        (["--arg", "a"], "--arg: only --celery has this option"),
        (["--http", "https://a.example", "--header", "A"], "--header: expected 'NAME: VALUE'"),
        (["--celery", "a", "--kwarg", "b"], "--kwarg: 'b'; expected NAME=VALUE"),
        (["--http", "https://a.example", "--command", "backup"], "http: sent together with command"),
    ],
)
def test_invalid_options_of_a_target_are_rejected(url: str, options: list[str], words: str) -> None:
    result = run(["schedules", "put", "a", "--cron", "@daily", *options, "--url", url])
    assert (result.code, words in result.err) == (2, True), result.err
