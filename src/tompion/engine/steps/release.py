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
from tompion.plan.release import release
from tompion.store.base import Transaction

WHOLE_QUEUE = 1_000_000


def release_waiting(  # noqa: PLR0913 - whose, by which rules, in which world
    transaction: Transaction,
    dials: dict[int, ScheduleState],
    rules: dict[int, CompiledSchedule],
    worlds: DecisionContexts,
    instance: EngineContext,
    notes: Notes,
) -> list[tuple[RunRow, CompiledSchedule]]:
    """Start waiting runs of locked schedules while slots are free; ``dials`` is brought up to date."""
    most = max((rules[key].policy.max_concurrent for key in dials if key in rules), default=1)
    page = most + 16
    launches, full = _release(transaction, dials, rules, worlds, instance, notes, page)
    beyond = {key: dials[key] for key in full if dials[key].waiting and _has_slot(dials[key], rules[key])}
    if beyond:  # whoever stood first was dropped, or must wait for something else: look at the whole queue
        more, _ = _release(transaction, beyond, rules, worlds, instance, notes, WHOLE_QUEUE)
        dials.update(beyond)
        launches += more
    return launches


def _release(  # noqa: PLR0913 - as its caller
    transaction: Transaction,
    dials: dict[int, ScheduleState],
    rules: dict[int, CompiledSchedule],
    worlds: DecisionContexts,
    instance: EngineContext,
    notes: Notes,
    page: int,
) -> tuple[list[tuple[RunRow, CompiledSchedule]], list[int]]:
    """Release from a page of each queue; return what starts here, and whose page was full."""
    by_schedule: dict[int, list[tuple[RunRow, CompiledSchedule]]] = {}
    waiting = [row for row in transaction.waiting_of(dials, page) if row.schedule_key in rules]
    for row, rule in as_decided(transaction, waiting, rules, instance):
        by_schedule.setdefault(row.schedule_key, []).append((row, rule))
    changes: list[RunChange] = []
    launches: list[tuple[RunRow, CompiledSchedule]] = []
    for key, decided in by_schedule.items():
        released = release(dials[key], rules[key], ((row, worlds.of(rule)) for row, rule in decided))
        dials[key] = released.dial
        changes += released.changes
        rule_of = {row.id: rule for row, rule in decided}
        notes.dropped(released.changes, decided)
        launches += [(row, rule_of[row.id]) for row in released.started if row.owner == instance.number]
    transaction.release_runs(changes)
    if any(change.owner is None and change.state == RunState.ENQUEUED for change in changes):
        transaction.notify()
    return launches, [key for key, decided in by_schedule.items() if len(decided) == page]


def _has_slot(dial: ScheduleState, rule: CompiledSchedule) -> bool:
    return dial.in_flight < rule.policy.max_concurrent or rule.policy.overlap_policy is Overlap.ALLOW


def as_decided(
    transaction: Transaction, rows: list[RunRow], rules: dict[int, CompiledSchedule], instance: EngineContext
) -> list[tuple[RunRow, CompiledSchedule]]:
    """Return runs with the rules of the versions that decided them: the policy is the newest, what runs is not."""
    current = [(row, rules[row.schedule_key]) for row in rows]
    older = sorted({(row.schedule_key, row.version) for row, rule in current if row.version != rule.version})
    if not older:
        return current
    known = instance.rules.by_version(transaction, older)
    return [(row, known.get((row.schedule_key, row.version), rule)) for row, rule in current]
