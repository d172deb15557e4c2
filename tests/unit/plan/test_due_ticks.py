"""Late and missed ticks, and the catch-up policies: every edge case."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.unit.plan.cases import DELAY, LIMITS, NOON, NOON_MS, compiled_of, every, state_of
from tompion.model.policy import CatchUp, OnResume
from tompion.model.run import Reason
from tompion.model.spec import SpecDocument
from tompion.plan.due_ticks import Due, DueTicks, find_due_ticks

GRACE = LIMITS.grace_ms
HOUR = 3_600
LATE_MS = NOON_MS + 5_000
HOURLY = every(HOUR)


def hours(*numbers: int) -> list[int]:
    """Whole hours, counted from noon."""
    return [NOON + HOUR * number for number in numbers]


def nominals(due_ticks: DueTicks) -> list[int]:
    return [due.nominal_s for due in due_ticks.due]


def dropped_ranges(due_ticks: DueTicks) -> list[tuple[int, int, int, str]]:
    return [(lost.after_s, lost.until_s, lost.ticks, lost.reason) for lost in due_ticks.dropped]


# ---------------------------------------------------------------- the grace


@pytest.mark.parametrize(
    ("late_ms", "fires"),
    [(-1, None), (0, True), (1, True), (GRACE - 1, True), (GRACE, True), (GRACE + 1, False), (GRACE + 60_000, False)],
)
def test_grace_is_exact_to_the_millisecond(late_ms: int, fires: bool | None) -> None:
    compiled = compiled_of(HOURLY)
    due_ticks = find_due_ticks(state_of(compiled), compiled, NOON_MS + late_ms, LIMITS, 100)
    assert due_ticks.due == ([Due(NOON, NOON_MS)] if fires else [])
    assert dropped_ranges(due_ticks) == ([(NOON - 1, NOON, 1, Reason.MISSED)] if fires is False else [])
    assert due_ticks.cursor_s == (NOON - 1 if fires is None else NOON)
    assert due_ticks.next_nominal_s == (NOON if fires is None else NOON + HOUR)
    assert due_ticks.next_fire_ms == due_ticks.next_nominal_s * 1000
    assert due_ticks.catchups == 0


@pytest.mark.parametrize("late_ms", [GRACE, GRACE + 1])
@pytest.mark.parametrize("policy", list(CatchUp))
def test_grace_applies_before_the_policy(policy: CatchUp, late_ms: int) -> None:
    compiled = compiled_of(HOURLY, catchup_policy=policy, catchup_window_s=0)
    due_ticks = find_due_ticks(state_of(compiled), compiled, NOON_MS + late_ms, LIMITS, 100)
    assert bool(due_ticks.due) == (late_ms == GRACE)


def test_several_ticks_inside_the_grace_all_fire() -> None:
    compiled = compiled_of(every(10))
    due_ticks = find_due_ticks(state_of(compiled), compiled, NOON_MS + 30_000, LIMITS, 0)
    assert due_ticks.due == [Due(NOON + late, NOON_MS + late * 1000) for late in (0, 10, 20, 30)]
    assert (due_ticks.cursor_s, due_ticks.next_nominal_s) == (NOON + 30, NOON + 40)


@pytest.mark.parametrize(("more_ms", "late"), [(0, [30, 60]), (1, [60])])
def test_grace_is_the_same_after_a_missed_tick(more_ms: int, late: list[int]) -> None:
    compiled = compiled_of(every(30))
    due_ticks = find_due_ticks(state_of(compiled), compiled, NOON_MS + 60_000 + more_ms, LIMITS, 0)
    assert nominals(due_ticks) == [NOON + seconds for seconds in late]
    assert [dropped.ticks for dropped in due_ticks.dropped] == [3 - len(late)]


def test_nothing_is_due_without_a_next_tick() -> None:
    compiled = compiled_of(HOURLY)
    state = state_of(compiled, next_nominal_s=None, next_fire_ms=None)
    assert find_due_ticks(state, compiled, NOON_MS + 1, LIMITS, 100) == DueTicks([], [], NOON - 1, None, None)


# ---------------------------------------------------------------- policy × window × missed × on time

# Ticks are hours and it is five seconds past the last one.  With n missed they are -n … -1, the on-time one is 0.
# policy, window in hours (less ten seconds), missed: the runs, and the dropped ranges (count, reason) of the others
MATRIX: list[tuple[str, int | None, int, list[int], list[tuple[int, str]]]] = [
    ("none", None, 0, [], []),
    ("none", None, 1, [], [(1, "missed")]),
    ("none", None, 5, [], [(5, "missed")]),
    ("none", 0, 0, [], []),
    ("none", 0, 1, [], [(1, "outside_window")]),
    ("none", 0, 5, [], [(5, "outside_window")]),
    ("none", 3, 1, [], [(1, "missed")]),
    ("none", 3, 5, [], [(3, "outside_window"), (2, "missed")]),
    ("coalesce", None, 0, [], []),
    ("coalesce", None, 1, [-1], []),
    ("coalesce", None, 5, [-1], [(4, "coalesced")]),
    ("coalesce", 0, 1, [], [(1, "outside_window")]),
    ("coalesce", 0, 5, [], [(5, "outside_window")]),
    ("coalesce", 3, 1, [-1], []),
    ("coalesce", 3, 5, [-1], [(3, "outside_window"), (1, "coalesced")]),
    ("fire_immediately", None, 0, [], []),
    ("fire_immediately", None, 1, [-1], []),
    ("fire_immediately", None, 5, [-5, -4, -3, -2, -1], []),
    ("fire_immediately", 0, 1, [], [(1, "outside_window")]),
    ("fire_immediately", 0, 5, [], [(5, "outside_window")]),
    ("fire_immediately", 3, 1, [-1], []),
    ("fire_immediately", 3, 5, [-2, -1], [(3, "outside_window")]),
    ("spread", None, 0, [], []),
    ("spread", None, 1, [-1], []),
    ("spread", None, 5, [-5, -4, -3, -2, -1], []),
    ("spread", 0, 1, [], [(1, "outside_window")]),
    ("spread", 0, 5, [], [(5, "outside_window")]),
    ("spread", 3, 1, [-1], []),
    ("spread", 3, 5, [-2, -1], [(3, "outside_window")]),
]  # fmt: skip


# With ``coalesce`` a tick that is on time absorbs the missed ones. The test after the next one is about it.
CASES = [
    (*case, on_time)
    for case in MATRIX
    for on_time in (True, False)
    if not (case[0] == "coalesce" and case[3] and on_time)
]


@pytest.mark.parametrize(("policy", "window", "missed", "run", "lost", "on_time"), CASES)
def test_policy_and_window_decide_missed_ticks(
    policy: str, window: int | None, missed: int, run: list[int], lost: list[tuple[int, str]], on_time: bool
) -> None:
    window_s = window * HOUR - 10 if window else window
    compiled = compiled_of(HOURLY, catchup_policy=CatchUp(policy), catchup_window_s=window_s)
    state = state_of(compiled, NOON - HOUR * missed - 1)
    now_ms = LATE_MS if on_time else NOON_MS - 1
    due_ticks = find_due_ticks(state, compiled, now_ms, LIMITS, 100)
    assert nominals(due_ticks) == hours(*run, *([0] if on_time else []))
    assert [(dropped.ticks, dropped.reason) for dropped in due_ticks.dropped] == lost
    bounds = [state.cursor_s] + [dropped.until_s for dropped in due_ticks.dropped]
    assert [dropped.after_s for dropped in due_ticks.dropped] == bounds[:-1]
    assert due_ticks.catchups == (0 if policy == "spread" else len(run))
    assert due_ticks.next_nominal_s == NOON + (HOUR if on_time else 0)
    caught_up = due_ticks.due[: len(run)]
    assert [due.planned for due in due_ticks.due] == [policy == "spread"] * len(run) + [False] * on_time
    assert {due.reason for due in caught_up} <= {Reason.COALESCED if policy == "coalesce" else Reason.CATCH_UP}
    assert all(due.reason is None for due in due_ticks.due[len(run) :])
    assert all(due.fire_ms == due.nominal_s * 1000 for due in due_ticks.due if not due.planned)


# window in hours (less ten seconds), missed ticks: the dropped ranges (count, reason) when the last hour is only late
ABSORBED: list[tuple[int | None, int, list[tuple[int, str]]]] = [
    (None, 1, [(1, "coalesced")]),
    (None, 5, [(5, "coalesced")]),
    (3, 1, [(1, "coalesced")]),
    (3, 5, [(3, "outside_window"), (2, "coalesced")]),
]


@pytest.mark.parametrize("late_ms", [0, 5_000, GRACE])
@pytest.mark.parametrize(("window", "missed", "lost"), ABSORBED)
def test_coalesce_runs_the_latest_due_tick_although_it_is_only_late(
    window: int | None, missed: int, lost: list[tuple[int, str]], late_ms: int
) -> None:
    """Regression: the last missed tick ran, and the tick after it, which was only late, was skipped as overlap."""
    window_s = window * HOUR - 10 if window else window
    compiled = compiled_of(HOURLY, catchup_policy=CatchUp.COALESCE, catchup_window_s=window_s)
    state = state_of(compiled, NOON - HOUR * missed - 1)
    due_ticks = find_due_ticks(state, compiled, NOON_MS + late_ms, LIMITS, 0)
    assert due_ticks.due == [Due(NOON, NOON_MS, Reason.COALESCED)]
    assert [(dropped.ticks, dropped.reason) for dropped in due_ticks.dropped] == lost
    assert (due_ticks.cursor_s, due_ticks.next_nominal_s) == (NOON, NOON + HOUR)
    assert due_ticks.catchups == 0


def test_coalesce_absorbs_every_late_tick_after_a_missed_one() -> None:
    compiled = compiled_of(every(10), catchup_policy=CatchUp.COALESCE)
    due_ticks = find_due_ticks(state_of(compiled), compiled, NOON_MS + 40_000, LIMITS, 0)
    assert due_ticks.due == [Due(NOON + 40, NOON_MS + 40_000, Reason.COALESCED)]
    assert dropped_ranges(due_ticks) == [(NOON - 1, NOON + 30, 4, Reason.COALESCED)]


def test_coalesce_starts_every_tick_if_none_was_missed() -> None:
    compiled = compiled_of(every(10), catchup_policy=CatchUp.COALESCE)
    due_ticks = find_due_ticks(state_of(compiled), compiled, NOON_MS + 30_000, LIMITS, 0)
    assert due_ticks.due == [Due(NOON + late, NOON_MS + late * 1000) for late in (0, 10, 20, 30)]
    assert due_ticks.dropped == []


@pytest.mark.parametrize(
    ("skipped", "run", "lost"),
    [([0], [-1, 0], 1), ([-1], [0], 2), ([0, -1], [-2, -1, 0], 0), ([0, -1, -2], [-2, -1, 0], 0)],
)
@pytest.mark.parametrize("most", [10_000, 2, 1])
def test_coalesce_runs_the_latest_tick_without_a_skip(skipped: list[int], run: list[int], lost: int, most: int) -> None:
    """Ticks after it are written one by one, because their skips were requested. A small pass gives the same result."""
    compiled = compiled_of(HOURLY, catchup_policy=CatchUp.COALESCE)
    skips = ",".join(map(str, sorted(hours(*skipped))))
    state = state_of(compiled, NOON - 2 * HOUR - 1, skips=skips)
    limits = LIMITS._replace(max_dropped_range_ticks=most)
    started, dropped = [], 0
    while state.next_nominal_s is not None and state.next_nominal_s <= NOON:
        due_ticks = find_due_ticks(state, compiled, LATE_MS, limits, 1)
        started += nominals(due_ticks)
        dropped += sum(lost.ticks for lost in due_ticks.dropped)
        state = state._replace(cursor_s=due_ticks.cursor_s, next_nominal_s=due_ticks.next_nominal_s)
    assert (started, dropped) == (hours(*run), lost)


@pytest.mark.parametrize(("age_ms", "runs"), [(HOUR * 1000 - 1, True), (HOUR * 1000, False), (HOUR * 1000 + 1, False)])
def test_only_ticks_inside_the_window_are_caught_up(age_ms: int, runs: bool) -> None:
    compiled = compiled_of(every(86_400), catchup_policy=CatchUp.FIRE_IMMEDIATELY, catchup_window_s=HOUR)
    tick = NOON + 12 * HOUR
    due_ticks = find_due_ticks(state_of(compiled), compiled, tick * 1000 + age_ms, LIMITS, 100)
    assert nominals(due_ticks) == ([tick] if runs else [])
    assert [dropped.reason for dropped in due_ticks.dropped] == ([] if runs else [Reason.OUTSIDE_WINDOW])


def test_window_of_zero_drops_a_tick_that_jitter_moved_forward() -> None:
    """Regression: a window of 0 caught up a missed tick.

    Jitter had moved its fire time minutes before the tick. When it was missed, the tick itself was still in the future,
    and the window only checked that.
    """
    compiled = compiled_of(
        every(HOUR, jitter_ms=1_500_000), catchup_policy=CatchUp.FIRE_IMMEDIATELY, catchup_window_s=0
    )
    tick = next(tick for tick in hours(*range(50)) if compiled.fire_ms(tick) < tick * 1000 - 10 * GRACE)
    due_ticks = find_due_ticks(state_of(compiled, tick - 1), compiled, compiled.fire_ms(tick) + GRACE + 1, LIMITS, 100)
    assert due_ticks.due == []
    assert dropped_ranges(due_ticks) == [(tick - 1, tick, 1, Reason.OUTSIDE_WINDOW)]


# ---------------------------------------------------------------- bounds of one pass


def test_spread_is_even_and_in_order() -> None:
    compiled = compiled_of(HOURLY, catchup_policy=CatchUp.SPREAD)
    due_ticks = find_due_ticks(state_of(compiled, NOON - 7 * HOUR), compiled, LATE_MS, LIMITS, 0)
    planned = [due for due in due_ticks.due if due.planned]
    assert [due.nominal_s for due in planned] == hours(-6, -5, -4, -3, -2, -1)
    assert [due.fire_ms - LATE_MS for due in planned] == [0, 10_000, 20_000, 30_000, 40_000, 50_000]
    assert due_ticks.due[-1] == Due(NOON, NOON_MS)
    assert due_ticks.catchups == 0


def test_uneven_spread_stays_within_the_lookahead() -> None:
    compiled = compiled_of(every(60), catchup_policy=CatchUp.SPREAD)
    due_ticks = find_due_ticks(state_of(compiled, NOON - 60 * 7), compiled, LATE_MS, LIMITS, 0)
    fires = [due.fire_ms for due in due_ticks.due if due.planned]
    assert fires == sorted(set(fires))
    assert {later - earlier for earlier, later in pairwise(fires)} <= {60_000 // 6, 60_000 // 7, 60_000 // 7 + 1}
    assert LATE_MS <= fires[0] <= fires[-1] < LATE_MS + LIMITS.lookahead_ms


def test_spread_is_limited_and_continues_after_the_lookahead() -> None:
    limits = LIMITS._replace(max_spread=4)
    compiled = compiled_of(HOURLY, catchup_policy=CatchUp.SPREAD)
    state = state_of(compiled, NOON - 6 * HOUR - 1)
    first = find_due_ticks(state, compiled, LATE_MS, limits, 0)
    assert [due.fire_ms - LATE_MS for due in first.due] == [0, 15_000, 30_000, 45_000]
    assert (first.next_nominal_s, first.next_fire_ms) == (NOON - 2 * HOUR, LATE_MS + limits.lookahead_ms)
    again = state._replace(cursor_s=first.cursor_s, next_nominal_s=first.next_nominal_s)
    second = find_due_ticks(again, compiled, LATE_MS + limits.lookahead_ms, limits, 0)
    assert nominals(first) + nominals(second) == hours(-6, -5, -4, -3, -2, -1, 0)


@pytest.mark.parametrize(("most", "budget", "runs"), [(100, 0, 0), (100, 1, 1), (100, 4, 4), (3, 100, 3), (3, 2, 2)])
def test_fire_immediately_is_bounded_per_pass(most: int, budget: int, runs: int) -> None:
    compiled = compiled_of(HOURLY, catchup_policy=CatchUp.FIRE_IMMEDIATELY)
    state = state_of(compiled, NOON - 10 * HOUR - 1)
    due_ticks = find_due_ticks(state, compiled, LATE_MS, LIMITS._replace(max_catchup=most), budget)
    assert nominals(due_ticks) == hours(*range(-10, -10 + runs))
    assert due_ticks.catchups == runs
    assert due_ticks.cursor_s == (NOON - HOUR * (11 - runs) if runs else state.cursor_s)
    assert due_ticks.next_nominal_s == NOON - HOUR * (10 - runs)
    next_tick_ms = LATE_MS + LIMITS.tick_ms  # of the engine
    assert due_ticks.next_fire_ms == (next_tick_ms if runs == most else due_ticks.next_nominal_s * 1000)
    assert due_ticks.dropped == []


def test_fire_immediately_continues_over_passes_without_loss() -> None:
    compiled = compiled_of(HOURLY, catchup_policy=CatchUp.FIRE_IMMEDIATELY)
    state = state_of(compiled, NOON - 250 * HOUR - 1)
    nominal_times = []
    for number in range(3):
        due_ticks = find_due_ticks(state, compiled, LATE_MS + number, LIMITS, 1_000)
        nominal_times += nominals(due_ticks)
        assert due_ticks.catchups == (100, 100, 50)[number]
        state = state._replace(cursor_s=due_ticks.cursor_s, next_nominal_s=due_ticks.next_nominal_s)
    assert nominal_times == hours(*range(-250, 1))
    assert state.cursor_s == NOON


@pytest.mark.parametrize(("budget", "run", "lost"), [(0, [], []), (1, [-1], [4])])
def test_coalesce_waits_for_the_budget(budget: int, run: list[int], lost: list[int]) -> None:
    compiled = compiled_of(HOURLY, catchup_policy=CatchUp.COALESCE)
    state = state_of(compiled, NOON - 5 * HOUR - 1)
    due_ticks = find_due_ticks(state, compiled, NOON_MS - 1, LIMITS, budget)
    assert nominals(due_ticks) == hours(*run)
    assert [dropped.ticks for dropped in due_ticks.dropped] == lost
    assert due_ticks.next_nominal_s == NOON + (0 if run else -5 * HOUR)
    assert due_ticks.catchups == budget


def test_ticks_outside_the_window_need_no_budget() -> None:
    compiled = compiled_of(HOURLY, catchup_policy=CatchUp.COALESCE, catchup_window_s=3 * HOUR - 10)
    due_ticks = find_due_ticks(state_of(compiled, NOON - 5 * HOUR - 1), compiled, NOON_MS - 1, LIMITS, 0)
    assert [(dropped.ticks, dropped.reason) for dropped in due_ticks.dropped] == [(3, Reason.OUTSIDE_WINDOW)]
    assert (due_ticks.due, due_ticks.cursor_s, due_ticks.next_nominal_s) == ([], NOON - 3 * HOUR, NOON - 2 * HOUR)


# maximum ticks of a dropped range: the runs of the passes, and the ticks that each drops, for six missed ticks
CHUNKS: dict[str, tuple[int, list[list[int]], list[list[int]]]] = {
    "none": (4, [[], [0]], [[4], [2]]),
    "none, even": (3, [[], [0]], [[3], [3]]),
    "none, exactly": (6, [[0]], [[6]]),
    "coalesce": (4, [[], [0]], [[4], [2]]),
    "coalesce, even": (3, [[], [0]], [[3], [3]]),
    "coalesce, one over": (5, [[], [0]], [[5], [1]]),
    "fire_immediately": (4, [[-6, -5, -4, -3], [-2, -1, 0]], [[], []]),
    "spread": (4, [[-6, -5, -4, -3], [-2, -1, 0]], [[], []]),
}


@pytest.mark.parametrize("name", CHUNKS)
def test_missed_ticks_are_walked_in_chunks(name: str) -> None:
    most, runs, drops = CHUNKS[name]
    compiled = compiled_of(HOURLY, catchup_policy=CatchUp(name.split(",", maxsplit=1)[0]))
    state = state_of(compiled, NOON - 6 * HOUR - 1)
    for run, lost in zip(runs, drops, strict=True):
        due_ticks = find_due_ticks(state, compiled, LATE_MS, LIMITS._replace(max_dropped_range_ticks=most), 100)
        assert nominals(due_ticks) == hours(*run)
        assert [dropped.ticks for dropped in due_ticks.dropped] == lost
        state = state._replace(cursor_s=due_ticks.cursor_s, next_nominal_s=due_ticks.next_nominal_s)
    assert state.cursor_s == NOON


# ---------------------------------------------------------------- after a pause

# on_resume, ticks of the pause, whether the last of them is inside the grace: the runs
CARRIED: list[tuple[OnResume, int, int, list[int]]] = [
    (OnResume.SKIP, 1, 60_000, []),
    (OnResume.SKIP, 4, 60_000, []),
    (OnResume.SKIP, 1, 5_000, []),
    (OnResume.SKIP, 4, 5_000, []),
    (OnResume.FIRE_ONCE, 1, 60_000, [0]),
    (OnResume.FIRE_ONCE, 4, 60_000, [0]),
    (OnResume.FIRE_ONCE, 1, 5_000, [0]),
    (OnResume.FIRE_ONCE, 4, 5_000, [0]),
]


@pytest.mark.parametrize("policy", list(CatchUp))
@pytest.mark.parametrize(("on_resume", "ticks", "after_ms", "run"), CARRIED)
def test_on_resume_decides_the_ticks_of_a_pause(
    on_resume: OnResume, ticks: int, after_ms: int, run: list[int], policy: CatchUp
) -> None:
    compiled = compiled_of(HOURLY, catchup_policy=policy, catchup_window_s=0)
    state = state_of(compiled, NOON - HOUR * ticks, carry=on_resume, carry_until_s=NOON + after_ms // 1000)
    due_ticks = find_due_ticks(state, compiled, NOON_MS + after_ms, LIMITS, 100)
    assert nominals(due_ticks) == hours(*run)
    dropped = ticks - len(run)
    assert [(lost.ticks, lost.reason) for lost in due_ticks.dropped] == ([(dropped, Reason.RESUMED)] if dropped else [])
    assert all(due.reason == Reason.RESUMED for due in due_ticks.due)
    assert (due_ticks.cursor_s, due_ticks.next_nominal_s) == (NOON, NOON + HOUR)


def test_ticks_after_the_pause_follow_the_policy_again() -> None:
    compiled = compiled_of(HOURLY, catchup_policy=CatchUp.FIRE_IMMEDIATELY)
    state = state_of(compiled, NOON - 6 * HOUR - 1, carry=OnResume.SKIP, carry_until_s=NOON - 3 * HOUR)
    due_ticks = find_due_ticks(state, compiled, LATE_MS, LIMITS, 100)
    assert dropped_ranges(due_ticks) == [(state.cursor_s, NOON - 3 * HOUR, 4, Reason.RESUMED)]
    assert nominals(due_ticks) == hours(-2, -1, 0)


@pytest.mark.parametrize(("budget", "run", "lost"), [(0, [], []), (1, [-3], [3]), (2, [-3, -1], [3, 1])])
def test_one_run_for_the_pause_and_one_for_the_rest_within_the_budget(
    budget: int, run: list[int], lost: list[int]
) -> None:
    compiled = compiled_of(HOURLY, catchup_policy=CatchUp.COALESCE)
    state = state_of(compiled, NOON - 6 * HOUR - 1, carry=OnResume.FIRE_ONCE, carry_until_s=NOON - 3 * HOUR)
    due_ticks = find_due_ticks(state, compiled, NOON_MS - 1, LIMITS, budget)
    assert nominals(due_ticks) == hours(*run)
    assert [dropped.ticks for dropped in due_ticks.dropped] == lost
    assert due_ticks.catchups == budget
    assert due_ticks.cursor_s == (NOON - HOUR if budget == 2 else NOON - 3 * HOUR if budget else state.cursor_s)


@pytest.mark.parametrize(("most", "passes"), [(3, 3), (4, 2), (7, 1)])
def test_a_long_pause_still_fires_once(most: int, passes: int) -> None:
    compiled = compiled_of(HOURLY)
    state = state_of(compiled, NOON - 7 * HOUR, carry=OnResume.FIRE_ONCE, carry_until_s=NOON)
    nominal_times = []
    for _ in range(passes):
        due_ticks = find_due_ticks(
            state, compiled, LATE_MS + 60_000, LIMITS._replace(max_dropped_range_ticks=most), 100
        )
        nominal_times += nominals(due_ticks)
        state = state._replace(cursor_s=due_ticks.cursor_s, next_nominal_s=due_ticks.next_nominal_s)
    assert nominal_times == [NOON]
    assert state.cursor_s == NOON


def test_a_late_tick_of_a_pause_needs_no_budget() -> None:
    """Regression: after a short pause with ``fire_once`` the run came half a minute late, and the engine was busy.

    The tick was inside the grace, so the pass for ticks on time found the schedule, which has no budget for catching
    up. The planner still required budget, and did nothing until the grace was over.
    """
    compiled = compiled_of(every(10))
    state = state_of(compiled, carry=OnResume.FIRE_ONCE, carry_until_s=NOON + 12)
    due_ticks = find_due_ticks(state, compiled, NOON_MS + 12_000, LIMITS, 0)
    assert due_ticks.due == [Due(NOON + 10, NOON_MS + 10_000, Reason.RESUMED)]
    assert dropped_ranges(due_ticks) == [(NOON - 1, NOON, 1, Reason.RESUMED)]
    assert due_ticks.catchups == 0


# ---------------------------------------------------------------- ends, delays and jitter


@pytest.mark.parametrize(("policy", "run"), [("none", []), ("coalesce", [-1]), ("fire_immediately", [-2, -1])])
def test_missed_ticks_are_caught_up_after_the_end(policy: str, run: list[int]) -> None:
    compiled = compiled_of(every(HOUR, end_at="2026-01-01T11:00:00Z"), catchup_policy=CatchUp(policy))
    due_ticks = find_due_ticks(state_of(compiled, NOON - 2 * HOUR - 1), compiled, NOON_MS + 10**9, LIMITS, 100)
    assert nominals(due_ticks) == hours(*run)
    assert sum(dropped.ticks for dropped in due_ticks.dropped) == 2 - len(run)
    assert (due_ticks.cursor_s, due_ticks.next_nominal_s, due_ticks.next_fire_ms) == (NOON - HOUR, None, None)


def test_the_last_tick_is_the_end_itself() -> None:
    compiled = compiled_of(every(HOUR, end_at="2026-01-01T12:00:00Z"))
    due_ticks = find_due_ticks(state_of(compiled), compiled, NOON_MS, LIMITS, 0)
    assert due_ticks == DueTicks([Due(NOON, NOON_MS)], [], NOON, None, None)


def test_a_start_exactly_on_a_tick_is_a_tick() -> None:
    compiled = compiled_of(every(HOUR, start_at="2026-01-01T12:00:00Z"), catchup_policy=CatchUp.FIRE_IMMEDIATELY)
    state = state_of(compiled, NOON - 100 * HOUR)
    assert (state.next_nominal_s, state.next_fire_ms) == (NOON, NOON_MS)
    assert nominals(find_due_ticks(state, compiled, NOON_MS - 1, LIMITS, 100)) == []
    assert nominals(find_due_ticks(state, compiled, NOON_MS + 3 * HOUR * 1000, LIMITS, 100)) == hours(0, 1, 2, 3)


@pytest.mark.parametrize("late_ms", [0, 1, GRACE + 1, 10**9])
def test_a_fixed_delay_is_late_but_never_missed(late_ms: int) -> None:
    compiled = compiled_of(DELAY)
    due_ticks = find_due_ticks(state_of(compiled), compiled, NOON_MS + late_ms, LIMITS, 0)
    assert due_ticks == DueTicks([Due(NOON, NOON_MS)], [], NOON, None, None)


def test_a_fixed_delay_is_never_early() -> None:
    compiled = compiled_of(DELAY)
    assert find_due_ticks(state_of(compiled), compiled, NOON_MS - 1, LIMITS, 0) == DueTicks(
        [], [], NOON - 1, NOON, NOON_MS
    )


def test_a_fixed_delay_after_a_pause() -> None:
    compiled = compiled_of(DELAY)
    state = state_of(compiled, carry=OnResume.SKIP, carry_until_s=NOON + 100)
    due_ticks = find_due_ticks(state, compiled, NOON_MS + 100_500, LIMITS, 0)
    assert dropped_ranges(due_ticks) == [(NOON - 1, NOON, 1, Reason.RESUMED)]
    assert (due_ticks.due, due_ticks.next_nominal_s) == ([], NOON + 160)
    once = state._replace(carry=OnResume.FIRE_ONCE)
    assert nominals(find_due_ticks(once, compiled, NOON_MS + 100_500, LIMITS, 0)) == [NOON]


@pytest.mark.parametrize("spec", [every(60, jitter_ms=40_000), every(60, jitter_ms=40_000, jitter_mode="delay")])
def test_jitter_keeps_the_order_and_nothing_is_early(spec: SpecDocument) -> None:
    compiled = compiled_of(spec)
    state = state_of(compiled)
    dues: list[Due] = []
    for now_ms in range(NOON_MS - 30_000, NOON_MS + 1_800_000, 700):
        due_ticks = find_due_ticks(state, compiled, now_ms, LIMITS, 0)
        assert all(due.fire_ms <= now_ms < due.fire_ms + 700 or not dues for due in due_ticks.due)
        assert due_ticks.next_fire_ms is not None
        assert due_ticks.next_fire_ms > now_ms
        dues += due_ticks.due
        state = state._replace(cursor_s=due_ticks.cursor_s, next_nominal_s=due_ticks.next_nominal_s)
    assert nominals(DueTicks(dues, [], 0, None, None)) == [NOON + 60 * number for number in range(len(dues))]
    assert len(dues) in (29, 30, 31)
    assert all(earlier.fire_ms < later.fire_ms for earlier, later in pairwise(dues))
    assert len({due.fire_ms - due.nominal_s * 1000 for due in dues}) > 20


def test_lateness_counts_from_the_jittered_fire_time() -> None:
    compiled = compiled_of(every(HOUR, jitter_ms=1_000_000, jitter_mode="delay"))
    fire_ms = compiled.fire_ms(NOON)
    assert fire_ms > NOON_MS + GRACE
    assert nominals(find_due_ticks(state_of(compiled), compiled, fire_ms - 1, LIMITS, 0)) == []
    assert nominals(find_due_ticks(state_of(compiled), compiled, fire_ms + GRACE, LIMITS, 0)) == [NOON]
    assert nominals(find_due_ticks(state_of(compiled), compiled, fire_ms + GRACE + 1, LIMITS, 0)) == []


@pytest.mark.parametrize("on_resume", [OnResume.FIRE_ONCE, OnResume.SKIP])
def test_resumed_tick_is_not_decided_before_its_time(on_resume: OnResume) -> None:
    """The schedule was resumed while the clock was ahead. After its correction, carry_until is in the future."""
    compiled = compiled_of(every(30), catchup_policy=CatchUp.COALESCE, catchup_window_s=0)
    state = state_of(compiled, carry=on_resume, carry_until_s=NOON + 38)
    due_ticks = find_due_ticks(state, compiled, NOON_MS, LIMITS, 100)
    assert due_ticks.cursor_s <= NOON
