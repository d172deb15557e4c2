"""Runs that are executed elsewhere: their reports are settled, and runs without a report time out."""

from __future__ import annotations

import json

from tompion.engine.context import EngineContext
from tompion.engine.notifications.outbox import is_first_tick_attempt
from tompion.engine.steps.result import StepResult
from tompion.engine.steps.settle import SettleStep
from tompion.model.policy import WORKER_PREFIX, Policy
from tompion.model.run import FAILURES, Reason, RunRow, RunState
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.outcome import Outcome
from tompion.store.base import Transaction


class RemoteResultsStep:
    """Settles runs that are executed elsewhere."""

    def __init__(self, context: EngineContext, settle: SettleStep) -> None:
        self._context = context
        self._settle = settle

    def due(self, transaction: Transaction, limit: int) -> StepResult:
        """Write reported outcomes, time out silent runs, and forward cancellations to the targets."""
        now_ms = transaction.now_ms()
        claimed = transaction.run_list_reported(now_ms, limit)
        schedules = self._context.schedules.by_version(
            transaction, sorted({(row.schedule_key, row.version) for row in claimed})
        )
        terminated = [row for row in claimed if row.state == RunState.TERMINATED]
        transaction.run_clear_due(row.id for row in terminated)
        rows = [row for row in claimed if row.state != RunState.TERMINATED]
        to_cancel = [row for row in rows if _needs_cancellation(row)]
        transaction.run_mark_end_requested(
            [(*row.id, row.attempt) for row in to_cancel], now_ms + self._context.settings.lock_ttl_ms
        )
        silent = [row for row in rows if row.report is None and row not in to_cancel]
        overdue = [row for row in silent if _is_overdue(row, schedules.get((row.schedule_key, row.version)), now_ms)]
        transaction.run_reset_remote([(*row.id, row.attempt) for row in silent if row not in overdue])
        reported = [row for row in rows if row.report is not None]
        outcomes = [_reported_outcome(row) for row in reported]
        outcomes += [_timed_out(row, schedules.get((row.schedule_key, row.version))) for row in overdue]
        self._notify_late(transaction, reported, schedules, now_ms)
        result = self._settle.settle(transaction, outcomes)
        result.claimed = len(claimed)
        forced = [row._replace(state=RunState.TERMINATED) for row in reported if _is_forced(row)]
        result.to_end = [*terminated, *overdue, *to_cancel, *forced]
        return result

    def _notify_late(
        self,
        transaction: Transaction,
        rows: list[RunRow],
        schedules: dict[tuple[int, int], CompiledSchedule],
        now_ms: int,
    ) -> None:
        """Write notifications for runs that a remote worker started late. It has no store to do so itself."""
        started = [
            (row, row.started_ms)
            for row in rows
            if row.started_ms is not None and (row.execution_id or "").startswith(WORKER_PREFIX)
            if (compiled := schedules.get((row.schedule_key, row.version))) is not None
            and is_first_tick_attempt(row, compiled)
        ]
        self._context.notifications.notify_late_starts(transaction, started, now_ms)


def _needs_cancellation(row: RunRow) -> bool:
    """Return whether a caller cancelled the run and its target has not been informed yet."""
    return row.report is None and row.cancel_requested and row.reason != Reason.CANCEL_REQUESTED


def _is_forced(row: RunRow) -> bool:
    """Return whether the run was terminated while its target may still execute it."""
    report = json.loads(row.report or "{}")
    return report.get("state") == RunState.TERMINATED and row.owner is None and row.execution_id is not None


def _reported_outcome(row: RunRow) -> Outcome:
    """Return the outcome that a target or worker has reported."""
    assert row.report is not None
    report = json.loads(row.report)
    return Outcome(
        schedule_key=row.schedule_key,
        nominal_s=row.nominal_s,
        origin=row.origin,
        fence=row.attempt,
        state=RunState(report["state"]),
        reason=_reason(row, report),
        failures=row.failures,
        started_ms=row.started_ms,
        error=report.get("error"),
        result=report.get("result"),
        execution_id=report.get("execution_id"),
        row=row,
    )


def _reason(row: RunRow, report: dict[str, str]) -> Reason | None:
    """Return the reason of an outcome. A failure after a cancellation is not retried."""
    if row.cancel_requested and report["state"] in FAILURES:
        return Reason.CANCEL_REQUESTED
    return None if report.get("reason") is None else Reason(report["reason"])


def _timed_out(row: RunRow, compiled: CompiledSchedule | None) -> Outcome:
    return Outcome(
        schedule_key=row.schedule_key,
        nominal_s=row.nominal_s,
        origin=row.origin,
        fence=row.attempt,
        state=RunState.TIMED_OUT,
        failures=row.failures,
        started_ms=row.started_ms,
        error=f"no report from its target within max_execution_ms ({_limit_ms(row, compiled)})",
        row=row,
    )


def _is_overdue(row: RunRow, compiled: CompiledSchedule | None, now_ms: int) -> bool:
    limit_ms = _limit_ms(row, compiled)
    return limit_ms is not None and now_ms >= (row.started_ms or row.decided_ms) + limit_ms


def _limit_ms(row: RunRow, compiled: CompiledSchedule | None) -> int | None:
    return (Policy() if compiled is None else compiled.policy).remote_limit_ms(row.execution_id)
