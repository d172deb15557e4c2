"""Verification of a state row: recompute it from the schedule, its version and its ledger, and compare.

An engine may wake up before the next tick fires, which happens after every change and does no harm. It must not wake up
later, or never.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tompion.model.rows import ScheduleRow
from tompion.model.run import FAILURES, IN_FLIGHT, RunState
from tompion.model.schedule_state import ScheduleState
from tompion.operations.context import OperationContext
from tompion.operations.verify.version_chain import time_text
from tompion.plan.adaptive import plan_next_run
from tompion.plan.compiled_schedule import CompiledSchedule

MAX_DELAY_MS = 5 * 60_000
"""How much later than its next tick an engine may wake up for a schedule that it could not read."""
NOT_BEGUN = "unbegun"
"""A run that was cancelled before a worker started it. Some of them were counted as started, some were waiting."""


def state_problems(
    context: OperationContext, row: ScheduleRow, state: ScheduleState, compiled: CompiledSchedule | None
) -> Iterator[str]:
    """Yield how a state disagrees with its schedule and its version."""
    is_closed = row.state == "closed"
    if state.closed != is_closed:
        yield f"the schedule is {row.state}, and its state is {'closed' if state.closed else 'not closed'}"
    elif not is_closed and state.paused != (row.state == "paused"):
        yield f"the schedule is {row.state}, and its state is {'paused' if state.paused else 'not paused'}"
    elif not state.closed and compiled is not None:
        zone_text = "" if row.zones == compiled.zones else f", by the zone data {compiled.zones} instead of {row.zones}"
        yield from (f"{text}{zone_text}" for text in _next_tick_problems(context, state, compiled))


def _next_tick_problems(context: OperationContext, state: ScheduleState, compiled: CompiledSchedule) -> Iterator[str]:
    """Check that the next tick is the first one after the cursor, and that an engine wakes up in time for it."""
    problem = _next_tick_problem(context, state, compiled)
    if problem is not None:
        yield problem
        return
    if state.paused:
        due_ms = state.pause_until_ms
    elif state.remaining == 0 or state.next_nominal_s is None:
        due_ms = None
    else:
        due_ms = state.next_nominal_s * 1000 if compiled.is_sequential else compiled.fire_ms(state.next_nominal_s)
    if due_ms is None:
        return
    what = f"{'its pause ends' if state.paused else 'its next tick fires'} at {time_text(due_ms // 1000)}"
    overdue_ms = context.now_ms + max(MAX_DELAY_MS, context.settings.lookahead_ms)
    latest_ms = due_ms if due_ms > context.now_ms else overdue_ms
    if state.next_fire_ms is None:
        yield f"no engine wakes up for it, and {what}"
    elif state.next_fire_ms > latest_ms and (
        state.paused or compiled.allowed_seconds is None
    ):  # a hint may move what follows a run
        yield f"no engine wakes up for it before {time_text(state.next_fire_ms // 1000)}, and {what}"


def _next_tick_problem(context: OperationContext, state: ScheduleState, compiled: CompiledSchedule) -> str | None:
    """Return why the next tick is wrong. A tick that follows a run must not be later than a plan of this moment."""
    nominal_s = state.next_nominal_s
    if not compiled.is_sequential:
        expected_s = compiled.next_after(state.cursor_s)
        next_tick = "not set" if nominal_s is None else time_text(nominal_s)
        right = nominal_s == expected_s
        return None if right else f"its next tick is {next_tick}, and {_first_tick_text(expected_s)}"
    if nominal_s is None or nominal_s * 1000 <= context.now_ms:
        return None
    latest_s = _latest_tick(context, state, compiled)
    if latest_s is None or nominal_s <= latest_s:
        return None
    return f"its next tick is {time_text(nominal_s)}, and it can be at {time_text(latest_s)} at the latest"


def _latest_tick(context: OperationContext, state: ScheduleState, compiled: CompiledSchedule) -> int | None:
    """Return the latest possible next tick of a fixed delay or an adaptive schedule."""
    if compiled.allowed_seconds is not None:
        planned = plan_next_run(state, compiled, context.now_ms)
        return None if planned is None else planned.nominal_s
    begin_s = max(-(-context.now_ms // 1000), state.cursor_s + 1, compiled.start_s or 0)
    return compiled.ticks.next_epoch(begin_s)


def counter_problems(context: OperationContext, row: ScheduleRow, schedule_state: ScheduleState) -> Iterator[str]:
    """Yield how the counters of a state disagree with the ledger, if that still has all runs."""
    first = context.transaction.version_get(row.schedule_key, 1)
    oldest_ms = context.now_ms - context.settings.retention_ms
    if first is None or first.created_ms <= oldest_ms or row.purge or row.state == "closed":
        return
    counts = context.transaction.run_count_by_state(row.schedule_key)
    ended = {
        "succeeded": (schedule_state.successes, counts.get(RunState.SUCCESS, 0)),
        "failed": (schedule_state.failed, sum(counts.get(state, 0) for state in FAILURES)),
    }
    for what, (counted, counted_runs) in ended.items():
        if counted != counted_runs:
            yield f"the state counts {counted} runs that have {what}, the ledger {counted_runs}"
    least = _started(counts)
    if not least <= schedule_state.starts <= least + counts.get(NOT_BEGUN, 0):
        yield f"the state counts {schedule_state.starts} runs that were started, the ledger {least}"


def _started(counts: Mapping[str, int]) -> int:
    """Return the number of runs that were certainly started."""
    ended = {RunState.SUCCESS, *FAILURES, RunState.TERMINATED, RunState.CANCELLED}
    return sum(counts.get(state, 0) for state in ended | IN_FLIGHT)


def _first_tick_text(tick_s: int | None) -> str:
    return "no tick follows its cursor" if tick_s is None else f"the first tick after its cursor is {time_text(tick_s)}"
