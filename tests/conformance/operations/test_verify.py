"""Verify after changes of the database by hand: it reports every problem and continues."""

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


def damage_and_verify(bench: Bench, damage: str, **fields: Any) -> list[tuple[str, str | None]]:
    """Apply the damage and return the problems that verify reports: kinds and times of day."""
    bench.execute(damage)
    problems = bench.ask(verify, "report", **fields).problems
    return [(problem.kind, None if problem.at is None else shown(problem.at)) for problem in problems]


def test_a_missing_state_row_is_reported(edited: Bench) -> None:
    """Regression: lists joined the two tables and omitted the schedule, and a read by id was a KeyError."""
    assert damage_and_verify(edited, "DELETE FROM schedule_state") == [("state", None)]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("DELETE FROM schedule_state", "its state row is missing"),
        ("DELETE FROM schedule_versions WHERE version = 3", "its version 3 is missing"),
        ("UPDATE schedule_versions SET spec = '[' WHERE version = 3", "its version 3 cannot be read"),
    ],
)
def test_reads_of_a_damaged_schedule_raise_an_error(edited: Bench, damage: str, message: str) -> None:
    edited.execute(damage)
    for operation in (crud.get, read.describe):
        with pytest.raises(StoreError, match=f"'report' is damaged: {message}.*tompion verify"):
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
def test_a_gap_or_overlap_of_versions_is_reported(
    edited: Bench, column: str, version: int, by: int, problem: tuple[str, str]
) -> None:
    """Regression: verify expected no ticks in a gap, so it reported no problem."""
    damage = f"UPDATE schedule_versions SET {column} = {column} + ({by}) WHERE version = {version}"
    assert problem in damage_and_verify(edited, damage)


def test_an_end_of_the_current_version_is_reported(edited: Bench) -> None:
    """A future end is a problem too: no next version begins there."""
    assert damage_and_verify(edited, f"UPDATE schedule_versions SET until_s = {second('09:00')} WHERE version = 3") == [
        ("gap", "09:00")
    ]


def test_an_older_version_without_an_end_is_reported(edited: Bench) -> None:
    problems = damage_and_verify(edited, "UPDATE schedule_versions SET until_s = NULL WHERE version = 2")
    assert [kind for kind, _ in problems] == ["overlap"]


def test_only_a_deletion_may_leave_a_gap(bench: Bench) -> None:
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
    assert damage_and_verify(bench, earlier)[0][0] == "gap"
    bench.execute("UPDATE schedule_versions SET until_s = until_s + 40 WHERE version = 1")
    assert bench.ask(verify, "report").ok
    later = "UPDATE schedule_versions SET after_s = after_s + 20 WHERE version = 2"
    assert damage_and_verify(bench, later)[0][0] == "gap"


def test_a_cursor_beyond_the_last_version_is_reported(bench: Bench) -> None:
    bench.create()
    bench.go("08:05:30")
    bench.ask(crud.delete, "report")
    assert bench.ask(verify, "report").ok
    assert damage_and_verify(bench, "UPDATE schedule_versions SET until_s = until_s - 60")[0][0] == "gap"


@pytest.mark.parametrize("column", ["state", "source"])
def test_an_unknown_state_or_source_is_reported(edited: Bench, column: str) -> None:
    damage = f"UPDATE schedule_runs SET {column} = 'BOGUS' WHERE nominal_s = {second('08:02')}"
    assert damage_and_verify(edited, damage) == [("unreadable", "08:02")]


def test_an_unreadable_trigger_is_reported(edited: Bench) -> None:
    edited.trigger()
    damage = "UPDATE schedule_runs SET source = 'BOGUS' WHERE origin <> 0"
    assert [kind for kind, _ in damage_and_verify(edited, damage)] == ["unreadable"]
    damage = "UPDATE schedule_runs SET source = 'schedule' WHERE origin <> 0"
    assert [kind for kind, _ in damage_and_verify(edited, damage)] == ["unreadable"]


@pytest.mark.parametrize(
    ("damage", "message"),
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
def test_a_missing_or_unreadable_version_is_reported(edited: Bench, damage: str, message: str) -> None:
    """Regression: it was a traceback. The other versions are checked too."""
    edited.execute(damage)
    verification = edited.ask(verify, "report")
    assert [problem.kind for problem in verification.problems] == ["version"]
    assert verification.problems[0].text.startswith(message)


def test_a_wrong_version_number_is_reported(edited: Bench) -> None:
    assert damage_and_verify(edited, "UPDATE schedules SET version = 2") == [("version", None), ("state", None)]


def test_an_unreadable_version_does_not_stop_the_check_of_others(edited: Bench) -> None:
    edited.execute("UPDATE schedule_versions SET spec = '{' WHERE version = 2")
    damage = f"DELETE FROM schedule_runs WHERE nominal_s IN ({second('08:01')}, {second('08:06')})"
    assert damage_and_verify(edited, damage) == [("missing", "08:01"), ("version", None), ("missing", "08:06")]


def test_a_run_beyond_the_cursor_is_reported(edited: Bench) -> None:
    damage = f"UPDATE schedule_runs SET nominal_s = {second('08:09')} WHERE nominal_s = {second('08:02')}"
    assert sorted(damage_and_verify(edited, damage)) == [("beyond", "08:09"), ("missing", "08:02")]
    part = edited.ask(verify, "report", start=when("08:03"), end=when("08:08"))
    assert part.ok, "neither is in that range"
    part = edited.ask(verify, "report", start=when("08:03"), end=when("08:09"))
    assert [problem.kind for problem in part.problems] == ["beyond"]


def test_a_dropped_range_beyond_the_cursor_is_reported(edited: Bench) -> None:
    damage = (
        "INSERT INTO dropped_ranges "
        f"SELECT schedule_key, {second('08:07')}, {second('08:09')}, 2, 'missed', version, 0 "
        "FROM schedule_state"
    )
    assert damage_and_verify(edited, damage) == [("beyond", "08:09")]


def test_a_run_from_the_time_of_a_deletion_is_reported(bench: Bench) -> None:
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
    assert damage_and_verify(bench, damage) == [("invented", "08:05")]


NUMBERS = {
    "schedule_versions": ("after_s", "until_s", "created_ms"),
    "schedule_state": ("cursor_s", "version", "next_nominal_s"),
    "schedule_runs": ("nominal_s", "version", "decided_ms", "fire_ms"),
    "dropped_ranges": ("after_s", "until_s", "ticks"),
    "schedules": ("version",),
}


@pytest.mark.parametrize("table", NUMBERS)
@pytest.mark.parametrize("number", [-(1 << 40), 1 << 40, 1 << 52])
def test_out_of_range_numbers_raise_no_error(edited: Bench, table: str, number: int) -> None:
    """Verify returns, and soon, even with times outside the calendar and a cursor far in the future."""
    edited.go("08:20:30")
    edited.worker().tick()
    for column in NUMBERS[table]:
        before = edited.dump()[table]
        only = {"schedule_runs": "run_number = 5", "dropped_ranges": "ticks > 10"}.get(table, "schedule_key > 0")
        edited.execute(f"UPDATE {table} SET {column} = {number} WHERE {only}")
        assert edited.dump()[table] != before
        assert isinstance(edited.ask(verify, "report"), Verification)


def test_an_end_before_the_start_is_rejected(edited: Bench) -> None:
    """Regression: verify reported no problem."""
    with pytest.raises(InvalidField, match=r"^end: .* is before start") as caught:
        edited.ask(verify, "report", start=when("08:05"), end=when("08:01"))
    assert caught.value.field == "end"
    assert edited.ask(verify, "report", start=when("08:01"), end=when("08:01")).ticks == 1


def test_a_fixed_delay_is_counted_as_unchecked(bench: Bench) -> None:
    bench.create(intervals=[{"every": 60, "anchor": "completion"}])
    worker = bench.worker()
    bench.go("08:02")
    worker.tick()
    worker.settle()
    verification = bench.ask(verify, "report")
    assert (verification.ok, verification.ticks, verification.runs, verification.unchecked) == (True, 0, 1, 1)
    bench.create("other")
    assert bench.ask(verify, "other").unchecked == 0


# --- a whole namespace ------------------------------------------------------------------------------------------------


def verify_namespace(bench: Bench, namespace: str = "default") -> dict[str, list[str]]:
    """The kinds of problems of each schedule in a namespace."""
    proof = NamespaceVerifier(bench.store, namespace, bench.settings)
    return {
        verification.schedule_id: [problem.kind for problem in verification.problems] for verification in proof.every()
    }


def test_a_damaged_schedule_does_not_stop_the_check_of_others(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: the first unreadable schedule ended the check, and one without a state row was left out."""
    monkeypatch.setattr("tompion.operations.verify.namespace.PAGE", 2)
    for name in ("a", "b", "c", "d", "gone", "z"):
        bench.create(name)
    bench.ask(crud.create, "x", namespace="other", cron="* * * * *", function="a:b")
    bench.ask(crud.delete, "gone")
    assert list(verify_namespace(bench)) == ["a", "b", "c", "d", "z", "gone"]
    key = "(SELECT schedule_key FROM schedules WHERE schedule_id = '{}')"
    bench.execute(f"UPDATE schedule_versions SET spec = '{{' WHERE schedule_key = {key.format('a')}")
    bench.execute(f"DELETE FROM schedule_versions WHERE schedule_key = {key.format('b')}")
    for name in ("c", "z", "x"):
        bench.execute(f"DELETE FROM schedule_state WHERE schedule_key = {key.format(name)}")
    assert verify_namespace(bench) == {
        "a": ["version"],
        "b": ["version"],
        "c": ["state"],
        "d": [],
        "z": ["state"],
        "gone": [],
    }
    assert verify_namespace(bench, "other") == {"x": ["state"]}
    assert verify_namespace(bench, "empty") == {}


def problems_after(bench: Bench, damage: str) -> list[str]:
    """Apply the damage and return the problems that verify reports: kinds and texts."""
    bench.execute(damage)
    return [f"{problem.kind}: {problem.text}" for problem in bench.ask(verify, "report").problems]


@pytest.mark.parametrize(
    ("damage", "message"),
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
            "state: its next tick is not set, and the first tick after its cursor is 2027-01-15 08:07:00Z",
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
def test_a_changed_state_row_is_reported(edited: Bench, damage: str, message: str) -> None:
    """Regression: the schedule fired never or at another time, and verify reported no problem."""
    assert problems_after(edited, f"UPDATE schedule_state SET {damage}") == [message]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("UPDATE schedules SET state = 'paused'", "state: the schedule is paused, and its state is not paused"),
        ("UPDATE schedules SET state = 'closed'", "state: the schedule is closed, and its state is not closed"),
    ],
)
def test_a_schedule_that_disagrees_with_its_state_row_is_reported(edited: Bench, damage: str, message: str) -> None:
    assert message in problems_after(edited, damage)


def test_a_pause_without_a_wake_up_is_reported(edited: Bench) -> None:
    edited.pause(until=when("09:00"))
    assert edited.ask(verify, "report").ok
    expected = ["state: no engine wakes up for it, and its pause ends at 2027-01-15 09:00:00Z"]
    assert problems_after(edited, "UPDATE schedule_state SET next_fire_ms = NULL") == expected


def test_a_fixed_delay_without_a_wake_up_is_reported(bench: Bench) -> None:
    bench.create(intervals=[{"every": "10m", "anchor": "completion"}])
    assert bench.ask(verify, "report").ok
    assert problems_after(bench, "UPDATE schedule_state SET next_fire_ms = NULL")[0].startswith(
        "state: no engine wakes up for it"
    )


def test_an_earlier_wake_up_is_accepted(edited: Bench) -> None:
    """A change schedules an early evaluation."""
    assert problems_after(edited, "UPDATE schedule_state SET next_fire_ms = next_fire_ms - 120000") == []


def test_a_slightly_later_wake_up_is_accepted_only_for_an_overdue_tick(edited: Bench) -> None:
    """An unreadable state is retried after five minutes. Before its time, a tick must not be late."""
    (problem,) = problems_after(edited, "UPDATE schedule_state SET next_fire_ms = next_fire_ms + 60000")
    assert problem.startswith("state: no engine wakes up for it before 2027-01-15 08:08:00Z")
    edited.go("08:07:30")
    assert edited.ask(verify, "report").ok


def test_a_fixed_delay_that_waits_too_long_is_reported(bench: Bench) -> None:
    bench.create(intervals=[{"every": "10m", "anchor": "completion"}])
    damage = "UPDATE schedule_state SET next_nominal_s = next_nominal_s + 1200, next_fire_ms = next_fire_ms + 1200000"
    (problem,) = problems_after(bench, damage)
    assert problem.startswith("state: its next tick is 2027-01-15 08:20:")


def test_an_adaptive_schedule_that_waits_too_long_is_reported(bench: Bench) -> None:
    bench.create(cron="*/10 * * * *", adaptive=True)
    damage = "UPDATE schedule_state SET next_nominal_s = next_nominal_s + 600, next_fire_ms = next_fire_ms + 600000"
    (problem,) = problems_after(bench, damage)
    assert "and it can be at" in problem


def test_a_plan_by_other_zone_data_is_reported_with_both(bench: Bench) -> None:
    """Regression: verify did not check the next tick of a schedule that was planned with other zone data."""
    bench.create(cron="0 12 * * *", timezone="Europe/Berlin")
    bench.execute("UPDATE schedules SET zones = 'Europe/Berlin:older'")
    assert bench.ask(verify, "report").ok
    damage = "UPDATE schedule_state SET next_nominal_s = next_nominal_s + 3600, next_fire_ms = next_fire_ms + 3600000"
    (problem,) = problems_after(bench, damage)
    assert "its next tick is 2027-01-15 12:00:00Z, and the first tick after its cursor is 2027-01-15 11:00" in problem
    assert problem.endswith("instead of Europe/Berlin:older")


def test_counters_are_not_compared_after_expiry(edited: Bench) -> None:
    edited.settings = replace(edited.settings, retention_ms=60_000)
    assert problems_after(edited, "DELETE FROM schedule_runs WHERE nominal_s < " + str(second("08:05"))) == []


def test_a_dropped_range_before_the_first_version_is_reported(edited: Bench) -> None:
    row = f"SELECT schedule_key, {second('07:50')}, {second('08:00:29')}, 9, 'missed', 1, 0 FROM schedules"
    columns = "schedule_key, after_s, until_s, ticks, reason, version, decided_ms"
    assert problems_after(edited, f"INSERT INTO dropped_ranges ({columns}) {row}") == [
        "beyond: a dropped range that begins before the first version, at 2027-01-15 08:00:29Z"
    ]


def test_a_schedule_row_that_is_missing_is_reported(edited: Bench) -> None:
    """Regression: the other rows were left, but the list of schedules had no entry to check."""
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
