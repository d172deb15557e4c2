"""The protocol of remote workers: they claim runs over the network, and each run has a lease of its own.

A claimed run is STARTED and has no owner. It is checked when its lease ends. Its worker sends the same reports as any
other target. A worker that sends none loses its runs one by one, and others claim them with the same key and a higher
attempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from secrets import token_hex
from typing import Any

from tompion.encoding.instant import datetime_s
from tompion.errors import InvalidField, NotFound, StaleReport, display
from tompion.model.callback_token import CALLBACKS, signer
from tompion.model.policy import WORKER_PREFIX
from tompion.model.rows import DefinitionRow
from tompion.model.run import Reason, RunRow, RunState, idempotency_key, worker_lost_message
from tompion.model.worker import Assignment, HeartbeatAck, Worker
from tompion.operations.context import OperationContext
from tompion.operations.resources.workers import MISSED_BEATS
from tompion.operations.runs.callbacks import read_run_token, report_run
from tompion.operations.validation import check_name
from tompion.operations.views import parse_json
from tompion.plan.stored_definition import compact, stored_action, stored_policy

MAX_RUNS = 1_000


MAX_QUEUES = 100


MAX_WAIT_MS = 60_000


def register_worker(context: OperationContext, name: str, *, queues: Sequence[str] = ("default",)) -> Worker:
    """Register a worker that claims runs of some queues."""
    check_name("name", name, context.settings)
    served = _queues(context, queues)
    number = context.transaction.instance_insert(name, "", context.now_ms, None, served, context.namespace)
    return Worker(number, name, context.settings.heartbeat_ms // MISSED_BEATS, context.settings.lock_ttl_ms)


def claim_runs(
    context: OperationContext, worker_id: int, *, queues: Sequence[str] = ("default",), limit: int = 1, wait_ms: int = 0
) -> tuple[Assignment, ...]:
    """Claim runs of some queues for a worker, and lease them to it.

    An operation never waits. ``wait_ms`` is how long the API repeats it while there are no runs.
    """
    for name, value, least, most in (("limit", limit, 1, MAX_RUNS), ("wait_ms", wait_ms, 0, MAX_WAIT_MS)):
        if type(value) is not int or not least <= value <= most:
            raise InvalidField(name, f"{display(value)}; expected a whole number from {least} to {most}")
    served = _queues(context, queues)
    name = _touch_worker(context, worker_id, served)
    transaction, now_ms = context.transaction, context.now_ms
    until_ms = now_ms + context.settings.lock_ttl_ms
    rows = transaction.run_claim_remote(context.namespace, f"{WORKER_PREFIX}{name}", now_ms, until_ms, served, limit)
    if not rows:
        return ()
    definitions = {
        (definition.schedule_key, definition.version): definition
        for definition in transaction.version_list_definitions(
            sorted({(row.schedule_key, row.version) for row in rows})
        )
    }
    states = transaction.state_get(row.schedule_key for row in rows)
    sign = signer(transaction.secret_get_or_create(CALLBACKS, token_hex(32)))
    assignments: list[Assignment] = []
    for row in rows:
        definition = definitions[row.schedule_key, row.version]
        state = states.get(row.schedule_key)
        outcome = _rejected_outcome(context, row, definition, closed=state is None or state.closed)
        if outcome is None:
            context.counted["duplicate_executions", ""] += bool(row.pickups and not row.failures)
            assignments.append(_assignment(context, row, definition, sign(f"{row.id}.{row.attempt}")))
        else:
            transaction.run_save_report([(*row.id, row.attempt, compact(outcome))], now_ms)
            transaction.notify()
    context.counted["runs_emitted", ""] += len(assignments)
    return tuple(assignments)


def heartbeat_worker(
    context: OperationContext, worker_id: int, *, queues: Sequence[str] = ("default",), tokens: Sequence[str] = ()
) -> HeartbeatAck:
    """Renew the leases of a worker's runs, and return the runs that should end."""
    _touch_worker(context, worker_id, _queues(context, queues))
    to_cancel: list[str] = []
    lost: list[str] = []
    for token in _tokens(tokens):
        try:
            ack = report_run(context, token, "heartbeat")
        except StaleReport:
            lost.append(token)
        else:
            if ack.cancel_requested:
                to_cancel.append(token)
    return HeartbeatAck(tuple(to_cancel), tuple(lost))


def release_runs(context: OperationContext, worker_id: int, *, tokens: Sequence[str]) -> int:  # noqa: ARG001 - the path
    """Hand unfinished runs of a worker back, so that others can claim them at once, and return their number."""
    held = [(*run, attempt) for run, attempt in (read_run_token(context, token) for token in _tokens(tokens))]
    released = context.transaction.run_hand_back(held, context.now_ms)
    context.transaction.notify()
    return len(released)


def remove_worker(context: OperationContext, worker_id: int) -> None:
    """Deregister a worker. The leases of its runs end as usual, unless it has released them."""
    if type(worker_id) is int:
        context.transaction.worker_remove(context.namespace, worker_id, context.now_ms)


def _touch_worker(context: OperationContext, worker_id: int, queues: Sequence[str]) -> str:
    name = None
    if type(worker_id) is int:
        name = context.transaction.worker_touch(context.namespace, worker_id, context.now_ms, queues)
    if name is None:
        raise NotFound(f"there is no worker {display(worker_id)}; register it again")
    return name


def _queues(context: OperationContext, queues: Any) -> list[str]:
    if isinstance(queues, str) or not isinstance(queues, list | tuple) or not 1 <= len(queues) <= MAX_QUEUES:
        raise InvalidField("queues", f"expected a list of 1 to {MAX_QUEUES} queues")
    return [check_name("queues", queue, context.settings) for queue in queues]


def _tokens(tokens: Any) -> list[str]:
    if isinstance(tokens, str) or not isinstance(tokens, list | tuple) or len(tokens) > MAX_RUNS:
        raise InvalidField("tokens", f"expected a list of at most {MAX_RUNS} tokens of runs")
    return list(tokens)


def _rejected_outcome(
    context: OperationContext, row: RunRow, definition: DefinitionRow, *, closed: bool
) -> dict[str, Any] | None:
    """Return the outcome of a claimed run that must not start: it was cancelled, or lost too often."""
    if row.cancel_requested or closed:
        return {"state": RunState.CANCELLED, "error": "cancelled before a worker could continue it"}
    policy = stored_policy(definition.policy)
    if policy.is_abandoned(row.pickups, context.settings.max_pickups):
        return {"state": RunState.FAILED, "error": worker_lost_message(row.pickups), "reason": Reason.WORKER_LOST}
    return None


def _assignment(context: OperationContext, row: RunRow, definition: DefinitionRow, token: str) -> Assignment:
    """Return a claimed run as an assignment for a worker."""
    payload = row.payload if row.payload is not None else definition.payload
    names = (definition.namespace, definition.schedule_id)
    key = idempotency_key(*names, row.source, row.nominal_s, row.origin, row.request_id)
    return Assignment(
        run_id=str(row.id),
        token=token,
        attempt=row.attempt,
        failures=row.failures,
        namespace=definition.namespace,
        schedule_id=definition.schedule_id,
        source=row.source,
        run_at=datetime_s(row.nominal_s),
        request_id=row.request_id,
        action=stored_action(definition.action),
        payload=None if payload is None else parse_json(payload),
        max_execution_ms=stored_policy(definition.policy).max_execution_ms,
        traceparent=None if context.traceparent is None else context.traceparent(key, row.attempt),
    )
