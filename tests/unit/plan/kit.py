"""What the tests of the planner share: rules, dials and worlds with defaults, and what must hold after any decision."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tompion.model.policy import Policy
from tompion.model.run import FINAL, IN_FLIGHT, Reason, RunRow, RunSource, RunState
from tompion.model.schedule import Action
from tompion.model.schedule_state import ScheduleState
from tompion.model.spec import IntervalDocument, SpecDocument
from tompion.plan.compiled_schedule import CompiledSchedule, compile_rule
from tompion.plan.context import DecisionContext
from tompion.plan.decide import Decision, decide
from tompion.plan.due_ticks import DueLimits
from tompion.plan.edit import created

NOON = 1_767_268_800  # 2026-01-01T12:00:00Z
NOON_MS = NOON * 1000
KEY, VERSION, OWNER = 7, 3, 42
LIMITS = DueLimits(grace_ms=30_000, max_catchup=100, max_spread=1_000, max_span_ticks=10_000, lookahead_ms=60_000)
MINUTELY = SpecDocument(intervals=(IntervalDocument(60),))
DELAY = SpecDocument(intervals=(IntervalDocument(60, anchor="completion"),))


def rule_of(
    spec: SpecDocument = MINUTELY, *, schedule_id: str = "report", version: int = VERSION, **policy: Any
) -> CompiledSchedule:
    return compile_rule(KEY, version, "default", schedule_id, spec, Policy(**policy), Action(function="jobs:run"))


def every(seconds: int, **spec: Any) -> SpecDocument:
    return SpecDocument(intervals=(IntervalDocument(seconds),), **spec)


def dial_of(rule: CompiledSchedule, cursor_s: int = NOON - 1, **changes: Any) -> ScheduleState:
    """A dial that has decided everything up to a cursor, created right then."""
    return created(rule, (cursor_s + 1) * 1000)._replace(**changes)


def world_at(now_ms: int = NOON_MS, *, owner: int | None = OWNER, **changes: Any) -> DecisionContext:
    return DecisionContext(now_ms, owner, LIMITS, 1_000)._replace(**changes)


def run_of(nominal_s: int = NOON, **changes: Any) -> RunRow:
    """A buffered run."""
    return RunRow(
        KEY, nominal_s, 0, RunSource.SCHEDULE, RunState.BUFFERED, None, VERSION, 0, 0, nominal_s * 1000, None, None,
        nominal_s * 1000, nominal_s, None, None, None, None, None, None, False, None, None, None,
    )._replace(**changes)  # fmt: skip


def decided(
    dial: ScheduleState, rule: CompiledSchedule, world: DecisionContext, budget: int = 1_000
) -> tuple[Decision, ScheduleState]:
    """Decide, and check whatever must hold after any decision."""
    decision, after, used = decide(dial, rule, world, budget)
    assert 0 <= used <= budget
    assert after.cursor_s >= dial.cursor_s
    check_ticks(dial, decision, after)
    check_dial(dial, decision, after)
    check_rows(decision)
    return decision, after


def check_ticks(dial: ScheduleState, decision: Decision, after: ScheduleState) -> None:
    """Each tick between the cursors is one run or in one span."""
    nominals = [run.nominal_s for run in decision.runs]
    assert nominals == sorted(set(nominals))
    covered = Counter(nominals)
    rule = decision.rule
    for span in decision.spans:
        assert span.schedule_key == KEY
        assert span.version == rule.version
        assert span.decided_ms == decision.world.now_ms
        inside = [span.until_s] if rule.follows else list(rule.ticks.between_epochs(span.after_s + 1, span.until_s))
        assert len(inside) == span.ticks > 0
        covered.update(inside)
    if not rule.follows:
        assert covered == Counter(rule.ticks.between_epochs(dial.cursor_s + 1, after.cursor_s))
        assert after.next_nominal_s == rule.ticks.next_epoch(after.cursor_s)


def check_dial(dial: ScheduleState, decision: Decision, after: ScheduleState) -> None:
    """The dial agrees with the rows."""
    states = Counter(run.state for run in decision.runs)
    starts = states[RunState.ENQUEUED]
    assert after.in_flight == starts + (0 if decision.terminate else dial.in_flight)
    assert after.waiting == dial.waiting + states[RunState.BUFFERED]
    assert after.starts == dial.starts + starts
    overlapping = sum(span.ticks for span in decision.spans if span.reason == Reason.OVERLAP)
    assert after.skipped == dial.skipped + states[RunState.SKIPPED] + overlapping
    missed = [span.ticks for span in decision.spans if span.reason not in (Reason.OVERLAP, Reason.RESUMED)]
    assert after.missed == dial.missed + sum(missed)
    assert (after.successes, after.failed, after.failures) == (dial.successes, dial.failed, dial.failures)
    if dial.remaining is None:
        assert after.remaining is None
    else:
        assert after.remaining == dial.remaining - starts >= 0
    assert after.last_start_ms == (decision.world.now_ms if starts else dial.last_start_ms)
    assert after.remaining != 0 or after.next_fire_ms is None
    assert not decision.terminate or dial.in_flight
    assert not decision.supersede or dial.waiting


def check_rows(decision: Decision) -> None:
    """Each row is one that may be inserted, and launched by whoever it names."""
    world = decision.world
    for run in decision.runs:
        assert run.schedule_key == KEY
        assert run.version == decision.rule.version
        assert run.decided_ms == world.now_ms
        assert run.started_ms is None
        assert run.failures == 0
        assert (run.finished_ms == world.now_ms) == (run.state in FINAL)
        if run.state in IN_FLIGHT:
            assert run.state == RunState.ENQUEUED
            assert run.fire_ms <= world.now_ms
            leased = world.owner is not None
            assert (run.owner, run.attempt) == ((world.owner, 1) if leased else (None, 0))
            assert run.due_ms == (None if leased else run.fire_ms)
        else:
            assert (run.owner, run.attempt) == (None, 0)
            assert run.due_ms == (run.fire_ms if run.state == RunState.PLANNED else None)
        assert run.state != RunState.SKIPPED or run.reason is not None


def rows_of(decision: Decision) -> list[tuple[RunState, Reason | None]]:
    return [(RunState(run.state), None if run.reason is None else Reason(run.reason)) for run in decision.runs]
