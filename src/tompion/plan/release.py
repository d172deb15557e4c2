"""The release of waiting runs when a slot is free, for engine and operations alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from tompion.model.policy import Overlap, Policy
from tompion.model.run import AUTOMATIC_SOURCES, Reason, RunChange, RunRow, RunState
from tompion.model.schedule_state import ScheduleState
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.context import DecisionContext, DecisionContexts
from tompion.plan.edit import reschedule_if_idle, with_next_fire
from tompion.plan.outcome import run_change
from tompion.plan.overlap import is_too_soon

DecidedRun: TypeAlias = tuple[RunRow, CompiledSchedule]
"""A run with the version that decided it."""


class ReleaseResult(NamedTuple):
    """The runs that leave the queues of some schedules, and the states without them."""

    states: dict[int, ScheduleState]
    changes: list[RunChange]
    started: list[DecidedRun]


def older_versions(rows: Iterable[RunRow], schedules: Mapping[int, CompiledSchedule]) -> list[tuple[int, int]]:
    """Return the schedule and version of each run that an older version than the current one decided."""
    return sorted(
        {(row.schedule_key, row.version) for row in rows if row.version != schedules[row.schedule_key].version}
    )


def with_versions(
    rows: Iterable[RunRow],
    schedules: Mapping[int, CompiledSchedule],
    older: Mapping[tuple[int, int], CompiledSchedule],
) -> list[DecidedRun]:
    """Return each run with the version that decided it, or with the current one if the older cannot be read.

    A run starts what it was decided to start. Only the policy is the current one.
    """
    return [(row, older.get((row.schedule_key, row.version), schedules[row.schedule_key])) for row in rows]


def release_queues(
    states: Mapping[int, ScheduleState],
    schedules: Mapping[int, CompiledSchedule],
    runs: Iterable[DecidedRun],
    contexts: DecisionContexts,
) -> ReleaseResult:
    """Start the waiting runs of some schedules while slots are free, each queue in its order."""
    queues: dict[int, list[DecidedRun]] = {}
    for row, compiled in runs:
        queues.setdefault(row.schedule_key, []).append((row, compiled))
    result = ReleaseResult(dict(states), [], [])
    for key, queue in queues.items():
        released = release_queue(states[key], schedules[key], [(row, contexts.of(compiled)) for row, compiled in queue])
        result.states[key] = released.state
        result.changes.extend(released.changes)
        versions = {row.id: compiled for row, compiled in queue}
        result.started.extend((row, versions[row.id]) for row in released.started)
    return result


class QueueRelease(NamedTuple):
    """The runs that leave the queue of one schedule, and its state without them."""

    state: ScheduleState
    changes: list[RunChange]
    started: list[RunRow]


def release_queue(
    state: ScheduleState, compiled: CompiledSchedule, rows: Iterable[tuple[RunRow, DecisionContext]]
) -> QueueRelease:
    """Start the waiting runs of one schedule while slots are free, in the given order, each in its context.

    A paused schedule releases manual runs only. Its ticks stay in the queue. The policy is the current one: an update
    that allows overlaps, or makes the schedule a shadow, affects buffered runs. The target is the one that was decided:
    a run waits while its own target is paused, whatever the schedule starts today.
    """
    changes: list[RunChange] = []
    started: list[RunRow] = []
    dropped_ms = None
    lost = False
    for row, context in rows:
        automatic = row.source in AUTOMATIC_SOURCES
        if state.closed:
            state = _drop(state, changes, row, Reason.DELETED, context.now_ms)
        elif context.target_paused or (state.paused and automatic) or not _fits(state, compiled.policy, row):
            continue
        elif (reason := _drop_reason(state, compiled.policy, context.now_ms, automatic=automatic)) is not None:
            state = _drop(state, changes, row, reason, context.now_ms)
            dropped_ms, lost = context.now_ms, lost or automatic
        else:
            state = _start(state, changes, started, row, context)
    if compiled.allowed_seconds is not None and any(row.source in AUTOMATIC_SOURCES for row in started):
        state = with_next_fire(state._replace(next_nominal_s=None), None)  # the next run follows the end of this one
    elif dropped_ms is not None:  # perhaps no run is left that the next tick could follow
        state = reschedule_if_idle(state, compiled, dropped_ms, waiting=0 if lost else state.waiting)
    return QueueRelease(state, changes, started)


def _fits(state: ScheduleState, policy: Policy, row: RunRow) -> bool:
    """Return whether a waiting run may leave the queue: a slot is free, or it needs none."""
    overlap = row.overlap or policy.overlap_policy
    return policy.shadow or overlap == Overlap.ALLOW or state.in_flight < policy.max_concurrent


def _drop_reason(state: ScheduleState, policy: Policy, now_ms: int, *, automatic: bool) -> Reason | None:
    """Return why a run leaves the queue without starting."""
    if policy.shadow:
        return Reason.SHADOW
    if automatic and state.remaining == 0:
        return Reason.LIMIT_REACHED
    too_soon = automatic and is_too_soon(state.last_start_ms, policy.min_interval_ms, now_ms)
    return Reason.MIN_INTERVAL if too_soon else None


def _start(
    state: ScheduleState, changes: list[RunChange], started: list[RunRow], row: RunRow, context: DecisionContext
) -> ScheduleState:
    """Start a waiting run, and return the state of its schedule."""
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
    automatic = row.source in AUTOMATIC_SOURCES
    remaining = state.remaining
    return state._replace(
        in_flight=state.in_flight + 1,
        waiting=state.waiting - (was == RunState.BUFFERED),
        starts=state.starts + 1,
        remaining=remaining - 1 if automatic and remaining is not None else remaining,
        last_start_ms=context.now_ms if automatic else state.last_start_ms,
        next_fire_ms=None if automatic and remaining == 1 else state.next_fire_ms,
    )


def _drop(state: ScheduleState, changes: list[RunChange], row: RunRow, reason: Reason, now_ms: int) -> ScheduleState:
    waiting = state.waiting - (row.state == RunState.BUFFERED)
    row = row._replace(state=RunState.SKIPPED, reason=reason, due_ms=None, queued_ms=None, finished_ms=now_ms)
    changes.append(run_change(row, 0))
    return state._replace(waiting=waiting, skipped=state.skipped + 1)
