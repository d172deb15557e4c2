"""Backfills: a few ticks at a time, after everything that is on time and everything that is being caught up."""

from __future__ import annotations

from itertools import islice

from tompion.engine.context import EngineContext
from tompion.engine.schedule_cache import UNREADABLE
from tompion.engine.steps.fire import BROKEN_RETRY_MS, NOTHING, Fired, launches_of
from tompion.engine.steps.result import Notes
from tompion.model.backfill import RUNNING, BackfillRow
from tompion.model.schedule_state import ScheduleState
from tompion.plan.backfill import ALL, BackfillChunk, next_chunk
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.context import DecisionContext
from tompion.plan.decide import Decision, decision_writes
from tompion.store.base import Transaction


class BackfillStep:
    """The step for backfills."""

    def __init__(self, instance: EngineContext) -> None:
        """Take the instance."""
        self._instance = instance

    def due(self, transaction: Transaction, limit: int) -> Fired:
        """Go on with backfills that may; at most one of each schedule at a time."""
        now_ms = transaction.now_ms()
        chosen: dict[int, BackfillRow] = {}
        for row in transaction.backfill_list_due(now_ms, limit):
            chosen.setdefault(row.schedule_key, row)
        if not chosen:
            return NOTHING
        states = transaction.state_lock(chosen)
        fresh = {
            key: now for key, row in chosen.items() if (now := transaction.backfill_get(row.backfill_id)) is not None
        }
        running = {key: row for key, row in fresh.items() if row.next_ms is not None}
        schedules = self._instance.schedules.of_versions(
            transaction, [(key, row.version) for key, row in running.items()]
        )
        current = self._instance.schedules.of(transaction, states.values())
        contexts = self._instance.contexts(now_ms, transaction.target_list_paused())
        decisions: list[Decision] = []
        for key, backfill in running.items():
            if key not in schedules or key not in current:
                self._put_off(transaction, backfill, now_ms, self._instance.schedules.problem(key))
                continue
            # The ticks are those of the version that was asked about; the policy is read when admitting.
            compiled = schedules[key]._replace(policy=current[key].policy)
            try:
                moved = self._step(transaction, backfill, states[key], compiled, contexts.of(compiled))
            except UNREADABLE as error:  # a row that makes no sense must not stop the others
                self._put_off(transaction, backfill, now_ms, repr(error))
                continue
            transaction.backfill_update(moved.backfill)
            decisions.append(moved.decision)
        recorded = transaction.write_decisions(
            decision_writes(now_ms, decisions, [decision.state_after_requests() for decision in decisions])
        )
        notes = Notes()
        notes.decided(decisions, recorded, schedules)
        launches = launches_of(decisions, self._instance.number, recorded.duplicates)
        return Fired(len(decisions), launches, recorded.to_end, now_ms, notes=notes)

    def _step(
        self,
        transaction: Transaction,
        backfill: BackfillRow,
        state: ScheduleState,
        compiled: CompiledSchedule,
        context: DecisionContext,
    ) -> BackfillChunk:
        """Decide the next ticks of one backfill; nothing is written yet."""
        if backfill.state != RUNNING:
            raise ValueError(f"its state is {backfill.state!r}")
        earlier = self._earlier(transaction, backfill, compiled)
        return next_chunk(backfill, state, compiled, context, self._instance.settings.backfills_per_iteration, earlier)

    def _put_off(self, transaction: Transaction, backfill: BackfillRow, now_ms: int, problem: str) -> None:
        """Look at a damaged backfill again later."""
        transaction.backfill_postpone(backfill.backfill_id, now_ms + BROKEN_RETRY_MS)
        self._instance.probe.warn(
            f"backfill {backfill.backfill_id} of schedule {backfill.schedule_key} cannot go on: {problem}"
        )

    def _earlier(
        self, transaction: Transaction, backfill: BackfillRow, compiled: CompiledSchedule
    ) -> dict[int, set[str]]:
        """What became of the next ticks so far, if that matters."""
        if backfill.only == ALL:
            return {}
        size = self._instance.settings.backfills_per_iteration
        ticks = list(islice(compiled.ticks.between_epochs(backfill.cursor_s + 1, backfill.last_s), size))
        return transaction.run_list_tick_states(backfill.schedule_key, ticks)
