"""Adaptive schedules in the planner: firing, settling, pausing, skipping and editing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.plan.adaptive_cases import FIVE_MINUTES, adaptive_schedule, after_run, hint, hints
from tests.unit.plan.cases import NOON, NOON_MS, compiled_of, context_at, every, run_of, state_of
from tompion.model.hint import HintRows
from tompion.model.policy import OnResume, Overlap
from tompion.model.run import Reason, RunSource, RunState
from tompion.model.spec import SpecDocument
from tompion.plan import edit, pause
from tompion.plan.adaptive import AdaptivePlan, pending_run
from tompion.plan.decide import decide
from tompion.plan.fast_path import decide_fast
from tompion.plan.outcome import free_slot
from tompion.plan.release import release_queue
from tompion.plan.upcoming import upcoming_ticks

# --- in the planner ---------------------------------------------------------------------------------------------------


def test_next_plan_waits_for_the_end_of_the_run() -> None:
    compiled = adaptive_schedule()
    state = state_of(compiled)
    decision, after, _ = decide(state, compiled, context_at(), 0)
    assert [(run.nominal_s, run.source, run.state) for run in decision.runs] == [(NOON, "schedule", "ENQUEUED")]
    assert (after.next_nominal_s, after.next_fire_ms, after.cursor_s) == (None, None, NOON)
    ended = free_slot(after, compiled, RunState.FAILED, 0, NOON_MS + 10_000)
    assert (ended.last_end_ms, ended.failures, ended.next_nominal_s) == (NOON_MS + 10_000, 1, NOON + 120)
    assert ended.next_fire_ms == (NOON + 120) * 1000


def test_fast_path_ignores_adaptive_schedules() -> None:
    compiled = adaptive_schedule()
    assert decide_fast(tuple(state_of(compiled)), compiled, context_at()) is None


def test_hinted_run_has_its_source_and_consumes_a_one_shot_hint() -> None:
    compiled = adaptive_schedule()
    state = edit.replan_adaptive(after_run(compiled, hints=hints(interval=50, once=30)), compiled, NOON_MS + 10_000)
    decision, after, _ = decide(state, compiled, context_at(NOON_MS + 30_000), 0)
    assert [(run.nominal_s - NOON, run.source) for run in decision.runs] == [(30, RunSource.HINT)]
    assert after.hints == hints(interval=50)


def test_one_shot_hint_within_a_second_is_consumed_with_it() -> None:
    compiled = adaptive_schedule()
    state = after_run(compiled, hints=HintRows(once=hint(NOON_MS + 30_500)).text())
    state = edit.replan_adaptive(state, compiled, NOON_MS + 10_000)
    assert (state.next_nominal_s, state.next_fire_ms) == (NOON + 30, NOON_MS + 30_500)
    assert decide(state, compiled, context_at(NOON_MS + 30_499), 0)[0].runs == []
    decision, after, _ = decide(state, compiled, context_at(NOON_MS + 30_500), 0)
    assert [(run.nominal_s - NOON, run.source) for run in decision.runs] == [(30, RunSource.HINT)]
    assert after.hints is None


def test_late_run_consumes_a_one_shot_hint() -> None:
    """It was moved by a bound, or the baseline came first: one run, not two."""
    compiled = adaptive_schedule(min_interval_ms=60_000)
    state = edit.replan_adaptive(after_run(compiled, hints=hints(once=30)), compiled, NOON_MS + 10_000)
    decision, after, _ = decide(state, compiled, context_at(NOON_MS + 60_000), 0)
    assert [run.nominal_s - NOON for run in decision.runs] == [60]
    assert after.hints is None


def test_hint_that_expired_before_the_decision_is_ignored() -> None:
    compiled = adaptive_schedule(FIVE_MINUTES)
    state = edit.replan_adaptive(after_run(compiled, hints=hints(once=30, lives_ms=40_000)), compiled, NOON_MS + 10_000)
    assert state.next_nominal_s == NOON + 30
    decision, after, _ = decide(state, compiled, context_at(NOON_MS + 45_000), 0)
    assert decision.runs == []
    assert (after.next_nominal_s, after.next_fire_ms, after.cursor_s) == (NOON + 300, (NOON + 300) * 1000, NOON)


def test_due_baseline_runs_instead_of_an_expired_hint() -> None:
    compiled = adaptive_schedule()
    state = edit.replan_adaptive(after_run(compiled, hints=hints(once=30, lives_ms=40_000)), compiled, NOON_MS + 10_000)
    decision, _, _ = decide(state, compiled, context_at(NOON_MS + 90_000), 0)
    assert [(run.nominal_s - NOON, run.source) for run in decision.runs] == [(90, "schedule")]


def test_adaptive_run_is_late_but_never_missed() -> None:
    compiled = adaptive_schedule()
    state = edit.replan_adaptive(after_run(compiled), compiled, NOON_MS + 10_000)
    decision, after, used = decide(state, compiled, context_at(NOON_MS + 10_000_000), 0)
    assert [run.nominal_s - NOON for run in decision.runs] == [60]
    assert (decision.dropped_ranges, used, after.missed) == ([], 0, 0)


@pytest.mark.parametrize("spec", [every(60), FIVE_MINUTES], ids=["interval", "grid"])
def test_resume_with_skip_plans_from_now(spec: SpecDocument) -> None:
    compiled = adaptive_schedule(spec)
    state = pause.pause_state(
        edit.replan_adaptive(after_run(compiled, hints=hints(once=20)), compiled, NOON_MS + 10_000), None
    )
    now_ms = NOON_MS + 1_000_000
    state = pause.resume_state(state, compiled, now_ms, OnResume.SKIP)
    decision, after, _ = decide(state, compiled, context_at(now_ms), 0)
    assert decision.runs == []
    assert [
        (dropped_range.until_s - NOON, dropped_range.ticks, dropped_range.reason)
        for dropped_range in decision.dropped_ranges
    ] == [(1_000, 1, Reason.RESUMED)]
    assert after.next_nominal_s == NOON + (1_060 if compiled.interval_ms else 1_200)
    assert (after.carry, after.hints) == (None, None)


def test_paused_adaptive_schedule_has_no_next_fire() -> None:
    compiled = adaptive_schedule(max_interval_ms=60_000)
    state = pause.pause_state(edit.replan_adaptive(after_run(compiled), compiled, NOON_MS + 10_000), NOON_MS + 500_000)
    hinted = edit.replan_adaptive(state._replace(hints=hints(once=30)), compiled, NOON_MS + 20_000)
    assert (hinted.next_nominal_s, hinted.next_fire_ms) == (NOON + 30, NOON_MS + 500_000)
    forever = edit.replan_adaptive(pause.pause_state(hinted, None), compiled, NOON_MS + 20_000)
    assert forever.next_fire_ms is None


def test_hint_waits_for_the_end_of_the_current_run() -> None:
    compiled = adaptive_schedule()
    busy = after_run(compiled, in_flight=1)
    hinted = edit.replan_adaptive(busy._replace(hints=hints(once=30)), compiled, NOON_MS + 5_000)
    assert (hinted.next_nominal_s, hinted.next_fire_ms) == (None, None)
    ended = free_slot(hinted, compiled, RunState.SUCCESS, 0, NOON_MS + 10_000)
    assert (ended.next_nominal_s, ended.hints) == (NOON + 30, hints(once=30))


def test_end_of_a_trigger_does_not_count_as_end_of_a_run() -> None:
    compiled = adaptive_schedule()
    own_and_trigger = after_run(compiled, in_flight=2)
    after = free_slot(own_and_trigger, compiled, RunState.SUCCESS, 9, NOON_MS + 10_000)
    assert (after.next_nominal_s, after.last_end_ms) == (None, own_and_trigger.last_end_ms)
    replanned = edit.replan_adaptive(after_run(compiled, in_flight=0), compiled, NOON_MS + 10_000)._replace(in_flight=1)
    failed = free_slot(replanned, compiled, RunState.FAILED, 9, NOON_MS + 20_000)
    assert (failed.next_nominal_s, failed.failures) == (NOON + 120, 1)


@pytest.mark.parametrize(
    ("policy", "changes", "reason"),
    [
        ({"shadow": True}, {}, Reason.SHADOW),
        ({"overlap_policy": Overlap.SKIP}, {"in_flight": 1}, Reason.OVERLAP),
        ({}, {"skips": str(NOON + 60)}, Reason.SKIP_REQUESTED),
    ],
)
@pytest.mark.parametrize("longest", [None, 60_000])
def test_next_plan_follows_the_time_of_a_skipped_run(
    policy: dict[str, Any], changes: dict[str, Any], reason: Reason, longest: int | None
) -> None:
    compiled = adaptive_schedule(max_interval_ms=longest, **policy)
    state = edit.replan_adaptive(after_run(compiled), compiled, NOON_MS + 10_000)._replace(**changes)
    decision, after, _ = decide(state, compiled, context_at(NOON_MS + 60_000), 0)
    assert [(run.state, run.reason) for run in decision.runs] == [(RunState.SKIPPED, reason)]
    assert after.next_nominal_s == NOON + 120


def test_next_plan_follows_a_run_dropped_from_the_queue() -> None:
    compiled = adaptive_schedule(shadow=True)
    state = after_run(compiled, waiting=1)
    released = release_queue(state, compiled, [(run_of(NOON + 60), context_at(NOON_MS + 70_000))])
    assert released.state.next_nominal_s == NOON + 70


def test_pause_holds_a_waiting_hinted_run() -> None:
    """It is as automatic as a tick."""
    compiled = adaptive_schedule()
    state = after_run(compiled, waiting=1, remaining=1, paused=True)
    waiting = [(run_of(NOON + 60, source=RunSource.HINT), context_at(NOON_MS + 70_000))]
    assert release_queue(state, compiled, waiting).changes == []
    resumed = release_queue(state._replace(paused=False), compiled, waiting).state
    assert (resumed.remaining, resumed.last_start_ms) == (0, NOON_MS + 70_000)


def test_upcoming_tick_is_the_tick_that_runs() -> None:
    compiled = adaptive_schedule()
    state = edit.replan_adaptive(after_run(compiled), compiled, NOON_MS + 10_000)
    assert list(upcoming_ticks(state, compiled, NOON_MS + 10_000)) == [NOON + 60]
    skipping = edit.add_skips(state._replace(hints=hints(once=60)), [NOON + 60])
    assert list(upcoming_ticks(skipping, compiled, NOON_MS + 10_000)) == [NOON + 120]
    _, after, _ = decide(skipping, compiled, context_at(NOON_MS + 65_000), 0)
    assert (after.next_nominal_s, after.hints) == (NOON + 120, None)


# --- edits ------------------------------------------------------------------------------------------------------------


def test_changed_bound_moves_only_the_next_run() -> None:
    old, new = adaptive_schedule(), adaptive_schedule(max_interval_ms=30_000, version=4)
    state = edit.replan_adaptive(after_run(old, hints=hints(interval=50)), old, NOON_MS + 10_000)
    edited = edit.replace_version(state, old, new, NOON_MS + 20_000)
    assert edited.dropped_ranges == []
    assert (edited.state.next_nominal_s, edited.state.version, edited.state.hints) == (NOON + 30, 4, state.hints)


def test_schedule_that_becomes_adaptive_continues_from_its_last_run() -> None:
    old, new = compiled_of(every(60)), adaptive_schedule(every(60), version=4)
    state = state_of(old, NOON, last_start_ms=NOON_MS)
    edited = edit.replace_version(state, old, new, NOON_MS + 20_000)
    assert (edited.state.next_nominal_s, edited.dropped_ranges) == (NOON + 60, [])
    late = edit.replace_version(state, old, new, NOON_MS + 130_000)
    assert [(dropped_range.ticks, dropped_range.reason) for dropped_range in late.dropped_ranges] == [
        (2, Reason.EDITED)
    ]


def test_schedule_that_stops_being_adaptive_drops_its_hints() -> None:
    old, new = adaptive_schedule(every(60)), compiled_of(every(60), version=4)
    state = edit.replan_adaptive(after_run(old, hints=hints(interval=20)), old, NOON_MS + 10_000)
    edited = edit.replace_version(state, old, new, NOON_MS + 15_000)
    assert (edited.state.next_nominal_s, edited.state.hints, edited.dropped_ranges) == (NOON + 60, None, [])


def test_deleted_schedule_drops_its_hints() -> None:
    compiled = adaptive_schedule()
    closed = edit.close_state(after_run(compiled, hints=hints(interval=20)), compiled, NOON_MS + 10_000)
    assert closed.state.hints is None
    assert edit.replan_adaptive(closed.state, compiled, NOON_MS + 20_000).next_nominal_s is None


def test_expired_hints_are_cleared() -> None:
    compiled = adaptive_schedule()
    state = after_run(compiled, hints=hints(interval=20, lives_ms=5_000))
    assert edit.replan_adaptive(state, compiled, NOON_MS + 10_000).hints is None
    ended = free_slot(state._replace(in_flight=1), compiled, RunState.SUCCESS, 0, NOON_MS + 10_000)
    assert ended.hints is None


def test_pending_run_has_its_cause() -> None:
    compiled = adaptive_schedule(min_interval_ms=40_000)
    state = edit.replan_adaptive(after_run(compiled, hints=hints(once=30)), compiled, NOON_MS + 10_000)
    pending = pending_run(state, compiled, NOON_MS + 15_000)
    assert pending == AdaptivePlan(NOON_MS + 40_000, RunSource.HINT, hint(NOON_MS + 30_000), "min")


def test_overlap_applies_to_adaptive_ticks() -> None:
    """A trigger in flight blocks it, and ``queue`` makes it wait. No run is planned meanwhile."""
    compiled = adaptive_schedule(overlap_policy=Overlap.QUEUE)
    state = edit.replan_adaptive(after_run(compiled), compiled, NOON_MS + 10_000)._replace(in_flight=1)
    decision, after, _ = decide(state, compiled, context_at(NOON_MS + 60_000), 0)
    assert [run.state for run in decision.runs] == [RunState.BUFFERED]
    assert (after.next_nominal_s, after.waiting) == (None, 1)
