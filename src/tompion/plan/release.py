"""What an outcome does: to its run, to the dial, and to the runs that wait for a free slot."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tompion.model.policy import Overlap, Policy
from tompion.model.run import AUTOMATIC_ORIGINS, Reason, RunChange, RunRow, RunState
from tompion.model.schedule_state import ScheduleState
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.context import DecisionContext
from tompion.plan.edit import reschedule_if_idle, with_next_fire
from tompion.plan.outcome import run_change
from tompion.plan.overlap import is_too_soon


class ReleaseResult(NamedTuple):
    """Runs that leave the queue, and the dial without them."""

    state: ScheduleState
    changes: list[RunChange]
    started: list[RunRow]


def release_runs(
    state: ScheduleState, compiled: CompiledSchedule, rows: Iterable[tuple[RunRow, DecisionContext]]
) -> ReleaseResult:
    """Start waiting runs while there are free slots, in the order in which they come, each in its world.

    A paused schedule releases only what somebody asked for; the ticks stay where they are.  The policy is the one of
    now: an update that allows overlaps, or makes the schedule a shadow, affects what is buffered.  What is executed,
    and where, is as it was decided: a run waits while its own target is paused, whatever the schedule starts today.
    """
    changes: list[RunChange] = []
    started: list[RunRow] = []
    dropped_ms = None
    lost = False
    for row, context in rows:
        automatic = row.source in AUTOMATIC_ORIGINS
        if state.closed:
            state = _dropped(state, changes, row, Reason.DELETED, context.now_ms)
        elif context.target_paused or (state.paused and automatic) or not _fits(state, compiled.policy, row):
            continue
        elif (reason := _obstacle(state, compiled.policy, context.now_ms, automatic=automatic)) is not None:
            state = _dropped(state, changes, row, reason, context.now_ms)
            dropped_ms, lost = context.now_ms, lost or automatic
        else:
            state = _launched(state, changes, started, row, context)
    if compiled.gate is not None and any(row.source in AUTOMATIC_ORIGINS for row in started):
        state = with_next_fire(state._replace(next_nominal_s=None), None)  # the next run follows the end of this one
    elif dropped_ms is not None:  # perhaps there is no run whose end the next tick could follow
        state = reschedule_if_idle(state, compiled, dropped_ms, waiting=0 if lost else state.waiting)
    return ReleaseResult(state, changes, started)


def _fits(state: ScheduleState, policy: Policy, row: RunRow) -> bool:
    """Whether a waiting run may leave the queue: there is a slot, or it needs none."""
    overlap = row.overlap or policy.overlap_policy
    return policy.shadow or overlap == Overlap.ALLOW or state.in_flight < policy.max_concurrent


def _obstacle(state: ScheduleState, policy: Policy, now_ms: int, *, automatic: bool) -> Reason | None:
    """Why a run leaves the queue without starting."""
    if policy.shadow:
        return Reason.SHADOW
    if automatic and state.remaining == 0:
        return Reason.LIMIT_REACHED
    too_soon = automatic and is_too_soon(state.last_start_ms, policy.min_interval_ms, now_ms)
    return Reason.MIN_INTERVAL if too_soon else None


def _launched(
    state: ScheduleState, changes: list[RunChange], started: list[RunRow], row: RunRow, context: DecisionContext
) -> ScheduleState:
    leased, was = context.owner is not None, row.state
    row = row._replace(
        state=RunState.ENQUEUED,
        attempt=1 if leased else 0,
        owner=context.owner,
        due_ms=None if leased else context.now_ms,
        queued_ms=None,
    )
    changes.append(run_change(row, 0))
    started.append(row)
    automatic = row.source in AUTOMATIC_ORIGINS
    remaining = state.remaining
    return state._replace(
        in_flight=state.in_flight + 1,
        waiting=state.waiting - (was == RunState.BUFFERED),
        starts=state.starts + 1,
        remaining=remaining - 1 if automatic and remaining is not None else remaining,
        last_start_ms=context.now_ms if automatic else state.last_start_ms,
        next_fire_ms=None if automatic and remaining == 1 else state.next_fire_ms,
    )


def _dropped(state: ScheduleState, changes: list[RunChange], row: RunRow, reason: Reason, now_ms: int) -> ScheduleState:
    waiting = state.waiting - (row.state == RunState.BUFFERED)
    row = row._replace(state=RunState.SKIPPED, reason=reason, due_ms=None, queued_ms=None, finished_ms=now_ms)
    changes.append(run_change(row, 0))
    return state._replace(waiting=waiting, skipped=state.skipped + 1)
