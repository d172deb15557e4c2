"""Current problems: schedules that fail, are late, wait or were forgotten, and engines that cannot fire."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from tompion.encoding.instant import datetime_ms
from tompion.model.insight import Problem, Problems
from tompion.model.rows import UnhealthyScheduleRow
from tompion.model.worker import InstanceInfo, Queue
from tompion.operations.context import OperationContext
from tompion.operations.paging import page_limit
from tompion.operations.resources.workers import list_instances, list_queues

HOUR_MS = 3_600_000
RECENT_MS = 24 * HOUR_MS
MIN_STUCK_MS = HOUR_MS
"""A run that started longer ago may be stuck."""
MIN_FORGOTTEN_MS = 7 * RECENT_MS
"""A pause without an end that has lasted longer may be forgotten."""
MIN_GROWING_BUFFER = 10
"""This many waiting runs of one schedule are a problem."""
MAX_SCHEDULES = 100_000
MAX_INSTANCES = 200
MAX_OVERDUE = 1_000
MAX_AHEAD_MS = 5_000
"""A decision or heartbeat later than this from now was made before a clock was set back."""
ORDER = {"high": 0, "medium": 1, "low": 2}


def problems(context: OperationContext, *, limit: int = 50) -> Problems:
    """Return the current problems, the most urgent first: failing, stuck, missed, degraded, forgotten."""
    limit = page_limit(context, limit)
    now_ms = context.now_ms
    rows = context.transaction.schedule_list_unhealthy(
        context.namespace,
        {"forgotten_ms": now_ms - MIN_FORGOTTEN_MS, "stuck_ms": now_ms - MIN_STUCK_MS, "growing": MIN_GROWING_BUFFER},
        MAX_SCHEDULES,
        limit + 1,
    )
    instances = list_instances(context, limit=min(MAX_INSTANCES, context.settings.max_page))
    found_problems = [
        *_clocks_set_back(context, instances),
        *_engine_problems(context, instances),
        *(problem for queue in list_queues(context) for problem in _unserved_queues(queue)),
        *(problem for row in rows for problem in _schedule_problems(row, now_ms)),
    ]
    for schedule_id, ticks, last_ms in context.transaction.run_count_missed(
        context.namespace, now_ms - RECENT_MS, limit + 1
    ):
        text = f"{_plural(ticks, 'tick')} missed in the last day: no engine was running, or it was overloaded"
        found_problems.append(Problem("missed", "medium", schedule_id, schedule_id, text, ticks, datetime_ms(last_ms)))
    found_problems.sort(key=lambda problem: (ORDER[problem.urgency], -problem.count, problem.subject, problem.kind))
    return Problems(tuple(found_problems[:limit]), len(found_problems) > limit)


def _engine_problems(context: OperationContext, instances: tuple[InstanceInfo, ...]) -> Iterator[Problem]:
    """Yield the problems of all engines: none is running, overload, and clocks that differ from the store's."""
    alive = [instance for instance in instances if instance.alive and instance.kind == "engine"]
    if not alive:
        text = "no engine is running; start one to fire schedules"
        yield Problem("no_engine", "high", "engines", None, text, 1, None)
    else:
        yield from _overload(context)
    for instance in alive:
        if abs(instance.skew_ms) > context.settings.max_clock_skew_ms:
            text = (
                f"its clock is {abs(instance.skew_ms) / 1000:g} seconds off, so it fires no schedules; synchronise it"
            )
            yield Problem("skewed_clock", "high", instance.name, None, text, 1, instance.last_heartbeat_at)


def _overload(context: OperationContext) -> Iterator[Problem]:
    """Yield a problem if ticks have been overdue for long although an engine is running."""
    settings = context.settings
    edge_ms = context.now_ms - settings.misfire_grace_ms - settings.overloaded_after_ms
    overdue = context.transaction.state_list_upcoming_in_namespace(context.namespace, edge_ms, MAX_OVERDUE)
    if overdue:
        at_least = "at least " if len(overdue) == MAX_OVERDUE else ""
        text = (
            f"{at_least}{_plural(len(overdue), 'schedule')} overdue for more than "
            f"{(context.now_ms - edge_ms) // 1000} s; add instances, or spread the ticks"
        )
        yield Problem("overloaded", "high", "engines", None, text, len(overdue), datetime_ms(overdue[0][1]))


def _clocks_set_back(context: OperationContext, instances: tuple[InstanceInfo, ...]) -> Iterator[Problem]:
    """Yield problems of clocks that were set back. Until they catch up, no decided tick is due and no lease expires."""
    max_plausible_ms = context.now_ms + MAX_AHEAD_MS
    number, last_ms = context.transaction.schedule_count_decided_ahead(
        context.namespace, max_plausible_ms, MAX_SCHEDULES
    )
    if last_ms is not None:
        back = timedelta(seconds=(last_ms - context.now_ms) // 1000)
        text = (
            f"the store's clock was set back by at least {back}: ticks of {_plural(number, 'schedule')} were decided "
            f"up to {datetime_ms(last_ms):%Y-%m-%d %H:%M:%SZ}, and their next ticks fire after that"
        )
        yield Problem("clock_set_back", "high", "clock", None, text, number, None)
    for instance in instances:
        if instance.stopped_at is None and instance.last_heartbeat_at > datetime_ms(max_plausible_ms):
            text = (
                f"its last heartbeat was at {instance.last_heartbeat_at:%Y-%m-%d %H:%M:%SZ}, before a clock was set "
                "back; until then it counts as alive, and other instances do not claim its runs"
            )
            yield Problem("clock_set_back", "high", instance.name, None, text, 1, None)


def _unserved_queues(queue: Queue) -> Iterator[Problem]:
    if queue.waiting and not queue.served_by and not queue.paused:
        text = f"{_plural(queue.waiting, 'run')} wait in queue {queue.queue!r}, and no worker serves it; start one"
        yield Problem("unserved_queue", "high", queue.queue, None, text, queue.waiting, queue.waiting_since)


def _schedule_problems(row: UnhealthyScheduleRow, now_ms: int) -> Iterator[Problem]:
    """Yield the problems of one schedule."""
    name = row.schedule_id
    if row.failures:
        text = f"{_plural(row.failures, 'run')} failed in a row"
        since = None if row.last_end_ms is None else datetime_ms(row.last_end_ms)
        yield Problem("failing", "high", name, name, text, row.failures, since)
    if row.degraded:
        text = "its time zone is not in the installed data any more, so it fires in UTC; choose another time zone"
        yield Problem("degraded", "high", name, name, text, 1, None)
    if row.in_flight and row.last_start_ms is not None and row.last_start_ms < now_ms - MIN_STUCK_MS:
        text = f"{_plural(row.in_flight, 'run')} in flight, and none of them started in the last hour"
        yield Problem("stuck", "medium", name, name, text, row.in_flight, datetime_ms(row.last_start_ms))
    if row.waiting >= MIN_GROWING_BUFFER:
        text = f"{_plural(row.waiting, 'run')} waiting for the previous run, or for a paused target"
        yield Problem("buffer", "medium", name, name, text, row.waiting, None)
    if row.paused_ms is not None and row.paused_ms < now_ms - MIN_FORGOTTEN_MS and row.pause_until_ms is None:
        days = (now_ms - row.paused_ms) // RECENT_MS
        text = f"paused by {row.paused_by or 'an unknown caller'} for {days} days, without an end"
        yield Problem("forgotten_pause", "low", name, name, text, days, datetime_ms(row.paused_ms))


def _plural(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
