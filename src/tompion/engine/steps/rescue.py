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
        rows = transaction.run_claim(self._instance.number, now_ms, sorted(self._instance.queues), limit)
        return self._fired(transaction, rows, now_ms)._replace(notes=notes)

    def unknown(self, transaction: Transaction, held: Sequence[HeldRun]) -> list[HeldRun]:
        """Return what is ours by the ledger, though the answer that said so was lost on its way."""
        known = set(held)
        return [run for run in _held_by(transaction, {self._instance.number}) if run not in known]

    def adopt(self, transaction: Transaction, unknown: Sequence[HeldRun]) -> Fired:
        """Begin with what is ours and we did not know of."""
        rows = transaction.run_readopt(self._instance.number, unknown)
        return self._fired(transaction, rows, transaction.now_ms())

    def _put_off(self, transaction: Transaction, rows: list[RunRow], now_ms: int) -> None:
        """Give back what nobody here can launch; somebody looks again later."""
        if rows:
            transaction.run_hand_back([(*row.id, row.attempt) for row in rows], now_ms + BROKEN_RETRY_MS)
        for row in rows:
            problem = self._instance.schedules.broken.get(row.schedule_key, "its definition is missing")
            self._instance.probe.warn(f"run {row.id} cannot be launched: {problem}")

    def _expose(self, transaction: Transaction, now_ms: int) -> int:
        """Let anybody take what was held by instances whose lease is over: they have died, or were cut off."""
        lapsed = transaction.lease_expire(now_ms, self._instance.number)
        if not lapsed:
            return 0
        exposed = transaction.run_release_expired(_held_by(transaction, lapsed), now_ms)
        transaction.lease_end(lapsed)
        return len(exposed)

    def _fired(self, transaction: Transaction, rows: list[RunRow], now_ms: int) -> Fired:
        if not rows:
            return NOTHING
        schedules = self._instance.schedules.by_version(
            transaction, sorted({(row.schedule_key, row.version) for row in rows})
        )
        launches = [(row, schedules[row[0], row.version]) for row in rows if (row[0], row.version) in schedules]
        self._put_off(transaction, [row for row in rows if (row[0], row.version) not in schedules], now_ms)
        states = transaction.state_get(row.schedule_key for row in rows)
        forsaken = [each for each in launches if _is_forsaken(each[0], states.get(each[0].schedule_key))]
        wanted = [each for each in launches if each not in forsaken] if forsaken else launches
        return Fired(len(rows), wanted, [], now_ms, forsaken=forsaken)


def _is_forsaken(row: RunRow, state: ScheduleState | None) -> bool:
    return row.cancel_requested or state is None or state.closed


def _held_by(transaction: Transaction, owners: set[int]) -> list[HeldRun]:
    """Return everything in flight that instances hold."""
    return [
        (*run.id, run.attempt)
        for run in transaction.run_list_all_in_flight()
        if run.owner in owners and run.due_ms is None
    ]
