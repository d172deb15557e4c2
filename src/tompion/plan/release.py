"""What an outcome does: to its run, to the dial, and to the runs that wait for a free slot."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tompion.model.policy import Overlap, Policy
from tompion.model.run import AUTOMATIC, Reason, RunChange, RunRow, RunState
from tompion.model.schedule_state import ScheduleState
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.context import DecisionContext
from tompion.plan.edit import rested, silenced
from tompion.plan.outcome import change_of
from tompion.plan.overlap import is_too_soon


class ReleaseResult(NamedTuple):
    """Runs that leave the queue, and the dial without them."""

    dial: ScheduleState
    changes: list[RunChange]
    started: list[RunRow]


def release(
    dial: ScheduleState, rule: CompiledSchedule, rows: Iterable[tuple[RunRow, DecisionContext]]
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
    for row, world in rows:
        automatic = row.source in AUTOMATIC
        if dial.closed:
            dial = _dropped(dial, changes, row, Reason.DELETED, world.now_ms)
        elif world.target_paused or (dial.paused and automatic) or not _fits(dial, rule.policy, row):
            continue
        elif (reason := _obstacle(dial, rule.policy, world.now_ms, automatic=automatic)) is not None:
            dial = _dropped(dial, changes, row, reason, world.now_ms)
            dropped_ms, lost = world.now_ms, lost or automatic
        else:
            dial = _launched(dial, changes, started, row, world)
    if rule.gate is not None and any(row.source in AUTOMATIC for row in started):
        dial = silenced(dial._replace(next_nominal_s=None), None)  # the next run follows the end of this one
    elif dropped_ms is not None:  # perhaps there is no run whose end the next tick could follow
        dial = rested(dial, rule, dropped_ms, waiting=0 if lost else dial.waiting)
    return ReleaseResult(dial, changes, started)


def _fits(dial: ScheduleState, policy: Policy, row: RunRow) -> bool:
    """Whether a waiting run may leave the queue: there is a slot, or it needs none."""
    overlap = row.overlap or policy.overlap_policy
    return policy.shadow or overlap == Overlap.ALLOW or dial.in_flight < policy.max_concurrent


def _obstacle(dial: ScheduleState, policy: Policy, now_ms: int, *, automatic: bool) -> Reason | None:
    """Why a run leaves the queue without starting."""
    if policy.shadow:
        return Reason.SHADOW
    if automatic and dial.remaining == 0:
        return Reason.LIMIT_REACHED
    too_soon = automatic and is_too_soon(dial.last_start_ms, policy.min_interval_ms, now_ms)
    return Reason.MIN_INTERVAL if too_soon else None


def _launched(
    dial: ScheduleState, changes: list[RunChange], started: list[RunRow], row: RunRow, world: DecisionContext
) -> ScheduleState:
    leased, was = world.owner is not None, row.state
    row = row._replace(
        state=RunState.ENQUEUED,
        attempt=1 if leased else 0,
        owner=world.owner,
        due_ms=None if leased else world.now_ms,
        queued_ms=None,
    )
    changes.append(change_of(row, 0))
    started.append(row)
    automatic = row.source in AUTOMATIC
    remaining = dial.remaining
    return dial._replace(
        in_flight=dial.in_flight + 1,
        waiting=dial.waiting - (was == RunState.BUFFERED),
        starts=dial.starts + 1,
        remaining=remaining - 1 if automatic and remaining is not None else remaining,
        last_start_ms=world.now_ms if automatic else dial.last_start_ms,
        next_fire_ms=None if automatic and remaining == 1 else dial.next_fire_ms,
    )


def _dropped(dial: ScheduleState, changes: list[RunChange], row: RunRow, reason: Reason, now_ms: int) -> ScheduleState:
    waiting = dial.waiting - (row.state == RunState.BUFFERED)
    row = row._replace(state=RunState.SKIPPED, reason=reason, due_ms=None, queued_ms=None, finished_ms=now_ms)
    changes.append(change_of(row, 0))
    return dial._replace(waiting=waiting, skipped=dial.skipped + 1)
