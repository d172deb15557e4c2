"""Current problems: schedules that fail, are late, wait or were forgotten, and engines that cannot fire."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from tompion.model.insight import Problem, Problems
from tompion.model.rows import UnhealthyScheduleRow
from tompion.model.worker import InstanceInfo, Queue
from tompion.operations.context import OperationContext
from tompion.operations.paging import page_limit
from tompion.operations.resources.workers import list_instances, list_queues
from tompion.operations.views import datetime_ms

HOUR_MS = 3_600_000
RECENT_MS = 24 * HOUR_MS
STUCK_MS = HOUR_MS
"""A run that started longer ago may be stuck."""
FORGOTTEN_MS = 7 * RECENT_MS
"""A pause without an end that has lasted longer may be forgotten."""
GROWING = 10
"""This many waiting runs of one schedule are a problem."""
MAX_SCHEDULES = 100_000
MAX_INSTANCES = 200
AHEAD_MS = 5_000
"""A decision or heartbeat later than this from now was made before a clock was set back."""
ORDER = {"high": 0, "medium": 1, "low": 2}


def problems(context: OperationContext, *, limit: int = 50) -> Problems:
    """Return the current problems, the most urgent first: failing, stuck, missed, degraded, forgotten."""
    limit = page_limit(context, limit)
    now_ms = context.now_ms
    rows = context.transaction.schedule_list_unhealthy(
        context.namespace,
        {"forgotten_ms": now_ms - FORGOTTEN_MS, "stuck_ms": now_ms - STUCK_MS, "growing": GROWING},
        MAX_SCHEDULES,
        limit + 1,
    )
    instances = list_instances(context, limit=min(MAX_INSTANCES, context.settings.max_page))
    concerns = [
        *_set_back(context, instances),
        *_engines(context, instances),
        *(concern for queue in list_queues(context) for concern in _unserved(queue)),
        *(concern for row in rows for concern in _troubles(row, now_ms)),
    ]
    for schedule_id, ticks, last_ms in context.transaction.run_count_missed(
        context.namespace, now_ms - RECENT_MS, limit + 1
    ):
        text = f"{_many(ticks, 'tick')} missed within a day: nobody decided them in time"
        concerns.append(Problem("missed", "medium", schedule_id, schedule_id, text, ticks, datetime_ms(last_ms)))
    concerns.sort(key=lambda each: (ORDER[each.urgency], -each.count, each.subject, each.kind))
    return Problems(tuple(concerns[:limit]), len(concerns) > limit)


def _engines(context: OperationContext, instances: tuple[InstanceInfo, ...]) -> Iterator[Problem]:
    alive = [each for each in instances if each.alive and each.kind == "engine"]
    if not alive:
        text = "no engine is running: nothing fires until one is started"
        yield Problem("no_engine", "high", "engines", None, text, 1, None)
    for each in alive:
        if abs(each.skew_ms) > context.settings.max_clock_skew_ms:
            text = f"its clock is {abs(each.skew_ms) / 1000:g} seconds off, so it fires nothing"
            yield Problem("skewed_clock", "high", each.name, None, text, 1, each.last_heartbeat_at)


def _set_back(context: OperationContext, instances: tuple[InstanceInfo, ...]) -> Iterator[Problem]:
    """Yield problems of clocks that were set back. Until they catch up, no decided tick is due and no lease expires."""
    edge_ms = context.now_ms + AHEAD_MS
    number, last_ms = context.transaction.schedule_count_decided_ahead(context.namespace, edge_ms, MAX_SCHEDULES)
    if last_ms is not None:
        back = timedelta(seconds=(last_ms - context.now_ms) // 1000)
        text = (
            f"the store's clock was set back by at least {back}: ticks of {_many(number, 'schedule')} were decided "
            f"up to {datetime_ms(last_ms):%Y-%m-%d %H:%M:%SZ}, and none of theirs fires before that"
        )
        yield Problem("clock_set_back", "high", "clock", None, text, number, None)
    for each in instances:
        if each.stopped_at is None and each.last_heartbeat_at > datetime_ms(edge_ms):
            text = (
                f"it was heard of at {each.last_heartbeat_at:%Y-%m-%d %H:%M:%SZ}, by a clock that was set back since, or its "
                "own: until then nobody knows whether it lives, and nobody takes over what it holds"
            )
            yield Problem("clock_set_back", "high", each.name, None, text, 1, None)


def _unserved(queue: Queue) -> Iterator[Problem]:
    if queue.waiting and not queue.served_by and not queue.paused:
        text = f"{_many(queue.waiting, 'run')} in queue {queue.queue!r}, and nobody serves it"
        yield Problem("unserved_queue", "high", queue.queue, None, text, queue.waiting, queue.waiting_since)


def _troubles(row: UnhealthyScheduleRow, now_ms: int) -> Iterator[Problem]:
    name = row.schedule_id
    if row.failures:
        text = f"{_many(row.failures, 'run')} failed in a row"
        since = None if row.last_end_ms is None else datetime_ms(row.last_end_ms)
        yield Problem("failing", "high", name, name, text, row.failures, since)
    if row.degraded:
        text = "its time zone is not in the installed data any more: it fires in UTC"
        yield Problem("degraded", "high", name, name, text, 1, None)
    if row.in_flight and row.last_start_ms is not None and row.last_start_ms < now_ms - STUCK_MS:
        text = f"{_many(row.in_flight, 'run')} in flight, and none has started within the last hour"
        yield Problem("stuck", "medium", name, name, text, row.in_flight, datetime_ms(row.last_start_ms))
    if row.waiting >= GROWING:
        text = f"{_many(row.waiting, 'run')} waiting for the one before, or for a target that is paused"
        yield Problem("buffer", "medium", name, name, text, row.waiting, None)
    if row.paused_ms is not None and row.paused_ms < now_ms - FORGOTTEN_MS and row.pause_until_ms is None:
        days = (now_ms - row.paused_ms) // RECENT_MS
        text = f"paused by {row.paused_by or 'somebody'} for {days} days, without an end"
        yield Problem("forgotten_pause", "low", name, name, text, days, datetime_ms(row.paused_ms))


def _many(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
