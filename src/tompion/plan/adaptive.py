"""The governor of adaptive schedules: when the next run is due, given the last one, its failures and live hints.

1. Failures back off an *interval* baseline: twice as long each time, up to five times.  A grid stays where it is.
2. A live interval hint replaces the baseline.  A live one-shot hint competes with it, the earlier wins; of both hints,
   too.
3. The time is moved to the shortest interval after the last run, or else to the longest, and never lies in the past.
   Where both leave no room, as they may within a second, the shortest counts.

Whatever the spec excludes, and its bounds, hold for all of that.  A pause is not looked at here: it silences the dial.

Delays are counted in whole seconds, or each run would come a little later in its second than the one before.  Only
the shortest interval, a one-shot and the present are exact, so a run has a nominal second, and a fire time within it.
Hints expire with a second: which ones are live is the same throughout it.
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
    """The next run of an adaptive schedule: when, why it is then, and which bound moved it."""

    fire_ms: int
    source: RunSource = RunSource.SCHEDULE
    hint: HintRow | None = None
    bound: str | None = None

    @property
    def nominal_s(self) -> int:
        """Return the nominal time of the run: the second of its fire time."""
        return self.fire_ms // 1000


class _Wish(NamedTuple):
    """When the baseline or a hint wants the next run."""

    at_ms: int
    hint: HintRow | None = None
    on_grid: bool = False


def plan(state: ScheduleState, compiled: CompiledSchedule, now_ms: int) -> AdaptivePlan | None:
    """Return the next run from now on, ``None`` if there is none.

    A hint counts for the time before it expires, and no longer: the answer is the first moment at which the rules, with
    the hints that are live at that moment, want a run.
    """
    hints = hints_of(state)
    moment_ms = now_ms
    for until_ms in sorted({hint.expires_ms for hint in hints if hint is not None and hint.expires_ms > now_ms}):
        found = _plan_at(state, compiled, hints, moment_ms)
        if found is not None and found.fire_ms < until_ms:
            return found
        moment_ms = until_ms
    return _plan_at(state, compiled, hints, moment_ms)


def pending(state: ScheduleState, compiled: CompiledSchedule, now_ms: int) -> AdaptivePlan | None:
    """Return the run that the dial waits for, with its cause; another one if that was a hint which has expired."""
    known = waited_for(state, compiled)
    if known.hint is not None and known.hint.expires_ms <= now_ms:
        return plan(state, compiled, now_ms)
    return known


def waited_for(state: ScheduleState, compiled: CompiledSchedule) -> AdaptivePlan:
    """Return what was planned when the dial was aimed at its nominal time."""
    assert state.next_nominal_s is not None
    begins_ms = state.next_nominal_s * 1000
    found = _plan_at(state, compiled, hints_of(state), begins_ms)
    return found if found is not None and found.nominal_s == state.next_nominal_s else AdaptivePlan(begins_ms)


def passed(state: ScheduleState, nominal_s: int) -> ScheduleState:
    """Return the dial when the run of a nominal time has been decided."""
    return state._replace(cursor_s=nominal_s, hints=spent(state, nominal_s, nominal_s * 1000))


def spent(state: ScheduleState, nominal_s: int, now_ms: int) -> str | None:
    """Return the hints that are left after a run was decided: not the expired ones, nor a one-shot that had its run."""
    if state.hints is None:
        return None
    live = hints_of(state).live_at(now_ms)
    if live.once is not None and live.once.value // 1000 <= nominal_s:
        live = live._replace(once=None)
    return live.text()


def unexpired(state: ScheduleState, now_ms: int) -> ScheduleState:
    """Return the dial without hints that have expired."""
    return state if state.hints is None else state._replace(hints=hints_of(state).live_at(now_ms).text())


def has_conflicting_hints(state: ScheduleState, now_ms: int) -> bool:
    """Whether an interval hint and a one-shot hint are live at once."""
    return state.hints is not None and all(hints_of(state).live_at(now_ms))


def hints_of(state: ScheduleState) -> HintRows:
    """Return the hints of a dial; what cannot be read is no advice."""
    try:
        return read_hints(state.hints)
    except (ValueError, TypeError):
        return NO_HINTS


def _plan_at(state: ScheduleState, compiled: CompiledSchedule, hints: HintRows, moment_ms: int) -> AdaptivePlan | None:
    """The next run from a moment on, as if its live hints were so for ever."""
    wish = _wish(state, compiled, hints.live_at(moment_ms))
    if wish is None:
        return None
    at_ms, bound = _clamped(state, compiled, wish.at_ms)
    at_ms = max(at_ms, moment_ms, (state.cursor_s + 1) * 1000)
    if not wish.on_grid or at_ms != wish.at_ms:
        assert compiled.gate is not None
        allowed_s = compiled.gate.next_epoch(at_ms // 1000 - 1)
        if allowed_s is None:
            return None
        at_ms = max(at_ms, allowed_s * 1000)
    return AdaptivePlan(at_ms, RunSource.SCHEDULE if wish.hint is None else RunSource.HINT, wish.hint, bound)


def _wish(state: ScheduleState, compiled: CompiledSchedule, live: HintRows) -> _Wish | None:
    once = None if live.once is None else _Wish(live.once.value, live.once)
    if live.interval is not None:
        regular: _Wish | None = _Wish(_after(state, live.interval.value), live.interval)
    else:
        regular = _baseline(state, compiled)
    if regular is None or once is None:
        return regular or once
    return once if once.at_ms < regular.at_ms else regular


def _baseline(state: ScheduleState, compiled: CompiledSchedule) -> _Wish | None:
    """When the spec by itself wants the next run: at first as any schedule, then after the run before."""
    delay_ms = compiled.interval_ms
    if delay_ms is not None and state.last_start_ms is not None:
        doublings = min(state.failures, MAX_DOUBLINGS) if compiled.policy.failure_backoff else 0
        return _Wish(_after(state, delay_ms << doublings, from_end=_counts_from_end(compiled)))
    if _counts_from_end(compiled):
        return _Wish(state.cursor_s * 1000)
    done_ms = max(state.last_start_ms or 0, state.cursor_s * 1000 + 999)
    tick = compiled.next_after(done_ms // 1000)
    while tick is not None and compiled.fire_ms(tick) <= done_ms:
        tick = compiled.next_after(tick)
    return None if tick is None else _Wish(compiled.fire_ms(tick), on_grid=True)


def _counts_from_end(compiled: CompiledSchedule) -> bool:
    return bool(compiled.spec.intervals) and compiled.spec.intervals[0].anchor == "completion"


def _after(state: ScheduleState, delay_ms: int, *, from_end: bool = False) -> int:
    """So long after the last run: counted from its start, from its end if that came later than the delay.

    What was decided since and did not start is counted from its own time.
    """
    ended_ms = _begin_of_second(state.last_end_ms or 0)
    if state.last_start_ms is None:
        return max(ended_ms, (state.cursor_s + 1) * 1000) + delay_ms
    at_ms = max(_begin_of_second(state.last_start_ms), ended_ms if from_end else 0) + delay_ms
    if at_ms < ended_ms or at_ms // 1000 <= state.cursor_s:
        return max(ended_ms, state.cursor_s * 1000) + delay_ms
    return at_ms


def _clamped(state: ScheduleState, compiled: CompiledSchedule, at_ms: int) -> tuple[int, str | None]:
    """Not sooner than the shortest interval after the last start, and not later than the longest after the run."""
    policy = compiled.policy
    earliest_ms = 0 if state.last_start_ms is None else state.last_start_ms + policy.min_interval_ms
    if at_ms < earliest_ms:
        return earliest_ms, MIN
    if policy.max_interval_ms is not None and at_ms > (latest_ms := _after(state, policy.max_interval_ms)):
        return max(earliest_ms, latest_ms), MAX
    return at_ms, None


def _begin_of_second(at_ms: int) -> int:
    return at_ms // 1000 * 1000
