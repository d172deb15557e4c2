"""Planned runs that are due: admitted under the lock of their schedule state, as if the tick were new."""

from __future__ import annotations

from tompion.engine.context import EngineContext
from tompion.engine.steps.fire import BROKEN_RETRY_MS, launches_of
from tompion.engine.steps.release import with_deciding_version
from tompion.engine.steps.result import StepResult
from tompion.model.run import Reason, RunRow
from tompion.plan.decide import Decision, decision_writes
from tompion.plan.due_ticks import Due
from tompion.plan.outcome import run_change
from tompion.store.base import Transaction


class PlannedStep:
    """Admits planned runs whose fire time has come."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    def due(self, transaction: Transaction, limit: int) -> StepResult:
        """Admit due planned runs. Those of a paused schedule are held until it is resumed."""
        now_ms = transaction.now_ms()
        due = transaction.run_list_planned_due(now_ms, limit)
        if not due:
            return StepResult(now_ms=now_ms)
        states = transaction.state_lock(row.schedule_key for row in due)
        paused = [key for key, state in states.items() if state.paused]
        if paused:
            transaction.run_hold_planned(paused, now_ms)
        schedules = self._context.schedules.of(transaction, states.values())
        contexts = self._context.decision_contexts(now_ms, transaction.target_list_paused())
        rows = transaction.run_list_planned(states.keys() - set(paused), now_ms)
        broken = {row.schedule_key: self._context.schedules.problem(row.schedule_key) for row in due}
        broken = {key: problem for key, problem in broken.items() if key not in schedules and key not in paused}
        decisions: dict[int, Decision] = {}
        for row in rows:
            key = row.schedule_key
            if key in broken:
                continue
            try:
                decision = Decision(states[key], schedules[key], contexts.of(schedules[key]))
                decisions.setdefault(key, decision).decide_tick(_due(row))
            except Exception as error:  # noqa: BLE001 - a damaged row must not stop the others
                broken[key] = repr(error)
        if broken:
            self._postpone(transaction, broken, now_ms)
        valid_decisions = [decision for key, decision in decisions.items() if key not in broken]
        result = self._write(transaction, valid_decisions, rows)
        result.claimed = len(valid_decisions) + len(paused)
        return result

    def _postpone(self, transaction: Transaction, broken: dict[int, str], now_ms: int) -> None:
        """Postpone the planned runs of damaged schedules, and warn."""
        transaction.run_postpone_planned(broken, now_ms, now_ms + BROKEN_RETRY_MS)
        for key, problem in broken.items():
            self._context.events.warn(f"schedule {key} cannot start its planned runs: {problem}")

    def _write(self, transaction: Transaction, decisions: list[Decision], rows: list[RunRow]) -> StepResult:
        """Update the planned rows to what was decided, together with the schedule states."""
        now_ms = transaction.now_ms()
        planned = {row.id: row for row in rows}
        decided = [
            run._replace(decided_ms=planned[run.id].decided_ms) for decision in decisions for run in decision.runs
        ]
        writes = decision_writes(
            now_ms, decisions, [decision.with_wake_up(decision.state_after_planned()) for decision in decisions]
        )
        recorded = transaction.write_decisions(writes._replace(runs=[]))
        transaction.run_release_waiting([run_change(run, 0) for run in decided])
        schedules = {decision.compiled.schedule_key: decision.compiled for decision in decisions}
        started = launches_of(decisions, self._context.number, set())
        runs = [row._replace(version=planned[row.id].version) for row, _ in started]
        result = StepResult(now_ms=now_ms, to_end=recorded.to_end)
        result.launches = with_deciding_version(transaction, runs, schedules, self._context)
        result.add_decisions(decisions, recorded, schedules)
        return result


def _due(row: RunRow) -> Due:
    return Due(row.nominal_s, row.fire_ms, None if row.reason is None else Reason(row.reason))
