"""The next ticks of a backfill.

A backfill is a queue of its own: with ``queue`` it hands out a tick only when a slot is free and no run waits. It can
neither fill the buffer nor overtake the ticks of the schedule. While its target is paused it hands out none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from tompion.model.backfill import DONE, RUNNING, BackfillRow
from tompion.model.policy import Overlap
from tompion.model.run import OPEN, RunSource, RunState
from tompion.model.schedule_state import ScheduleState
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.context import DecisionContext
from tompion.plan.decide import Decision, Origin
from tompion.plan.due_ticks import Due

ALL, MISSING, FAILED = BACKFILL_FILTERS = ("all", "missing", "failed")
"""The ticks of its range that a backfill runs: all, those that never ran, or those that failed."""
_NOT_DONE = frozenset({RunState.SKIPPED, RunState.CANCELLED})
_DONE = OPEN | {RunState.SUCCESS}
_FAILED = frozenset({RunState.FAILED, RunState.TIMED_OUT, RunState.TERMINATED})


class BackfillChunk(NamedTuple):
    """The result of one pass for one backfill."""

    backfill: BackfillRow
    decision: Decision


def is_wanted(only: str, states: Collection[str]) -> bool:
    """Return whether a backfill runs a tick, from the states of the tick's own run and of backfill runs.

    A tick has no run if it was dropped, or lies before the schedule's creation. One run is enough if it ran or will
    run.
    """
    if only == ALL:
        return True
    if only == MISSING:
        return all(state in _NOT_DONE for state in states)
    if only == FAILED:
        return any(state in _FAILED for state in states) and not any(state in _DONE for state in states)
    raise ValueError(f"{only!r} is not one of {', '.join(BACKFILL_FILTERS)}")


def last_decided(state: ScheduleState, only: str, end_s: int) -> int:
    """Return the end of the part of a range that belongs to a backfill.

    The schedule itself decides ticks after its cursor.

    A backfill of all ticks includes those. A schedule without remaining actions will not run any of them by itself.
    """
    return end_s if only == ALL or state.remaining == 0 else min(end_s, state.cursor_s)


def next_chunk(  # noqa: PLR0913 - a decision about three rows
    backfill: BackfillRow,
    state: ScheduleState,
    compiled: CompiledSchedule,
    context: DecisionContext,
    limit: int,
    earlier: Mapping[int, Collection[str]],
) -> BackfillChunk:
    """Return the next ticks of a backfill. ``earlier`` maps nominal times to the states of their runs."""
    decision = Decision(state, compiled, context)
    overlap = Overlap(backfill.overlap)
    cursor, done = backfill.cursor_s, backfill.done
    tick = compiled.ticks.next_epoch(cursor)
    for _ in range(limit):
        if tick is None or tick > backfill.last_s or not _has_slot(decision, compiled, overlap):
            break
        if is_wanted(backfill.only, earlier.get(tick, ())):
            due = Due(tick, context.now_ms)
            decision.decide_request(due, Origin(RunSource.BACKFILL, backfill.backfill_id, overlap))
            done += 1
        cursor = tick
        tick = compiled.ticks.next_epoch(tick)
    finished = tick is None or tick > backfill.last_s
    return BackfillChunk(
        backfill._replace(
            cursor_s=cursor,
            done=done,
            state=DONE if finished else RUNNING,
            next_ms=None if finished else _next_check_ms(decision, compiled, overlap, context),
            finished_ms=context.now_ms if finished else None,
        ),
        decision,
    )


RECHECK_MS = 1_000
"""The delay before a backfill that waits for a slot checks again. A finished run wakes it at once."""


def _next_check_ms(decision: Decision, compiled: CompiledSchedule, overlap: Overlap, context: DecisionContext) -> int:
    return context.now_ms if _has_slot(decision, compiled, overlap) else context.now_ms + RECHECK_MS


def _has_slot(decision: Decision, compiled: CompiledSchedule, overlap: Overlap) -> bool:
    if decision.context.target_paused:
        return False
    if overlap != Overlap.QUEUE:
        return True
    waiting = 0 if decision.state.paused else decision.waiting  # runs that a pause holds back are not in the way
    return waiting == 0 and decision.in_flight < compiled.policy.max_concurrent
