"""Changes of a schedule's state by control operations.

Each change that moves the cursor returns a dropped range for the ticks that it passes.
"""

from __future__ import annotations

from typing import NamedTuple

from tompion.model.run import Reason
from tompion.model.schedule_state import DroppedRange, ScheduleState
from tompion.plan import adaptive
from tompion.plan.compiled_schedule import CompiledSchedule

MAX_EDIT_COUNT = 1_000_000
"""The maximum number of ticks that an edit counts when it drops them."""


class EditResult(NamedTuple):
    """The state to write, and the ranges of ticks that the edit dropped."""

    state: ScheduleState
    dropped_ranges: list[DroppedRange]


def new_state(
    compiled: CompiledSchedule, now_ms: int, *, remaining: int | None = None, paused: bool = False
) -> ScheduleState:
    """Return the state of a new schedule.

    Its first tick is the first one not before now, or not before ``start_at``.
    """
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
    """Return the last whole second before an instant. With that cursor, a tick at the instant is not decided yet."""
    return (now_ms - 1) // 1000


def advance_to_next(state: ScheduleState, compiled: CompiledSchedule, cursor_s: int) -> ScheduleState:
    """Return the state with the first tick after a cursor as its next tick."""
    state = state._replace(zone_tables=compiled.zone_tables)
    if compiled.allowed_seconds is not None:
        state = state._replace(version=compiled.version, cursor_s=cursor_s, next_nominal_s=None)
        return replan_adaptive(state, compiled, (cursor_s + 1) * 1000)
    if compiled.is_sequential:
        start = max(cursor_s + 1, compiled.start_s or 0)
        every_s = compiled.spec.intervals[0].every_s  # as if a run had ended one delay earlier
        following = None if state.in_flight or state.waiting else compiled.ticks.next_epoch(start - every_s)
    else:
        following = compiled.next_after(cursor_s)
    return with_next_fire(
        state._replace(version=compiled.version, cursor_s=cursor_s, next_nominal_s=following),
        None if following is None else compiled.fire_ms(following),
    )


def replan_adaptive(state: ScheduleState, compiled: CompiledSchedule, now_ms: int) -> ScheduleState:
    """Return the state of an adaptive schedule with a new plan. While a run executes, the plan waits for its end."""
    state = adaptive.without_expired_hints(state, now_ms)
    if state.next_nominal_s is None and (state.in_flight or state.waiting):
        return with_next_fire(state, None)
    return after_run(state, compiled, now_ms)


def after_run(state: ScheduleState, compiled: CompiledSchedule, now_ms: int) -> ScheduleState:
    """Return the state of a sequential schedule after a run has ended or did not start."""
    state = state._replace(zone_tables=compiled.zone_tables)
    if compiled.allowed_seconds is not None and not state.closed:
        state = adaptive.without_expired_hints(state, now_ms)
        planned = adaptive.plan_next_run(state, compiled, now_ms)
        nominal, fire_ms = (None, None) if planned is None else (planned.nominal_s, planned.fire_ms)
        return with_next_fire(state._replace(next_nominal_s=nominal), fire_ms)
    following = None if state.closed else compiled.ticks.next_epoch(max(-(-now_ms // 1000), state.cursor_s))
    return with_next_fire(state._replace(next_nominal_s=following), None if following is None else following * 1000)


def fire_ms_of(state: ScheduleState, compiled: CompiledSchedule) -> int | None:
    """Return the fire time of a state's next tick."""
    if state.next_nominal_s is None:
        return None
    return (
        compiled.fire_ms(state.next_nominal_s)
        if compiled.allowed_seconds is None
        else adaptive.planned_run(state, compiled).fire_ms
    )


def with_next_fire(state: ScheduleState, fire_ms: int | None) -> ScheduleState:
    """Return the state with its next fire time, unless it is closed, paused or exhausted."""
    if state.closed or (state.remaining == 0 and not state.paused):
        return state._replace(next_fire_ms=None)
    if state.paused:
        return state._replace(next_fire_ms=state.pause_until_ms)
    return state._replace(next_fire_ms=fire_ms)


def due_now_if_waiting(state: ScheduleState, now_ms: int) -> ScheduleState:
    """Return the state, due now if runs wait."""
    if state.closed or not state.waiting:
        return state
    return state._replace(next_fire_ms=now_ms if state.next_fire_ms is None else min(state.next_fire_ms, now_ms))


def reschedule_if_idle(
    state: ScheduleState, compiled: CompiledSchedule, now_ms: int, waiting: int | None = None
) -> ScheduleState:
    """Return the state of a sequential schedule with a new next tick, if it has no run that the tick could follow."""
    waits = state.waiting if waiting is None else waiting
    idle = compiled.is_sequential and state.next_nominal_s is None and not state.in_flight and not waits
    return after_run(state, compiled, now_ms) if idle else state


def without_waiting_run(
    state: ScheduleState, compiled: CompiledSchedule, now_ms: int, *, buffered: bool
) -> ScheduleState:
    """Return the state after a waiting run was cancelled. The state does not count planned runs."""
    return reschedule_if_idle(state._replace(waiting=state.waiting - buffered), compiled, now_ms)


def replace_version(state: ScheduleState, old: CompiledSchedule, new: CompiledSchedule, now_ms: int) -> EditResult:
    """Return the state under a new version.

    With the same ticks the cursor stays, and missed ticks stay missed. With other ticks, those before the change are
    not replayed: the cursor moves to now, and a dropped range records them.
    """
    if new.allowed_seconds is not None and _same_ticks(old, new) and not state.closed:
        return EditResult(replan_adaptive(state._replace(version=new.version), new, now_ms), [])
    if _same_ticks(old, new) and not state.closed:
        return EditResult(with_next_fire(state._replace(version=new.version), fire_ms_of(state, new)), [])
    dropped_ranges = [] if state.closed else dropped_between(state, old, cursor_before(now_ms), Reason.EDITED, now_ms)
    cursor = max(state.cursor_s, cursor_before(now_ms))
    hints = None if new.allowed_seconds is None else state.hints
    state = state._replace(carry=None, carry_until_s=None, closed=False, hints=hints)
    return EditResult(advance_to_next(state, new, cursor), dropped_ranges)


def _same_ticks(old: CompiledSchedule, new: CompiledSchedule) -> bool:
    """Return whether two versions tick and fire alike.

    Equal specs usually share one compiled form, until it is evicted.
    """
    if (new.allowed_seconds is None) != (old.allowed_seconds is None):
        return False
    if new.ticks is old.ticks:
        return _jitter_of(new) == _jitter_of(old)
    return new.spec == old.spec and not new.spec.exclude.named


def _jitter_of(compiled: CompiledSchedule) -> tuple[int, str, str | None]:
    return compiled.spec.jitter_ms, compiled.spec.jitter_mode, compiled.spec.jitter_seed


def dropped_between(
    state: ScheduleState, compiled: CompiledSchedule, until_s: int, reason: Reason, now_ms: int
) -> list[DroppedRange]:
    """Return the dropped range of the undecided ticks up to an instant, or an empty list if every tick is decided."""
    first = state.next_nominal_s
    if first is None or first > until_s:
        return []
    count = 1 if compiled.is_sequential else compiled.ticks_between(state.cursor_s, until_s, MAX_EDIT_COUNT)
    return [
        DroppedRange(
            schedule_key=state.schedule_key,
            after_s=state.cursor_s,
            until_s=until_s,
            ticks=count,
            reason=reason,
            version=compiled.version,
            decided_ms=now_ms,
        )
    ]


def set_remaining(state: ScheduleState, compiled: CompiledSchedule, remaining: int | None, now_ms: int) -> EditResult:
    """Return the state with another number of remaining actions. An exhausted schedule starts again from now."""
    was_exhausted = state.remaining == 0
    state = state._replace(remaining=remaining)
    if not was_exhausted or remaining == 0:
        return EditResult(with_next_fire(state, fire_ms_of(state, compiled)), [])
    dropped_ranges = dropped_between(state, compiled, cursor_before(now_ms), Reason.LIMIT_REACHED, now_ms)
    return EditResult(advance_to_next(state, compiled, max(state.cursor_s, cursor_before(now_ms))), dropped_ranges)


def close_state(state: ScheduleState, compiled: CompiledSchedule, now_ms: int) -> EditResult:
    """Return the state of a deleted schedule. Ticks that were due and undecided are dropped."""
    dropped_ranges = dropped_between(state, compiled, cursor_before(now_ms), Reason.DELETED, now_ms)
    cursor = max(state.cursor_s, cursor_before(now_ms))
    state = state._replace(closed=True, cursor_s=cursor, next_nominal_s=None, next_fire_ms=None, carry=None)
    return EditResult(state._replace(carry_until_s=None, skips=None, hints=None), dropped_ranges)


def add_skips(state: ScheduleState, ticks: list[int]) -> ScheduleState:
    """Return the state with ticks to skip added."""
    skips = skips_of(state) | set(ticks)
    return state._replace(skips=",".join(map(str, sorted(skips))) or None)


def remove_skips(state: ScheduleState, ticks: set[int]) -> ScheduleState:
    """Return the state without some of its ticks to skip."""
    skips = skips_of(state) - ticks
    return state._replace(skips=",".join(map(str, sorted(skips))) or None)


def skips_of(state: ScheduleState) -> set[int]:
    """Return the ticks to skip that are not decided yet."""
    return {int(text) for text in state.skips.split(",")} if state.skips else set()


def next_unskipped(state: ScheduleState, compiled: CompiledSchedule) -> int | None:
    """Return the next tick without a requested skip."""
    skipped, tick = skips_of(state), state.next_nominal_s
    while tick is not None and tick in skipped:
        state, tick = _after_skip(state, compiled, tick)
    return tick


def _after_skip(state: ScheduleState, compiled: CompiledSchedule, tick: int) -> tuple[ScheduleState, int | None]:
    """Return the state after a tick was skipped at its time, and the tick after it."""
    if compiled.allowed_seconds is None:
        return state, compiled.next_after(tick)
    state = adaptive.with_run_decided(state, tick)
    planned = adaptive.plan_next_run(state, compiled, tick * 1000)
    return state, None if planned is None else planned.nominal_s
