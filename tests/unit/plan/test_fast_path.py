"""The fast path decides the same as the full decision."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.unit.plan.cases import (
    DELAY,
    MINUTELY,
    NOON,
    NOON_MS,
    compiled_of,
    context_at,
    decide_and_check,
    every,
    state_of,
)
from tompion.model.policy import Overlap
from tompion.model.run import START_COLUMNS, RunRow
from tompion.model.schedule_state import FAST_ADVANCE_COLUMNS, ScheduleState
from tompion.model.spec import SpecDocument
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.fast_path import decide_fast

SPECS = (
    MINUTELY,
    DELAY,
    every(1),
    every(60, jitter_ms=20_000),
    SpecDocument(cron=("*/5 * * * *",), timezone="Europe/Berlin"),
    SpecDocument(times=("2026-01-01T12:00:00Z",)),
)


@pytest.mark.parametrize("spec", [MINUTELY, every(60, jitter_ms=20_000), SPECS[4], SPECS[5]])
@pytest.mark.parametrize("overlap", list(Overlap))
def test_tick_on_time_takes_the_fast_path(spec: SpecDocument, overlap: Overlap) -> None:
    compiled = compiled_of(spec, overlap_policy=overlap)
    state = state_of(compiled)
    assert state.next_fire_ms is not None
    assert check(state, compiled, now_ms=state.next_fire_ms)
    assert not check(state, compiled, now_ms=state.next_fire_ms - 1)
    assert not check(state, compiled, now_ms=state.next_fire_ms + 30_001)


@pytest.mark.parametrize(
    ("policy", "state", "context"),
    [
        ({"shadow": True}, {}, {}),
        ({"min_interval_ms": 1}, {}, {}),
        ({}, {"in_flight": 1}, {}),
        ({}, {"remaining": 5}, {}),
        ({}, {"skips": str(NOON)}, {}),
        ({}, {"carry": "skip", "carry_until_s": NOON}, {}),
        ({}, {"paused": True}, {}),
        ({}, {"closed": True}, {}),
        ({}, {"waiting": 1}, {}),
        ({}, {}, {"target_paused": True}),
        ({}, {}, {"owner": None}),
    ],
)
def test_obstacles_are_left_to_the_full_decision(
    policy: dict[str, Any], state: dict[str, Any], context: dict[str, Any]
) -> None:
    compiled = compiled_of(MINUTELY, **policy)
    assert decide_fast(tuple(state_of(compiled, **state)), compiled, context_at(**context)) is None


@given(
    spec=st.sampled_from(SPECS),
    overlap=st.sampled_from(Overlap),
    max_concurrent=st.integers(1, 3),
    late_ms=st.integers(-5_000, 100_000),
    state=st.fixed_dictionaries(
        {
            "in_flight": st.integers(0, 4),
            "waiting": st.sampled_from([0, 0, 0, 2]),
            "remaining": st.sampled_from([None, None, None, 0, 1, 5]),
            "last_start_ms": st.sampled_from([None, NOON_MS - 10, NOON_MS + 10]),
            "skips": st.sampled_from([None, None, None, str(NOON), str(NOON + 60)]),
            "starts": st.integers(0, 9),
            "failures": st.integers(0, 3),
        }
    ),
    target_paused=st.sampled_from([False, False, False, True]),
)
@settings(max_examples=500, deadline=None)
def test_fast_path_equals_the_full_decision(
    spec: SpecDocument,
    overlap: Overlap,
    max_concurrent: int,
    late_ms: int,
    state: dict[str, Any],
    target_paused: bool,
) -> None:
    compiled = compiled_of(spec, overlap_policy=overlap, max_concurrent=max_concurrent)
    event(
        "short"
        if check(state_of(compiled, **state), compiled, NOON_MS + late_ms, target_paused=target_paused)
        else "long"
    )


def check(state: ScheduleState, compiled: CompiledSchedule, now_ms: int, **context: Any) -> bool:
    """Compare the fast path with the full decision, and return whether there was a fast path."""
    fast = decide_fast(tuple(state), compiled, context_at(now_ms, **context))
    if fast is None:
        return False
    row, start_row, step_row = fast
    decision, after = decide_and_check(state, compiled, context_at(now_ms, **context))
    assert decision.runs == [row]
    assert (decision.dropped_ranges, decision.supersede, decision.cancel, decision.terminate) == (
        [],
        set(),
        False,
        False,
    )
    step: dict[str, Any] = dict(zip(FAST_ADVANCE_COLUMNS, step_row, strict=True))
    assert state._replace(**step) == after
    assert start_row == tuple(getattr(row, column) for column in START_COLUMNS)
    assert all(
        value == RunRow._field_defaults.get(name) for name, value in row._asdict().items() if name in DEFAULT_COLUMNS
    )
    return True


NAMED_COLUMNS = {*START_COLUMNS, "origin", "source", "state", "attempt", "failures", "cancel_requested"}
DEFAULT_COLUMNS = {*RunRow._fields} - NAMED_COLUMNS
"""What the narrow statement leaves as it is by default."""


def test_compiled_schedule_has_a_fast_path_if_only_overlap_can_stop_a_tick() -> None:
    assert compiled_of(MINUTELY).has_fast_path
    assert not compiled_of(DELAY).has_fast_path
