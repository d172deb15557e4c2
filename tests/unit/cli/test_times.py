"""Times as people write them, in the zone of the schedule."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.command_line import run
from tompion.cli import times
from tompion.cli.times import no_zone, resolve_fields, resolve_time
from tompion.errors import InvalidTime

PRESENT = datetime(2026, 3, 28, 23, 30, tzinfo=UTC)
"""Half past midnight on the 29th in Berlin, the day on which its clocks go from 2:00 to 3:00."""


@pytest.fixture
def _present(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(times, "now", lambda: PRESENT)


def berlin() -> str:
    """Return the zone of the tests."""
    return "Europe/Berlin"


@pytest.mark.usefixtures("_present")
@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("now", "2026-03-28T23:30:00+00:00"),
        ("2h", "2026-03-29T01:30:00+00:00"),
        ("+2h", "2026-03-29T01:30:00+00:00"),
        ("in 1h30m", "2026-03-29T01:00:00+00:00"),
        ("2h ago", "2026-03-28T21:30:00+00:00"),
        ("-1d", "2026-03-27T23:30:00+00:00"),
        ("today", "2026-03-28T23:00:00+00:00"),
        ("yesterday 9:00", "2026-03-28T08:00:00+00:00"),
        ("tomorrow 9:00", "2026-03-30T07:00:00+00:00"),
        ("Tomorrow 17:30:15", "2026-03-30T15:30:15+00:00"),
        ("2026-03-29", "2026-03-28T23:00:00+00:00"),
        ("2026-03-29T02:30", "2026-03-29T01:00:00+00:00"),
        ("2026-10-25T02:30", "2026-10-25T00:30:00+00:00"),
        ("2026-11-19 09:00:30", "2026-11-19T08:00:30+00:00"),
    ],
)
def test_a_time_is_read_in_the_zone(text: str, time: str) -> None:
    assert resolve_time(text, berlin) == time


@pytest.mark.usefixtures("_present")
@pytest.mark.parametrize(
    "text",
    ["2026-03-29T09:00Z", "2026-03-29T09:00+01:00", "nonsense", "", "2x", "2026-13-01", "1800000000", "9" * 12 + "w"],
)
def test_other_texts_are_left_to_the_api(text: str) -> None:
    assert resolve_time(text, berlin) == text
    assert resolve_time(None, berlin) is None


@pytest.mark.usefixtures("_present")
def test_a_duration_may_lead_into_the_past() -> None:
    assert resolve_time("2h", berlin, past=True) == "2026-03-28T21:30:00+00:00"
    assert resolve_time("in 2h", berlin, past=True) == "2026-03-29T01:30:00+00:00"


def test_a_wrong_time_of_day_is_rejected() -> None:
    with pytest.raises(InvalidTime, match="25:00"):
        resolve_time("tomorrow 25:00", berlin)


@pytest.mark.usefixtures("_present")
def test_the_fields_of_a_spec_keep_their_wall_times() -> None:
    fields = {"times": ["2026-11-19T09:00", "tomorrow 9:00"], "end_at": "2h", "cron": "@daily"}
    assert resolve_fields(fields, berlin) == {
        "times": ["2026-11-19T09:00", "2026-03-30T07:00:00+00:00"],
        "end_at": "2026-03-29T01:30:00+00:00",
        "cron": "@daily",
    }


@pytest.mark.usefixtures("_present")
def test_several_schedules_have_no_common_zone() -> None:
    assert resolve_time("2h", no_zone) == "2026-03-29T01:30:00+00:00"
    with pytest.raises(InvalidTime, match="add an offset"):
        resolve_time("tomorrow", no_zone)


def test_commands_use_the_zone_of_the_schedule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOMPION_STORE", f"sqlite:///{tmp_path / 'jobs.db'}")
    tokyo = ["--cron", "0 9 * * *", "--tz", "Asia/Tokyo", "--function", "tasks:a"]
    assert run(["schedules", "create", "a", *tokyo]).code == 0
    paused = run(["schedules", "pause", "a", "--until", "2099-01-02T09:00", "-o", "yaml"])
    assert "2099-01-02T00:00:00" in paused.out
    assert run(["schedules", "pause", "--all", "--yes", "--until", "2099-01-02"]).code == 2
    filled = run(["schedules", "backfill", "a", "--last", "3d", "--no-wait", "-o", "name"])
    assert (filled.code, filled.out) == (0, "1\n")
    assert run(["schedules", "backfill", "a", "yesterday", "now", "--last", "3d"]).code == 2
    assert run(["keys", "create", "ci", "--expires", "90d"]).code == 0
