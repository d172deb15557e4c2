"""Adaptive schedules run after run, as an engine decides and settles them: invariants of whole histories."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.plan.adaptive_cases import FIVE_MINUTES, adaptive_schedule
from tests.unit.plan.cases import NOON, NOON_MS, context_at, every, state_of
from tompion.model.hint import HintRow, HintRows
from tompion.model.run import RunRow, RunSource, RunState
from tompion.model.schedule_state import ScheduleState
from tompion.model.spec import SpecDocument
from tompion.plan import edit
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.decide import decide
from tompion.plan.outcome import free_slot

FAR_MS = NOON_MS + 10**9


class Turn(NamedTuple):
    """One run: how late it is fired, how long it takes, whether it fails, and which one-shot is hinted meanwhile."""

    late_ms: int
    took_ms: int
    failed: bool
    once_ms: int | None


turns = st.lists(
    st.builds(
        Turn,
        st.integers(0, 1_500),
        st.one_of(st.integers(0, 5_000), st.integers(0, 400_000)),
        st.booleans(),
        st.one_of(st.none(), st.integers(-2_000, 200_000)),
    ),
    min_size=1,
    max_size=12,
)


def live(compiled: CompiledSchedule, turns: list[Turn]) -> tuple[list[RunRow], list[ScheduleState]]:
    """Decide and settle one run after another, and return them with the state after each."""
    state, runs, states = state_of(compiled), [], []
    for turn in turns:
        assert state.next_fire_ms is not None
        now_ms = state.next_fire_ms + turn.late_ms
        decision, state, _ = decide(state, compiled, context_at(now_ms), 0)
        runs += decision.runs
        if turn.once_ms is not None:
            once = HintRow(now_ms + turn.once_ms, FAR_MS, now_ms, "ann", None)
            state = edit.replan_adaptive(state._replace(hints=HintRows(once=once).text()), compiled, now_ms)
        ending = RunState.FAILED if turn.failed else RunState.SUCCESS
        state = free_slot(state, compiled, ending, 0, now_ms + turn.took_ms)
        states.append(state)
    return runs, states


@given(turns, st.sampled_from([every(60), every(7), FIVE_MINUTES]), st.integers(0, 90_000))
def test_each_decision_is_one_run_with_its_own_time(turns: list[Turn], spec: SpecDocument, min_interval: int) -> None:
    compiled = adaptive_schedule(spec, min_interval_ms=min_interval)
    runs, _ = live(compiled, turns)
    nominals = [run.nominal_s for run in runs]
    assert len(runs) == len(turns)
    assert nominals == sorted(set(nominals))
    assert all(run.state is RunState.ENQUEUED and run.fire_ms <= run.decided_ms for run in runs)
    starts = [run.decided_ms for run in runs]
    assert all(later - earlier >= min_interval for earlier, later in pairwise(starts))


@given(turns)
def test_a_one_shot_hint_causes_one_run_at_most(turns: list[Turn]) -> None:
    runs, _ = live(adaptive_schedule(every(60)), turns)
    assert sum(run.source is RunSource.HINT for run in runs) <= sum(turn.once_ms is not None for turn in turns)


@given(turns, st.integers(10_000, 90_000))
def test_pause_between_runs_is_at_most_the_maximum_interval(turns: list[Turn], max_interval: int) -> None:
    runs, states = live(adaptive_schedule(every(3_600), max_interval_ms=max_interval), turns)
    for run, after in zip(runs, states, strict=True):
        assert after.next_fire_ms is not None
        assert after.next_fire_ms <= max(run.decided_ms, after.last_end_ms or 0) + max(max_interval, 1_000)


@given(st.lists(st.integers(0, 900), min_size=1, max_size=40))
def test_interval_never_drifts(late: list[int]) -> None:
    """As long as every run starts within its second."""
    runs, _ = live(
        adaptive_schedule(every(60)), [Turn(late_ms, 10_000, failed=False, once_ms=None) for late_ms in late]
    )
    assert [run.nominal_s for run in runs] == [NOON + 60 * turn for turn in range(len(late))]
