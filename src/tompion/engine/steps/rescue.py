"""Runs that nobody holds: born without a lease, handed back, to be tried again, or left behind by a worker that died.

Whoever claims one raises its attempt, which is its fence: from then on the old owner's writes change nothing.  An
instance has one lease for everything that it holds.  Whoever finds that one is over looks for what it held, which takes
a walk over all schedules that have runs in flight, and ends the lease in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence

from tompion.engine.context import EngineContext
from tompion.engine.steps.fire import BROKEN_RETRY_MS, NOTHING, Fired
from tompion.engine.steps.result import Notes
from tompion.model.rows import HeldRun
from tompion.model.run import RunRow
from tompion.model.schedule_state import ScheduleState
from tompion.store.base import Transaction


class RescueStep:
    """The step for runs without an owner."""

    def __init__(self, instance: EngineContext) -> None:
        """Take the instance."""
        self._instance = instance

    def claim(self, transaction: Transaction, limit: int) -> Fired:
        """Take runs that nobody holds, or that somebody held whose lease is over."""
        now_ms = transaction.now_ms()
        notes = Notes()
        notes.exposed = self._expose(transaction, now_ms)
        rows = transaction.claim_runs(self._instance.number, now_ms, sorted(self._instance.queues), limit)
        return self._fired(transaction, rows, now_ms)._replace(notes=notes)

    def unknown(self, transaction: Transaction, held: Sequence[HeldRun]) -> list[HeldRun]:
        """Return what is ours by the ledger, though the answer that said so was lost on its way."""
        known = set(held)
        return [run for run in _held_by(transaction, {self._instance.number}) if run not in known]

    def adopt(self, transaction: Transaction, unknown: Sequence[HeldRun]) -> Fired:
        """Begin with what is ours and we did not know of."""
        rows = transaction.adopt_runs(self._instance.number, unknown)
        return self._fired(transaction, rows, transaction.now_ms())

    def _put_off(self, transaction: Transaction, rows: list[RunRow], now_ms: int) -> None:
        """Give back what nobody here can launch; somebody looks again later."""
        if rows:
            transaction.hand_back([(*row.id, row.attempt) for row in rows], now_ms + BROKEN_RETRY_MS)
        for row in rows:
            problem = self._instance.rules.broken.get(row.schedule_key, "its definition is missing")
            self._instance.probe.warn(f"run {row.id} cannot be launched: {problem}")

    def _expose(self, transaction: Transaction, now_ms: int) -> int:
        """Let anybody take what was held by instances whose lease is over: they have died, or were cut off."""
        lapsed = transaction.seize_leases(now_ms, self._instance.number)
        if not lapsed:
            return 0
        exposed = transaction.expose_runs(_held_by(transaction, lapsed), now_ms)
        transaction.end_leases(lapsed)
        return len(exposed)

    def _fired(self, transaction: Transaction, rows: list[RunRow], now_ms: int) -> Fired:
        if not rows:
            return NOTHING
        rules = self._instance.rules.by_version(transaction, sorted({(row.schedule_key, row.version) for row in rows}))
        launches = [(row, rules[row[0], row.version]) for row in rows if (row[0], row.version) in rules]
        self._put_off(transaction, [row for row in rows if (row[0], row.version) not in rules], now_ms)
        dials = transaction.read_dials(row.schedule_key for row in rows)
        forsaken = [each for each in launches if _is_forsaken(each[0], dials.get(each[0].schedule_key))]
        wanted = [each for each in launches if each not in forsaken] if forsaken else launches
        return Fired(len(rows), wanted, [], now_ms, forsaken=forsaken)


def _is_forsaken(row: RunRow, dial: ScheduleState | None) -> bool:
    return row.cancel_requested or dial is None or dial.closed


def _held_by(transaction: Transaction, owners: set[int]) -> list[HeldRun]:
    """Return everything in flight that instances hold."""
    return [(*run.id, run.attempt) for run in transaction.all_in_flight() if run.owner in owners and run.due_ms is None]
