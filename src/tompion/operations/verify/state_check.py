"""Is a dial as its schedule, its version and its ledger say?  Whatever of it can be computed anew is compared.

A dial may be looked at sooner than its next tick fires: that costs a look, and is so whenever something has been
changed.  What may not be is that it is looked at later, or never.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tompion.model.rows import ScheduleRow
from tompion.model.run import FAILURES, IN_FLIGHT, RunState
from tompion.model.schedule_state import ScheduleState
from tompion.operations.context import OperationContext
from tompion.operations.verify.version_chain import moment
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.stored_definition import zones_text

PUT_OFF_MS = 5 * 60_000
"""So much later than its next tick a dial may be looked at again, because it could not be read just then."""
UNBEGUN = "unbegun"
"""A run that was cancelled before anybody began with it: some of them were counted as started, some were waiting."""


def misaimed(
    context: OperationContext, row: ScheduleRow, state: ScheduleState, compiled: CompiledSchedule | None
) -> Iterator[str]:
    """Return what a dial says otherwise than its schedule and its version do."""
    is_closed = row.state == "closed"
    if state.closed != is_closed:
        yield f"the schedule is {row.state}, and the dial is {'closed' if state.closed else 'not closed'}"
    elif not is_closed and state.paused != (row.state == "paused"):
        yield f"the schedule is {row.state}, and the dial is {'paused' if state.paused else 'not paused'}"
    elif state.closed or compiled is None or row.zones != zones_text(compiled.spec):
        return  # nobody fires it; or nobody knows when that should be
    else:
        yield from _next(context, state, compiled)


def _next(context: OperationContext, state: ScheduleState, compiled: CompiledSchedule) -> Iterator[str]:
    """The next tick is the first one after the cursor, and somebody looks when it fires, or when the pause ends."""
    if not compiled.is_sequential and state.next_nominal_s != (expected_s := compiled.next_after(state.cursor_s)):
        aim, first = _shown(state.next_nominal_s), _shown(expected_s)
        yield f"it is aimed at {aim}, and the first tick after its cursor is {first}"
        return
    if state.paused:
        due_ms = state.pause_until_ms
    elif state.remaining == 0 or state.next_nominal_s is None:
        due_ms = None
    else:
        due_ms = state.next_nominal_s * 1000 if compiled.is_sequential else compiled.fire_ms(state.next_nominal_s)
    if due_ms is None:
        return
    what = f"{'its pause ends' if state.paused else 'its next tick fires'} at {moment(due_ms // 1000)}"
    latest_ms = max(due_ms, context.now_ms + max(PUT_OFF_MS, context.settings.lookahead_ms))
    if state.next_fire_ms is None:
        yield f"nobody looks at it any more, and {what}"
    elif state.next_fire_ms > latest_ms and (
        state.paused or not compiled.is_sequential
    ):  # a hint may move what follows a run
        yield f"nobody looks at it before {moment(state.next_fire_ms // 1000)}, and {what}"


def miscounted(context: OperationContext, row: ScheduleRow, schedule_state: ScheduleState) -> Iterator[str]:
    """Return which runs a dial has counted otherwise than the ledger, if that still has all of them."""
    first = context.transaction.version_get(row.schedule_key, 1)
    kept_ms = context.now_ms - context.settings.retention_ms
    if first is None or first.created_ms <= kept_ms or row.purge or row.state == "closed":
        return
    counts = context.transaction.run_count_by_state(row.schedule_key)
    ended = {
        "succeeded": (schedule_state.successes, counts.get(RunState.SUCCESS, 0)),
        "failed": (schedule_state.failed, sum(counts.get(state, 0) for state in FAILURES)),
    }
    for what, (counted, found) in ended.items():
        if counted != found:
            yield f"the dial counts {counted} that have {what}, the ledger {found}"
    least = _started(counts)
    if not least <= schedule_state.starts <= least + counts.get(UNBEGUN, 0):
        yield f"the dial counts {schedule_state.starts} that were started, the ledger {least}"


def _started(counts: Mapping[str, int]) -> int:
    """How many runs were started for certain."""
    ended = {RunState.SUCCESS, *FAILURES, RunState.TERMINATED, RunState.CANCELLED}
    return sum(counts.get(state, 0) for state in ended | IN_FLIGHT)


def _shown(tick_s: int | None) -> str:
    return "none" if tick_s is None else moment(tick_s)
