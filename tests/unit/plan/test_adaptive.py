"""The rules of adaptive schedules: each row of a table is one rule at one moment."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.plan.adaptive_cases import FIVE_MINUTES, HOUR_MS, adaptive_schedule, after_run, hint, hints
from tests.unit.plan.cases import DELAY, KEY, NOON, NOON_MS, compiled_of, every, state_of
from tompion.model.hint import HintRows
from tompion.model.run import RunSource
from tompion.model.schedule import Action
from tompion.model.schedule_state import ScheduleState
from tompion.model.spec import ExcludeDocument, IntervalDocument, NamedCalendar, SpecDocument, WindowDocument
from tompion.plan import edit
from tompion.plan.adaptive import AdaptivePlan, has_conflicting_hints, hints_of, plan_next_run
from tompion.plan.compiled_schedule import CompiledSchedule, compile_schedule


def planned_after_noon(state: ScheduleState, compiled: CompiledSchedule, now_s: float) -> int | None:
    """The time of the next run in seconds after noon."""
    planned_after_noon = plan_next_run(state, compiled, NOON_MS + int(now_s * 1000))
    return None if planned_after_noon is None else planned_after_noon.nominal_s - NOON


# --- the baseline -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "took_s", "expected"),
    [
        (every(60), 10, 60),  # from start to start
        (every(60), 60, 60),  # just in time
        (every(60), 90, 150),  # it took longer: the interval begins with its end
        (every(60), 60.5, 60),  # seconds count
        (every(60), 61.5, 121),
        (SpecDocument(cron=("@every 1m",)), 90, 150),
        (DELAY, 10, 70),  # a fixed delay always begins with the end
        (DELAY, 90, 150),
        (FIVE_MINUTES, 10, 300),
        (FIVE_MINUTES, 600, 600),  # it has missed one and the next is due: it runs once, at once
        (FIVE_MINUTES, 700, 700),
        (FIVE_MINUTES, 700.2, 700),
    ],
)
def test_the_next_run_follows_the_last_one(spec: SpecDocument, took_s: float, expected: int) -> None:
    compiled = adaptive_schedule(spec)
    assert planned_after_noon(after_run(compiled, took_s), compiled, took_s) == expected


def test_next_run_returns_to_the_grid() -> None:
    """A five-minute cron whose run takes ten minutes runs once at once, then at its usual times."""
    compiled = adaptive_schedule(FIVE_MINUTES)
    again = after_run(compiled, 600)._replace(
        cursor_s=NOON + 700, last_start_ms=NOON_MS + 700_000, last_end_ms=NOON_MS + 710_000
    )
    assert planned_after_noon(again, compiled, 710) == 900


@pytest.mark.parametrize(
    ("spec", "first"),
    [(every(60), 0), (every(7), 4), (FIVE_MINUTES, 0), (DELAY, 0), (SpecDocument(cron=("30 12 * * *",)), 1_800)],
)
def test_first_run_is_planned_as_in_any_schedule(spec: SpecDocument, first: int) -> None:
    state = state_of(adaptive_schedule(spec))
    assert (state.next_nominal_s, state.next_fire_ms) == (NOON + first, NOON_MS + first * 1000)


@pytest.mark.parametrize(
    ("failures", "expected"), [(0, 60), (1, 120), (2, 240), (3, 480), (4, 960), (5, 1_920), (6, 1_920), (50, 1_920)]
)
def test_failures_double_the_interval(failures: int, expected: int) -> None:
    compiled = adaptive_schedule()
    assert planned_after_noon(after_run(compiled, failures=failures), compiled, 10) == expected


@pytest.mark.parametrize("failures", [1, 5, 50])
def test_failures_do_not_move_a_grid(failures: int) -> None:
    compiled = adaptive_schedule(FIVE_MINUTES)
    assert planned_after_noon(after_run(compiled, failures=failures), compiled, 10) == 300


def test_failure_backoff_can_be_disabled() -> None:
    compiled = adaptive_schedule(failure_backoff=False)
    assert planned_after_noon(after_run(compiled, failures=5), compiled, 10) == 60


def test_two_sources_count_as_a_grid() -> None:
    compiled = adaptive_schedule(SpecDocument(intervals=(IntervalDocument(60), IntervalDocument(90))))
    assert planned_after_noon(after_run(compiled, 95, failures=5), compiled, 95) == 95


# --- hints ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [every(60), FIVE_MINUTES], ids=["interval", "grid"])
@pytest.mark.parametrize(
    ("hint_values", "expected"),
    [
        ({"interval": 20}, (20, RunSource.HINT)),  # an interval replaces the baseline, if it is sooner …
        ({"interval": 1_000}, (1_000, RunSource.HINT)),  # … or later
        ({"once": 30}, (30, RunSource.HINT)),  # a one-shot competes with it
        ({"once": 1_000}, None),
        ({"interval": 40, "once": 30}, (30, RunSource.HINT)),  # the earlier of both
        ({"interval": 30, "once": 40}, (30, RunSource.HINT)),
        ({"interval": 1_000, "once": 900}, (900, RunSource.HINT)),  # and the baseline is still replaced
    ],
)
def test_hints_replace_or_precede_the_baseline(
    spec: SpecDocument, hint_values: dict[str, int], expected: tuple[int, RunSource] | None
) -> None:
    compiled = adaptive_schedule(spec)
    baseline = (60 if compiled.interval_ms else 300, RunSource.SCHEDULE)
    planned_after_noon = plan_next_run(after_run(compiled, hints=hints(**hint_values)), compiled, NOON_MS + 10_000)
    assert planned_after_noon is not None
    assert (planned_after_noon.nominal_s - NOON, planned_after_noon.source) == (expected or baseline)


def test_baseline_wins_a_tie_with_a_hint() -> None:
    compiled = adaptive_schedule()
    planned_after_noon = plan_next_run(after_run(compiled, hints=hints(once=60)), compiled, NOON_MS + 10_000)
    assert planned_after_noon == AdaptivePlan(NOON_MS + 60_000)


def test_failures_do_not_back_off_a_hint() -> None:
    compiled = adaptive_schedule()
    assert planned_after_noon(after_run(compiled, failures=5, hints=hints(interval=20)), compiled, 10) == 20


def test_hinted_interval_counts_from_the_end_of_a_long_run() -> None:
    compiled = adaptive_schedule()
    assert planned_after_noon(after_run(compiled, 90, hints=hints(interval=20)), compiled, 90) == 110


@pytest.mark.parametrize(
    ("hint_values", "lives_s", "now_s", "expected"),
    [
        ({"interval": 20}, 15, 15, 60),  # expired: at its end a hint no longer counts
        ({"once": 12}, 15, 15, 60),
        ({"interval": 20}, 15, 10, 60),  # it expires before it applies
        ({"interval": 20}, 21, 10, 20),
        ({"interval": 1_000}, 100, 10, 100),  # it holds the baseline back until it expires
        ({"interval": 1_000}, 40, 10, 60),
        ({"once": 30}, 30, 10, 60),
    ],
)
def test_a_hint_counts_until_it_expires(hint_values: dict[str, int], lives_s: int, now_s: int, expected: int) -> None:
    compiled = adaptive_schedule()
    assert (
        planned_after_noon(after_run(compiled, hints=hints(**hint_values, lives_ms=lives_s * 1000)), compiled, now_s)
        == expected
    )


def test_the_baseline_returns_when_the_interval_hint_expires() -> None:
    compiled = adaptive_schedule()
    rows = HintRows(hint(1_000_000, 200_000), hint(NOON_MS + 500_000, 600_000))
    assert planned_after_noon(after_run(compiled, hints=rows.text()), compiled, 10) == 200


def test_unreadable_hints_are_ignored() -> None:
    compiled = adaptive_schedule()
    state = after_run(compiled, hints="[1, 2]")
    assert hints_of(state) == HintRows()
    assert planned_after_noon(state, compiled, 10) == 60


def test_two_live_hints_conflict() -> None:
    compiled = adaptive_schedule()
    both = after_run(compiled, hints=hints(interval=40, once=30))
    assert has_conflicting_hints(both, NOON_MS)
    assert not has_conflicting_hints(both, NOON_MS + HOUR_MS)
    assert not has_conflicting_hints(after_run(compiled, hints=hints(interval=40)), NOON_MS)
    assert not has_conflicting_hints(after_run(compiled), NOON_MS)


# --- bounds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "hint_values", "expected", "bound"),
    [
        ({"min_interval_ms": 30_000}, {"interval": 20}, 30, "min"),
        ({"min_interval_ms": 30_000}, {"once": 11}, 30, "min"),
        ({"min_interval_ms": 90_000}, {}, 90, "min"),
        ({"min_interval_ms": 60_000}, {}, 60, None),
        ({"max_interval_ms": 45_000}, {}, 45, "max"),
        ({"max_interval_ms": 60_000}, {}, 60, None),
        ({"max_interval_ms": 600_000}, {"interval": 3_000}, 600, "max"),
        ({"min_interval_ms": 45_000, "max_interval_ms": 45_000}, {"interval": 20}, 45, "min"),
        ({"min_interval_ms": 45_000, "max_interval_ms": 45_000}, {}, 45, "max"),
        ({"min_interval_ms": 30_000, "max_interval_ms": 40_000}, {"interval": 35}, 35, None),
    ],
)
def test_bounds_limit_the_interval(
    policy: dict[str, Any], hint_values: dict[str, int], expected: int, bound: str | None
) -> None:
    compiled = adaptive_schedule(**policy)
    planned_after_noon = plan_next_run(after_run(compiled, hints=hints(**hint_values)), compiled, NOON_MS + 10_000)
    assert planned_after_noon is not None
    assert (planned_after_noon.nominal_s - NOON, planned_after_noon.bound) == (expected, bound)


def test_bounds_apply_after_the_backoff() -> None:
    compiled = adaptive_schedule(max_interval_ms=200_000)
    assert planned_after_noon(after_run(compiled, failures=3), compiled, 10) == 200


def test_bounds_move_a_grid_too() -> None:
    compiled = adaptive_schedule(FIVE_MINUTES, max_interval_ms=100_000)
    assert planned_after_noon(after_run(compiled), compiled, 10) == 100
    compiled = adaptive_schedule(FIVE_MINUTES, min_interval_ms=400_000)
    assert planned_after_noon(after_run(compiled), compiled, 10) == 400


def test_next_run_follows_the_end_of_a_run_longer_than_the_maximum_interval() -> None:
    compiled = adaptive_schedule(every(3_600), max_interval_ms=60_000)
    assert planned_after_noon(after_run(compiled, 90), compiled, 90) == 150


def test_maximum_interval_counts_from_creation_before_the_first_run() -> None:
    compiled = adaptive_schedule(SpecDocument(cron=("0 0 1 1 *",)), max_interval_ms=60_000)
    assert state_of(compiled).next_nominal_s == NOON + 60


@pytest.mark.parametrize("hint_values", [{}, {"interval": 20}, {"once": 30}])
def test_next_run_is_never_in_the_past(hint_values: dict[str, int]) -> None:
    compiled = adaptive_schedule(min_interval_ms=10_000, max_interval_ms=100_000)
    planned_after_noon = plan_next_run(after_run(compiled, hints=hints(**hint_values)), compiled, NOON_MS + 500_500)
    assert planned_after_noon is not None
    assert (planned_after_noon.fire_ms, planned_after_noon.nominal_s) == (NOON_MS + 500_500, NOON + 500)


def test_interval_does_not_drift() -> None:
    """A fire is always a little late. Counted in milliseconds, each run would start later than the last."""
    compiled = adaptive_schedule()
    late = after_run(compiled)._replace(last_start_ms=NOON_MS + 25, last_end_ms=NOON_MS + 10_025)
    assert plan_next_run(late, compiled, NOON_MS + 10_025) == AdaptivePlan(NOON_MS + 60_000)


def test_minimum_interval_wins_over_the_maximum() -> None:
    """Regression: the maximum counts in whole seconds and moved a run before the minimum, where it was skipped."""
    compiled = adaptive_schedule(min_interval_ms=33_000, max_interval_ms=33_000)
    late = after_run(compiled)._replace(last_start_ms=NOON_MS + 6, last_end_ms=NOON_MS + 5_008)
    assert plan_next_run(late, compiled, NOON_MS + 5_008) == AdaptivePlan(NOON_MS + 33_006, bound="max")


def test_minimum_interval_is_exact_to_the_millisecond() -> None:
    compiled = adaptive_schedule(min_interval_ms=60_000)
    late = after_run(compiled)._replace(last_start_ms=NOON_MS + 25, last_end_ms=NOON_MS + 10_025)
    assert plan_next_run(late, compiled, NOON_MS + 10_025) == AdaptivePlan(NOON_MS + 60_025, bound="min")
    assert edit.replan_adaptive(late, compiled, NOON_MS + 10_025).next_fire_ms == NOON_MS + 60_025


def test_two_runs_never_share_a_second() -> None:
    """The nominal time makes a run unique."""
    compiled = adaptive_schedule()
    state = after_run(compiled, 0, hints=hints(once=0))
    assert planned_after_noon(state, compiled, 0) == 1


# --- other fields of the spec -----------------------------------------------------------------------------------------


def at(seconds: int) -> str:
    return f"2026-01-01T12:{seconds // 60:02}:{seconds % 60:02}Z"


@pytest.mark.parametrize("hint_values", [{}, {"interval": 30}, {"once": 45}])
def test_exclusions_apply_to_hints(hint_values: dict[str, int]) -> None:
    blackout = ExcludeDocument(windows=(WindowDocument(at(20), at(200)),))
    compiled = adaptive_schedule(every(60, exclude=blackout), max_interval_ms=100_000)
    assert planned_after_noon(after_run(compiled, hints=hints(**hint_values)), compiled, 10) == 200


def test_bounds_of_the_spec_apply_to_hints() -> None:
    compiled = adaptive_schedule(every(60, end_at=at(50)))
    assert planned_after_noon(after_run(compiled), compiled, 10) is None
    assert planned_after_noon(after_run(compiled, hints=hints(interval=20)), compiled, 10) == 20
    assert planned_after_noon(after_run(compiled, hints=hints(interval=55)), compiled, 10) is None
    compiled = adaptive_schedule(every(60, start_at=at(40)))
    assert planned_after_noon(state_of(compiled, hints=hints(once=5)), compiled, 1) == 40


def test_a_named_calendar_and_the_zone_of_a_cron_string_count() -> None:
    spec = SpecDocument(cron=("TZ=Asia/Tokyo */5 * * * *",), exclude=ExcludeDocument(named=("off",)))
    calendar = NamedCalendar("off", dates=("2026-01-01",))  # there, this day ends at 15:00 UTC
    parts = (KEY, 1, "default", "report", spec, adaptive_schedule().policy, Action(function="jobs:run"))
    compiled = compile_schedule(*parts, None, (calendar,))
    assert planned_after_noon(after_run(compiled, hints=hints(once=30)), compiled, 10) == 3 * 3600


def test_ended_spec_has_no_next_run() -> None:
    compiled = adaptive_schedule(SpecDocument(times=(at(0),)))
    assert planned_after_noon(after_run(compiled), compiled, 10) is None
    assert planned_after_noon(after_run(compiled, hints=hints(once=30)), compiled, 10) == 30


def test_jitter_moves_a_grid() -> None:
    spec = SpecDocument(cron=("*/5 * * * *",), jitter_ms=60_000)
    compiled, plain = adaptive_schedule(spec), compiled_of(spec)
    state = after_run(compiled)
    fire_ms = plain.fire_ms(NOON + 300)
    assert fire_ms % 300_000
    assert plan_next_run(state, compiled, NOON_MS + 10_000) == AdaptivePlan(fire_ms)
    for started_ms in (fire_ms, NOON_MS):  # the second one was skipped
        done = state._replace(last_start_ms=started_ms, cursor_s=fire_ms // 1000)
        assert plan_next_run(done, compiled, fire_ms + 1) == AdaptivePlan(plain.fire_ms(NOON + 600))
