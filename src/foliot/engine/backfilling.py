"""Backfills: a few ticks at a time, after everything that is on time and everything that is being caught up."""

from __future__ import annotations

from itertools import islice

from foliot.engine.firing import NOTHING, Fired, launches_of
from foliot.engine.instance import Instance
from foliot.model.backfill import BackfillRow
from foliot.plan.backfill import ALL, step
from foliot.plan.decide import Decision, record_of
from foliot.plan.rule import Rule
from foliot.store.base import Transaction


class Backfilling:
    """The step for backfills."""

    def __init__(self, instance: Instance) -> None:
        """Take the instance."""
        self._instance = instance

    def due(self, transaction: Transaction, limit: int) -> Fired:
        """Go on with backfills that may; at most one of each schedule at a time."""
        now_ms = transaction.now_ms()
        chosen: dict[int, BackfillRow] = {}
        for row in transaction.due_backfills(now_ms, limit):
            chosen.setdefault(row.schedule_key, row)
        if not chosen:
            return NOTHING
        dials = transaction.lock_dials(chosen)
        fresh = {
            key: now for key, row in chosen.items() if (now := transaction.backfill_by_id(row.backfill_id)) is not None
        }
        versions = [(key, row.version) for key, row in fresh.items() if key in dials and row.next_ms is not None]
        rules = self._instance.rules.of_versions(transaction, versions)
        current = self._instance.rules.of(transaction, dials.values())
        worlds = self._instance.worlds(now_ms, transaction.paused_targets())
        decisions: list[Decision] = []
        for key, asked in rules.items():
            if key not in current:
                continue
            # The ticks are those of the version that was asked about; the policy is read when admitting.
            rule = asked._replace(policy=current[key].policy)
            backfill = fresh[key]
            earlier = self._earlier(transaction, backfill, rule)
            size = self._instance.settings.backfills_per_iteration
            moved = step(backfill, dials[key], rule, worlds.of(rule), size, earlier)
            transaction.save_backfill(moved.backfill)
            decisions.append(moved.decision)
        recorded = transaction.record(record_of(now_ms, decisions, [decision.standing() for decision in decisions]))
        launches = launches_of(decisions, self._instance.number, recorded.duplicates)
        return Fired(len(decisions), launches, recorded.to_end, now_ms)

    def _earlier(self, transaction: Transaction, backfill: BackfillRow, rule: Rule) -> dict[int, set[str]]:
        """What became of the next ticks so far, if that matters."""
        if backfill.only == ALL:
            return {}
        size = self._instance.settings.backfills_per_iteration
        ticks = list(islice(rule.ticks.between_epochs(backfill.cursor_s + 1, backfill.last_s), size))
        return transaction.tick_states(backfill.schedule_key, ticks)
