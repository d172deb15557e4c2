"""Cleanup: zombie runs, and rows that are older than their retention."""

from __future__ import annotations

from collections import Counter

from tompion.engine.context import EngineContext
from tompion.engine.lease import MAX_MISSED_HEARTBEATS
from tompion.engine.steps import audit
from tompion.model.run import SUSPECT_PICKUPS, Reason, RunId, RunRow, RunState
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.outcome import Outcome
from tompion.spec.duration import duration_text
from tompion.store.base import Transaction

SWEEP_BATCH = 1_000
DEFAULT_MAX_EXECUTION_MS = 60_000


class SweepStep:
    """Fails zombie runs and deletes expired rows."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    def zombies(self, transaction: Transaction) -> list[Outcome]:
        """Return the failures of runs whose owner is silent and that no other instance has claimed."""
        settings = self._context.settings
        now_ms = transaction.now_ms()
        rows = transaction.run_list_zombies(now_ms - settings.zombie_after_ms, SWEEP_BATCH)
        schedules = self._context.schedules.of_versions(
            transaction, sorted({(row.schedule_key, row.version) for row in rows})
        )
        waiting = self._waiting_suspects(transaction, rows, schedules, now_ms)
        silence = duration_text(settings.zombie_after_ms // 1000)
        return [
            Outcome(
                schedule_key=row.schedule_key,
                nominal_s=row.nominal_s,
                origin=row.origin,
                fence=row.attempt,
                state=RunState.FAILED,
                reason=Reason.ZOMBIE,
                failures=row.failures,
                error=f"no heartbeat from its worker for {silence}: the worker has crashed or is unreachable, and no "
                "instance that serves the queue claimed the run",
                row=row,
            )
            for row in rows
            if row.id not in waiting and now_ms - (row.started_ms or row.decided_ms) > _max_execution_ms(row, schedules)
        ]

    def _waiting_suspects(
        self, transaction: Transaction, rows: list[RunRow], schedules: dict[int, CompiledSchedule], now_ms: int
    ) -> set[RunId]:
        """Return the runs that wait for another suspect to end, on a live instance that serves their queue."""
        since_ms = now_ms - MAX_MISSED_HEARTBEATS * self._context.settings.heartbeat_ms
        served: dict[str, Counter[str]] = {}
        waiting: set[RunId] = set()
        for row in rows:
            compiled = schedules.get(row.schedule_key)
            if compiled is None or row.pickups + 1 < SUSPECT_PICKUPS:
                continue
            name = compiled.namespace
            if name not in served:
                served[name] = transaction.queue_list_served(name, since_ms)
            if served[name][compiled.action.queue]:
                waiting.add(row.id)
        return waiting

    def expire_runs(self, transaction: Transaction, after: int) -> int | None:
        """Delete one batch of runs that are older than their retention. Return where the next batch begins."""
        before_ms = transaction.now_ms() - self._context.settings.retention_ms
        return transaction.run_expire(after, before_ms, SWEEP_BATCH)

    def expire(self, transaction: Transaction) -> bool:
        """Delete one batch of all other expired rows. Return whether there may be more."""
        settings = self._context.settings
        now_ms = transaction.now_ms()
        before_ms = now_ms - settings.retention_ms
        given_up = transaction.notification_give_up(now_ms - settings.notification_give_up_ms, now_ms, SWEEP_BATCH)
        if given_up:
            self._context.events.count("notifications_given_up", given_up)
            self._context.events.warn(f"{given_up} notifications were given up: no engine delivered them in time")
        deleted = [
            given_up,
            transaction.notification_expire(before_ms, SWEEP_BATCH),
            transaction.dropped_range_expire(before_ms, SWEEP_BATCH),
            transaction.request_expire(now_ms - settings.request_retention_ms, SWEEP_BATCH),
        ]
        transaction.instance_expire(before_ms)
        audit.seal(transaction)
        audited = settings.audit_retention_ms and audit.expire(transaction, now_ms - settings.audit_retention_ms)
        more = self._purge(transaction, now_ms, before_ms)
        return more or bool(audited) or max(deleted) == SWEEP_BATCH

    def _purge(self, transaction: Transaction, now_ms: int, before_ms: int) -> bool:
        """Delete closed schedules, or one batch of the history of a large one. Return whether there is more."""
        keys = self._purgeable(transaction, now_ms, before_ms)
        rows_left = SWEEP_BATCH
        for key in sorted(keys):
            rows_left -= transaction.schedule_purge(key, rows_left)
            if rows_left <= 0:
                return True
        return len(keys) == SWEEP_BATCH

    def _purgeable(self, transaction: Transaction, now_ms: int, before_ms: int) -> set[int]:
        """Return closed schedules, read again under their lock: a caller may have created one of them again."""
        keys = transaction.schedule_list_purgeable(now_ms // 1000, before_ms, SWEEP_BATCH)
        if not keys:
            return set()
        transaction.state_lock(keys)
        return set(keys) & set(transaction.schedule_list_purgeable(now_ms // 1000, before_ms, SWEEP_BATCH))


def _max_execution_ms(row: RunRow, schedules: dict[int, CompiledSchedule]) -> int:
    compiled = schedules.get(row.schedule_key)
    return (compiled.policy.max_execution_ms if compiled else None) or DEFAULT_MAX_EXECUTION_MS
