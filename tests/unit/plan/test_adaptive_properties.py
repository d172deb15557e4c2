"""Properties of any adaptive schedule, after any history and with any hints."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.plan.cases import NOON, NOON_MS, compiled_of, every, state_of
from tompion.model.hint import HintRow, HintRows
from tompion.model.schedule_state import ScheduleState
from tompion.model.spec import SpecDocument
from tompion.plan import edit, pause
from tompion.plan.adaptive import pending_run, plan_next_run
from tompion.plan.compiled_schedule import CompiledSchedule

FAR = 4 * 3_600
SPECS = (
    every(60),
    every(7),
    SpecDocument(cron=("*/5 * * * *",)),
    SpecDocument(cron=("*/5 * * * *",), jitter_ms=100_000),
    SpecDocument(cron=("0 * * * *", "17 * * * *")),
)


class Past(NamedTuple):
    """An adaptive schedule some time after noon, when its last run has started: all in milliseconds."""

    spec: int
    shortest: int
    longest: int | None
    took: int | None
    decided: int
    failures: int
    interval: tuple[int, int] | None
    once: tuple[int, int] | None
    now: int

    @property
    def compiled(self) -> CompiledSchedule:
        longest = None if self.longest is None else max(self.longest, self.shortest)
        return compiled_of(SPECS[self.spec], adaptive=True, min_interval_ms=self.shortest, max_interval_ms=longest)

    @property
    def state(self) -> ScheduleState:
        once = None if self.once is None else (NOON_MS + self.once[0], self.once[1])
        rows = [
            None if hint is None else HintRow(hint[0], NOON_MS + hint[1], 0, "", None) for hint in (self.interval, once)
        ]
        return state_of(
            self.compiled,
            NOON + self.decided // 1000,
            last_start_ms=NOON_MS,
            last_end_ms=None if self.took is None else NOON_MS + self.took,
            failures=self.failures,
            next_nominal_s=None,
            hints=HintRows(*rows).text(),
        )

    @property
    def now_ms(self) -> int:
        return NOON_MS + max(self.now, self.took or 0, self.decided)


durations = st.one_of(st.integers(0, 200_000), st.sampled_from([0, 1, 999, 1_000, 60_000, 300_000]))
lives = st.integers(1, 900).map(lambda seconds: seconds * 1000)
pasts = st.builds(
    Past,
    spec=st.integers(0, len(SPECS) - 1),
    shortest=st.one_of(st.just(0), durations),
    longest=st.one_of(st.none(), durations.map(lambda ms: max(ms, 1_000))),
    took=st.one_of(st.none(), durations),
    decided=st.one_of(st.just(0), durations),
    failures=st.integers(0, 8),
    interval=st.one_of(st.none(), st.tuples(st.integers(1_000, 900_000), lives)),
    once=st.one_of(st.none(), st.tuples(st.integers(-10_000, 900_000), lives)),
    now=durations,
)


class ReferenceRules:
    """The rules again, evaluated for one second at a time."""

    def __init__(self, past: Past) -> None:
        self.past, self.compiled, self.state = past, past.compiled, past.state
        self.ended_ms = NOON_MS + (past.took or 0) // 1000 * 1000
        self.usual_ms = self.baseline()
        self.latest_ms = None if past.longest is None else self.after(max(past.longest, past.shortest))

    def after(self, delay_ms: int) -> int:
        from_start = NOON_MS + delay_ms
        if from_start >= self.ended_ms and from_start // 1000 > self.state.cursor_s:
            return from_start
        return max(self.ended_ms, self.state.cursor_s * 1000) + delay_ms

    def baseline(self) -> int:
        if self.past.spec < 2:
            return self.after((60_000, 7_000)[self.past.spec] * 2 ** min(self.past.failures, 5))
        ticks = self.compiled.ticks.between_epochs(self.state.cursor_s + 1, self.state.cursor_s + 7_200)
        return min(fire for tick in ticks if (fire := self.compiled.fire_ms(tick)) // 1000 > self.state.cursor_s)

    def wish_in(self, second: int) -> int:
        """The time of the next run by the rules, with the hints that are live in a second."""
        past = self.past
        hinted = past.interval is not None and NOON_MS + past.interval[1] > second * 1000
        wish = self.after(past.interval[0]) if hinted and past.interval else self.usual_ms
        if past.once is not None and NOON_MS + past.once[1] > second * 1000:
            wish = min(wish, NOON_MS + past.once[0])
        wish = max(wish, NOON_MS + past.shortest)
        return min(wish, self.latest_ms or wish)

    def verdict(self) -> int:
        """The first moment at which the rules plan a run."""
        earliest = max(self.past.now_ms, (self.state.cursor_s + 1) * 1000)
        for second in range(earliest // 1000, NOON + FAR):
            wish = max(self.wish_in(second), earliest, second * 1000)
            if wish // 1000 == second:
                return wish
        raise AssertionError("nothing is wanted")


@given(pasts)
@settings(max_examples=400)
def test_plan_is_the_first_moment_that_the_rules_allow(past: Past) -> None:
    planned = plan_next_run(past.state, past.compiled, past.now_ms)
    assert planned is not None
    assert planned.fire_ms == ReferenceRules(past).verdict()


@given(pasts)
def test_plan_is_never_in_the_past_or_in_a_decided_second(past: Past) -> None:
    planned = plan_next_run(past.state, past.compiled, past.now_ms)
    assert planned is not None
    assert planned.fire_ms >= past.now_ms
    assert planned.nominal_s > past.state.cursor_s


@given(pasts)
def test_plan_is_never_before_the_minimum_interval(past: Past) -> None:
    planned = plan_next_run(past.state, past.compiled, past.now_ms)
    assert planned is not None
    assert planned.fire_ms >= NOON_MS + past.shortest


@given(pasts)
def test_plan_is_never_after_the_maximum_interval(past: Past) -> None:
    """It counts from the start of the last run, or from its end if that was later, and is not before now."""
    planned = plan_next_run(past.state, past.compiled, past.now_ms)
    assert planned is not None
    if past.longest is not None:
        latest_ms = max(NOON_MS + (past.took or 0), past.state.cursor_s * 1000) + max(past.longest, past.shortest)
        assert planned.fire_ms <= max(latest_ms, past.now_ms, (past.state.cursor_s + 1) * 1000)


@given(pasts)
def test_expired_hints_do_not_count(past: Past) -> None:
    late_ms = NOON_MS + max(hint[1] for hint in (past.interval, past.once, (0, 0)) if hint) + past.now_ms - NOON_MS
    assert plan_next_run(past.state, past.compiled, late_ms) == plan_next_run(
        past.state._replace(hints=None), past.compiled, late_ms
    )


@given(pasts, st.one_of(st.none(), st.integers(1, 10**9)))
def test_a_paused_schedule_never_fires(past: Past, until: int | None) -> None:
    paused = pause.pause_state(past.state, None if until is None else NOON_MS + until)
    assert edit.replan_adaptive(paused, past.compiled, past.now_ms).next_fire_ms == paused.pause_until_ms


@given(pasts, st.floats(0, 1))
def test_plan_does_not_change_until_it_is_due(past: Past, share: float) -> None:
    """A later evaluation plans the same run. When it is due, it has its cause, and its time if that matters."""
    planned = plan_next_run(past.state, past.compiled, past.now_ms)
    assert planned is not None
    moment_ms = past.now_ms + int((planned.fire_ms - past.now_ms) * share)
    assert plan_next_run(past.state, past.compiled, moment_ms) in (
        planned,
        planned._replace(fire_ms=max(planned.fire_ms, moment_ms)),
    )
    pending = pending_run(past.state._replace(next_nominal_s=planned.nominal_s), past.compiled, planned.fire_ms)
    assert pending is not None
    assert pending._replace(fire_ms=planned.fire_ms) == planned
    assert pending.fire_ms == planned.fire_ms or pending.fire_ms <= past.now_ms
