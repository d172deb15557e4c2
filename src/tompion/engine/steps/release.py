"""Release of queued runs: when a slot is free, the oldest queued runs of a schedule start."""

from __future__ import annotations

from collections import Counter

from tompion.engine.context import EngineContext
from tompion.engine.steps.result import Launches, StepResult
from tompion.model.policy import Overlap
from tompion.model.run import RunRow, RunState
from tompion.model.schedule_state import ScheduleState
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.context import DecisionContexts
from tompion.plan.release import older_versions, release_queues, with_versions
from tompion.store.base import Transaction

WHOLE_QUEUE = 1_000_000
"""Page size that no queue exceeds."""
EXTRA_ROWS = 16
"""Rows read beyond the number of slots, because some queued runs may be dropped."""


def release_waiting(  # noqa: PLR0913 - the state of one step
    transaction: Transaction,
    states: dict[int, ScheduleState],
    schedules: dict[int, CompiledSchedule],
    contexts: DecisionContexts,
    context: EngineContext,
    result: StepResult,
) -> Launches:
    """Start queued runs of locked schedules while slots are free. Updates ``states`` and ``result``."""
    slots = max((schedules[key].policy.max_concurrent for key in states if key in schedules), default=1)
    launches, full = _release_page(transaction, states, schedules, contexts, context, result, slots + EXTRA_ROWS)
    beyond = {key: states[key] for key in full if states[key].waiting and _has_slot(states[key], schedules[key])}
    if beyond:  # every run of the page was dropped or is blocked, so read the whole queue
        more, _ = _release_page(transaction, beyond, schedules, contexts, context, result, WHOLE_QUEUE)
        states.update(beyond)
        launches += more
    return launches


def _release_page(  # noqa: PLR0913 - as its caller
    transaction: Transaction,
    states: dict[int, ScheduleState],
    schedules: dict[int, CompiledSchedule],
    contexts: DecisionContexts,
    context: EngineContext,
    result: StepResult,
    page: int,
) -> tuple[Launches, list[int]]:
    """Release runs from one page of each queue. Return the launches, and the schedules whose page was full."""
    waiting = [row for row in transaction.run_list_buffered(states, page) if row.schedule_key in schedules]
    queued = with_deciding_version(transaction, waiting, schedules, context)
    released = release_queues(states, schedules, queued, contexts)
    states.update(released.states)
    result.add_skipped(released.changes, queued)
    transaction.run_release_waiting(released.changes)
    if any(change.owner is None and change.state == RunState.ENQUEUED for change in released.changes):
        transaction.notify()
    launches = [(row, compiled) for row, compiled in released.started if row.owner == context.number]
    sizes = Counter(row.schedule_key for row in waiting)
    return launches, [key for key, size in sizes.items() if size == page]


def _has_slot(state: ScheduleState, compiled: CompiledSchedule) -> bool:
    return state.in_flight < compiled.policy.max_concurrent or compiled.policy.overlap_policy is Overlap.ALLOW


def with_deciding_version(
    transaction: Transaction, rows: list[RunRow], schedules: dict[int, CompiledSchedule], context: EngineContext
) -> Launches:
    """Return runs with the schedule version that decided them.

    The policy of the newest version applies to the queue. The action comes from the version of the run.
    """
    older = older_versions(rows, schedules)
    return with_versions(rows, schedules, context.schedules.by_version(transaction, older) if older else {})
