"""The fire transaction: lock what is due, let the planner decide, write the ledger, move the cursors.

Everything linearises here.  Nothing is launched before the commit, and whatever this returns is already in the ledger.
"""

from __future__ import annotations

from collections import Counter

from tompion.engine.context import EngineContext
from tompion.engine.steps.result import Notes
from tompion.model.policy import Overlap
from tompion.model.run import RunRow, RunState
from tompion.model.schedule_state import ScheduleState
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.context import DecisionContexts
from tompion.plan.release import older_versions, release_queues, with_versions
from tompion.store.base import Transaction

WHOLE_QUEUE = 1_000_000


def release_waiting(  # noqa: PLR0913 - whose, by which rules, in which world
    transaction: Transaction,
    states: dict[int, ScheduleState],
    schedules: dict[int, CompiledSchedule],
    contexts: DecisionContexts,
    instance: EngineContext,
    notes: Notes,
) -> list[tuple[RunRow, CompiledSchedule]]:
    """Start waiting runs of locked schedules while slots are free; ``dials`` is brought up to date."""
    most = max((schedules[key].policy.max_concurrent for key in states if key in schedules), default=1)
    page = most + 16
    launches, full = _release(transaction, states, schedules, contexts, instance, notes, page)
    beyond = {key: states[key] for key in full if states[key].waiting and _has_slot(states[key], schedules[key])}
    if beyond:  # whoever stood first was dropped, or must wait for something else: look at the whole queue
        more, _ = _release(transaction, beyond, schedules, contexts, instance, notes, WHOLE_QUEUE)
        states.update(beyond)
        launches += more
    return launches


def _release(  # noqa: PLR0913 - as its caller
    transaction: Transaction,
    states: dict[int, ScheduleState],
    schedules: dict[int, CompiledSchedule],
    contexts: DecisionContexts,
    instance: EngineContext,
    notes: Notes,
    page: int,
) -> tuple[list[tuple[RunRow, CompiledSchedule]], list[int]]:
    """Release from a page of each queue; return what starts here, and whose page was full."""
    waiting = [row for row in transaction.run_list_buffered(states, page) if row.schedule_key in schedules]
    decided = as_decided(transaction, waiting, schedules, instance)
    released = release_queues(states, schedules, decided, contexts)
    states.update(released.states)
    notes.dropped(released.changes, decided)
    transaction.run_release_waiting(released.changes)
    if any(change.owner is None and change.state == RunState.ENQUEUED for change in released.changes):
        transaction.notify()
    launches = [(row, compiled) for row, compiled in released.started if row.owner == instance.number]
    sizes = Counter(row.schedule_key for row in waiting)
    return launches, [key for key, size in sizes.items() if size == page]


def _has_slot(state: ScheduleState, compiled: CompiledSchedule) -> bool:
    return state.in_flight < compiled.policy.max_concurrent or compiled.policy.overlap_policy is Overlap.ALLOW


def as_decided(
    transaction: Transaction, rows: list[RunRow], schedules: dict[int, CompiledSchedule], instance: EngineContext
) -> list[tuple[RunRow, CompiledSchedule]]:
    """Return runs with the rules of the versions that decided them: the policy is the newest, what runs is not."""
    older = older_versions(rows, schedules)
    return with_versions(rows, schedules, instance.schedules.by_version(transaction, older) if older else {})
