"""Statistics of a namespace: its schedules, and the recent outcomes of their ticks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from tompion.encoding.instant import datetime_ms
from tompion.model.insight import MAX_COUNTED, Backlog, RunCounts, Stats, StatsBucket, StoreBacklog
from tompion.model.run import MISSED, OPEN, Reason, RunState
from tompion.operations.context import OperationContext
from tompion.operations.insight.time_buckets import TimeBuckets, check_buckets
from tompion.operations.resources.workers import MISSED_BEATS

MAX_SCHEDULES = 100_000
MAX_RUNS = 20_000
MAX_RUNS_READ = 200_000
"""The maximum number of runs of all namespaces that are read."""
MAX_WINDOW_S = 31 * 86_400
MAX_BUCKETS = 500
_KINDS: Mapping[str, str] = {
    RunState.SUCCESS: "succeeded",
    RunState.FAILED: "failed",
    RunState.TIMED_OUT: "failed",
    RunState.SKIPPED: "skipped",
    **dict.fromkeys(OPEN, "open"),
}
"""The counter of each run state. All other states count as ``ended``."""
_DROPPED_KINDS: Mapping[str, str] = {Reason.OVERLAP: "skipped", **dict.fromkeys(MISSED, "missed")}
"""The counter of each reason of a dropped range. Ticks of a pause, an edit or a delete are not counted."""


def stats(context: OperationContext, *, seconds: int = 3_600, buckets: int = 60) -> Stats:
    """Return the number of schedules, and the outcomes of their ticks in the last seconds, in equal buckets.

    The number of schedules and runs that are read is limited. The result has a flag for a limit that was reached.
    """
    check_buckets(seconds, buckets, MAX_WINDOW_S, MAX_BUCKETS)
    length_ms = seconds * 1000 // buckets
    last_ms = context.now_ms // length_ms * length_ms
    window = TimeBuckets(since_ms=last_ms - (buckets - 1) * length_ms, length_ms=length_ms, number=buckets)
    runs, complete_ms = _decided_since(context, window.since_ms)
    counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
    late_ms: defaultdict[int, list[int]] = defaultdict(list)
    for decided_ms, state, fire_ms, started_ms in runs:
        index = window.index_of(decided_ms)
        counts[index][_KINDS.get(state, "ended")] += 1
        if started_ms is not None:
            late_ms[index].append(max(0, started_ms - fire_ms))
    for decided_ms, ticks, reason in context.transaction.dropped_range_list_latest(
        context.namespace, window.since_ms, MAX_RUNS
    ):
        kind = _DROPPED_KINDS.get(reason)
        if kind is not None:
            counts[window.index_of(decided_ms)][kind] += ticks
    return Stats(
        _schedule_counts(context),
        tuple(_bucket(window.start_ms(index), counts[index], sorted(late_ms[index])) for index in range(buckets)),
        datetime_ms(complete_ms),
    )


def _decided_since(context: OperationContext, since_ms: int) -> tuple[list[tuple[int, str, int, int | None]], int]:
    """Return the runs decided since a moment, the newest first, and the moment since which they are complete."""
    transaction = context.transaction
    min_number = max(1, transaction.run_last_number() - MAX_RUNS_READ)
    runs = transaction.run_list_latest_decided(context.namespace, since_ms, min_number, MAX_RUNS + 1)
    if len(runs) > MAX_RUNS:
        return runs[:MAX_RUNS], runs[MAX_RUNS][0] + 1
    return runs, max(since_ms, (transaction.run_first_decided_from(min_number) or 0) if min_number > 1 else 0)


def _schedule_counts(context: OperationContext) -> RunCounts:
    rows = context.transaction.schedule_count_by_status(context.namespace, MAX_SCHEDULES + 1)
    counts = Counter({state: number for state, number, _, _ in rows})
    return RunCounts(
        active=counts["active"],
        paused=counts["paused"],
        closed=counts["closed"],
        degraded=context.transaction.schedule_count_degraded(context.namespace),
        in_flight=sum(in_flight for _, _, in_flight, _ in rows),
        waiting=sum(waiting for _, _, _, waiting in rows),
        capped=counts.total() > MAX_SCHEDULES,
    )


def _bucket(start_ms: int, counts: Counter[str], late: Sequence[int]) -> StatsBucket:
    """Return the statistics of one bucket."""
    return StatsBucket(
        start=datetime_ms(start_ms),
        succeeded=counts["succeeded"],
        failed=counts["failed"],
        skipped=counts["skipped"],
        ended=counts["ended"],
        open=counts["open"],
        missed=counts["missed"],
        late_p50_ms=_quantile(late, 0.5),
        late_p99_ms=_quantile(late, 0.99),
        late_max_ms=late[-1] if late else None,
    )


def _quantile(values: Sequence[int], share: float) -> int | None:
    """Return the smallest value that a given share of the values does not exceed."""
    return values[min(len(values) - 1, int(len(values) * share))] if values else None


def store_backlog(context: OperationContext) -> StoreBacklog:
    """Return backlog gauges of all namespaces, for metrics. Each count is limited."""
    transaction, now_ms = context.transaction, context.now_ms
    due, waiting, paused, degraded = transaction.backlog_count(now_ms, MAX_COUNTED)
    live = transaction.instance_count_live(now_ms - MISSED_BEATS * context.settings.heartbeat_ms)
    depths = transaction.queue_count_depths(now_ms, MAX_COUNTED)
    queues = tuple(Backlog(name, runs, max(0, now_ms - since_ms) / 1000) for name, runs, since_ms in depths)
    return StoreBacklog(due, waiting, paused, degraded, live, queues)
