"""Queues, and the engines and remote workers that serve them."""

from __future__ import annotations

import json

from tompion.encoding.instant import datetime_ms
from tompion.model.worker import InstanceInfo, Queue
from tompion.operations.context import OperationContext
from tompion.operations.paging import page_limit

MISSED_BEATS = 3
"""An instance that has missed this many heartbeats does not count as alive."""


def list_queues(context: OperationContext) -> tuple[Queue, ...]:
    """Return the queues that are served or paused, or in which runs wait, by name."""
    since_ms = context.now_ms - MISSED_BEATS * context.settings.heartbeat_ms
    served = context.transaction.queue_list_served(context.namespace, since_ms)
    paused = {
        target
        for namespace, kind, target in context.transaction.target_list_paused()
        if namespace == context.namespace and kind == "queue"
    }
    waiting = _waiting_by_queue(context, paused)
    return tuple(
        Queue(
            name,
            name in paused,
            served[name],
            waiting[name][0] if name in waiting else 0,
            datetime_ms(waiting[name][1]) if name in waiting else None,
        )
        for name in sorted({*served, *waiting, *paused})
    )


def _waiting_by_queue(context: OperationContext, paused: set[str]) -> dict[str, tuple[int, int]]:
    """Return the number of runs per queue that wait for a worker or for the end of a pause, and since when."""
    rows = context.transaction.queue_list_waiting(context.namespace, context.now_ms)
    if paused:
        rows += [row for row in context.transaction.queue_list_held(context.namespace) if row[0] in paused]
    waiting: dict[str, tuple[int, int]] = {}
    for name, count, since_ms in rows:
        before, earliest_ms = waiting.get(name, (0, since_ms))
        waiting[name] = before + count, min(earliest_ms, since_ms)
    return waiting


def list_instances(context: OperationContext, *, limit: int = 100) -> tuple[InstanceInfo, ...]:
    """Return the processes that execute runs, the newest first: engines and remote workers."""
    since_ms = context.now_ms - MISSED_BEATS * context.settings.heartbeat_ms
    rows = context.transaction.instance_list(context.namespace, page_limit(context, limit))
    return tuple(
        InstanceInfo(
            instance_id=row.instance_id,
            name=row.name,
            kind="engine" if row.release else "worker",
            release=row.release,
            queues=tuple(json.loads(row.queues)),
            alive=row.stopped_ms is None and row.heartbeat_ms > since_ms,
            started_at=datetime_ms(row.started_ms),
            last_heartbeat_at=datetime_ms(row.heartbeat_ms),
            stopped_at=None if row.stopped_ms is None else datetime_ms(row.stopped_ms),
            skew_ms=row.skew_ms,
        )
        for row in rows
    )
