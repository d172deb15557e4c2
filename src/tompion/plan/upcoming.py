"""Which ticks are to come, as far as anybody can know."""

from __future__ import annotations

from collections.abc import Iterator

from tompion.model.schedule_state import ScheduleState
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.edit import next_unskipped, skips_of


def upcoming_ticks(state: ScheduleState, compiled: CompiledSchedule, now_ms: int) -> Iterator[int]:
    """Yield the ticks from now on that will run, or would if the schedule were not paused.

    Those of a pause, or of a time when nobody was there, are not to come: the catch-up policy decides about them.  Of
    a fixed delay, and of an adaptive schedule, only one is known, and it is never too late for that.
    """
    if state.closed or state.remaining == 0:
        return
    if compiled.follows:
        pending = next_unskipped(state, compiled)
        yield from () if pending is None else (pending,)
        return
    skips = skips_of(state)
    tick = compiled.ticks.next_epoch(max(state.cursor_s, now_ms // 1000))
    while tick is not None:
        if tick not in skips:
            yield tick
        tick = compiled.ticks.next_epoch(tick)
