"""Rows that were changed by hand: one schedule is damaged, the others still work, and a purge removes it."""

from __future__ import annotations

import pytest

from tests.support.operations import Bench, Worker, shown
from tompion.errors import InvalidField, NotFound, StaleToken, StoreError
from tompion.model.schedule import Schedule
from tompion.operations.resources import calendars
from tompion.operations.runs import read
from tompion.operations.schedules import control, crud
from tompion.operations.verify.schedule import verify

NO_STATE_ROW = "DELETE FROM schedule_state WHERE schedule_key = 2"
VERSIONS = {
    "DELETE FROM schedule_versions WHERE schedule_key = 2": "its version 1 is missing",
    "UPDATE schedule_versions SET spec = '[' WHERE schedule_key = 2": "its version 1 cannot be read",
    "UPDATE schedule_versions SET spec = '[]' WHERE schedule_key = 2": "its version 1 cannot be read",
    'UPDATE schedule_versions SET spec = \'{"cron":["99 * * * *"]}\' WHERE schedule_key = 2': "its version 1 cannot be",
    "UPDATE schedule_versions SET policy = '{\"overlap\":1}' WHERE schedule_key = 2": "its version 1 cannot be read",
    "UPDATE schedule_versions SET action = '5' WHERE schedule_key = 2": "its version 1 cannot be read",
    "UPDATE schedule_versions SET payload = '{' WHERE schedule_key = 2": "its version 1 cannot be read",
    "UPDATE schedule_versions SET about = '[]' WHERE schedule_key = 2": "its version 1 cannot be read",
    "UPDATE schedule_versions SET calendars = '[' WHERE schedule_key = 2": "its version 1 cannot be read",
}
STATE_ROWS = {
    "UPDATE schedule_state SET skips = 'soon' WHERE schedule_key = 2": "its state row cannot be read",
    "UPDATE schedule_state SET hints = 'soon' WHERE schedule_key = 2": "its state row cannot be read",
    'UPDATE schedule_state SET hints = \'[["a",1,1,"b",null],null]\' WHERE schedule_key = 2': (
        "its state row cannot be read"
    ),
    "UPDATE schedule_state SET cursor_s = 999999999999 WHERE schedule_key = 2": "its state row cannot be read",
}
READABLE = [*VERSIONS.items(), *STATE_ROWS.items()]
GONE = {"DELETE FROM schedule_state WHERE schedule_key = 2": "its state row is missing"}


@pytest.fixture
def three_schedules(bench: Bench) -> Bench:
    """Three schedules. The second has run once."""
    for name in ("a", "b", "c"):
        bench.create(name, labels={"team": "x"})
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    while worker.launched:
        worker.settle()
    bench.go("08:01:30.5")
    return bench


def list_schedules(bench: Bench) -> list[Schedule]:
    return list(bench.ask(crud.list_schedules).items)


@pytest.mark.parametrize(("damage", "message"), [*READABLE, *GONE.items()])
def test_a_list_shows_a_damaged_schedule_and_the_others(three_schedules: Bench, damage: str, message: str) -> None:
    """Regression: the whole list was a traceback."""
    whole = list_schedules(three_schedules)
    three_schedules.execute(damage)
    a, b, c = list_schedules(three_schedules)
    assert [a, c] == [whole[0], whole[2]]
    assert (b.schedule_id, b.status, b.definition_version, b.conflict_token) == (
        "b",
        "damaged",
        1,
        whole[1].conflict_token,
    )
    assert (b.next_run_at, b.next_fire_at) == (None, None)
    assert f"schedule 'b' is damaged: {message}" in (b.degraded or "")
    with pytest.raises(StoreError, match="'b' is damaged"):
        three_schedules.get("b")


def test_damaged_is_not_a_state_filter(three_schedules: Bench) -> None:
    """Damage shows only when a schedule is read. An empty list would mean that no schedule is damaged."""
    with pytest.raises(InvalidField, match="status: 'damaged'; expected one of active, paused, exhausted, closed"):
        three_schedules.ask(crud.list_schedules, status="damaged")


def test_a_damaged_schedule_keeps_its_readable_fields(three_schedules: Bench) -> None:
    whole = list_schedules(three_schedules)[1]
    three_schedules.execute("DELETE FROM schedule_versions WHERE schedule_key = 2")
    damaged = list_schedules(three_schedules)[1]
    assert (damaged.cursor, damaged.counters) == (whole.cursor, whole.counters)
    assert (damaged.created_at, damaged.updated_at) == (whole.created_at, whole.updated_at)


@pytest.mark.parametrize(("damage", "message"), [(NO_STATE_ROW, "its state row is missing"), *READABLE])
def test_a_damaged_schedule_rejects_changes_and_names_the_purge(
    three_schedules: Bench, damage: str, message: str
) -> None:
    """Regression: without its state row it was not found, and could not be removed."""
    three_schedules.execute(damage)
    before = three_schedules.dump()
    for operation in (crud.delete, control.pause, read.describe):
        with pytest.raises(StoreError, match=f"'b' is damaged: {message}.* a delete with purge=True removes it"):
            three_schedules.ask(operation, "b")
    assert three_schedules.dump() == before


@pytest.mark.parametrize("damage", [NO_STATE_ROW, *VERSIONS, *STATE_ROWS])
def test_a_purge_removes_a_damaged_schedule_at_once(three_schedules: Bench, damage: str) -> None:
    """Regression: the purge failed because of the damage. Its id can be used again."""
    three_schedules.execute(damage)
    answer = three_schedules.ask(crud.delete, "b", purge=True, request_id="r-1")
    assert answer.status == "closed"
    assert "schedule 'b' is damaged" in (answer.degraded or "")
    assert three_schedules.ask(crud.delete, "b", purge=True, request_id="r-1") == answer
    with pytest.raises(NotFound):
        three_schedules.get("b")
    tables = three_schedules.dump()
    assert [
        name for name in ("schedules", "schedule_state", "schedule_versions", "schedule_runs") if len(tables[name]) > 2
    ] == []
    assert three_schedules.create("b").next_run_at is not None
    three_schedules.prove()


def test_a_purge_of_a_damaged_schedule_checks_its_token(three_schedules: Bench) -> None:
    token = three_schedules.get("b").conflict_token
    three_schedules.execute(NO_STATE_ROW)
    with pytest.raises(StaleToken):
        three_schedules.ask(crud.delete, "b", purge=True, conflict_token=token + 1)
    three_schedules.ask(crud.delete, "b", purge=True, conflict_token=token)
    assert [schedule.schedule_id for schedule in list_schedules(three_schedules)] == ["a", "c"]


def test_a_purge_of_a_damaged_schedule_waits_for_its_run(three_schedules: Bench) -> None:
    """As for any schedule: the run in flight ends first, and the next sweep removes the schedule."""
    three_schedules.trigger("b")
    worker = three_schedules.worker()
    worker.rescue()
    three_schedules.execute("UPDATE schedule_versions SET spec = '[' WHERE schedule_key = 2")
    three_schedules.ask(crud.delete, "b", purge=True)
    assert "b" in [row[2] for row in three_schedules.dump()["schedules"]]
    worker.settle()
    three_schedules.go("08:02:30")
    worker.sweep()
    assert "b" not in [row[2] for row in three_schedules.dump()["schedules"]]


def test_a_purge_is_immediate_within_a_second(three_schedules: Bench) -> None:
    """Regression: it was left to the next sweep, unless it came in the first millisecond of a second."""
    three_schedules.ask(crud.delete, "b", purge=True)
    assert [row[2] for row in three_schedules.dump()["schedules"]] == ["a", "c"]


# --- a missing calendar -----------------------------------------------------------------------------------------------


@pytest.fixture
def with_calendar(bench: Bench) -> Bench:
    """A schedule that excludes the days of a calendar, and one that does not."""
    bench.ask(calendars.put_calendar, {"name": "closed", "dates": ["2027-01-15"]})
    bench.create("report", exclude={"named": ["closed"]})
    bench.create("other")
    return bench


def tick_with_cold_caches(bench: Bench, minute: str) -> Worker:
    """Tick with a new worker, which has nothing cached."""
    worker = bench.worker()
    bench.go(minute)
    worker.tick()
    return worker


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("DELETE FROM calendars", "version 1 of its calendar 'closed' is missing"),
        ("UPDATE calendars SET document = '['", "version 1 of calendar 'closed' cannot be read"),
    ],
)
def test_a_missing_calendar_damages_the_schedules_that_exclude_it(
    with_calendar: Bench, damage: str, message: str
) -> None:
    """Regression: a read of the schedule failed as if the request were invalid."""
    with_calendar.execute(damage)
    with pytest.raises(StoreError, match=f"'report' is damaged: its version 1 cannot be read .{message}"):
        with_calendar.get()
    assert [schedule.status for schedule in list_schedules(with_calendar)] == ["active", "damaged"]
    problems = with_calendar.ask(verify, "report").problems
    assert [problem.kind for problem in problems] == ["version"]
    assert message in problems[0].text


def test_a_schedule_without_its_calendar_does_not_fire(with_calendar: Bench) -> None:
    """The calendar excluded the day. Without it the engine cannot know that, so it must not fire."""
    with_calendar.execute("DELETE FROM calendars")
    with_calendar.execute(
        "UPDATE schedule_state SET next_nominal_s = cursor_s + 31, next_fire_ms = (cursor_s + 31) * 1000"
    )
    worker = tick_with_cold_caches(with_calendar, "08:01")
    assert [rule.schedule_id for _, rule in worker.launched] == ["other"]
    assert list(worker.context.schedules.broken.values()) == ["report: version 1 of its calendar 'closed' is missing"]
    assert [shown(run.run_at) for run in with_calendar.runs("other")] == ["08:01"]


def test_an_unreadable_state_row_stops_no_other_schedule(
    three_schedules: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """Regression: the fire transaction raised on every pass, and no tick was decided."""
    three_schedules.execute("UPDATE schedule_state SET skips = 'soon' WHERE schedule_key = 2")
    worker = three_schedules.worker()
    three_schedules.go("08:02")
    assert worker.tick() == ["08:02", "08:02"]
    assert [row.schedule_key for row, _ in worker.launched] == [1, 3]
    assert "schedule 2 cannot fire: b: ValueError" in caplog.text


# --- backfills and planned runs ---------------------------------------------------------------------------------------

BACKFILLS = {
    "UPDATE backfills SET overlap = 'bogus' WHERE schedule_key = 2": "ValueError(\"'bogus' is not a valid Overlap\")",
    "UPDATE backfills SET only_what = 'bogus' WHERE schedule_key = 2": "'bogus' is not one of all, missing, failed",
    "UPDATE backfills SET state = 'bogus' WHERE schedule_key = 2": "its state is 'bogus'",
    "UPDATE backfills SET version = 9 WHERE schedule_key = 2": "its state or its definition is missing",
    NO_STATE_ROW: "its state or its definition is missing",
}


@pytest.mark.parametrize(("damage", "message"), BACKFILLS.items())
def test_an_unreadable_backfill_stops_no_other(
    three_schedules: Bench, damage: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Regression: the step raised on every pass, and no backfill continued."""
    for name in "abc":
        three_schedules.backfill("07:00", "07:01", name, overlap="allow")
    three_schedules.execute(damage)
    worker = three_schedules.worker()
    assert worker.backfill().claimed == 2
    assert {row.schedule_key for row, _ in worker.launched} == {1, 3}
    assert "backfill 2 of schedule 2 cannot continue: " in caplog.text
    assert message in caplog.text
    caplog.clear()
    assert (worker.backfill().claimed, caplog.text) == (0, "")
    three_schedules.go("08:06:31")
    worker.backfill()
    assert message in caplog.text


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("UPDATE schedule_runs SET reason = 'bogus' WHERE state = 'PLANNED' AND schedule_key = 2", "'bogus' is not a"),
        ("UPDATE schedule_versions SET spec = '[' WHERE schedule_key = 2", "b: "),
        (NO_STATE_ROW, "its state or its definition is missing"),
    ],
)
def test_an_unreadable_planned_run_stops_no_other(
    three_schedules: Bench, damage: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Regression: the step raised on every pass, and no planned run started."""
    for name in "abc":
        three_schedules.ask(crud.patch, name, catchup_policy="spread", overlap_policy="allow")
    three_schedules.go("08:03:40")
    three_schedules.worker().catch_up()
    three_schedules.execute(damage)
    worker = three_schedules.worker()
    assert worker.planned().claimed == 2
    assert {row.schedule_key for row, _ in worker.launched} == {1, 3}
    assert "schedule 2 cannot start its planned runs: " in caplog.text
    assert message in caplog.text
    caplog.clear()
    assert (worker.planned().claimed, caplog.text) == (0, "")
    three_schedules.go("08:08:41")
    worker.planned()
    assert message in caplog.text
