"""Cleaning up: runs that nobody will ever finish, and what is older than its retention."""

from __future__ import annotations

from tompion.engine.context import EngineContext
from tompion.engine.steps import audit
from tompion.model.run import Reason, RunRow, RunState
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.outcome import Outcome
from tompion.store.base import Transaction

SWEEP_BATCH = 1_000
DEFAULT_MAX_EXECUTION_MS = 60_000


class SweepStep:
    """The step for what is left over."""

    def __init__(self, instance: EngineContext) -> None:
        """Take the instance."""
        self._instance = instance

    def zombies(self, transaction: Transaction) -> list[Outcome]:
        """Return the failures of runs whose owner has been silent for too long and that nobody picked up."""
        settings = self._instance.settings
        now_ms = transaction.now_ms()
        rows = transaction.run_list_zombies(now_ms - settings.zombie_after_ms, SWEEP_BATCH)
        schedules = self._instance.schedules.of_versions(
            transaction, sorted({(row.schedule_key, row.version) for row in rows})
        )
        return [
            Outcome(
                row.schedule_key,
                row.nominal_s,
                row.origin,
                row.attempt,
                RunState.FAILED,
                Reason.ZOMBIE,
                row.failures,
                error=f"no sign of life from its worker for {settings.zombie_after_ms // 60_000} minutes: it has "
                "crashed or was cut off, and no instance that serves the queue picked the run up",
                row=row,
            )
            for row in rows
            if now_ms - (row.started_ms or row.decided_ms) > _allowed_ms(row, schedules)
        ]

    def expire_runs(self, transaction: Transaction, after: int) -> int | None:
        """Forget some runs that are older than their retention; return where to go on."""
        before_ms = transaction.now_ms() - self._instance.settings.retention_ms
        return transaction.run_expire(after, before_ms, SWEEP_BATCH)

    def expire(self, transaction: Transaction) -> bool:
        """Forget some of what else is older than its retention; return whether there may be more."""
        settings = self._instance.settings
        now_ms = transaction.now_ms()
        before_ms = now_ms - settings.retention_ms
        given_up = transaction.notification_give_up(now_ms - settings.notification_give_up_ms, now_ms, SWEEP_BATCH)
        if given_up:
            self._instance.probe.count("notifications_given_up", given_up)
            self._instance.probe.warn(f"{given_up} notices were given up: nobody has delivered them in time")
        gone = [
            given_up,
            transaction.notification_expire(before_ms, SWEEP_BATCH),
            transaction.dropped_range_expire(before_ms, SWEEP_BATCH),
            transaction.request_expire(now_ms - settings.request_retention_ms, SWEEP_BATCH),
        ]
        transaction.instance_expire(before_ms)
        audit.seal(transaction)
        audited = settings.audit_retention_ms and audit.expire(transaction, now_ms - settings.audit_retention_ms)
        more = self._purge(transaction, now_ms, before_ms)
        return more or bool(audited) or max(gone) == SWEEP_BATCH

    def _purge(self, transaction: Transaction, now_ms: int, before_ms: int) -> bool:
        """Forget closed schedules, or a part of the history of one that has much; return whether there is more."""
        forgettable = self._forgettable(transaction, now_ms, before_ms)
        left = SWEEP_BATCH
        for key in sorted(forgettable):
            left -= transaction.schedule_purge(key, left)
            if left <= 0:
                return True
        return len(forgettable) == SWEEP_BATCH

    def _forgettable(self, transaction: Transaction, now_ms: int, before_ms: int) -> set[int]:
        """Closed schedules, looked at again once they are locked: somebody may have created one anew."""
        found = transaction.schedule_list_purgeable(now_ms // 1000, before_ms, SWEEP_BATCH)
        if not found:
            return set()
        transaction.state_lock(found)
        return set(found) & set(transaction.schedule_list_purgeable(now_ms // 1000, before_ms, SWEEP_BATCH))


def _allowed_ms(row: RunRow, schedules: dict[int, CompiledSchedule]) -> int:
    compiled = schedules.get(row.schedule_key)
    return (compiled.policy.max_execution_ms if compiled else None) or DEFAULT_MAX_EXECUTION_MS
