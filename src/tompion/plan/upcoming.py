"""Upcoming ticks, as far as they can be computed."""

from __future__ import annotations

from collections.abc import Iterator

from tompion.model.schedule_state import ScheduleState
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.edit import next_unskipped, skips_of


def upcoming_ticks(state: ScheduleState, compiled: CompiledSchedule, now_ms: int) -> Iterator[int]:
    """Yield the ticks from now on that will run, or would run if the schedule were not paused.

    Overdue ticks are not upcoming: the catch-up policy decides them. A fixed delay and an adaptive schedule have one
    known tick, which is never too late.
    """
    if state.closed or state.remaining == 0:
        return
    if compiled.is_sequential:
        pending = next_unskipped(state, compiled)
        yield from () if pending is None else (pending,)
        return
    skips = skips_of(state)
    tick = compiled.ticks.next_epoch(max(state.cursor_s, now_ms // 1000))
    while tick is not None:
        if tick not in skips:
            yield tick
        tick = compiled.ticks.next_epoch(tick)
