"""The fire transaction: lock what is due, let the planner decide, write the ledger, move the cursors.

Everything linearises here.  Nothing is launched before the commit, and whatever this returns is already in the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tompion.engine.context import EngineContext
from tompion.engine.steps import audit
from tompion.engine.steps.release import release_waiting
from tompion.engine.steps.result import Carried, Launches, Notes
from tompion.model.run import RunId, RunRow, RunState, StartRow
from tompion.model.schedule_state import FastAdvanceRow, ScheduleState, StateTuple
from tompion.plan.adaptive import has_conflicting_hints
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.context import DecisionContexts
from tompion.plan.decide import Decision, decide, decision_writes
from tompion.plan.fast_path import decide_fast
from tompion.plan.pause import PAUSE_COLUMNS, resume_schedule
from tompion.store.base import Transaction

BROKEN_RETRY_MS = 5 * 60_000
"""A schedule that cannot be compiled is looked at again after this long; it must not stop the others."""


class Fired(NamedTuple):
    """What a step has written: what to launch, whom to end, and how much of the batch and the budget was used."""

    claimed: int
    launches: Launches
    to_end: list[RunRow]
    now_ms: int
    catchups: int = 0
    runs: int = 0
    forsaken: Sequence[tuple[RunRow, CompiledSchedule]] = ()
    """Runs that were picked up and that nobody wants any more: cancelled, or of a schedule that was deleted."""
    carried: Sequence[Carried] = ()
    notes: Notes | None = None

    def carrying(self, launches: Launches, carried: Sequence[Carried]) -> Fired:
        """Return the same after some launches were carried out already: what is left, and what was done."""
        return self._replace(launches=launches, carried=carried)


NOTHING = Fired(0, [], [], 0)


class FastStarts(NamedTuple):
    """The ticks of a batch that simply start: what to launch, and how it is written."""

    launches: list[tuple[RunRow, CompiledSchedule]]
    starts: list[StartRow]
    steps: list[FastAdvanceRow]

    def without(self, duplicates: set[RunId]) -> list[tuple[RunRow, CompiledSchedule]]:
        """Return the launches of runs that were not in the ledger already."""
        return [each for each in self.launches if each[0].id not in duplicates] if duplicates else self.launches


class FireStep:
    """The fire step of one instance."""

    def __init__(self, instance: EngineContext) -> None:
        """Take the instance."""
        self._instance = instance

    def on_time(self, transaction: Transaction, limit: int) -> Fired:
        """Fire schedules whose next tick is not missed."""
        now_ms = transaction.now_ms()
        edge = now_ms - self._instance.settings.misfire_grace_ms
        return self._fire(transaction, now_ms, transaction.state_claim_due(edge - 1, now_ms, limit), 0)

    def catch_up(self, transaction: Transaction, limit: int, budget: int) -> Fired:
        """Fire schedules that have missed ticks, within the budget."""
        now_ms = transaction.now_ms()
        edge = now_ms - self._instance.settings.misfire_grace_ms
        return self._fire(transaction, now_ms, transaction.state_claim_due(-1, edge - 1, limit), budget)

    def _fire(self, transaction: Transaction, now_ms: int, claimed: list[StateTuple], budget: int) -> Fired:
        if not claimed:
            return NOTHING
        instance = self._instance
        schedules = instance.schedules.of_versions(transaction, [(row[0], row[1]) for row in claimed])
        contexts = instance.contexts(now_ms, transaction.target_list_paused())
        begun, rest = _begun(claimed, schedules, contexts)
        notes = Notes()
        states, launches = self._prepared(transaction, rest, schedules, contexts, now_ms, notes)
        decisions: list[Decision] = []
        written: list[ScheduleState] = []
        catchups = 0
        for state in states:
            compiled = schedules.get(state.schedule_key)
            if compiled is None:
                notes.idle += 1
                written.append(self._broken(state, now_ms))
            elif state.paused or state.closed:
                notes.idle += 1
                written.append(state._replace(next_fire_ms=state.pause_until_ms if state.paused else None))
            else:
                try:
                    decision, moved, used = decide(state, compiled, contexts.of(compiled), budget - catchups)
                except Exception as error:  # noqa: BLE001 - a row that makes no sense must not stop the others
                    instance.schedules.broken[state.schedule_key] = f"{compiled.schedule_id}: {error!r}"
                    notes.idle += 1
                    written.append(self._broken(state, now_ms))
                    continue
                decisions.append(decision)
                written.append(decision.with_wake_up(moved))
                if decision.runs and has_conflicting_hints(state, now_ms):
                    instance.probe.warn(f"{compiled.schedule_id}: two hints are live, the earlier wins")
                catchups += used
        record = decision_writes(now_ms, decisions, written)._replace(starts=begun.starts, steps=begun.steps)
        recorded = transaction.write_decisions(record)
        notes.decided(decisions, recorded, schedules)
        instance.notifications.missed(transaction, record.dropped_ranges, schedules, now_ms)
        if recorded.to_end:  # what was just released may have been terminated by a tick of the same moment
            over = {row.id for row in recorded.to_end if row.state == RunState.TERMINATED}
            launches = [each for each in launches if each[0].id not in over]
        launches += begun.without(recorded.duplicates)
        launches += launches_of(decisions, instance.number, recorded.duplicates)
        runs = len(begun.starts) + sum(len(decision.runs) for decision in decisions)
        return Fired(len(claimed), launches, recorded.to_end, now_ms, catchups, runs, notes=notes)

    def _prepared(  # noqa: PLR0913 - what is prepared in which world
        self,
        transaction: Transaction,
        states: list[ScheduleState],
        schedules: dict[int, CompiledSchedule],
        contexts: DecisionContexts,
        now_ms: int,
        notes: Notes,
    ) -> tuple[list[ScheduleState], list[tuple[RunRow, CompiledSchedule]]]:
        """Resume what was paused until now, and start what waits for a slot that is free."""
        ready = [self._resumed(transaction, state, schedules.get(state.schedule_key), now_ms) for state in states]
        launches: list[tuple[RunRow, CompiledSchedule]] = []
        waiting = {state.schedule_key: state for state in ready if state.waiting}
        if waiting:
            released = release_waiting(transaction, waiting, schedules, contexts, self._instance, notes)
            launches += released
            ready = [waiting.get(state.schedule_key, state) for state in ready]
        return ready, launches

    def _resumed(
        self, transaction: Transaction, state: ScheduleState, compiled: CompiledSchedule | None, now_ms: int
    ) -> ScheduleState:
        until = state.pause_until_ms
        if compiled is None or not state.paused or until is None or until > now_ms:
            return state
        transaction.run_unhold_planned([state.schedule_key], now_ms)
        row = transaction.schedule_list_by_key([state.schedule_key])[state.schedule_key]
        resumed, state = resume_schedule(row, state, compiled, on_resume=compiled.policy.on_resume, now_ms=now_ms)
        audit.save_change(transaction, row, resumed, "resume", now_ms, PAUSE_COLUMNS)
        return state

    def _broken(self, state: ScheduleState, now_ms: int) -> ScheduleState:
        problem = self._instance.schedules.problem(state.schedule_key)
        self._instance.probe.warn(f"schedule {state.schedule_key} cannot fire: {problem}")
        return state._replace(next_fire_ms=now_ms + BROKEN_RETRY_MS)


def _begun(
    claimed: list[StateTuple], schedules: dict[int, CompiledSchedule], contexts: DecisionContexts
) -> tuple[FastStarts, list[ScheduleState]]:
    """Take the ticks that simply start; return the dials about which there is more to decide."""
    begun, rest = FastStarts([], [], []), []
    launches, starts, steps = begun
    for state in claimed:
        compiled = schedules.get(state[0])
        found = None if compiled is None else decide_fast(state, compiled, contexts.of(compiled))
        if compiled is None or found is None:
            rest.append(ScheduleState._make(state))
        else:
            row, start_row, step_row = found
            launches.append((row, compiled))
            starts.append(start_row)
            steps.append(step_row)
    return begun, rest


def launches_of(
    decisions: Iterable[Decision], owner: int, duplicates: set[RunId]
) -> list[tuple[RunRow, CompiledSchedule]]:
    """Return the runs that an instance is to launch now that they are written."""
    return [
        (run, decision.compiled)
        for decision in decisions
        for run in decision.runs
        if run.state is RunState.ENQUEUED and run.owner == owner and not (duplicates and run.id in duplicates)
    ]
