"""Backfills: a few ticks at a time, after all on-time ticks and all catch-up."""

from __future__ import annotations

from itertools import islice

from tompion.engine.context import EngineContext
from tompion.engine.schedule_cache import UNREADABLE
from tompion.engine.steps.fire import BROKEN_RETRY_MS, launches_of
from tompion.engine.steps.result import StepResult
from tompion.model.backfill import RUNNING, BackfillRow
from tompion.model.schedule_state import ScheduleState
from tompion.plan.backfill import ALL, BackfillChunk, next_chunk
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.context import DecisionContext
from tompion.plan.decide import Decision, decision_writes
from tompion.store.base import Transaction


class BackfillStep:
    """Decides the next ticks of backfills."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    def due(self, transaction: Transaction, limit: int) -> StepResult:
        """Continue backfills that are due, one per schedule."""
        now_ms = transaction.now_ms()
        chosen: dict[int, BackfillRow] = {}
        for row in transaction.backfill_list_due(now_ms, limit):
            chosen.setdefault(row.schedule_key, row)
        result = StepResult(now_ms=now_ms)
        if not chosen:
            return result
        states = transaction.state_lock(chosen)
        fresh = {
            key: now for key, row in chosen.items() if (now := transaction.backfill_get(row.backfill_id)) is not None
        }
        running = {key: row for key, row in fresh.items() if row.next_ms is not None}
        schedules = self._context.schedules.of_versions(
            transaction, [(key, row.version) for key, row in running.items()]
        )
        current = self._context.schedules.of(transaction, states.values())
        contexts = self._context.decision_contexts(now_ms, transaction.target_list_paused())
        decisions: list[Decision] = []
        for key, backfill in running.items():
            if key not in schedules or key not in current:
                self._postpone(transaction, backfill, now_ms, self._context.schedules.problem(key))
                continue
            # The ticks come from the version that was current when the backfill was created. The policy is today's.
            compiled = schedules[key]._replace(policy=current[key].policy)
            try:
                chunk = self._decide(transaction, backfill, states[key], compiled, contexts.of(compiled))
            except UNREADABLE as error:  # a damaged row must not stop the others
                self._postpone(transaction, backfill, now_ms, repr(error))
                continue
            transaction.backfill_update(chunk.backfill)
            decisions.append(chunk.decision)
        recorded = transaction.write_decisions(
            decision_writes(now_ms, decisions, [decision.state_after_requests() for decision in decisions])
        )
        result.claimed = len(decisions)
        result.launches = launches_of(decisions, self._context.number, recorded.duplicates)
        result.to_end = recorded.to_end
        result.add_decisions(decisions, recorded, schedules)
        return result

    def _decide(
        self,
        transaction: Transaction,
        backfill: BackfillRow,
        state: ScheduleState,
        compiled: CompiledSchedule,
        context: DecisionContext,
    ) -> BackfillChunk:
        """Decide the next ticks of one backfill without writing anything."""
        if backfill.state != RUNNING:
            raise ValueError(f"its state is {backfill.state!r}")
        states = self._earlier_states(transaction, backfill, compiled)
        return next_chunk(backfill, state, compiled, context, self._context.settings.backfills_per_iteration, states)

    def _postpone(self, transaction: Transaction, backfill: BackfillRow, now_ms: int, problem: str) -> None:
        """Try a damaged backfill again later."""
        transaction.backfill_postpone(backfill.backfill_id, now_ms + BROKEN_RETRY_MS)
        self._context.events.warn(
            f"backfill {backfill.backfill_id} of schedule {backfill.schedule_key} cannot continue: {problem}"
        )

    def _earlier_states(
        self, transaction: Transaction, backfill: BackfillRow, compiled: CompiledSchedule
    ) -> dict[int, set[str]]:
        """Return the states of existing runs for the next ticks, if the backfill depends on them."""
        if backfill.only == ALL:
            return {}
        size = self._context.settings.backfills_per_iteration
        ticks = list(islice(compiled.ticks.between_epochs(backfill.cursor_s + 1, backfill.last_s), size))
        return transaction.run_list_tick_states(backfill.schedule_key, ticks)
