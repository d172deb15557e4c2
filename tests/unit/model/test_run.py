"""Run states, and the key that identifies every launch of a run."""

from __future__ import annotations

from hashlib import sha256
from inspect import signature
from itertools import product

import pytest

from tompion.model.run import (
    FINAL,
    IN_FLIGHT,
    OPEN,
    TRANSITIONS,
    WAITING,
    RunChange,
    RunId,
    RunRow,
    RunSource,
    RunState,
    idempotency_key,
)

NEW_YEAR = 1_735_689_600  # 2025-01-01T00:00:00Z
VECTOR = "0873d2335530a38cc1a735df3ecde576eab490688a91c7303392228a0e156ffa"

# One row and one column per state, in the same order. x: the transition is allowed.
TABLE = """
PLANNED    . x x . . . x x . .
BUFFERED   . . x . . . x x . .
ENQUEUED   . . x x x x . x x x
STARTED    . . x x x x . x x x
SUCCESS    . . . . . . . . . .
FAILED     . . . . . . . . . .
SKIPPED    . . . . . . . . . .
CANCELLED  . . . . . . . . . .
TERMINATED . . . . . . . . . .
TIMED_OUT  . . . . . . . . . .
"""
ROWS = {line.split()[0]: line.split()[1:] for line in TABLE.strip().splitlines()}
ALLOWED = {
    (before, after) for before, row in ROWS.items() for after, mark in zip(ROWS, row, strict=True) if mark == "x"
}


def test_transition_table_covers_every_state() -> None:
    assert list(ROWS) == list(RunState)
    assert set(TRANSITIONS) == set(RunState)


@pytest.mark.parametrize(("before", "after"), list(product(RunState, RunState)))
def test_transition(before: RunState, after: RunState) -> None:
    assert (after in TRANSITIONS[before]) == ((before, after) in ALLOWED)


def test_states_are_waiting_or_in_flight_or_final() -> None:
    assert {*WAITING, *IN_FLIGHT, *FINAL} == set(RunState)
    assert len(WAITING) + len(IN_FLIGHT) + len(FINAL) == len(RunState)
    assert OPEN == WAITING | IN_FLIGHT
    assert {RunState.ENQUEUED, RunState.STARTED} == IN_FLIGHT
    assert {RunState.PLANNED, RunState.BUFFERED} == WAITING


@pytest.mark.parametrize("state", sorted(FINAL))
def test_final_states_have_no_transitions(state: RunState) -> None:
    assert TRANSITIONS[state] == frozenset()


@pytest.mark.parametrize("state", sorted(OPEN))
def test_open_state_reaches_a_final_state(state: RunState) -> None:
    assert TRANSITIONS[state] & FINAL


@pytest.mark.parametrize("state", sorted(WAITING))
def test_only_runs_in_flight_have_an_outcome(state: RunState) -> None:
    assert TRANSITIONS[state] & FINAL == {RunState.SKIPPED, RunState.CANCELLED}


def test_every_state_but_the_first_is_reachable() -> None:
    reached = {after for before, after in ALLOWED if before != after}
    assert reached == set(RunState) - {RunState.PLANNED}


def test_run_in_flight_never_returns_to_waiting() -> None:
    assert all(not TRANSITIONS[state] & WAITING for state in IN_FLIGHT)


# ---------------------------------------------------------------- the idempotency key


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def test_idempotency_key_matches_the_test_vector() -> None:
    assert idempotency_key("default", "daily-report", RunSource.SCHEDULE, NEW_YEAR) == VECTOR
    assert digest("daily-report:1735689600") == VECTOR


@pytest.mark.parametrize(
    ("namespace", "source", "origin", "request_id", "text"),
    [
        ("default", "schedule", 0, None, "nightly:1735689600"),
        ("default", "hint", 0, None, "nightly:1735689600"),
        ("default", "trigger", 5, "r-1", "nightly:trigger:r-1"),
        ("default", "backfill", 9, None, "nightly:backfill:9:1735689600"),
        ("team", "schedule", 0, None, "team/nightly:1735689600"),
        ("team", "trigger", 5, "r-1", "team/nightly:trigger:r-1"),
        ("team", "backfill", 9, None, "team/nightly:backfill:9:1735689600"),
        ("Default", "schedule", 0, None, "Default/nightly:1735689600"),
        ("", "schedule", 0, None, "/nightly:1735689600"),
    ],
)
def test_idempotency_key_depends_on_its_parts(
    namespace: str, source: str, origin: int, request_id: str | None, text: str
) -> None:
    assert idempotency_key(namespace, "nightly", source, NEW_YEAR, origin, request_id) == digest(text)


def test_idempotency_key_accepts_ids_in_any_script() -> None:
    assert idempotency_key("default", "täglich-日報", RunSource.SCHEDULE, 0) == digest("täglich-日報:0")


def test_trigger_key_depends_on_the_request_id_only() -> None:
    keys = {idempotency_key("default", "a", RunSource.TRIGGER, NEW_YEAR + n, n, "same") for n in range(5)}
    assert len(keys) == 1


def test_different_runs_have_different_keys() -> None:
    keys = [
        idempotency_key(namespace, name, source, NEW_YEAR + tick, origin, f"r{origin}")
        for namespace in ("default", "team")
        for name in ("a", "b")
        for source, origins in ((RunSource.SCHEDULE, [0]), (RunSource.BACKFILL, [1, 2]))
        for tick in range(3)
        for origin in origins
    ]
    assert len(set(keys)) == len(keys) == 36


def test_idempotency_key_has_no_version_or_attempt() -> None:
    names = set(signature(idempotency_key).parameters)
    assert names == {"namespace", "schedule_id", "source", "nominal_s", "origin", "request_id"}


# ---------------------------------------------------------------- rows


def test_run_id_as_text() -> None:
    assert str(RunId(7, NEW_YEAR)) == "7-1735689600-0"
    assert str(RunId(7, NEW_YEAR, 12)) == "7-1735689600-12"


def test_row_and_change_of_a_run_have_the_same_id() -> None:
    row = RunRow(
        7, NEW_YEAR, 2, "trigger", "ENQUEUED", None, 1, 1, 0, 0, None, None, 0, None, None, None, None, None, None,
        None, False, None, None, None,
    )  # fmt: skip
    change = RunChange(7, NEW_YEAR, 2, 1, "SUCCESS", None, 1, 0, None, None, None, 0, None, None, None)
    assert row.id == change.id == RunId(7, NEW_YEAR, 2)
