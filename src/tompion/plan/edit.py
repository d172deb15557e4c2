"""What a control operation does to a dial.  Every move of a cursor comes with a span for the ticks it passes."""

from __future__ import annotations

from typing import NamedTuple

from tompion.model.run import Reason
from tompion.model.schedule_state import DroppedRange, ScheduleState
from tompion.plan import adaptive
from tompion.plan.compiled_schedule import CompiledSchedule

MAX_EDIT_COUNT = 1_000_000
"""The most ticks that an edit counts when it passes them over."""


class EditResult(NamedTuple):
    """The dial to write, and what the edit passed over."""

    state: ScheduleState
    dropped_ranges: list[DroppedRange]


def new_state(
    compiled: CompiledSchedule, now_ms: int, *, remaining: int | None = None, paused: bool = False
) -> ScheduleState:
    """Return the dial of a new schedule: its first tick is the first one not before now, or ``start_at``."""
    state = ScheduleState(
        schedule_key=compiled.schedule_key,
        version=compiled.version,
        cursor_s=cursor_before(now_ms),
        next_nominal_s=None,
        next_fire_ms=None,
        paused=paused,
        pause_until_ms=None,
        closed=False,
        in_flight=0,
        waiting=0,
        remaining=remaining,
        last_start_ms=None,
        failures=0,
        carry=None,
        carry_until_s=None,
        skips=None,
        starts=0,
        successes=0,
        failed=0,
        skipped=0,
        missed=0,
    )
    return advance_to_next(state, compiled, state.cursor_s)


def cursor_before(now_ms: int) -> int:
    """Return the last whole second before an instant: a cursor there leaves a tick at the instant undecided."""
    return (now_ms - 1) // 1000


def advance_to_next(state: ScheduleState, compiled: CompiledSchedule, cursor_s: int) -> ScheduleState:
    """Return the dial pointed at the first tick after a cursor."""
    if compiled.gate is not None:
        state = state._replace(version=compiled.version, cursor_s=cursor_s, next_nominal_s=None)
        return replan_adaptive(state, compiled, (cursor_s + 1) * 1000)
    if compiled.follows:
        start = max(cursor_s + 1, compiled.start_s or 0)
        every_s = compiled.spec.intervals[0].every_s  # as if a run had ended so long before: its delay is just over
        following = None if state.in_flight or state.waiting else compiled.ticks.next_epoch(start - every_s)
    else:
        following = compiled.next_after(cursor_s)
    return with_next_fire(
        state._replace(version=compiled.version, cursor_s=cursor_s, next_nominal_s=following),
        None if following is None else compiled.fire_ms(following),
    )


def replan_adaptive(state: ScheduleState, compiled: CompiledSchedule, now_ms: int) -> ScheduleState:
    """Return an adaptive schedule's dial aimed anew, because something has changed; a run that goes on comes first."""
    state = adaptive.unexpired(state, now_ms)
    if state.next_nominal_s is None and (state.in_flight or state.waiting):
        return with_next_fire(state, None)
    return after_run(state, compiled, now_ms)


def after_run(state: ScheduleState, compiled: CompiledSchedule, now_ms: int) -> ScheduleState:
    """Return a dial whose next tick follows a run, when that run has ended, or was not to be."""
    if compiled.gate is not None and not state.closed:
        state = adaptive.unexpired(state, now_ms)
        found = adaptive.plan(state, compiled, now_ms)
        nominal, fire_ms = (None, None) if found is None else (found.nominal_s, found.fire_ms)
        return with_next_fire(state._replace(next_nominal_s=nominal), fire_ms)
    following = None if state.closed else compiled.ticks.next_epoch(max(-(-now_ms // 1000), state.cursor_s))
    return with_next_fire(state._replace(next_nominal_s=following), None if following is None else following * 1000)


def fire_ms_of(state: ScheduleState, compiled: CompiledSchedule) -> int | None:
    """Return the fire time of the tick that a dial is aimed at."""
    if state.next_nominal_s is None:
        return None
    return (
        compiled.fire_ms(state.next_nominal_s)
        if compiled.gate is None
        else adaptive.waited_for(state, compiled).fire_ms
    )


def with_next_fire(state: ScheduleState, fire_ms: int | None) -> ScheduleState:
    """Return the dial with its next fire time, unless something keeps it from firing."""
    if state.closed or (state.remaining == 0 and not state.paused):
        return state._replace(next_fire_ms=None)
    if state.paused:
        return state._replace(next_fire_ms=state.pause_until_ms)
    return state._replace(next_fire_ms=fire_ms)


def due_now_if_waiting(state: ScheduleState, now_ms: int) -> ScheduleState:
    """Return the dial so that an engine looks at once at what waits, if anything does."""
    if state.closed or not state.waiting:
        return state
    return state._replace(next_fire_ms=now_ms if state.next_fire_ms is None else min(state.next_fire_ms, now_ms))


def reschedule_if_idle(
    state: ScheduleState, compiled: CompiledSchedule, now_ms: int, waiting: int | None = None
) -> ScheduleState:
    """Return a dial whose next tick follows a run aimed anew, if no run is left that it could follow."""
    waits = state.waiting if waiting is None else waiting
    idle = compiled.follows and state.next_nominal_s is None and not state.in_flight and not waits
    return after_run(state, compiled, now_ms) if idle else state


def without_queued(state: ScheduleState, compiled: CompiledSchedule, now_ms: int, *, buffered: bool) -> ScheduleState:
    """Return the dial after a run that waited was cancelled; one that was only planned is not counted there."""
    return reschedule_if_idle(state._replace(waiting=state.waiting - buffered), compiled, now_ms)


def replace_version(state: ScheduleState, old: CompiledSchedule, new: CompiledSchedule, now_ms: int) -> EditResult:
    """Return the dial under a new version.

    With the same ticks the cursor stays, and what was missed stays missed.  With other ticks, those before the change
    are not replayed: the cursor moves on, and a span says so.
    """
    if new.gate is not None and _same_ticks(old, new) and not state.closed:
        return EditResult(replan_adaptive(state._replace(version=new.version), new, now_ms), [])
    if _same_ticks(old, new) and not state.closed:
        return EditResult(with_next_fire(state._replace(version=new.version), fire_ms_of(state, new)), [])
    dropped_ranges = [] if state.closed else dropped_between(state, old, cursor_before(now_ms), Reason.EDITED, now_ms)
    cursor = max(state.cursor_s, cursor_before(now_ms))
    hints = None if new.gate is None else state.hints
    state = state._replace(carry=None, carry_until_s=None, closed=False, hints=hints)
    return EditResult(advance_to_next(state, new, cursor), dropped_ranges)


def _same_ticks(old: CompiledSchedule, new: CompiledSchedule) -> bool:
    """Whether two rules tick and fire alike; equal specs usually share one compiled form, but not for ever."""
    if (new.gate is None) != (old.gate is None):
        return False
    if new.ticks is old.ticks:
        return _jitter_of(new) == _jitter_of(old)
    return new.spec == old.spec and not new.spec.exclude.named


def _jitter_of(compiled: CompiledSchedule) -> tuple[int, str, str | None]:
    return compiled.spec.jitter_ms, compiled.spec.jitter_mode, compiled.spec.jitter_seed


def dropped_between(
    state: ScheduleState, compiled: CompiledSchedule, until_s: int, reason: Reason, now_ms: int
) -> list[DroppedRange]:
    """Return the span of the undecided ticks up to an instant; empty if there are none."""
    first = state.next_nominal_s
    if first is None or first > until_s:
        return []
    count = 1 if compiled.follows else compiled.ticks_between(state.cursor_s, until_s, MAX_EDIT_COUNT)
    return [DroppedRange(state.schedule_key, state.cursor_s, until_s, count, reason, compiled.version, now_ms)]


def set_remaining(state: ScheduleState, compiled: CompiledSchedule, remaining: int | None, now_ms: int) -> EditResult:
    """Return the dial with another number of remaining actions; a schedule that was exhausted starts afresh."""
    was_out = state.remaining == 0
    state = state._replace(remaining=remaining)
    if not was_out or remaining == 0:
        return EditResult(with_next_fire(state, fire_ms_of(state, compiled)), [])
    dropped_ranges = dropped_between(state, compiled, cursor_before(now_ms), Reason.LIMIT_REACHED, now_ms)
    return EditResult(advance_to_next(state, compiled, max(state.cursor_s, cursor_before(now_ms))), dropped_ranges)


def close_state(state: ScheduleState, compiled: CompiledSchedule, now_ms: int) -> EditResult:
    """Return the dial of a deleted schedule: no more ticks; what was due and undecided is passed over."""
    dropped_ranges = dropped_between(state, compiled, cursor_before(now_ms), Reason.DELETED, now_ms)
    cursor = max(state.cursor_s, cursor_before(now_ms))
    state = state._replace(closed=True, cursor_s=cursor, next_nominal_s=None, next_fire_ms=None, carry=None)
    return EditResult(state._replace(carry_until_s=None, skips=None, hints=None), dropped_ranges)


def add_skips(state: ScheduleState, ticks: list[int]) -> ScheduleState:
    """Return the dial with dated exceptions added."""
    known = skips_of(state) | set(ticks)
    return state._replace(skips=",".join(map(str, sorted(known))) or None)


def remove_skips(state: ScheduleState, ticks: set[int]) -> ScheduleState:
    """Return the dial without some of its dated exceptions."""
    left = skips_of(state) - ticks
    return state._replace(skips=",".join(map(str, sorted(left))) or None)


def skips_of(state: ScheduleState) -> set[int]:
    """Return the ticks that somebody asked to skip, and that are still to come."""
    return {int(text) for text in state.skips.split(",")} if state.skips else set()


def next_unskipped(state: ScheduleState, compiled: CompiledSchedule) -> int | None:
    """Return the next tick that nobody asked to skip."""
    skipped, tick = skips_of(state), state.next_nominal_s
    while tick is not None and tick in skipped:
        state, tick = _skipped(state, compiled, tick)
    return tick


def _skipped(state: ScheduleState, compiled: CompiledSchedule, tick: int) -> tuple[ScheduleState, int | None]:
    """The dial when a tick has been skipped at its time, and the tick after it."""
    if compiled.gate is None:
        return state, compiled.next_after(tick)
    state = adaptive.passed(state, tick)
    found = adaptive.plan(state, compiled, tick * 1000)
    return state, None if found is None else found.nominal_s
