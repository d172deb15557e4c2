"""Every tick is accounted for, over any passes at any times, compared with a walk of all seconds."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.unit.plan.cases import NOON, NOON_MS, compiled_of, every, state_of
from tompion.model.policy import CatchUp, OnResume
from tompion.model.run import Reason
from tompion.model.schedule_state import ScheduleState
from tompion.model.spec import SpecDocument
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.due_ticks import Dropped, Due, DueLimits, DueTicks, find_due_ticks
from tompion.plan.pause import pause_state, resume_state

GRACE = 30_000
LONGEST = 20_000

# A spec, and the same as a predicate of one second.
SPECS: list[tuple[SpecDocument, Callable[[int], bool]]] = [
    (every(7), lambda second: second % 7 == 0),
    (every(60, jitter_ms=25_000), lambda second: second % 60 == 0),
    (every(90, jitter_ms=60_000, jitter_mode="delay"), lambda second: second % 90 == 0),
    (every(60, jitter_ms=55_000, jitter_mode="temporal", jitter_seed="n-s"), lambda second: second % 60 == 0),
    (every(45, start_at="2026-01-01T12:05:15Z"), lambda second: second % 45 == 0 and second >= NOON + 315),
    (every(30, end_at="2026-01-01T12:20:00Z"), lambda second: second % 30 == 0 and second <= NOON + 1_200),
    (SpecDocument(cron=("*/5 * * * *", "3 * * * *")), lambda s: s % 300 == 0 or s % 3600 == 180),
    (SpecDocument(times=("2026-01-01T12:00:00Z", "2026-01-01T12:00:01Z")), lambda second: NOON <= second <= NOON + 1),
]


class Scenario(NamedTuple):
    """The history of a schedule: its policy, its bounds, and the times and budgets of its passes."""

    spec: int
    policy: CatchUp
    window_s: int | None
    limits: DueLimits
    carry: OnResume | None
    carry_for_s: int
    passes: list[tuple[int, int]]


scenarios = st.builds(
    Scenario,
    st.integers(0, len(SPECS) - 1),
    st.sampled_from(CatchUp),
    st.sampled_from([None, None, 0, 45, 600]),
    st.builds(
        DueLimits,
        st.just(GRACE),
        max_catchup=st.integers(1, 5),
        max_spread=st.integers(1, 5),
        max_dropped_range_ticks=st.integers(1, 12),
        lookahead_ms=st.just(60_000),
    ),
    st.sampled_from([None, None, OnResume.SKIP, OnResume.FIRE_ONCE]),
    st.integers(0, 900),
    st.lists(st.tuples(st.sampled_from([0, 1, 999, 7_000, 30_000, 61_003, 700_000]), st.integers(0, 6)), max_size=25),
)


def walk_seconds(spec: int, after_s: int, until_s: int) -> list[int]:
    """All ticks after one second up to another, by checking each second."""
    ticks = all_ticks(spec)
    assert until_s < NOON + LONGEST
    return ticks[bisect_right(ticks, after_s) : bisect_right(ticks, until_s)]


@cache
def all_ticks(spec: int) -> list[int]:
    return [second for second in range(NOON, NOON + LONGEST) if SPECS[spec][1](second)]


def start_of(scenario: Scenario) -> tuple[CompiledSchedule, ScheduleState, int]:
    """The rule, the state and the time at which a scenario begins: at noon, or after a pause since noon."""
    compiled = compiled_of(SPECS[scenario.spec][0], catchup_policy=scenario.policy, catchup_window_s=scenario.window_s)
    state = state_of(compiled)
    if scenario.carry is None:
        return compiled, state, NOON_MS
    now_ms = NOON_MS + scenario.carry_for_s * 1000
    return compiled, resume_state(pause_state(state, None), compiled, now_ms, scenario.carry), now_ms


def play(scenario: Scenario) -> tuple[CompiledSchedule, list[tuple[int, int, DueTicks]]]:
    """Return the passes of a scenario: the cursor before, the time, and the due ticks."""
    compiled, state, now_ms = start_of(scenario)
    passes = []
    for wait_ms, budget in scenario.passes:
        now_ms += wait_ms
        due_ticks = find_due_ticks(state, compiled, now_ms, scenario.limits, budget)
        assert due_ticks.catchups <= budget
        passes.append((state.cursor_s, now_ms, due_ticks))
        state = state._replace(cursor_s=due_ticks.cursor_s, next_nominal_s=due_ticks.next_nominal_s)
    return compiled, passes


@given(scenarios)
@settings(max_examples=150)
def test_every_tick_is_in_exactly_one_place(scenario: Scenario) -> None:
    compiled, passes = play(scenario)
    places: Counter[int] = Counter()
    cursor_s = NOON - 1
    for before_s, now_ms, due_ticks in passes:
        assert before_s == cursor_s <= due_ticks.cursor_s
        cursor_s = due_ticks.cursor_s
        assert [due.nominal_s for due in due_ticks.due] == sorted({due.nominal_s for due in due_ticks.due})
        places.update(due.nominal_s for due in due_ticks.due)
        for dropped in due_ticks.dropped:
            inside = walk_seconds(scenario.spec, dropped.after_s, dropped.until_s)
            assert len(inside) == dropped.ticks > 0
            assert inside[-1] == dropped.until_s
            assert before_s <= dropped.after_s < dropped.until_s <= cursor_s
            places.update(inside)
        assert all(due.planned or due.fire_ms <= now_ms for due in due_ticks.due)
        assert all(compiled.fire_ms(second) <= now_ms for second in walk_seconds(scenario.spec, before_s, cursor_s))
    assert places == Counter(walk_seconds(scenario.spec, NOON - 1, cursor_s))
    event(f"{scenario.policy}: {min(len(places), 20) // 5 * 5}+ ticks")


@given(scenarios)
@settings(max_examples=120)
def test_age_decides_how_each_tick_is_treated(scenario: Scenario) -> None:
    """A tick on time has no reason. The pause decides its own ticks. Window and policy decide the others."""
    compiled, passes = play(scenario)
    for _, now_ms, due_ticks in passes:
        for due in due_ticks.due:
            missed = compiled.fire_ms(due.nominal_s) < now_ms - GRACE
            assert due.planned == (missed and scenario.policy == CatchUp.SPREAD and due.reason != Reason.RESUMED)
            if is_carried(scenario, compiled, due.nominal_s):
                assert (due.reason, scenario.carry) == (Reason.RESUMED, OnResume.FIRE_ONCE)
            elif missed:
                assert due.reason == (Reason.COALESCED if scenario.policy == CatchUp.COALESCE else Reason.CATCH_UP)
                assert scenario.policy != CatchUp.NONE
                assert is_young(scenario, compiled, due.nominal_s, now_ms)
            elif due.reason is not None:
                assert (due.reason, scenario.policy) == (Reason.COALESCED, CatchUp.COALESCE)
                assert due_ticks.dropped[-1].reason == Reason.COALESCED
        for dropped in due_ticks.dropped:
            check_dropped(scenario, compiled, dropped, now_ms)


@given(scenarios)
@settings(max_examples=120)
def test_coalesced_pass_starts_one_run_and_it_is_the_latest(scenario: Scenario) -> None:
    """A pass that coalesces ticks starts nothing besides the last of them, and it leaves no due tick behind."""
    scenario = scenario._replace(policy=CatchUp.COALESCE, carry=None)
    compiled, passes = play(scenario)
    for _, now_ms, due_ticks in passes:
        if not any(due.reason == Reason.COALESCED for due in due_ticks.due):
            continue
        (due,) = due_ticks.due
        assert due.nominal_s == due_ticks.cursor_s
        assert due_ticks.next_fire_ms is None or due_ticks.next_fire_ms > now_ms
        event("coalesced" if compiled.fire_ms(due.nominal_s) < now_ms - GRACE else "coalesced with a late tick")


def check_dropped(scenario: Scenario, compiled: CompiledSchedule, dropped: Dropped, now_ms: int) -> None:
    seconds = walk_seconds(scenario.spec, dropped.after_s, dropped.until_s)
    for second in seconds:
        if is_carried(scenario, compiled, second):
            assert dropped.reason == Reason.RESUMED
            continue
        oldest = seconds[0] if dropped.reason == Reason.COALESCED else second
        assert compiled.fire_ms(oldest) < now_ms - GRACE
        if not is_young(scenario, compiled, second, now_ms):
            assert dropped.reason == Reason.OUTSIDE_WINDOW
        else:
            expected = {CatchUp.NONE: Reason.MISSED, CatchUp.COALESCE: Reason.COALESCED}
            assert dropped.reason == expected[scenario.policy]


def is_carried(scenario: Scenario, compiled: CompiledSchedule, second: int) -> bool:
    """Return whether a tick's fire time was in the pause."""
    return scenario.carry is not None and compiled.fire_ms(second) <= NOON_MS + scenario.carry_for_s * 1000


def is_young(scenario: Scenario, compiled: CompiledSchedule, second: int, now_ms: int) -> bool:
    """Return whether a tick is inside the window. Temporal counts from its fire time."""
    window = scenario.window_s
    born_ms = compiled.fire_ms(second) if compiled.spec.jitter_mode == "temporal" else second * 1000
    return window is None or (window > 0 and now_ms - born_ms < window * 1000)


@given(scenarios, st.integers(1, 6))
@settings(max_examples=60)
def test_repeated_passes_bring_a_schedule_up_to_date(scenario: Scenario, budget: int) -> None:
    """With any budget the passes end, and only future ticks are left.

    Spreading must take more ticks at a time than the lookahead has.
    """
    compiled, passes = play(scenario)
    limits = scenario.limits._replace(max_spread=10)
    cursor_s, now_ms = (passes[-1][2].cursor_s, passes[-1][1]) if passes else (NOON - 1, NOON_MS)
    state = state_of(compiled, cursor_s)
    for _ in range(2_000):
        due_ticks = find_due_ticks(state, compiled, now_ms, limits, budget)
        state = state._replace(cursor_s=due_ticks.cursor_s, next_nominal_s=due_ticks.next_nominal_s)
        if due_ticks.next_fire_ms is None or due_ticks.next_fire_ms > now_ms + limits.lookahead_ms:
            break
        if due_ticks.next_fire_ms > now_ms:
            now_ms = due_ticks.next_fire_ms
            if state.next_nominal_s is not None and compiled.fire_ms(state.next_nominal_s) >= now_ms:
                break
    else:
        pytest.fail("the schedule never comes up to date")


def test_decision_is_deterministic() -> None:
    compiled = compiled_of(every(7, jitter_ms=2_000), catchup_policy=CatchUp.FIRE_IMMEDIATELY)
    limits = DueLimits(GRACE, 5, 5, 50, 60_000)
    answers = [find_due_ticks(state_of(compiled), compiled, NOON_MS + 100_000, limits, 3) for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    first = compiled.ticks.at_or_after(NOON)
    assert first is not None
    assert answers[0].due[0] == Due(first, compiled.fire_ms(first), Reason.CATCH_UP)
