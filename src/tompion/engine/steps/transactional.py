"""Runs whose effect is part of the transaction that takes them: a row in a queue, a call of a function.

Whatever takes runs, be it a tick, a trigger, a backfill or a slot that is free, takes them in a transaction.  Before
that one ends, those runs whose executor is transactional are carried out in it, and how they ended is written with it.
A run that ends may let the next one start, which is carried out as well, for some rounds; then it is left to whoever
takes it next.  Other executors see nothing of this, and cost what they did.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from tompion.engine.context import EngineContext
from tompion.engine.execution.launcher import launch_of, lost_too_often, workflow_parts
from tompion.engine.schedule_cache import UNREADABLE, document_of
from tompion.engine.steps.result import Carried, Launches, StepT
from tompion.engine.steps.settle import SettleStep
from tompion.errors import LaunchError
from tompion.executors.base import Accepted, Executor, RunContext, TransactionalExecutor
from tompion.model.codec import storable
from tompion.model.policy import DEFAULT_REMOTE_LIMIT_MS
from tompion.model.run import Reason, RunRow, RunState
from tompion.model.sql_call import SqlCall, SqlResult
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.outcome import Outcome
from tompion.store.base import Transaction

MAX_ROUNDS = 100
"""How often in one transaction the end of runs lets others begin."""
REMEMBERED_WORKFLOWS = 10_000
Asked: TypeAlias = tuple[str, str, int | None]
Version: TypeAlias = tuple[str, str, int]


class Way(NamedTuple):
    """How the runs of a workflow are carried out."""

    executor: TransactionalExecutor
    options: Any
    dag: Any


class Order(NamedTuple):
    """A run that is to be carried out: what to call, or why that is not possible."""

    row: RunRow
    compiled: CompiledSchedule
    way: Way
    launch: RunContext
    call: SqlCall | None = None
    refused: str | None = None
    reason: Reason = Reason.LAUNCH_FAILED


class TransactionalStep:
    """What one instance does about such runs."""

    def __init__(self, instance: EngineContext, executors: Mapping[str, Executor], settling: SettleStep) -> None:
        """Take the executors by kind, and the step for outcomes."""
        self._instance = instance
        self._settling = settling
        self._executors = {kind: each for kind, each in executors.items() if isinstance(each, TransactionalExecutor)}
        self._ways: dict[Version, Way | None] = {}

    def __call__(self, transaction: Transaction, step: StepT) -> StepT:
        """Carry out what can be carried out in this transaction; return the step without it."""
        if not (self._executors and step.launches and self._instance.can_call):
            return step
        launches, others = step.launches, Launches()
        carried: list[Carried] = []
        for left in reversed(range(MAX_ROUNDS)):
            ways = self._ways_of(transaction, (compiled for _, compiled in launches))
            orders = [
                self._order(row, compiled, ways[key]) for row, compiled in launches if (key := _key(compiled)) in ways
            ]
            others += [each for each in launches if _key(each[1]) not in ways]
            if not orders:
                break
            outcomes = self._outcomes(transaction, orders if left else [], step.now_ms)
            outcomes += [_outcome(order.row, step.now_ms, RunState.ENQUEUED) for order in orders[len(outcomes) :]]
            if any(outcome.state is RunState.ENQUEUED for outcome in outcomes):
                transaction.notify()
            settled = self._settling.settle(transaction, outcomes)
            self._instance.notifications.late(transaction, settled.launches, settled.now_ms)
            carried.append(Carried([(order.row, order.compiled) for order in orders], outcomes, settled))
            launches = settled.launches
        return step.carrying(others, carried) if carried else step

    # --- which runs -----------------------------------------------------------------------------------------------

    def _ways_of(self, transaction: Transaction, schedules: Iterable[CompiledSchedule]) -> dict[Asked, Way]:
        """Return how the workflows of rules are carried out, as far as that is done in a transaction."""
        asked = {key for compiled in schedules if (key := _key(compiled)) is not None}
        newest = transaction.workflow_list_newest(sorted({key[:2] for key in asked if key[2] is None}))
        found: dict[Asked, Way] = {}
        for key in asked:
            version = newest.get(key[:2]) if key[2] is None else key[2]
            way = None if version is None else self._way(transaction, (key[0], key[1], version))
            if way is not None:
                found[key] = way
        return found

    def _way(self, transaction: Transaction, version: Version) -> Way | None:
        if version not in self._ways:
            if len(self._ways) >= REMEMBERED_WORKFLOWS:
                self._ways.pop(next(iter(self._ways)))
            row = transaction.workflow_get(*version)
            if row is None:
                return None
            self._ways[version] = self._read(row.document)
        return self._ways[version]

    def _read(self, document: str) -> Way | None:
        try:
            kind, options, dag = workflow_parts(document_of(document))
            executor = self._executors.get(kind)
        except UNREADABLE:  # whoever launches it says so
            return None
        return None if executor is None else Way(executor, options, dag)

    # --- what becomes of them -------------------------------------------------------------------------------------

    def _order(self, row: RunRow, compiled: CompiledSchedule, way: Way) -> Order:
        order = Order(row, compiled, way, launch_of(self._instance, row, compiled, way.options))
        if compiled.policy.is_abandoned(row.pickups, self._instance.settings.max_pickups):
            ended, reason = lost_too_often(row)
            return order._replace(refused=ended.error, reason=reason)
        try:
            return order._replace(call=way.executor.call(way.dag, order.launch))
        except LaunchError as error:
            return order._replace(refused=str(error))
        except Exception as error:  # noqa: BLE001 - an executor that breaks its contract must not stop the others
            return order._replace(refused=_broken(error))

    def _outcomes(self, transaction: Transaction, orders: list[Order], now_ms: int) -> list[Outcome]:
        """Return how orders ended, as many as there was time for."""
        timeout_ms = max((order.way.executor.timeout_ms for order in orders), default=0)
        calls = [order.call for order in orders if order.call is not None]
        answers = iter(transaction.call(calls, timeout_ms) if calls else ())
        outcomes: list[Outcome] = []
        for order in orders:
            if order.call is None:
                outcomes.append(_failed(order.row, now_ms, order.refused, order.reason))
            elif (called := next(answers, None)) is not None:
                outcomes.append(self._outcome(order, called, now_ms))
            else:
                break
        return outcomes

    def _outcome(self, order: Order, called: SqlResult, now_ms: int) -> Outcome:
        row = order.row
        if called.error is not None:
            return self._again(row, now_ms, called.error)
        try:
            said = order.way.executor.outcome_of_call(order.launch, called.answer)
        except Exception as error:  # noqa: BLE001 - as above, though what it has called for stays
            return _failed(row, now_ms, _broken(error))
        execution_id = _kept(said.execution_id)
        if isinstance(said, Accepted):
            lease_ms = order.compiled.policy.max_execution_ms or DEFAULT_REMOTE_LIMIT_MS
            return _outcome(row, now_ms, RunState.STARTED)._replace(execution_id=execution_id, lease_ms=lease_ms)
        return _outcome(row, now_ms, said.state)._replace(
            error=_kept(said.error), result=_kept(said.result), execution_id=execution_id
        )

    def _again(self, row: RunRow, now_ms: int, error: str) -> Outcome:
        """Try a call again that has failed, after the pause of any launch, unless this was the last try."""
        settings = self._instance.settings
        tries = max(row.attempt - row.failures - row.pickups, 1)
        if tries >= settings.launch_tries:
            return _failed(row, now_ms, error)
        pause_ms = settings.launch_retry_ms << (tries - 1)
        return _outcome(row, now_ms, RunState.ENQUEUED)._replace(error=_kept(error), lease_ms=pause_ms)


def _key(compiled: CompiledSchedule) -> Asked | None:
    """The workflow that a rule starts, in the version that it names."""
    action = compiled.action
    return None if action.workflow_id is None else (compiled.namespace, action.workflow_id, action.workflow_version)


def _outcome(row: RunRow, now_ms: int, state: RunState) -> Outcome:
    started_ms = None if state is RunState.ENQUEUED else now_ms
    return Outcome(*row.id, row.attempt, state, None, row.failures, started_ms, row=row)


def _broken(error: Exception) -> str:
    return f"the executor has failed: {type(error).__name__}"


def _failed(row: RunRow, now_ms: int, error: str | None, reason: Reason = Reason.LAUNCH_FAILED) -> Outcome:
    return _outcome(row, now_ms, RunState.FAILED)._replace(reason=reason, error=_kept(error))


def _kept(text: str | None) -> str | None:
    return None if text is None else storable(text)
