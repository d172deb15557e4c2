"""The next run of an adaptive schedule, from the last run, its failures and live hints.

1. Failures back off an *interval* baseline: the interval doubles with each failure, at most five times. A grid does not
   change.
2. A live interval hint replaces the baseline. A live one-shot hint competes with it, and the earlier one wins. Two live
   hints compete in the same way.
3. The time is moved to the minimum interval after the last run, or else to the maximum interval, and never into the
   past. If both cannot hold, which can happen within one second, the minimum interval counts.

The exclusions and the bounds of the spec hold for all of this. A pause is not considered here: it clears the next fire
time of the state.

Delays count in whole seconds. Otherwise each run would start a little later in its second than the one before. Only the
minimum interval, a one-shot hint and the present are exact, so a run has a nominal second and a fire time within it.
Hints expire with a second, so the live hints are the same throughout a second.
"""

from __future__ import annotations

from typing import NamedTuple

from tompion.model.hint import NO_HINTS, HintRow, HintRows, read_hints
from tompion.model.run import RunSource
from tompion.model.schedule_state import ScheduleState
from tompion.plan.compiled_schedule import CompiledSchedule

MAX_DOUBLINGS = 5
MIN, MAX = "min", "max"


class AdaptivePlan(NamedTuple):
    """The next run of an adaptive schedule: its time, its cause, and the bound that moved it."""

    fire_ms: int
    source: RunSource = RunSource.SCHEDULE
    hint: HintRow | None = None
    bound: str | None = None

    @property
    def nominal_s(self) -> int:
        """Return the nominal time of the run: the second of its fire time."""
        return self.fire_ms // 1000


class _Candidate(NamedTuple):
    """A time for the next run, from the baseline or from a hint."""

    at_ms: int
    hint: HintRow | None = None
    on_grid: bool = False


def plan_next_run(state: ScheduleState, compiled: CompiledSchedule, now_ms: int) -> AdaptivePlan | None:
    """Return the next run from now on, or ``None`` if no run is possible.

    A hint counts until it expires. The result is the first moment at which the rules, with the hints that are live at
    that moment, want a run.
    """
    hints = hints_of(state)
    moment_ms = now_ms
    for until_ms in sorted({hint.expires_ms for hint in hints if hint is not None and hint.expires_ms > now_ms}):
        planned = _plan_at(state, compiled, hints, moment_ms)
        if planned is not None and planned.fire_ms < until_ms:
            return planned
        moment_ms = until_ms
    return _plan_at(state, compiled, hints, moment_ms)


def pending_run(state: ScheduleState, compiled: CompiledSchedule, now_ms: int) -> AdaptivePlan | None:
    """Return the run that the state waits for, with its cause, or the next plan if that was a hint that has expired."""
    planned = planned_run(state, compiled)
    if planned.hint is not None and planned.hint.expires_ms <= now_ms:
        return plan_next_run(state, compiled, now_ms)
    return planned


def planned_run(state: ScheduleState, compiled: CompiledSchedule) -> AdaptivePlan:
    """Return the run that was planned when the state got its nominal time."""
    assert state.next_nominal_s is not None
    start_ms = state.next_nominal_s * 1000
    planned = _plan_at(state, compiled, hints_of(state), start_ms)
    return planned if planned is not None and planned.nominal_s == state.next_nominal_s else AdaptivePlan(start_ms)


def with_run_decided(state: ScheduleState, nominal_s: int) -> ScheduleState:
    """Return the state after the run of a nominal time was decided."""
    return state._replace(cursor_s=nominal_s, hints=remaining_hints(state, nominal_s, nominal_s * 1000))


def remaining_hints(state: ScheduleState, nominal_s: int, now_ms: int) -> str | None:
    """Return the hints after a run was decided, without expired ones and without a one-shot hint that had its run."""
    if state.hints is None:
        return None
    live = hints_of(state).live_at(now_ms)
    if live.once is not None and live.once.value // 1000 <= nominal_s:
        live = live._replace(once=None)
    return live.text()


def without_expired_hints(state: ScheduleState, now_ms: int) -> ScheduleState:
    """Return the state without expired hints."""
    return state if state.hints is None else state._replace(hints=hints_of(state).live_at(now_ms).text())


def has_conflicting_hints(state: ScheduleState, now_ms: int) -> bool:
    """Return whether an interval hint and a one-shot hint are live at the same time."""
    return state.hints is not None and all(hints_of(state).live_at(now_ms))


def hints_of(state: ScheduleState) -> HintRows:
    """Return the hints of a state. Hints that cannot be read are ignored."""
    try:
        return read_hints(state.hints)
    except (ValueError, TypeError):
        return NO_HINTS


def _plan_at(state: ScheduleState, compiled: CompiledSchedule, hints: HintRows, moment_ms: int) -> AdaptivePlan | None:
    """Return the next run from a moment on, as if its live hints never expired."""
    candidate = _candidate(state, compiled, hints.live_at(moment_ms))
    if candidate is None:
        return None
    at_ms, bound = _clamp(state, compiled, candidate.at_ms)
    at_ms = max(at_ms, moment_ms, (state.cursor_s + 1) * 1000)
    if not candidate.on_grid or at_ms != candidate.at_ms:
        assert compiled.allowed_seconds is not None
        allowed_s = compiled.allowed_seconds.next_epoch(at_ms // 1000 - 1)
        if allowed_s is None:
            return None
        at_ms = max(at_ms, allowed_s * 1000)
    return AdaptivePlan(at_ms, RunSource.SCHEDULE if candidate.hint is None else RunSource.HINT, candidate.hint, bound)


def _candidate(state: ScheduleState, compiled: CompiledSchedule, live: HintRows) -> _Candidate | None:
    once = None if live.once is None else _Candidate(live.once.value, live.once)
    if live.interval is not None:
        regular: _Candidate | None = _Candidate(_after(state, live.interval.value), live.interval)
    else:
        regular = _baseline(state, compiled)
    if regular is None or once is None:
        return regular or once
    return once if once.at_ms < regular.at_ms else regular


def _baseline(state: ScheduleState, compiled: CompiledSchedule) -> _Candidate | None:
    """Return when the spec wants the next run: the first as in any schedule, the others after the previous run."""
    delay_ms = compiled.interval_ms
    if delay_ms is not None and state.last_start_ms is not None:
        doublings = min(state.failures, MAX_DOUBLINGS) if compiled.policy.failure_backoff else 0
        return _Candidate(_after(state, delay_ms << doublings, from_end=_counts_from_end(compiled)))
    if _counts_from_end(compiled):
        return _Candidate(state.cursor_s * 1000)
    done_ms = max(state.last_start_ms or 0, state.cursor_s * 1000 + 999)
    tick = compiled.next_after(done_ms // 1000)
    while tick is not None and compiled.fire_ms(tick) <= done_ms:
        tick = compiled.next_after(tick)
    return None if tick is None else _Candidate(compiled.fire_ms(tick), on_grid=True)


def _counts_from_end(compiled: CompiledSchedule) -> bool:
    return bool(compiled.spec.intervals) and compiled.spec.intervals[0].anchor == "completion"


def _after(state: ScheduleState, delay_ms: int, *, from_end: bool = False) -> int:
    """Return the time with a delay after the last run.

    The delay counts from its start, or from its end if that was later.

    A tick that was decided since and did not start counts from its own time.
    """
    ended_ms = _start_of_second(state.last_end_ms or 0)
    if state.last_start_ms is None:
        return max(ended_ms, (state.cursor_s + 1) * 1000) + delay_ms
    at_ms = max(_start_of_second(state.last_start_ms), ended_ms if from_end else 0) + delay_ms
    if at_ms < ended_ms or at_ms // 1000 <= state.cursor_s:
        return max(ended_ms, state.cursor_s * 1000) + delay_ms
    return at_ms


def _clamp(state: ScheduleState, compiled: CompiledSchedule, at_ms: int) -> tuple[int, str | None]:
    """Return a time moved between the minimum and the maximum interval, and the bound that moved it."""
    policy = compiled.policy
    earliest_ms = 0 if state.last_start_ms is None else state.last_start_ms + policy.min_interval_ms
    if at_ms < earliest_ms:
        return earliest_ms, MIN
    if policy.max_interval_ms is not None and at_ms > (latest_ms := _after(state, policy.max_interval_ms)):
        return max(earliest_ms, latest_ms), MAX
    return at_ms, None


def _start_of_second(at_ms: int) -> int:
    return at_ms // 1000 * 1000
