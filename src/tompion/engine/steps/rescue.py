"""Runs without an owner: new for another queue, handed back, waiting for a retry, or left by an instance that died.

A claim raises the attempt number, which is the fence: writes of the previous owner change nothing from then on. An
instance has one lease for all runs that it owns. The first instance that sees an expired lease makes the runs of its
owner claimable. That needs a walk over all schedules with runs in flight. The lease ends in the same transaction.

A run that has lost several workers is a suspect: it may have killed them. An instance claims one suspect at a time, and
the next one only after the outcome of the first is written. So a run that kills its worker takes no other suspect with
it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tompion.engine.context import EngineContext
from tompion.engine.steps.fire import BROKEN_RETRY_MS
from tompion.engine.steps.result import StepResult
from tompion.model.rows import HeldRun
from tompion.model.run import RunRow
from tompion.model.schedule_state import ScheduleState
from tompion.store.base import Transaction


class RescueStep:
    """Claims runs without an owner, and runs whose owner has lost its lease."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    def claim(self, transaction: Transaction, limit: int, *, may_claim_suspect: bool = True) -> StepResult:
        """Claim runs that no instance owns, or whose owner's lease has expired. At most one of them is a suspect."""
        now_ms = transaction.now_ms()
        number, queues = self._context.number, sorted(self._context.queues)
        expired = self._release_expired(transaction, now_ms)
        rows = transaction.run_claim(number, now_ms, queues, limit)
        if may_claim_suspect and len(rows) < limit:
            rows += transaction.run_claim_suspect(number, now_ms, queues)
        result = self._result(transaction, sorted(rows, key=_launch_order), now_ms)
        result.expired_leases = expired
        return result

    def unknown(self, transaction: Transaction, held: Sequence[HeldRun]) -> list[HeldRun]:
        """Return the runs that this instance owns in the store but does not hold, because an answer was lost."""
        holds = set(held)
        return [run for run in _owned_by(transaction, {self._context.number}) if run not in holds]

    def adopt(self, transaction: Transaction, unknown: Sequence[HeldRun]) -> StepResult:
        """Start runs that this instance owns without having known it."""
        rows = transaction.run_readopt(self._context.number, unknown)
        return self._result(transaction, rows, transaction.now_ms())

    def _postpone(self, transaction: Transaction, rows: list[RunRow], now_ms: int) -> None:
        """Hand back runs whose definition cannot be read. They are claimed again later."""
        if rows:
            transaction.run_hand_back([(*row.id, row.attempt) for row in rows], now_ms + BROKEN_RETRY_MS)
        for row in rows:
            problem = self._context.schedules.broken.get(row.schedule_key, "its definition is missing")
            self._context.events.warn(f"run {row.id} cannot be launched: {problem}")

    def _release_expired(self, transaction: Transaction, now_ms: int) -> int:
        """Make the runs of instances with an expired lease claimable. Return how many there are."""
        instances = transaction.lease_expire(now_ms, self._context.number)
        if not instances:
            return 0
        released = transaction.run_release_expired(_owned_by(transaction, instances), now_ms)
        transaction.lease_end(instances)
        return len(released)

    def _result(self, transaction: Transaction, rows: list[RunRow], now_ms: int) -> StepResult:
        """Sort expired runs into those to launch and those to discard. Runs of unreadable schedules are postponed."""
        result = StepResult(now_ms=now_ms, claimed=len(rows))
        if not rows:
            return result
        schedules = self._context.schedules.by_version(
            transaction, sorted({(row.schedule_key, row.version) for row in rows})
        )
        readable = [(row, schedules[row[0], row.version]) for row in rows if (row[0], row.version) in schedules]
        self._postpone(transaction, [row for row in rows if (row[0], row.version) not in schedules], now_ms)
        states = transaction.state_get(row.schedule_key for row in rows)
        for row, compiled in readable:
            discarded = _must_not_start(row, states.get(row.schedule_key))
            (result.discarded if discarded else result.launches).append((row, compiled))
        return result


def _launch_order(row: RunRow) -> tuple[int, int, int]:
    return row.fire_ms, row.nominal_s, row.schedule_key


def _must_not_start(row: RunRow, state: ScheduleState | None) -> bool:
    return row.cancel_requested or state is None or state.closed


def _owned_by(transaction: Transaction, owners: set[int]) -> list[HeldRun]:
    """Return all runs in flight that some instances own."""
    return [
        (*run.id, run.attempt)
        for run in transaction.run_list_all_in_flight()
        if run.owner in owners and run.due_ms is None
    ]
