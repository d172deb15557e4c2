"""Rows that somebody has changed by hand: one schedule is damaged, the others are not, and there is a way out."""

from __future__ import annotations

import pytest

from tests.support.operations import Bench, Worker, shown
from tompion.errors import InvalidField, NotFound, StaleToken, StoreError
from tompion.model.schedule import Schedule
from tompion.operations.resources import calendars
from tompion.operations.runs import read
from tompion.operations.schedules import control, crud
from tompion.operations.verify.schedule import verify

NO_DIAL = "DELETE FROM schedule_state WHERE schedule_key = 2"
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
DIALS = {
    "UPDATE schedule_state SET skips = 'soon' WHERE schedule_key = 2": "its state row cannot be read",
    "UPDATE schedule_state SET hints = 'soon' WHERE schedule_key = 2": "its state row cannot be read",
    'UPDATE schedule_state SET hints = \'[["a",1,1,"b",null],null]\' WHERE schedule_key = 2': (
        "its state row cannot be read"
    ),
    "UPDATE schedule_state SET cursor_s = 999999999999 WHERE schedule_key = 2": "its state row cannot be read",
}
READABLE = [*VERSIONS.items(), *DIALS.items()]
GONE = {"DELETE FROM schedule_state WHERE schedule_key = 2": "its state row is missing"}


@pytest.fixture
def three(bench: Bench) -> Bench:
    """Three schedules, of which the second has run once."""
    for name in ("a", "b", "c"):
        bench.create(name, labels={"team": "x"})
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    while worker.launched:
        worker.settle()
    bench.go("08:01:30.5")
    return bench


def listed(bench: Bench) -> list[Schedule]:
    return list(bench.ask(crud.list_schedules).items)


@pytest.mark.parametrize(("damage", "told"), [*READABLE, *GONE.items()])
def test_a_list_shows_a_damaged_schedule_and_the_others(three: Bench, damage: str, told: str) -> None:
    """The whole list was a traceback."""
    whole = listed(three)
    three.execute(damage)
    a, b, c = listed(three)
    assert [a, c] == [whole[0], whole[2]]
    assert (b.schedule_id, b.state, b.version, b.token) == ("b", "damaged", 1, whole[1].token)
    assert (b.next_run_at, b.next_fire_at) == (None, None)
    assert f"schedule 'b' is damaged: {told}" in (b.degraded or "")
    with pytest.raises(StoreError, match="'b' is damaged"):
        three.get("b")


def test_nobody_can_look_for_damage_in_a_list(three: Bench) -> None:
    """It shows only when a schedule is read; an empty answer would say that there is none."""
    with pytest.raises(InvalidField, match="state: 'damaged'; expected one of active, paused, exhausted, closed"):
        three.ask(crud.list_schedules, state="damaged")


def test_what_is_known_of_a_damaged_schedule_is_shown(three: Bench) -> None:
    whole = listed(three)[1]
    three.execute("DELETE FROM schedule_versions WHERE schedule_key = 2")
    found = listed(three)[1]
    assert (found.cursor, found.counters) == (whole.cursor, whole.counters)
    assert (found.created_at, found.updated_at) == (whole.created_at, whole.updated_at)


@pytest.mark.parametrize(("damage", "told"), [(NO_DIAL, "its state row is missing"), *READABLE])
def test_a_damaged_schedule_is_changed_by_nobody_and_says_what_removes_it(three: Bench, damage: str, told: str) -> None:
    """Without its dial it was said not to be there at all, and nothing could be done about it."""
    three.execute(damage)
    before = three.dump()
    for operation in (crud.delete, control.pause, read.describe):
        with pytest.raises(StoreError, match=f"'b' is damaged: {told}.* a delete with purge=True removes it"):
            three.ask(operation, "b")
    assert three.dump() == before


@pytest.mark.parametrize("damage", [NO_DIAL, *VERSIONS, *DIALS])
def test_a_purge_removes_a_damaged_schedule_at_once(three: Bench, damage: str) -> None:
    """Whoever purged it was told that it is damaged; now it goes, and its id can be used again."""
    three.execute(damage)
    answer = three.ask(crud.delete, "b", purge=True, request_id="r-1")
    assert answer.state == "closed"
    assert "schedule 'b' is damaged" in (answer.degraded or "")
    assert three.ask(crud.delete, "b", purge=True, request_id="r-1") == answer
    with pytest.raises(NotFound):
        three.get("b")
    tables = three.dump()
    assert [
        name for name in ("schedules", "schedule_state", "schedule_versions", "schedule_runs") if len(tables[name]) > 2
    ] == []
    assert three.create("b").next_run_at is not None
    three.prove()


def test_a_purge_of_a_damaged_schedule_heeds_its_token(three: Bench) -> None:
    token = three.get("b").token
    three.execute(NO_DIAL)
    with pytest.raises(StaleToken):
        three.ask(crud.delete, "b", purge=True, token=token + 1)
    three.ask(crud.delete, "b", purge=True, token=token)
    assert [each.schedule_id for each in listed(three)] == ["a", "c"]


def test_a_purge_of_a_damaged_schedule_waits_for_its_run(three: Bench) -> None:
    """As that of any other: what is in flight ends first, and the next sweep removes it."""
    three.trigger("b")
    worker = three.worker()
    worker.rescue()
    three.execute("UPDATE schedule_versions SET spec = '[' WHERE schedule_key = 2")
    three.ask(crud.delete, "b", purge=True)
    assert "b" in [row[2] for row in three.dump()["schedules"]]
    worker.settle()
    three.go("08:02:30")
    worker.sweep()
    assert "b" not in [row[2] for row in three.dump()["schedules"]]


def test_a_purge_goes_at_once_in_the_middle_of_a_second(three: Bench) -> None:
    """It was left to the next sweep, unless it came with the first millisecond of a second."""
    three.ask(crud.delete, "b", purge=True)
    assert [row[2] for row in three.dump()["schedules"]] == ["a", "c"]


# --- a calendar that is gone ------------------------------------------------------------------------------------------


@pytest.fixture
def excluding(bench: Bench) -> Bench:
    """A schedule that excludes the days of a calendar, and one that does not."""
    bench.ask(calendars.put_calendar, {"name": "closed", "dates": ["2027-01-15"]})
    bench.create("report", exclude={"named": ["closed"]})
    bench.create("other")
    return bench


def tick(bench: Bench, minute: str) -> Worker:
    """What an instance does that remembers nothing."""
    worker = bench.worker()
    bench.go(minute)
    worker.tick()
    return worker


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("DELETE FROM calendars", "version 1 of its calendar 'closed' is missing"),
        ("UPDATE calendars SET document = '['", "version 1 of calendar 'closed' cannot be read"),
    ],
)
def test_a_calendar_that_is_gone_damages_who_excludes_it(excluding: Bench, damage: str, told: str) -> None:
    """Whoever read the schedule was told that its own request was wrong."""
    excluding.execute(damage)
    with pytest.raises(StoreError, match=f"'report' is damaged: its version 1 cannot be read .{told}"):
        excluding.get()
    assert [each.state for each in listed(excluding)] == ["active", "damaged"]
    problems = excluding.ask(verify, "report").problems
    assert [each.kind for each in problems] == ["version"]
    assert told in problems[0].text


def test_nothing_fires_on_days_that_a_calendar_excluded_which_is_gone(excluding: Bench) -> None:
    """The day is excluded; without the calendar nobody knows that any more, so that nothing may run."""
    excluding.execute("DELETE FROM calendars")
    excluding.execute("UPDATE schedule_state SET next_nominal_s = cursor_s + 31, next_fire_ms = (cursor_s + 31) * 1000")
    worker = tick(excluding, "08:01")
    assert [rule.schedule_id for _, rule in worker.launched] == ["other"]
    assert list(worker.context.schedules.broken.values()) == ["report: version 1 of its calendar 'closed' is missing"]
    assert [shown(run.scheduled_for) for run in excluding.runs("other")] == ["08:01"]


def test_a_dial_that_makes_no_sense_stops_no_other(three: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """The fire transaction raised, again and again, and nobody's tick was decided."""
    three.execute("UPDATE schedule_state SET skips = 'soon' WHERE schedule_key = 2")
    worker = three.worker()
    three.go("08:02")
    assert worker.tick() == ["08:02", "08:02"]
    assert [row.schedule_key for row, _ in worker.launched] == [1, 3]
    assert "schedule 2 cannot fire: b: ValueError" in caplog.text


# --- work that waits --------------------------------------------------------------------------------------------------

BACKFILLS = {
    "UPDATE backfills SET overlap = 'bogus' WHERE schedule_key = 2": "ValueError(\"'bogus' is not a valid Overlap\")",
    "UPDATE backfills SET only_what = 'bogus' WHERE schedule_key = 2": "'bogus' is not one of all, missing, failed",
    "UPDATE backfills SET state = 'bogus' WHERE schedule_key = 2": "its state is 'bogus'",
    "UPDATE backfills SET version = 9 WHERE schedule_key = 2": "its state or its definition is missing",
    NO_DIAL: "its state or its definition is missing",
}


@pytest.mark.parametrize(("damage", "told"), BACKFILLS.items())
def test_a_backfill_that_makes_no_sense_stops_no_other(
    three: Bench, damage: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The step raised, again and again, and nobody's backfill went on."""
    for name in "abc":
        three.backfill("07:00", "07:01", name, overlap="allow")
    three.execute(damage)
    worker = three.worker()
    assert worker.backfill().claimed == 2
    assert {row.schedule_key for row, _ in worker.launched} == {1, 3}
    assert "backfill 2 of schedule 2 cannot continue: " in caplog.text
    assert told in caplog.text
    caplog.clear()
    assert (worker.backfill().claimed, caplog.text) == (0, "")
    three.go("08:06:31")
    worker.backfill()
    assert told in caplog.text


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("UPDATE schedule_runs SET reason = 'bogus' WHERE state = 'PLANNED' AND schedule_key = 2", "'bogus' is not a"),
        ("UPDATE schedule_versions SET spec = '[' WHERE schedule_key = 2", "b: "),
        (NO_DIAL, "its state or its definition is missing"),
    ],
)
def test_a_planned_run_that_makes_no_sense_stops_no_other(
    three: Bench, damage: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The step raised, again and again, and nobody's planned runs started."""
    for name in "abc":
        three.ask(crud.patch, name, catchup_policy="spread", overlap_policy="allow")
    three.go("08:03:40")
    three.worker().catch_up()
    three.execute(damage)
    worker = three.worker()
    assert worker.planned().claimed == 2
    assert {row.schedule_key for row, _ in worker.launched} == {1, 3}
    assert "schedule 2 cannot start its planned runs: " in caplog.text
    assert told in caplog.text
    caplog.clear()
    assert (worker.planned().claimed, caplog.text) == (0, "")
    three.go("08:08:41")
    worker.planned()
    assert told in caplog.text
