"""Backfills: exactly their range, at a pace that leaves slots for the schedule's own ticks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.plan.cases import (
    KEY,
    NOON,
    NOON_MS,
    VERSION,
    check_rows,
    compiled_of,
    context_at,
    every,
    rows_of,
    state_of,
)
from tompion.model.backfill import DONE, RUNNING, BackfillRow
from tompion.model.policy import Overlap
from tompion.model.run import Reason, RunSource, RunState
from tompion.model.schedule_state import ScheduleState
from tompion.model.spec import SpecDocument
from tompion.plan.backfill import RECHECK_MS, BackfillChunk, is_wanted, last_decided, next_chunk
from tompion.plan.compiled_schedule import CompiledSchedule

HOUR = 3_600
NUMBER = 11


def backfill_of(start_s: int = NOON - 5 * HOUR, end_s: int = NOON - HOUR, **changes: Any) -> BackfillRow:
    row = BackfillRow(
        NUMBER, KEY, start_s, end_s, start_s - 1, Overlap.ALLOW, "all", VERSION, RUNNING, 5, 0, NOON_MS, NOON_MS, None,
        end_s, 0,
    )  # fmt: skip
    return row._replace(**changes)


def step_and_check(
    backfill: BackfillRow,
    schedule_state: ScheduleState,
    compiled: CompiledSchedule,
    limit: int,
    earlier: dict[int, str],
    **context: Any,
) -> BackfillChunk:
    """Run one step with checks that hold after any. ``earlier`` has the states of ticks that have one run."""
    states = {tick: {state} for tick, state in earlier.items()}
    result = next_chunk(backfill, schedule_state, compiled, context_at(NOON_MS, **context), limit, states)
    after, decision = result.backfill, result.decision
    check_rows(decision)
    assert all((run.source, run.origin) == (RunSource.BACKFILL, NUMBER) for run in decision.runs)
    assert all(run.overlap == backfill.overlap for run in decision.runs)
    assert all(backfill.cursor_s < run.nominal_s <= after.cursor_s for run in decision.runs)
    assert all(run.fire_ms == NOON_MS for run in decision.runs)
    assert after.done == backfill.done + len(decision.runs)
    assert (after.state == DONE) == (after.finished_ms is not None) == (after.next_ms is None)
    assert after.cursor_s <= backfill.end_s or after.cursor_s == backfill.cursor_s
    moving = {name: getattr(after, name) for name in ("cursor_s", "done", "state", "next_ms", "finished_ms")}
    assert after == backfill._replace(**moving)
    standing = decision.state_after_requests()
    assert standing[:8] == schedule_state[:8]
    assert (standing.remaining, standing.last_start_ms) == (schedule_state.remaining, schedule_state.last_start_ms)
    return result


def hours_of(result: BackfillChunk) -> list[int]:
    return [(run.nominal_s - NOON) // HOUR for run in result.decision.runs]


# ---------------------------------------------------------------- the range


@pytest.mark.parametrize(
    ("start_s", "end_s", "hours"),
    [
        (NOON - 3 * HOUR, NOON - HOUR, [-3, -2, -1]),
        (NOON - 3 * HOUR + 1, NOON - HOUR, [-2, -1]),
        (NOON - 3 * HOUR, NOON - HOUR - 1, [-3, -2]),
        (NOON - HOUR, NOON - HOUR, [-1]),
        (NOON - HOUR + 1, NOON - 1, []),
    ],
)
def test_both_ends_are_included(start_s: int, end_s: int, hours: list[int]) -> None:
    compiled = compiled_of(every(HOUR))
    result = step_and_check(backfill_of(start_s, end_s), state_of(compiled), compiled, 100, {})
    assert hours_of(result) == hours
    assert rows_of(result.decision) == [(RunState.ENQUEUED, None)] * len(hours)
    assert (result.backfill.state, result.backfill.finished_ms) == (DONE, NOON_MS)


def test_no_tick_beyond_the_bounds_of_the_schedule() -> None:
    compiled = compiled_of(every(HOUR, start_at="2026-01-01T09:00:00Z", end_at="2026-01-01T10:30:00Z"))
    result = step_and_check(backfill_of(), state_of(compiled), compiled, 100, {})
    assert hours_of(result) == [-3, -2]
    assert result.backfill.state == DONE


def test_a_schedule_without_ticks_is_done_at_once() -> None:
    compiled = compiled_of(SpecDocument(cron=("0 0 30 2 *",)))
    result = step_and_check(backfill_of(), state_of(compiled), compiled, 100, {})
    assert (result.decision.runs, result.backfill.state, result.backfill.done) == ([], DONE, 0)


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 100])
def test_backfill_runs_in_chunks(limit: int) -> None:
    compiled = compiled_of(every(HOUR))
    backfill, nominals, steps = backfill_of(), [], 0
    while backfill.state == RUNNING:
        assert backfill.next_ms == NOON_MS
        result = step_and_check(backfill, state_of(compiled), compiled, limit, {})
        assert len(result.decision.runs) <= limit
        nominals += hours_of(result)
        backfill = result.backfill
        steps += 1
    assert nominals == [-5, -4, -3, -2, -1]
    assert steps == -(-5 // limit)
    assert backfill.done == 5


# ---------------------------------------------------------------- only

# what became of a tick the first time: whether it is run again under all, missing, failed
ONLY: list[tuple[str | None, bool, bool, bool]] = [
    (None, True, True, False),
    ("PLANNED", True, False, False),
    ("BUFFERED", True, False, False),
    ("ENQUEUED", True, False, False),
    ("STARTED", True, False, False),
    ("SUCCESS", True, False, False),
    ("FAILED", True, False, True),
    ("SKIPPED", True, True, False),
    ("CANCELLED", True, True, False),
    ("TERMINATED", True, False, True),
    ("TIMED_OUT", True, False, True),
]


@pytest.mark.parametrize(("state", "everything", "missing", "failed"), ONLY)
def test_only_selects_ticks_by_their_state(state: str | None, everything: bool, missing: bool, failed: bool) -> None:
    states = set() if state is None else {state}
    assert [is_wanted(only, states) for only in ("all", "missing", "failed")] == [everything, missing, failed]


@pytest.mark.parametrize(
    ("states", "missing", "failed"),
    [
        ("SKIPPED SUCCESS", False, False),
        ("FAILED SUCCESS", False, False),
        ("TIMED_OUT BUFFERED", False, False),
        ("SKIPPED STARTED", False, False),
        ("SKIPPED FAILED", False, True),
        ("CANCELLED SKIPPED", True, False),
        ("CANCELLED bogus", False, False),
    ],
)
def test_one_of_several_runs_decides_whether_a_tick_ran_or_failed(states: str, missing: bool, failed: bool) -> None:
    assert [is_wanted(only, set(states.split())) for only in ("all", "missing", "failed")] == [True, missing, failed]


def test_unknown_filter_raises() -> None:
    with pytest.raises(ValueError, match="'bogus' is not one of all, missing, failed"):
        is_wanted("bogus", set())


@pytest.mark.parametrize(
    ("only", "remaining", "last"),
    [("all", None, NOON), ("missing", None, NOON - HOUR), ("failed", 1, NOON - HOUR), ("missing", 0, NOON)],
)
def test_undecided_tick_is_neither_missing_nor_failed(only: str, remaining: int | None, last: int) -> None:
    state = state_of(compiled_of(every(HOUR)), cursor_s=NOON - HOUR, remaining=remaining)
    assert last_decided(state, only, NOON) == last
    assert last_decided(state, only, NOON - 2 * HOUR) == NOON - 2 * HOUR


def test_filters_cover_every_run_state() -> None:
    assert [state for state, *_ in ONLY[1:]] == list(RunState)


@pytest.mark.parametrize(
    ("only", "hours"),
    [("all", [-5, -4, -3, -2, -1]), ("missing", [-5, -4, -1]), ("failed", [-2])],
)
def test_filter_selects_a_part_of_the_range(only: str, hours: list[int]) -> None:
    compiled = compiled_of(every(HOUR))
    earlier = {NOON - 4 * HOUR: "SKIPPED", NOON - 3 * HOUR: "SUCCESS", NOON - 2 * HOUR: "FAILED"}
    result = step_and_check(backfill_of(only=only), state_of(compiled), compiled, 100, earlier)
    assert hours_of(result) == hours
    assert (result.backfill.done, result.backfill.state) == (len(hours), DONE)


def test_unwanted_ticks_count_towards_the_limit() -> None:
    compiled = compiled_of(every(HOUR))
    earlier = {NOON - HOUR * number: "SUCCESS" for number in range(1, 6)}
    result = step_and_check(backfill_of(only="failed"), state_of(compiled), compiled, 2, earlier)
    assert (result.decision.runs, result.backfill.cursor_s) == ([], NOON - 4 * HOUR)
    assert (result.backfill.state, result.backfill.done) == (RUNNING, 0)


# ---------------------------------------------------------------- pace


@pytest.mark.parametrize(
    ("in_flight", "waiting", "most", "hours"),
    [
        (0, 0, 1, [-5]),
        (1, 0, 1, []),
        (0, 1, 1, []),
        (0, 0, 3, [-5, -4, -3]),
        (2, 0, 3, [-5]),
        (3, 0, 3, []),
        (1, 2, 3, []),
    ],
)
def test_a_queue_waits_for_a_free_slot(in_flight: int, waiting: int, most: int, hours: list[int]) -> None:
    compiled = compiled_of(every(HOUR), max_concurrent=most)
    state = state_of(compiled, in_flight=in_flight, waiting=waiting)
    result = step_and_check(backfill_of(overlap=Overlap.QUEUE), state, compiled, 100, {})
    assert hours_of(result) == hours
    assert all(run.state == RunState.ENQUEUED for run in result.decision.runs)
    assert result.decision.state_after_requests().waiting == waiting
    assert (result.backfill.state, result.backfill.next_ms) == (RUNNING, NOON_MS + RECHECK_MS)


def test_queue_with_free_slots_continues_at_once() -> None:
    compiled = compiled_of(every(HOUR), max_concurrent=3)
    result = step_and_check(backfill_of(overlap=Overlap.QUEUE), state_of(compiled), compiled, 2, {})
    assert (hours_of(result), result.backfill.next_ms) == ([-5, -4], NOON_MS)


@pytest.mark.parametrize(
    ("overlap", "states"),
    [
        (Overlap.ALLOW, ["ENQUEUED"] * 5),
        (Overlap.SKIP, ["ENQUEUED"] + ["SKIPPED"] * 4),
        (Overlap.BUFFER_ONE, ["ENQUEUED"] + ["SKIPPED"] * 3 + ["BUFFERED"]),
        (Overlap.CANCEL_OTHER, ["SKIPPED"] * 4 + ["ENQUEUED"]),
        (Overlap.TERMINATE_OTHER, ["SKIPPED"] * 4 + ["ENQUEUED"]),
    ],
)
def test_other_policies_hand_out_every_tick(overlap: Overlap, states: list[str]) -> None:
    compiled = compiled_of(every(HOUR))
    result = step_and_check(backfill_of(overlap=overlap), state_of(compiled), compiled, 100, {})
    assert [run.state for run in result.decision.runs] == states
    assert result.backfill.state == DONE


@pytest.mark.parametrize("overlap", list(Overlap))
def test_backfill_waits_while_its_target_is_paused(overlap: Overlap) -> None:
    """Regression: a backfill filled the buffer of a schedule with a paused target, and ticks were skipped.

    Its remaining ticks were skipped too, and lost: a thousand of them waited, the others found the buffer full.
    """
    compiled = compiled_of(every(HOUR))
    backfill = backfill_of(overlap=overlap)
    result = step_and_check(backfill, state_of(compiled), compiled, 100, {}, target_paused=True, max_buffer=2)
    assert result.decision.runs == []
    assert result.backfill == backfill._replace(next_ms=NOON_MS + RECHECK_MS)


def test_backfill_of_a_shadow_is_recorded() -> None:
    compiled = compiled_of(every(HOUR), shadow=True)
    result = step_and_check(backfill_of(), state_of(compiled), compiled, 100, {})
    assert rows_of(result.decision) == [(RunState.SKIPPED, Reason.SHADOW)] * 5


def test_pause_and_limits_do_not_apply_to_a_backfill() -> None:
    compiled = compiled_of(every(HOUR), min_interval_ms=10**9)
    state = state_of(compiled, paused=True, remaining=0, last_start_ms=NOON_MS - 1, skips=str(NOON - 2 * HOUR))
    result = step_and_check(backfill_of(), state, compiled, 100, {})
    assert rows_of(result.decision) == [(RunState.ENQUEUED, None)] * 5
    assert result.decision.state_after_requests() == state._replace(in_flight=5, starts=5)


@given(
    st.sampled_from([7, 60, 90]),
    st.integers(0, 400),
    st.integers(0, 400),
    st.integers(1, 9),
    st.integers(1, 3),
    st.sampled_from([Overlap.QUEUE, Overlap.ALLOW]),
)
@settings(max_examples=80)
def test_any_backfill_runs_exactly_its_range(
    every_s: int, start: int, length: int, limit: int, most: int, overlap: Overlap
) -> None:
    compiled = compiled_of(every(every_s), max_concurrent=most)
    start_s, end_s = NOON - 1_000 + start, NOON - 1_000 + start + length
    backfill, nominals = backfill_of(start_s, end_s, overlap=overlap), []
    state = state_of(compiled)
    for _ in range(200):
        result = step_and_check(backfill, state, compiled, limit, {})
        nominals += [run.nominal_s for run in result.decision.runs]
        backfill = result.backfill
        assert overlap != Overlap.QUEUE or result.decision.in_flight <= most
        if backfill.state == DONE:
            break
    assert backfill.state == DONE
    assert nominals == [second for second in range(start_s, end_s + 1) if second % every_s == 0]
    assert backfill.done == len(nominals)
