"""Verify after somebody has changed the database by hand: it says what is wrong, and goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.operations import Bench, at, shown, when
from tompion.engine.steps import audit
from tompion.errors import InvalidField, StoreError
from tompion.model.run import RunState
from tompion.model.verification import Verification
from tompion.operations.runs import read
from tompion.operations.schedules import crud
from tompion.operations.verify import audit_chain
from tompion.operations.verify.namespace import NamespaceVerifier
from tompion.operations.verify.schedule import verify


def second(text: str) -> int:
    return int(at(text))


@pytest.fixture
def edited(bench: Bench) -> Bench:
    """Three versions: runs at 08:01 and 08:02 by the first, at 08:04 by the second, at 08:06 and 08:07 by the third."""
    bench.create(overlap_policy="allow")
    worker = bench.worker()
    crons = {"08:02": "*/2 * * * *", "08:04": "* * * * *"}
    for minute in ("08:01", "08:02", "08:04", "08:05", "08:06"):
        bench.go(minute)
        worker.tick()
        worker.settle()
        if minute in crons:
            bench.go(f"{minute}:30.5")
            bench.ask(crud.patch, "report", cron=crons[minute])
    assert bench.ask(verify, "report").ok
    return bench


def found_in(bench: Bench, damage: str, **given: Any) -> list[tuple[str, str | None]]:
    """What verify says after some damage: kinds and times of the day."""
    bench.execute(damage)
    problems = bench.ask(verify, "report", **given).problems
    return [(each.kind, None if each.at is None else shown(each.at)) for each in problems]


def test_a_schedule_without_its_dial(edited: Bench) -> None:
    """A list joins the two, so that such a schedule was nowhere; asked for by its name, it was a KeyError."""
    assert found_in(edited, "DELETE FROM schedule_state") == [("state", None)]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("DELETE FROM schedule_state", "its state row is missing"),
        ("DELETE FROM schedule_versions WHERE version = 3", "its version 3 is missing"),
        ("UPDATE schedule_versions SET spec = '[' WHERE version = 3", "its version 3 cannot be read"),
    ],
)
def test_a_damaged_schedule_says_so_to_whoever_reads_it(edited: Bench, damage: str, told: str) -> None:
    edited.execute(damage)
    for operation in (crud.get, read.describe):
        with pytest.raises(StoreError, match=f"'report' is damaged: {told}.*tompion verify"):
            edited.ask(operation, "report")


@pytest.mark.parametrize(
    ("column", "version", "by", "problem"),
    [
        ("until_s", 1, -60, ("gap", "08:01:30")),
        ("until_s", 1, 10, ("overlap", "08:02:30")),
        ("until_s", 2, 60, ("overlap", "08:04:30")),
        ("after_s", 1, 45, ("gap", "08:00:29")),
        ("after_s", 2, 10, ("gap", "08:02:30")),
        ("after_s", 2, -10, ("overlap", "08:02:20")),
        ("after_s", 3, 45, ("gap", "08:04:30")),
        ("after_s", 3, 86_400, ("gap", "08:04:30")),
    ],
)
def test_versions_that_do_not_join(edited: Bench, column: str, version: int, by: int, problem: tuple[str, str]) -> None:
    """The ticks of a gap were expected of nobody, so that whatever was there, all was well."""
    damage = f"UPDATE schedule_versions SET {column} = {column} + ({by}) WHERE version = {version}"
    assert problem in found_in(edited, damage)


def test_the_version_in_force_has_no_end(edited: Bench) -> None:
    """Not even a future one: the next version would not begin there."""
    assert found_in(edited, f"UPDATE schedule_versions SET until_s = {second('09:00')} WHERE version = 3") == [
        ("gap", "09:00")
    ]


def test_an_older_version_has_an_end(edited: Bench) -> None:
    found = found_in(edited, "UPDATE schedule_versions SET until_s = NULL WHERE version = 2")
    assert [kind for kind, _ in found] == ["overlap"]


def test_a_deletion_leaves_a_gap_and_nothing_else_may(bench: Bench) -> None:
    bench.create()
    bench.ask(crud.delete, "report")
    bench.go("08:10:30")
    bench.create()
    bench.go("08:11")
    worker = bench.worker()
    worker.tick()
    worker.settle()
    assert bench.ask(verify, "report").ok
    earlier = "UPDATE schedule_versions SET until_s = until_s - 40 WHERE version = 1"
    assert found_in(bench, earlier)[0][0] == "gap"
    bench.execute("UPDATE schedule_versions SET until_s = until_s + 40 WHERE version = 1")
    assert bench.ask(verify, "report").ok
    later = "UPDATE schedule_versions SET after_s = after_s + 20 WHERE version = 2"
    assert found_in(bench, later)[0][0] == "gap"


def test_a_deleted_schedule_that_was_decided_further_than_its_last_version(bench: Bench) -> None:
    bench.create()
    bench.go("08:05:30")
    bench.ask(crud.delete, "report")
    assert bench.ask(verify, "report").ok
    assert found_in(bench, "UPDATE schedule_versions SET until_s = until_s - 60")[0][0] == "gap"


@pytest.mark.parametrize("column", ["state", "source"])
def test_a_word_that_nobody_has_written(edited: Bench, column: str) -> None:
    damage = f"UPDATE schedule_runs SET {column} = 'BOGUS' WHERE nominal_s = {second('08:02')}"
    assert found_in(edited, damage) == [("unreadable", "08:02")]


def test_a_trigger_is_read_too(edited: Bench) -> None:
    edited.trigger()
    damage = "UPDATE schedule_runs SET source = 'BOGUS' WHERE origin <> 0"
    assert [kind for kind, _ in found_in(edited, damage)] == ["unreadable"]
    damage = "UPDATE schedule_runs SET source = 'schedule' WHERE origin <> 0"
    assert [kind for kind, _ in found_in(edited, damage)] == ["unreadable"]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("DELETE FROM schedule_versions WHERE version = 1", "version 1 is missing"),
        ("DELETE FROM schedule_versions WHERE version = 2", "version 2 is missing"),
        ("DELETE FROM schedule_versions WHERE version = 3", "version 3 is missing"),
        ("DELETE FROM schedule_versions WHERE version > 1", "versions 2 to 3 are missing"),
        ("DELETE FROM schedule_versions", "all its versions are missing"),
        ("UPDATE schedule_versions SET spec = '{' WHERE version = 2", "version 2 cannot be read: "),
        ('UPDATE schedule_versions SET spec = \'{"cron":["x"]}\' WHERE version = 2', "version 2 cannot be read: "),
        ("UPDATE schedule_versions SET policy = '{\"x\":1}' WHERE version = 1", "version 1 cannot be read: "),
        ("UPDATE schedule_versions SET action = '7' WHERE version = 1", "version 1 cannot be read: "),
        ("UPDATE schedule_versions SET calendars = '[]' WHERE version = 3", "version 3 cannot be read: "),
        ("UPDATE schedule_versions SET about = '' WHERE version = 3", "version 3 cannot be read: "),
        ("UPDATE schedule_versions SET payload = '{' WHERE version = 3", "version 3 cannot be read: "),
    ],
)
def test_a_version_that_is_gone_or_cannot_be_read(edited: Bench, damage: str, told: str) -> None:
    """It was a traceback; and the other versions are checked all the same."""
    edited.execute(damage)
    found = edited.ask(verify, "report")
    assert [each.kind for each in found.problems] == ["version"]
    assert found.problems[0].text.startswith(told)


def test_the_number_of_the_version_in_force(edited: Bench) -> None:
    assert found_in(edited, "UPDATE schedules SET version = 2") == [("version", None), ("state", None)]


def test_the_other_versions_are_checked_beside_one_that_cannot_be_read(edited: Bench) -> None:
    edited.execute("UPDATE schedule_versions SET spec = '{' WHERE version = 2")
    damage = f"DELETE FROM schedule_runs WHERE nominal_s IN ({second('08:01')}, {second('08:06')})"
    assert found_in(edited, damage) == [("missing", "08:01"), ("version", None), ("missing", "08:06")]


def test_a_run_beyond_the_cursor(edited: Bench) -> None:
    damage = f"UPDATE schedule_runs SET nominal_s = {second('08:09')} WHERE nominal_s = {second('08:02')}"
    assert sorted(found_in(edited, damage)) == [("beyond", "08:09"), ("missing", "08:02")]
    part = edited.ask(verify, "report", start=when("08:03"), end=when("08:08"))
    assert part.ok, "neither is in that range"
    part = edited.ask(verify, "report", start=when("08:03"), end=when("08:09"))
    assert [each.kind for each in part.problems] == ["beyond"]


def test_a_span_beyond_the_cursor(edited: Bench) -> None:
    damage = (
        "INSERT INTO dropped_ranges "
        f"SELECT schedule_key, {second('08:07')}, {second('08:09')}, 2, 'missed', version, 0 "
        "FROM schedule_state"
    )
    assert found_in(edited, damage) == [("beyond", "08:09")]


def test_a_run_while_the_schedule_was_deleted(bench: Bench) -> None:
    bench.create()
    bench.go("08:01")
    worker = bench.worker()
    worker.tick()
    worker.settle(RunState.SUCCESS)
    bench.ask(crud.delete, "report")
    bench.go("08:10:30")
    bench.create()
    damage = (
        "INSERT INTO schedule_runs (schedule_key, nominal_s, origin, source, state, version, attempt, failures, "
        f"fire_ms, decided_ms, finished_ms, cancel_requested) SELECT schedule_key, {second('08:05')}, 0, source, "
        "state, version, attempt, failures, fire_ms, decided_ms, finished_ms, cancel_requested FROM schedule_runs"
    )
    assert found_in(bench, damage) == [("invented", "08:05")]


NUMBERS = {
    "schedule_versions": ("after_s", "until_s", "created_ms"),
    "schedule_state": ("cursor_s", "version", "next_nominal_s"),
    "schedule_runs": ("nominal_s", "version", "decided_ms", "fire_ms"),
    "dropped_ranges": ("after_s", "until_s", "ticks"),
    "schedules": ("version",),
}


@pytest.mark.parametrize("table", NUMBERS)
@pytest.mark.parametrize("number", [-(1 << 40), 1 << 40, 1 << 52])
def test_no_number_is_a_traceback(edited: Bench, table: str, number: int) -> None:
    """A time that no calendar has, a cursor at the end of days: an answer, and soon."""
    edited.go("08:20:30")
    edited.worker().tick()
    for column in NUMBERS[table]:
        before = edited.dump()[table]
        only = {"schedule_runs": "run_number = 5", "dropped_ranges": "ticks > 10"}.get(table, "schedule_key > 0")
        edited.execute(f"UPDATE {table} SET {column} = {number} WHERE {only}")
        assert edited.dump()[table] != before
        assert isinstance(edited.ask(verify, "report"), Verification)


def test_an_end_before_the_start_is_refused(edited: Bench) -> None:
    """It was an answer: all is well."""
    with pytest.raises(InvalidField, match=r"^end: .* is before start") as caught:
        edited.ask(verify, "report", start=when("08:05"), end=when("08:01"))
    assert caught.value.field == "end"
    assert edited.ask(verify, "report", start=when("08:01"), end=when("08:01")).ticks == 1


def test_a_fixed_delay_is_not_checked_and_says_so(bench: Bench) -> None:
    bench.create(intervals=[{"every": 60, "anchor": "completion"}])
    worker = bench.worker()
    bench.go("08:02")
    worker.tick()
    worker.settle()
    found = bench.ask(verify, "report")
    assert (found.ok, found.ticks, found.runs, found.unchecked) == (True, 0, 1, 1)
    bench.create("other")
    assert bench.ask(verify, "other").unchecked == 0


# --- a whole namespace ------------------------------------------------------------------------------------------------


def proved(bench: Bench, namespace: str = "default") -> dict[str, list[str]]:
    """What is wrong with each schedule of a namespace."""
    proof = NamespaceVerifier(bench.store, namespace, bench.settings)
    return {found.schedule_id: [each.kind for each in found.problems] for found in proof.every()}


def test_every_schedule_is_checked_whatever_is_wrong_with_another(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first that could not be read ended the check, and one without a dial was passed over in silence."""
    monkeypatch.setattr("tompion.operations.verify.namespace.PAGE", 2)
    for name in ("a", "b", "c", "d", "gone", "z"):
        bench.create(name)
    bench.ask(crud.create, "x", namespace="other", cron="* * * * *", function="a:b")
    bench.ask(crud.delete, "gone")
    assert list(proved(bench)) == ["a", "b", "c", "d", "z", "gone"]
    key = "(SELECT schedule_key FROM schedules WHERE schedule_id = '{}')"
    bench.execute(f"UPDATE schedule_versions SET spec = '{{' WHERE schedule_key = {key.format('a')}")
    bench.execute(f"DELETE FROM schedule_versions WHERE schedule_key = {key.format('b')}")
    for name in ("c", "z", "x"):
        bench.execute(f"DELETE FROM schedule_state WHERE schedule_key = {key.format(name)}")
    assert proved(bench) == {"a": ["version"], "b": ["version"], "c": ["state"], "d": [], "z": ["state"], "gone": []}
    assert proved(bench, "other") == {"x": ["state"]}
    assert proved(bench, "nobody") == {}


def problems_of(bench: Bench, damage: str) -> list[str]:
    """What verify says after some damage: kinds and texts."""
    bench.execute(damage)
    return [f"{each.kind}: {each.text}" for each in bench.ask(verify, "report").problems]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("next_fire_ms = NULL", "state: no engine wakes up for it, and its next tick fires at 2027-01-15 08:07:00Z"),
        (
            "next_fire_ms = next_fire_ms + 3600000",
            (
                "state: no engine wakes up for it before 2027-01-15 09:07:00Z, "
                "and its next tick fires at 2027-01-15 08:07:00Z"
            ),
        ),
        (
            "next_nominal_s = NULL, next_fire_ms = NULL",
            "state: its next tick is none, and the first tick after its cursor is 2027-01-15 08:07:00Z",
        ),
        (
            "next_nominal_s = next_nominal_s + 60, next_fire_ms = next_fire_ms + 60000",
            "state: its next tick is 2027-01-15 08:08:00Z, and the first tick after its cursor is 2027-01-15 08:07:00Z",
        ),
        ("paused = TRUE", "state: the schedule is active, and its state is paused"),
        ("closed = TRUE", "state: the schedule is active, and its state is closed"),
        ("starts = starts + 1", "counter: the state counts 6 runs that were started, the ledger 5"),
        ("successes = 4", "counter: the state counts 4 runs that have succeeded, the ledger 5"),
        ("failed = 1", "counter: the state counts 1 runs that have failed, the ledger 0"),
    ],
)
def test_a_dial_that_somebody_has_moved(edited: Bench, damage: str, told: str) -> None:
    """It never fired again, or at another time, and all was said to be well."""
    assert problems_of(edited, f"UPDATE schedule_state SET {damage}") == [told]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("UPDATE schedules SET state = 'paused'", "state: the schedule is paused, and its state is not paused"),
        ("UPDATE schedules SET state = 'closed'", "state: the schedule is closed, and its state is not closed"),
    ],
)
def test_a_schedule_that_its_dial_does_not_agree_with(edited: Bench, damage: str, told: str) -> None:
    assert told in problems_of(edited, damage)


def test_a_pause_whose_end_is_lost(edited: Bench) -> None:
    edited.pause(until=when("09:00"))
    assert edited.ask(verify, "report").ok
    told = ["state: no engine wakes up for it, and its pause ends at 2027-01-15 09:00:00Z"]
    assert problems_of(edited, "UPDATE schedule_state SET next_fire_ms = NULL") == told


def test_a_fixed_delay_that_is_lost(bench: Bench) -> None:
    bench.create(intervals=[{"every": "10m", "anchor": "completion"}])
    assert bench.ask(verify, "report").ok
    assert problems_of(bench, "UPDATE schedule_state SET next_fire_ms = NULL")[0].startswith(
        "state: no engine wakes up for it"
    )


def test_a_dial_may_be_looked_at_sooner(edited: Bench) -> None:
    """Whoever changes something has it looked at, and a dial that could not be read is looked at after five minutes."""
    for damage in ("next_fire_ms = next_fire_ms - 120000", "next_fire_ms = next_fire_ms + 240000"):
        assert problems_of(edited, f"UPDATE schedule_state SET {damage}") == []


def test_counters_are_not_compared_with_what_has_expired(edited: Bench) -> None:
    edited.settings = replace(edited.settings, retention_ms=60_000)
    assert problems_of(edited, "DELETE FROM schedule_runs WHERE nominal_s < " + str(second("08:05"))) == []


def test_a_span_before_the_first_version(edited: Bench) -> None:
    row = f"SELECT schedule_key, {second('07:50')}, {second('08:00:29')}, 9, 'missed', 1, 0 FROM schedules"
    columns = "schedule_key, after_s, until_s, ticks, reason, version, decided_ms"
    assert problems_of(edited, f"INSERT INTO dropped_ranges ({columns}) {row}") == [
        "beyond: a dropped range that begins before the first version, at 2027-01-15 08:00:29Z"
    ]


def test_a_schedule_whose_row_is_gone(edited: Bench) -> None:
    """Everything else was left: nobody listed it, so that nobody looked."""
    edited.create("deleted")
    edited.ask(crud.delete, "deleted", purge=True)
    edited.create("other")
    edited.write(audit.seal)
    assert edited.ask(audit_chain.verify_audit).ok
    edited.execute("DELETE FROM schedules WHERE schedule_id = 'report'")
    assert (
        edited.ask(audit_chain.verify_audit).problem
        == "schedule 'report' does not exist, and the audit has no deletion of it"
    )
    assert edited.ask(audit_chain.verify_audit, namespace="theirs").ok
