"""Outcomes of runs, their effect on the state, and the release of buffered runs."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.unit.plan.cases import DELAY, KEY, MINUTELY, NOON, NOON_MS, OWNER, compiled_of, context_at, run_of, state_of
from tompion.model.policy import Overlap, Policy
from tompion.model.run import FINAL, OPEN, TRANSITIONS, Reason, RunRow, RunSource, RunState
from tompion.model.schedule_state import ScheduleState
from tompion.model.spec import SpecDocument
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.context import DecisionContext
from tompion.plan.edit import after_run
from tompion.plan.outcome import Outcome, free_slot, settle, should_pause
from tompion.plan.release import QueueRelease, release_queue
from tompion.plan.retry import MAX_BACKOFF_DOUBLINGS

NOW = NOON_MS + 10_000
SUCCESS, FAILED, TIMED_OUT = RunState.SUCCESS, RunState.FAILED, RunState.TIMED_OUT
CANCELLED, TERMINATED = RunState.CANCELLED, RunState.TERMINATED
OUTCOMES = [SUCCESS, FAILED, TIMED_OUT, CANCELLED, TERMINATED]


# ---------------------------------------------------------------- settle

# outcome, reason, failures before, attempts allowed, closed: retried?
RETRIES: list[tuple[RunState, Reason | None, int, int, bool, bool]] = [
    (SUCCESS, None, 0, 3, False, False),
    (CANCELLED, None, 0, 3, False, False),
    (TERMINATED, None, 0, 3, False, False),
    (FAILED, None, 0, 1, False, False),
    (FAILED, None, 0, 2, False, True),
    (FAILED, None, 1, 2, False, False),
    (FAILED, None, 1, 3, False, True),
    (FAILED, None, 2, 3, False, False),
    (FAILED, None, 0, 3, True, False),
    (FAILED, Reason.LAUNCH_FAILED, 0, 3, False, True),
    (FAILED, Reason.LAUNCH_FAILED, 2, 3, False, False),
    (FAILED, Reason.LAUNCH_FAILED, 0, 3, True, False),
    (FAILED, Reason.WORKER_LOST, 0, 3, False, False),
    (FAILED, Reason.ZOMBIE, 0, 3, False, False),
    (TIMED_OUT, None, 0, 1, False, False),
    (TIMED_OUT, None, 0, 2, False, True),
    (TIMED_OUT, None, 1, 2, False, False),
    (TIMED_OUT, None, 0, 2, True, False),
]


@pytest.mark.parametrize("pause_on_failure", [False, True])
@pytest.mark.parametrize(("state", "reason", "failures", "most", "closed", "again"), RETRIES)
def test_outcome_is_retried_or_final(
    state: RunState, reason: Reason | None, failures: int, most: int, closed: bool, again: bool, pause_on_failure: bool
) -> None:
    policy = Policy(max_attempts=most, retry_delay_ms=500, pause_on_failure=pause_on_failure)
    outcome = Outcome(KEY, NOON, 4, 7, state, reason, failures, NOON_MS + 1, "boom", '{"a":1}', "x-1")
    change = settle(outcome, policy, NOW, closed=closed)
    assert change.id == (KEY, NOON, 4)
    assert (change.fence, change.attempt) == (7, 7)
    assert change.state == (RunState.ENQUEUED if again else state)
    assert change.reason == (Reason.RETRY if again else reason)
    assert change.failures == failures + (state in (FAILED, TIMED_OUT))
    assert change.due_ms == (NOW + (500 << failures) if again else None)
    assert change.finished_ms == (None if again else NOW)
    assert change.owner is None
    assert (change.started_ms, change.error, change.result) == (NOON_MS + 1, "boom", '{"a":1}')
    assert change.execution_id == "x-1"
    assert change.state in TRANSITIONS[RunState.STARTED]


@pytest.mark.parametrize("state", [RunState.STARTED, RunState.ENQUEUED])
@pytest.mark.parametrize("closed", [False, True])
def test_handed_over_outcome_keeps_the_run_open(state: RunState, closed: bool) -> None:
    outcome = Outcome(KEY, NOON, 4, 7, state, None, 2, NOON_MS + 1, "not now", lease_ms=300)
    change = settle(outcome, Policy(max_attempts=3), NOW, closed=closed)
    assert (change.fence, change.attempt, change.failures) == (7, 7, 2)
    assert (change.state, change.owner, change.due_ms, change.finished_ms) == (state, None, NOW + 300, None)
    assert change.error == "not now"


@pytest.mark.parametrize(("failures", "doublings"), [(0, 0), (1, 1), (2, 2), (10, 10), (11, 10), (500, 10)])
def test_retry_delay_doubles_up_to_a_limit(failures: int, doublings: int) -> None:
    assert MAX_BACKOFF_DOUBLINGS == 10
    change = settle(Outcome(KEY, NOON, 0, 1, FAILED, failures=failures), Policy(max_attempts=1_000), NOW, closed=False)
    assert change.due_ms == NOW + 1_000 * 2**doublings


# ---------------------------------------------------------------- freed

# state: successes, failed, failures in a row (2 before)
COUNTS = {SUCCESS: (1, 0, 0), FAILED: (0, 1, 3), TIMED_OUT: (0, 1, 3), CANCELLED: (0, 0, 2), TERMINATED: (0, 0, 2)}


@pytest.mark.parametrize("state", OUTCOMES)
def test_an_ended_run_frees_its_slot_and_is_counted(state: RunState) -> None:
    compiled = compiled_of()
    schedule_state = state_of(compiled, in_flight=2, waiting=1, failures=2)
    for known_schedule in (compiled, None):
        after = free_slot(schedule_state, known_schedule, state, 0, NOW)
        successes, failed, failures = COUNTS[state]
        counted = schedule_state._replace(in_flight=1, successes=successes, failed=failed, failures=failures)
        assert after == (counted._replace(last_end_ms=NOW) if failed else counted)


@pytest.mark.parametrize("state", sorted(OPEN))
def test_only_a_final_state_frees_a_slot(state: RunState) -> None:
    with pytest.raises(AssertionError):
        free_slot(state_of(compiled_of(), in_flight=1), None, state, 0, NOW)


@pytest.mark.parametrize(("on", "state", "paused"), list(product([False, True], sorted(FINAL), [False, True])))
def test_pause_on_failure(on: bool, state: RunState, paused: bool) -> None:
    schedule_state = state_of(compiled_of(), paused=paused)
    expected = on and state in (FAILED, TIMED_OUT) and not paused
    assert should_pause(schedule_state, Policy(pause_on_failure=on), state) == expected


# ---------------------------------------------------------------- fixed delay


def flying_delay(**changes: Any) -> ScheduleState:
    """A fixed delay whose run is in flight."""
    return state_of(compiled_of(DELAY), NOON, in_flight=1, next_nominal_s=None, next_fire_ms=None)._replace(**changes)


@pytest.mark.parametrize(
    ("changes", "nominal", "fire_ms"),
    [
        ({}, NOON + 71, NOON_MS + 71_000),
        ({"cursor_s": NOON + 20}, NOON + 80, NOON_MS + 80_000),
        ({"paused": True}, NOON + 71, None),
        ({"paused": True, "pause_until_ms": 5}, NOON + 71, 5),
        ({"remaining": 0}, NOON + 71, None),
        ({"remaining": 1}, NOON + 71, NOON_MS + 71_000),
        ({"closed": True}, None, None),
        ({"closed": True, "paused": True, "pause_until_ms": 5}, None, None),
    ],
)
def test_a_fixed_delay_begins_when_its_run_ends(changes: dict[str, Any], nominal: int | None, fire_ms: int) -> None:
    """Regression (last case): the end of a pause woke a deleted schedule."""
    after = free_slot(flying_delay(**changes), compiled_of(DELAY), SUCCESS, 0, NOW + 999)
    assert (after.next_nominal_s, after.next_fire_ms) == (nominal, fire_ms)


def test_a_trigger_does_not_move_a_fixed_delay() -> None:
    state = flying_delay(next_nominal_s=NOON + 30, next_fire_ms=NOON_MS + 30_000)
    after = free_slot(state, compiled_of(DELAY), SUCCESS, 9, NOW)
    assert (after.next_nominal_s, after.next_fire_ms) == (NOON + 30, NOON_MS + 30_000)
    assert free_slot(flying_delay(in_flight=2), compiled_of(DELAY), SUCCESS, 9, NOW).next_nominal_s is None
    assert free_slot(flying_delay(waiting=1), compiled_of(DELAY), SUCCESS, 9, NOW).next_nominal_s is None


def test_fixed_delay_edited_during_a_trigger_continues() -> None:
    """Regression: a fixed delay never ran again after an edit during a trigger.

    The edit treated the trigger as the schedule's own run and left the next tick to its end. But the end of a trigger
    does not begin a delay.
    """
    after = free_slot(flying_delay(), compiled_of(DELAY), SUCCESS, 9, NOW)
    assert (after.in_flight, after.next_nominal_s, after.next_fire_ms) == (0, NOON + 70, NOON_MS + 70_000)


def test_a_fixed_delay_ends_with_its_schedule() -> None:
    compiled = compiled_of(SpecDocument(intervals=DELAY.intervals, end_at="2026-01-01T12:01:00Z"))
    after = after_run(flying_delay(), compiled, NOW)
    assert (after.next_nominal_s, after.next_fire_ms) == (None, None)


# ---------------------------------------------------------------- release


def ticks(count: int) -> list[RunRow]:
    return [run_of(NOON - 60 * (count - number)) for number in range(count)]


def requests(count: int, overlap: Overlap = Overlap.QUEUE) -> list[RunRow]:
    return [run_of(NOON, origin=number + 1, source=RunSource.TRIGGER, overlap=overlap) for number in range(count)]


def release_and_check(
    state: ScheduleState, compiled: CompiledSchedule, rows: list[RunRow], context: DecisionContext
) -> tuple[list[str], QueueRelease]:
    """Release, and check that the state agrees with the changes: ``+`` started, or the reason of a drop."""
    result = release_queue(state, compiled, [(row, context) for row in rows])
    started = [change for change in result.changes if change.state == RunState.ENQUEUED]
    dropped = [change for change in result.changes if change.state == RunState.SKIPPED]
    assert [row.id for row in result.started] == [change.id for change in started]
    assert len(started) + len(dropped) == len(result.changes)
    after = result.state
    assert after.in_flight == state.in_flight + len(started)
    assert after.waiting == state.waiting - len(result.changes) >= 0
    assert after.starts == state.starts + len(started)
    assert after.skipped == state.skipped + len(dropped)
    own = sum(row.source == RunSource.SCHEDULE for row in result.started)
    assert after.remaining == (None if state.remaining is None else state.remaining - own)
    assert after.remaining is None or after.remaining >= 0
    assert after.last_start_ms == (context.now_ms if own else state.last_start_ms)
    assert after.cursor_s == state.cursor_s
    leased = context.owner is not None
    for change in started:
        assert (change.fence, change.owner, change.attempt) == (0, context.owner, 1 if leased else 0)
        assert change.due_ms == (None if leased else context.now_ms)
        assert change.finished_ms is None
    for change in dropped:
        assert (change.fence, change.owner, change.attempt, change.due_ms) == (0, None, 0, None)
        assert change.finished_ms == context.now_ms
    return ["+" if change.state == RunState.ENQUEUED else str(change.reason) for change in result.changes], result


# rows, state, policy, context: the released runs
RELEASES: dict[str, tuple[list[RunRow], dict[str, Any], dict[str, Any], dict[str, Any], list[str]]] = {
    "nothing waits": ([], {}, {}, {}, []),
    "one slot": (ticks(3), {}, {}, {}, ["+"]),
    "no slot": (ticks(3), {"in_flight": 1}, {}, {}, []),
    "more in flight than slots": (ticks(3), {"in_flight": 2}, {}, {}, []),
    "several slots": (ticks(3), {"in_flight": 1}, {"max_concurrent": 3}, {}, ["+", "+"]),
    "more slots than runs": (ticks(2), {}, {"max_concurrent": 9}, {}, ["+", "+"]),
    "paused": (ticks(2), {"paused": True}, {}, {}, []),
    "paused, but requested": (ticks(2) + requests(2), {"paused": True}, {}, {}, ["+"]),
    "target paused": (ticks(1) + requests(1), {}, {}, {"target_paused": True}, []),
    "closed": (ticks(2) + requests(1), {"closed": True}, {}, {}, ["deleted"] * 3),
    "closed, all taken": (ticks(2), {"closed": True, "in_flight": 1}, {}, {}, ["deleted"] * 2),
    "closed and paused": (ticks(2), {"closed": True, "paused": True}, {}, {"target_paused": True}, ["deleted"] * 2),
    "exhausted": (ticks(2) + requests(1), {"remaining": 0}, {}, {}, ["limit_reached"] * 2 + ["+"]),
    "one action left": (ticks(2), {"remaining": 1}, {"max_concurrent": 3}, {}, ["+", "limit_reached"]),
    "exhausted, no slot": (ticks(2), {"remaining": 0, "in_flight": 1}, {}, {}, []),
    "too soon": (ticks(1), {"last_start_ms": NOW - 999}, {"min_interval_ms": 1_000}, {}, ["min_interval"]),
    "after the clock was set back": (ticks(2), {"last_start_ms": NOW + 9_000}, {"max_concurrent": 2}, {}, ["+", "+"]),
    "just before the last, by a clock set back": (
        ticks(1),
        {"last_start_ms": NOW + 999},
        {"min_interval_ms": 1_000},
        {},
        ["min_interval"],
    ),
    "long before the last, by a clock set back": (
        ticks(1),
        {"last_start_ms": NOW + 3_600_000},
        {"min_interval_ms": 1_000},
        {},
        ["+"],
    ),
    "soon enough": (ticks(1), {"last_start_ms": NOW - 1_000}, {"min_interval_ms": 1_000}, {}, ["+"]),
    "too soon after each other": (ticks(2), {}, {"max_concurrent": 2, "min_interval_ms": 1}, {}, ["+", "min_interval"]),
    "soon, but requested": (requests(1), {"last_start_ms": NOW}, {"min_interval_ms": 1_000}, {}, ["+"]),
    "now a shadow": (ticks(2) + requests(1), {"in_flight": 1}, {"shadow": True}, {}, ["shadow"] * 3),
    "now allowed": (ticks(3), {"in_flight": 5}, {"overlap_policy": Overlap.ALLOW}, {}, ["+", "+", "+"]),
    "allowed, but not by the request": (requests(2), {"in_flight": 1}, {"overlap_policy": Overlap.ALLOW}, {}, []),
    "allowed by the request": (requests(2, Overlap.ALLOW), {"in_flight": 1}, {}, {}, ["+", "+"]),
}


@pytest.mark.parametrize("owner", [OWNER, None])
@pytest.mark.parametrize("name", RELEASES)
def test_release_starts_or_drops_waiting_runs(name: str, owner: int | None) -> None:
    rows, changes, policy, situation, expected = RELEASES[name]
    compiled = compiled_of(MINUTELY, **{"overlap_policy": Overlap.QUEUE, **policy})
    state = state_of(compiled, NOON, waiting=len(rows), **changes)
    summaries, result = release_and_check(state, compiled, rows, context_at(NOW, owner=owner, **situation))
    assert summaries == expected
    if name == "paused, but requested":
        assert [row.source for row in result.started] == [RunSource.TRIGGER]


def test_oldest_waiting_run_starts_first() -> None:
    rows = ticks(3)
    _, result = release_and_check(
        state_of(compiled_of(), waiting=3), compiled_of(max_concurrent=2), rows, context_at(NOW)
    )
    assert [row.nominal_s for row in result.started] == [rows[0].nominal_s, rows[1].nominal_s]


def test_last_action_clears_the_next_fire() -> None:
    state = state_of(compiled_of(), NOON, waiting=1, remaining=1)
    assert state.next_fire_ms is not None
    _, result = release_and_check(state, compiled_of(), ticks(1), context_at(NOW))
    assert (result.state.remaining, result.state.next_fire_ms) == (0, None)
    _, requested = release_and_check(state, compiled_of(), requests(1), context_at(NOW))
    assert (requested.state.remaining, requested.state.next_fire_ms) == (1, state.next_fire_ms)


@pytest.mark.parametrize(("in_flight", "waiting"), [(0, 1), (0, 2), (1, 1)])
@pytest.mark.parametrize("rows", [ticks(1), requests(1)])
@pytest.mark.parametrize("policy", [{}, {"adaptive": True}])
def test_a_schedule_whose_waiting_run_is_dropped_counts_from_now(
    rows: list[RunRow], in_flight: int, waiting: int, policy: dict[str, Any]
) -> None:
    """Regression: it never ran again after its waiting tick or trigger was dropped, because no run was left to end."""
    compiled = compiled_of(DELAY, shadow=True, **policy)
    summaries, result = release_and_check(
        flying_delay(in_flight=in_flight, waiting=waiting), compiled, rows, context_at(NOW)
    )
    assert summaries == ["shadow"]
    follows_another = in_flight or (rows[0].origin and waiting > 1)
    assert (result.state.next_nominal_s is None) == bool(follows_another)
    assert (result.state.next_fire_ms is None) == bool(follows_another)


@pytest.mark.parametrize(("rows", "moves"), [(ticks(1), True), (requests(1), False)])
def test_an_adaptive_schedule_waits_for_the_end_of_a_released_run(rows: list[RunRow], moves: bool) -> None:
    """Regression: its next run was planned from the previous run, and could violate the minimum interval."""
    compiled = compiled_of(MINUTELY, adaptive=True, min_interval_ms=40_000)
    state = state_of(compiled, NOON, waiting=1)
    assert state.next_fire_ms is not None
    _, result = release_and_check(state, compiled, rows, context_at(NOW))
    expected = (None, None) if moves else (state.next_nominal_s, state.next_fire_ms)
    assert (result.state.next_nominal_s, result.state.next_fire_ms) == expected


# ---------------------------------------------------------------- one by one
