"""Runs that are executed elsewhere: what was said of their end is written down, and silence is noticed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from tompion.engine.context import EngineContext
from tompion.engine.notifications.outbox import is_first
from tompion.engine.steps.result import Carried, Launches, Settled
from tompion.engine.steps.settle import SettleStep
from tompion.model.policy import WORKER_PREFIX, Policy
from tompion.model.run import FAILURES, Reason, RunRow, RunState
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.outcome import Outcome
from tompion.store.base import Transaction


class RemoteResults(NamedTuple):
    """What a step has written: outcomes, what they set free, and runs that their targets are to end."""

    outcomes: list[Outcome]
    settled: Settled
    to_end: list[RunRow]
    found: int

    @property
    def launches(self) -> Launches:
        """Return what the outcomes set free."""
        return self.settled.launches

    @property
    def now_ms(self) -> int:
        """Return when that was."""
        return self.settled.now_ms

    def carrying(self, launches: Launches, carried: Sequence[Carried]) -> RemoteResults:
        """Return the same after some launches were carried out already: what is left, and what was done."""
        return self._replace(settled=self.settled.carrying(launches, carried))


class RemoteResultsStep:
    """The step for runs that are executed elsewhere."""

    def __init__(self, instance: EngineContext, settling: SettleStep) -> None:
        """Take the instance, and the step for outcomes."""
        self._instance = instance
        self._settling = settling

    def due(self, transaction: Transaction, limit: int) -> RemoteResults:
        """Write down what was reported, and give up waiting where nothing was for too long."""
        now_ms = transaction.now_ms()
        rows = transaction.run_list_reported(now_ms, limit)
        schedules = self._instance.schedules.by_version(
            transaction, sorted({(row.schedule_key, row.version) for row in rows})
        )
        ended = [row for row in rows if row.state == RunState.TERMINATED]
        transaction.run_clear_due(row.id for row in ended)
        found, rows = len(rows), [row for row in rows if row.state != RunState.TERMINATED]
        unasked = [row for row in rows if _is_to_be_asked(row)]
        transaction.run_mark_end_requested(
            [(*row.id, row.attempt) for row in unasked], now_ms + self._instance.settings.lock_ttl_ms
        )
        silent = [row for row in rows if row.report is None and row not in unasked]
        too_late = [row for row in silent if _is_over(row, schedules.get((row.schedule_key, row.version)), now_ms)]
        transaction.run_reset_remote([(*row.id, row.attempt) for row in silent if row not in too_late])
        outcomes = [_reported(row) for row in rows if row.report is not None]
        outcomes += [_timed_out(row, schedules.get((row.schedule_key, row.version))) for row in too_late]
        to_end = [
            *ended,
            *too_late,
            *unasked,
            *(_forced(row) for row in rows if row.report is not None and _is_forced(row)),
        ]
        self._tell_late(transaction, [row for row in rows if row.report is not None], schedules, now_ms)
        return RemoteResults(outcomes, self._settling.settle(transaction, outcomes), to_end, found)

    def _tell_late(
        self,
        transaction: Transaction,
        rows: list[RunRow],
        schedules: dict[tuple[int, int], CompiledSchedule],
        now_ms: int,
    ) -> None:
        """Have it told which runs a worker took late that has no store: nobody could say so when it did."""
        taken = [
            (row, row.started_ms)
            for row in rows
            if row.started_ms is not None and (row.execution_id or "").startswith(WORKER_PREFIX)
            if (compiled := schedules.get((row.schedule_key, row.version))) is not None and is_first(row, compiled)
        ]
        self._instance.notifications.started_late(transaction, taken, now_ms)


def _is_to_be_asked(row: RunRow) -> bool:
    """Whether somebody wants the end of a run, and its target has not been told so."""
    return row.report is None and row.cancel_requested and row.reason != Reason.CANCEL_REQUESTED


def _is_forced(row: RunRow) -> bool:
    """Whether a run has ended by force, at whose target it may go on."""
    said = json.loads(row.report or "{}")
    return said.get("state") == RunState.TERMINATED and row.owner is None and row.execution_id is not None


def _forced(row: RunRow) -> RunRow:
    return row._replace(state=RunState.TERMINATED)


def _reported(row: RunRow) -> Outcome:
    assert row.report is not None
    said = json.loads(row.report)
    return Outcome(
        row.schedule_key,
        row.nominal_s,
        row.origin,
        row.attempt,
        RunState(said["state"]),
        _reason(row, said),
        row.failures,
        row.started_ms,
        said.get("error"),
        said.get("result"),
        said.get("execution_id"),
        row=row,
    )


def _reason(row: RunRow, said: dict[str, str]) -> Reason | None:
    """Why a run ended as it did; one that was asked to end is not tried again, whatever it made of that."""
    if said.get("reason") is not None:
        return Reason(said["reason"])
    return Reason.CANCEL_REQUESTED if row.cancel_requested and said["state"] in FAILURES else None


def _timed_out(row: RunRow, compiled: CompiledSchedule | None) -> Outcome:
    error = f"no word from its target within max_execution_ms ({_limit_ms(row, compiled)})"
    return Outcome(
        row.schedule_key,
        row.nominal_s,
        row.origin,
        row.attempt,
        RunState.TIMED_OUT,
        None,
        row.failures,
        row.started_ms,
        error,
        row=row,
    )


def _is_over(row: RunRow, compiled: CompiledSchedule | None, now_ms: int) -> bool:
    limit_ms = _limit_ms(row, compiled)
    return limit_ms is not None and now_ms >= (row.started_ms or row.decided_ms) + limit_ms


def _limit_ms(row: RunRow, compiled: CompiledSchedule | None) -> int | None:
    return (Policy() if compiled is None else compiled.policy).remote_limit_ms(row.execution_id)
