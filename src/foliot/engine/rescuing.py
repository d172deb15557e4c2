"""Runs that nobody holds: born without a lease, handed back, to be tried again, or left behind by a worker that died.

Whoever claims one raises its attempt, which is its fence: from then on the old owner's writes change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from foliot.engine.firing import NOTHING, Fired
from foliot.engine.instance import Instance
from foliot.model.rows import HeldRun
from foliot.model.run import RunRow
from foliot.store.base import Transaction


class Rescuing:
    """The step for runs without an owner."""

    def __init__(self, instance: Instance) -> None:
        """Take the instance."""
        self._instance = instance

    def claim(self, transaction: Transaction, limit: int, held: Sequence[HeldRun] = ()) -> Fired:
        """Lease runs that nobody holds; what is held here and has expired unnoticed is renewed, not begun again."""
        now_ms = transaction.now_ms()
        lease = now_ms + self._instance.settings.lock_ttl_ms
        if held:
            transaction.renew_runs(held, lease)
        queues = sorted(self._instance.queues)
        rows = transaction.claim_runs(self._instance.number, now_ms, lease, queues, limit)
        return self._fired(transaction, rows)

    def adopt(self, transaction: Transaction, held: Sequence[HeldRun]) -> Fired:
        """Lease again what is ours by the ledger, though the answer that said so was lost on its way."""
        lease = transaction.now_ms() + self._instance.settings.lock_ttl_ms
        return self._fired(transaction, transaction.adopt_runs(self._instance.number, lease, held))

    def _fired(self, transaction: Transaction, rows: list[RunRow]) -> Fired:
        if not rows:
            return NOTHING
        rules = self._instance.rules.of_versions(transaction, sorted({(row.schedule_key, row.version) for row in rows}))
        launches = [(row, rules[row.schedule_key]) for row in rows if row.schedule_key in rules]
        self._instance.probe.count("lock_expired", sum(row.attempt > 1 + row.failures for row in rows))
        return Fired(len(rows), launches, [])
