"""Compiled schedules, states and contexts with defaults, and checks that hold after any decision."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tompion.model.policy import Policy
from tompion.model.run import FINAL, IN_FLIGHT, Reason, RunRow, RunSource, RunState
from tompion.model.schedule import Action
from tompion.model.schedule_state import ScheduleState
from tompion.model.spec import IntervalDocument, SpecDocument
from tompion.plan.compiled_schedule import CompiledSchedule, compile_schedule
from tompion.plan.context import DecisionContext
from tompion.plan.decide import Decision, decide
from tompion.plan.due_ticks import DueLimits
from tompion.plan.edit import new_state

NOON = 1_767_268_800  # 2026-01-01T12:00:00Z
NOON_MS = NOON * 1000
KEY, VERSION, OWNER = 7, 3, 42
LIMITS = DueLimits(
    grace_ms=30_000, max_catchup=100, max_spread=1_000, max_dropped_range_ticks=10_000, lookahead_ms=60_000
)
MINUTELY = SpecDocument(intervals=(IntervalDocument(60),))
DELAY = SpecDocument(intervals=(IntervalDocument(60, anchor="completion"),))


def compiled_of(
    spec: SpecDocument = MINUTELY, *, schedule_id: str = "report", version: int = VERSION, **policy: Any
) -> CompiledSchedule:
    return compile_schedule(KEY, version, "default", schedule_id, spec, Policy(**policy), Action(function="jobs:run"))


def every(seconds: int, **spec: Any) -> SpecDocument:
    return SpecDocument(intervals=(IntervalDocument(seconds),), **spec)


def state_of(compiled: CompiledSchedule, cursor_s: int = NOON - 1, **changes: Any) -> ScheduleState:
    """A state that has decided everything up to a cursor, created right then."""
    return new_state(compiled, (cursor_s + 1) * 1000)._replace(**changes)


def context_at(now_ms: int = NOON_MS, *, owner: int | None = OWNER, **changes: Any) -> DecisionContext:
    return DecisionContext(now_ms, owner, LIMITS, 1_000)._replace(**changes)


def run_of(nominal_s: int = NOON, **changes: Any) -> RunRow:
    """A buffered run."""
    return RunRow(
        KEY, nominal_s, 0, RunSource.SCHEDULE, RunState.BUFFERED, None, VERSION, 0, 0, nominal_s * 1000, None, None,
        nominal_s * 1000, nominal_s, None, None, None, None, None, None, False, None, None, None,
    )._replace(**changes)  # fmt: skip


def decide_and_check(
    state: ScheduleState, compiled: CompiledSchedule, context: DecisionContext, budget: int = 1_000
) -> tuple[Decision, ScheduleState]:
    """Decide, and check the invariants of every decision."""
    decision, after, used = decide(state, compiled, context, budget)
    assert 0 <= used <= budget
    assert after.cursor_s >= state.cursor_s
    check_ticks(state, decision, after)
    check_state(state, decision, after)
    check_rows(decision)
    return decision, after


def check_ticks(state: ScheduleState, decision: Decision, after: ScheduleState) -> None:
    """Each tick between the cursors is one run or in one dropped range."""
    nominals = [run.nominal_s for run in decision.runs]
    assert nominals == sorted(set(nominals))
    covered = Counter(nominals)
    compiled = decision.compiled
    for dropped_range in decision.dropped_ranges:
        assert dropped_range.schedule_key == KEY
        assert dropped_range.version == compiled.version
        assert dropped_range.decided_ms == decision.context.now_ms
        inside = (
            [dropped_range.until_s]
            if compiled.is_sequential
            else list(compiled.ticks.between_epochs(dropped_range.after_s + 1, dropped_range.until_s))
        )
        assert len(inside) == dropped_range.ticks > 0
        covered.update(inside)
    if not compiled.is_sequential:
        assert covered == Counter(compiled.ticks.between_epochs(state.cursor_s + 1, after.cursor_s))
        assert after.next_nominal_s == compiled.ticks.next_epoch(after.cursor_s)


def check_state(state: ScheduleState, decision: Decision, after: ScheduleState) -> None:
    """Check that the state agrees with the rows."""
    states = Counter(run.state for run in decision.runs)
    starts = states[RunState.ENQUEUED]
    assert after.in_flight == starts + (0 if decision.terminate else state.in_flight)
    assert after.waiting == state.waiting + states[RunState.BUFFERED]
    assert after.starts == state.starts + starts
    overlapping = sum(
        dropped_range.ticks for dropped_range in decision.dropped_ranges if dropped_range.reason == Reason.OVERLAP
    )
    assert after.skipped == state.skipped + states[RunState.SKIPPED] + overlapping
    missed = [
        dropped_range.ticks
        for dropped_range in decision.dropped_ranges
        if dropped_range.reason not in (Reason.OVERLAP, Reason.RESUMED)
    ]
    assert after.missed == state.missed + sum(missed)
    assert (after.successes, after.failed, after.failures) == (state.successes, state.failed, state.failures)
    if state.remaining is None:
        assert after.remaining is None
    else:
        assert after.remaining == state.remaining - starts >= 0
    assert after.last_start_ms == (decision.context.now_ms if starts else state.last_start_ms)
    assert after.remaining != 0 or after.next_fire_ms is None
    assert not decision.terminate or state.in_flight
    assert not decision.supersede or state.waiting


def check_rows(decision: Decision) -> None:
    """Check that each row can be inserted, and launched by the instance that it names."""
    context = decision.context
    for run in decision.runs:
        assert run.schedule_key == KEY
        assert run.version == decision.compiled.version
        assert run.decided_ms == context.now_ms
        assert run.started_ms is None
        assert run.failures == 0
        assert (run.finished_ms == context.now_ms) == (run.state in FINAL)
        if run.state in IN_FLIGHT:
            assert run.state == RunState.ENQUEUED
            assert run.fire_ms <= context.now_ms
            leased = context.owner is not None
            assert (run.owner, run.attempt) == ((context.owner, 1) if leased else (None, 0))
            assert run.due_ms == (None if leased else run.fire_ms)
        else:
            assert (run.owner, run.attempt) == (None, 0)
            assert run.due_ms == (run.fire_ms if run.state == RunState.PLANNED else None)
        assert run.state != RunState.SKIPPED or run.reason is not None


def rows_of(decision: Decision) -> list[tuple[RunState, Reason | None]]:
    return [(RunState(run.state), None if run.reason is None else Reason(run.reason)) for run in decision.runs]
