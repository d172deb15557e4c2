"""Pause and resume: the one place that changes a schedule's row and its state for both, for engine and operations."""

from __future__ import annotations

from tompion.model.policy import OnResume
from tompion.model.rows import ScheduleRow
from tompion.model.schedule_state import ScheduleState
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.edit import due_now_if_waiting, fire_ms_of, with_next_fire

PAUSE_COLUMNS = ("state", "paused_by", "pause_note", "paused_ms")
"""The columns of a schedule's row that pause and resume change."""


def pause_schedule(  # noqa: PLR0913 - the parts of a pause
    row: ScheduleRow,
    state: ScheduleState,
    *,
    paused_by: str,
    note: str | None,
    now_ms: int,
    until_ms: int | None = None,
) -> tuple[ScheduleRow, ScheduleState]:
    """Return the row and the state of a paused schedule."""
    row = row._replace(state="paused", paused_by=paused_by, pause_note=note, paused_ms=now_ms)
    return row, pause_state(state, until_ms)


def resume_schedule(  # noqa: PLR0913 - the parts of a resume
    row: ScheduleRow,
    state: ScheduleState,
    compiled: CompiledSchedule,
    *,
    on_resume: OnResume,
    now_ms: int,
    note: str | None = None,
) -> tuple[ScheduleRow, ScheduleState]:
    """Return the row and the state of a resumed schedule."""
    row = row._replace(state="active", paused_by=None, pause_note=note, paused_ms=None)
    return row, resume_state(state, compiled, now_ms, on_resume)


def pause_state(state: ScheduleState, until_ms: int | None) -> ScheduleState:
    """Return the paused state. Its cursor does not move until the resume."""
    return with_next_fire(state._replace(paused=True, pause_until_ms=until_ms), None)


def resume_state(state: ScheduleState, compiled: CompiledSchedule, now_ms: int, on_resume: OnResume) -> ScheduleState:
    """Return the resumed state. The next pass of the engine decides the ticks of the pause."""
    if not state.paused:
        return state
    state = state._replace(paused=False, pause_until_ms=None)
    if on_resume != OnResume.POLICY:
        state = state._replace(carry=on_resume, carry_until_s=_last_due(compiled, state, now_ms))
    return due_now_if_waiting(with_next_fire(state, fire_ms_of(state, compiled)), now_ms)


def _last_due(compiled: CompiledSchedule, state: ScheduleState, now_ms: int) -> int:
    """Return the last second up to which every tick has reached its fire time. Jitter may move a fire time forward."""
    now_s = now_ms // 1000
    if compiled.allowed_seconds is not None:
        return now_s
    following = None if compiled.is_sequential else compiled.ticks.next_epoch(now_s)
    if following is not None and compiled.fire_ms(following) <= now_ms:
        return following
    tick = compiled.ticks.prev_epoch(now_s + 1)
    while tick is not None and tick > state.cursor_s and compiled.fire_ms(tick) > now_ms:
        now_s = tick - 1
        tick = compiled.ticks.prev_epoch(tick)
    return now_s
