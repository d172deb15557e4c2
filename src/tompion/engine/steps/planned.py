"""Planned runs whose time has come: admitted now, under the lock of their dial, as if the tick were new."""

from __future__ import annotations

from tompion.engine.context import EngineContext
from tompion.engine.steps.fire import BROKEN_RETRY_MS, NOTHING, Fired, launches_of
from tompion.engine.steps.release import as_decided
from tompion.engine.steps.result import Notes
from tompion.model.run import Reason, RunRow
from tompion.plan.decide import Decision, decision_writes
from tompion.plan.due_ticks import Due
from tompion.plan.outcome import run_change
from tompion.store.base import Transaction


class PlannedStep:
    """The step for planned runs."""

    def __init__(self, instance: EngineContext) -> None:
        """Take the instance."""
        self._instance = instance

    def due(self, transaction: Transaction, limit: int) -> Fired:
        """Admit planned runs whose fire time has come; those of a paused schedule wait for its resume."""
        now_ms = transaction.now_ms()
        found = transaction.run_list_planned_due(now_ms, limit)
        if not found:
            return NOTHING
        states = transaction.state_lock(row.schedule_key for row in found)
        paused = [key for key, state in states.items() if state.paused]
        if paused:
            transaction.run_hold_planned(paused, now_ms)
        schedules = self._instance.schedules.of(transaction, states.values())
        contexts = self._instance.contexts(now_ms, transaction.target_list_paused())
        rows = transaction.run_list_planned(states.keys() - set(paused), now_ms)
        broken = {row.schedule_key: self._instance.schedules.problem(row.schedule_key) for row in found}
        broken = {key: problem for key, problem in broken.items() if key not in schedules and key not in paused}
        decisions: dict[int, Decision] = {}
        for row in rows:
            key = row.schedule_key
            if key in broken:
                continue
            try:
                fresh = Decision(states[key], schedules[key], contexts.of(schedules[key]))
                decisions.setdefault(key, fresh).tick(_due(row))
            except Exception as error:  # noqa: BLE001 - a row that makes no sense must not stop the others
                broken[key] = repr(error)
        if broken:
            self._put_off(transaction, broken, now_ms)
        sound = [decision for key, decision in decisions.items() if key not in broken]
        return self._recorded(transaction, len(sound) + len(paused), sound, rows)

    def _put_off(self, transaction: Transaction, broken: dict[int, str], now_ms: int) -> None:
        """Look at the planned runs of damaged schedules again later."""
        transaction.run_postpone_planned(broken, now_ms, now_ms + BROKEN_RETRY_MS)
        for key, problem in broken.items():
            self._instance.probe.warn(f"schedule {key} cannot start its planned runs: {problem}")

    def _recorded(self, transaction: Transaction, claimed: int, decisions: list[Decision], rows: list[RunRow]) -> Fired:
        """Write what was decided over the rows that are there already, and the dials with it."""
        now_ms = transaction.now_ms()
        known = {row.id: row for row in rows}
        decided = [run._replace(decided_ms=known[run.id].decided_ms) for each in decisions for run in each.runs]
        record = decision_writes(
            now_ms, decisions, [decision.with_wake_up(decision.state_after_planned()) for decision in decisions]
        )
        recorded = transaction.write_decisions(record._replace(runs=[]))
        transaction.run_release_waiting([run_change(run, 0) for run in decided])
        schedules = {decision.compiled.schedule_key: decision.compiled for decision in decisions}
        started = launches_of(decisions, self._instance.number, set())
        notes = Notes()
        notes.decided(decisions, recorded, schedules)
        runs = [row._replace(version=known[row.id].version) for row, _ in started]
        return Fired(
            claimed, as_decided(transaction, runs, schedules, self._instance), recorded.to_end, now_ms, notes=notes
        )


def _due(row: RunRow) -> Due:
    return Due(row.nominal_s, row.fire_ms, None if row.reason is None else Reason(row.reason))
