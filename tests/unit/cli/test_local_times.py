"""Output for people: times in the zone of the schedule, changed fields, and texts that wrap."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command_line import run
from tompion.cli.output.tables import Column, table_lines

TOKYO = ["--cron", "0 9 * * *", "--tz", "Asia/Tokyo", "--function", "tasks:a"]
BERLIN = ["--cron", "0 9 * * *", "--tz", "Europe/Berlin", "--function", "tasks:a"]


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOMPION_STORE", f"sqlite:///{tmp_path / 'jobs.db'}")
    assert run(["schedules", "create", "tokyo", *TOKYO]).code == 0
    assert run(["schedules", "create", "berlin", *BERLIN]).code == 0


@pytest.mark.parametrize(
    "argv",
    [
        ["schedules", "get", "tokyo"],
        ["schedules", "describe", "tokyo"],
        ["schedules", "list"],
        ["upcoming", "--for", "2d"],
        ["schedules", "history", "tokyo"],
        ["schedules", "versions", "tokyo"],
    ],
)
def test_times_are_in_the_zone_of_the_schedule_unless_utc_is_set(argv: list[str]) -> None:
    local, utc = run(argv), run([*argv, "--utc"])
    assert (local.code, utc.code) == (0, 0)
    assert "+09:00" in local.out
    assert "+09:00" not in utc.out
    if "tokyo" not in argv:
        assert "09:00:00+01:00" in local.out or "09:00:00+02:00" in local.out


def test_the_runs_of_several_schedules_have_their_own_zones() -> None:
    run_id = run(["schedules", "trigger", "tokyo"]).out.strip()
    assert "+09:00" in run(["runs", "list"]).out
    assert "+09:00" in run(["runs", "get", run_id]).out
    assert "+09:00" in run(["schedules", "runs", "tokyo"]).out
    assert "+09:00" not in run(["runs", "list", "--utc"]).out


def test_messages_have_times_in_the_zone_of_the_schedule() -> None:
    assert "until 2099-01-02 09:00:00+09:00" in run(["schedules", "pause", "tokyo", "--until", "2099-01-02T09:00"]).err
    assert "09:00:00+09:00" in run(["schedules", "resume", "tokyo"]).err


def test_the_history_shows_changed_fields_and_instants() -> None:
    run(["schedules", "pause", "tokyo", "--until", "2099-01-02T09:00"])
    run(["schedules", "patch", "tokyo", "--overlap", "queue"])
    patched, paused, created = run(["schedules", "history", "tokyo"]).out.splitlines()[1:]
    assert patched.endswith("overlap_policy=queue")
    assert "until=2099-01-02 09:00:00+09:00" in paused
    assert created.endswith('function=tasks:a, cron=["0 9 * * *"], timezone=Asia/Tokyo')


def test_the_history_of_a_deleted_schedule_is_shown() -> None:
    assert run(["schedules", "delete", "tokyo"]).code == 0
    history = run(["schedules", "history", "tokyo"])
    assert (history.code, history.err) == (0, "")


def test_a_column_that_wraps_loses_no_text() -> None:
    text = "no engine is running; start one to fire schedules, or look at the log of the last one"
    columns = (Column("about"), Column("problem", 20, prose=True, wrap=True))
    lines = [line.plain for line in table_lines(columns, [("engines", text)], 40)]
    assert max(map(len, lines)) <= 40
    assert " ".join(" ".join(lines[1:]).removeprefix("engines").split()) == text


def test_a_dry_run_of_a_backfill_lists_its_ticks_and_starts_nothing() -> None:
    words = ["schedules", "backfill", "tokyo", "2026-01-05", "2026-01-08"]
    local, utc, data = (
        run([*words, "--dry-run"]),
        run([*words, "--dry-run", "--utc"]),
        run([*words, "--dry-run", "-o", "json"]),
    )
    assert local.out == "2026-01-05 09:00:00+09:00\n2026-01-06 09:00:00+09:00\n2026-01-07 09:00:00+09:00\n"
    assert local.err == "Would run 3 ticks of tokyo. Nothing was started.\n"
    assert utc.out.startswith("2026-01-05 00:00:00Z\n")
    (planned,) = json.loads(data.out)
    assert (planned["status"], planned["backfill_id"], planned["total"], len(planned["ticks"])) == ("PLANNED", 0, 3, 3)
    assert run(["schedules", "backfills", "tokyo"]).out == ""


def test_a_long_dry_run_names_the_number_of_ticks_that_it_does_not_list() -> None:
    result = run(["schedules", "backfill", "tokyo", "2025-01-01", "2025-12-31", "--dry-run"])
    assert len(result.out.splitlines()) == 100
    assert result.err == "Would run 364 ticks of tokyo. 264 of them are not listed. Nothing was started.\n"


def test_backfills_have_times_in_the_zone_of_the_schedule() -> None:
    words = ["schedules", "backfill", "tokyo", "2026-01-05", "2026-01-08", "--no-wait"]
    assert "+09:00" in run(words).out
    assert "+09:00" in run(["schedules", "get-backfill", "1"]).out
    assert "+09:00" not in run(["schedules", "get-backfill", "1", "--utc"]).out
    assert "+09:00" in run(["schedules", "cancel-backfill", "1"]).out
