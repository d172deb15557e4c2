"""The fire transaction: lock what is due, let the planner decide, write the ledger, move the cursors.

Everything linearises here.  Nothing is launched before the commit, and whatever this returns is already in the ledger.
"""

from __future__ import annotations

from tompion.engine.context import DecisionContexts, EngineContext
from tompion.engine.steps.result import Notes
from tompion.model.policy import Overlap
from tompion.model.run import RunChange, RunRow, RunState
from tompion.model.schedule_state import ScheduleState
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.release import release_runs
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
    by_schedule: dict[int, list[tuple[RunRow, CompiledSchedule]]] = {}
    waiting = [row for row in transaction.run_list_buffered(states, page) if row.schedule_key in schedules]
    for row, compiled in as_decided(transaction, waiting, schedules, instance):
        by_schedule.setdefault(row.schedule_key, []).append((row, compiled))
    changes: list[RunChange] = []
    launches: list[tuple[RunRow, CompiledSchedule]] = []
    for key, decided in by_schedule.items():
        released = release_runs(
            states[key], schedules[key], ((row, contexts.of(compiled)) for row, compiled in decided)
        )
        states[key] = released.state
        changes += released.changes
        rule_of = {row.id: compiled for row, compiled in decided}
        notes.dropped(released.changes, decided)
        launches += [(row, rule_of[row.id]) for row in released.started if row.owner == instance.number]
    transaction.run_release_waiting(changes)
    if any(change.owner is None and change.state == RunState.ENQUEUED for change in changes):
        transaction.notify()
    return launches, [key for key, decided in by_schedule.items() if len(decided) == page]


def _has_slot(state: ScheduleState, compiled: CompiledSchedule) -> bool:
    return state.in_flight < compiled.policy.max_concurrent or compiled.policy.overlap_policy is Overlap.ALLOW


def as_decided(
    transaction: Transaction, rows: list[RunRow], schedules: dict[int, CompiledSchedule], instance: EngineContext
) -> list[tuple[RunRow, CompiledSchedule]]:
    """Return runs with the rules of the versions that decided them: the policy is the newest, what runs is not."""
    current = [(row, schedules[row.schedule_key]) for row in rows]
    older = sorted({(row.schedule_key, row.version) for row, compiled in current if row.version != compiled.version})
    if not older:
        return current
    known = instance.schedules.by_version(transaction, older)
    return [(row, known.get((row.schedule_key, row.version), compiled)) for row, compiled in current]
