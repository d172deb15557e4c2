"""Metrics for Prometheus.

The tables below list every metric. The values of a process come from its
:class:`~tompion.runtime.metric_values.Metrics`. Values of the store are read at a scrape and cached for a few
seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent import futures
from typing import NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from tompion.errors import TompionError
from tompion.model.insight import StoreBacklog
from tompion.operations.insight.stats import store_backlog
from tompion.operations.runner import OperationRunner
from tompion.runtime.clock import Clock, SystemClock
from tompion.runtime.metric_values import BOUNDS_S, OTHER, Histogram, Labels

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BACKLOG_TTL_S = 10.0
"""Lifetime of the values of the store."""
MAX_BACKLOG_S = 5.0
"""The store counts as down if it has not answered after this time."""
MAX_QUEUES = 50
"""The queues with the most runs have values of their own. The others share one."""


class MetricEntry(NamedTuple):
    """A metric: its name in :class:`~tompion.runtime.metric_values.Metrics`, its labels and its help text."""

    key: str
    labels: Labels
    help: str


COUNTERS: dict[str, MetricEntry] = {
    "tompion_runs_emitted": MetricEntry("runs_emitted", (), "Runs handed to an executor or to a worker."),
    "tompion_runs_skipped_overlap": MetricEntry(
        "runs_skipped_overlap", (), "Runs skipped because the previous run was still running."
    ),
    "tompion_launches_postponed": MetricEntry(
        "launches_postponed", (), "Launches that did not reach their target and are repeated later."
    ),
    "tompion_runs_failed_launch": MetricEntry("runs_failed_launch", (), "Runs that their executor could not launch."),
    "tompion_schedules_skipped": MetricEntry("schedules_skipped", (), "Due schedules that started no run."),
    "tompion_lock_expired": MetricEntry("lock_expired", (), "Runs whose instance died or lost its lease."),
    "tompion_zombies_cleaned": MetricEntry("zombies_cleaned", (), "Runs failed because no worker picked them up."),
    "tompion_duplicate_executions": MetricEntry(
        "duplicate_executions", (), "Runs launched again after their worker was lost."
    ),
    "tompion_missed_catchup_window": MetricEntry(
        "missed_catchup_window", (), "Ticks dropped because they were older than catchup_window."
    ),
    "tompion_stale_writes_rejected": MetricEntry(
        "stale_writes_rejected", (), "Outcomes rejected because the worker no longer held the run."
    ),
    "tompion_leases_lost": MetricEntry("leases_lost", (), "Runs taken over by another instance."),
    "tompion_event_loop_blocked": MetricEntry(
        "event_loop_blocked", (), "Times that a function blocked the event loop of this process."
    ),
    "tompion_instances_found_dead": MetricEntry(
        "instances_found_dead", (), "Instances whose process had ended without releasing its lease."
    ),
    "tompion_launches_withheld": MetricEntry(
        "launches_withheld", (), "Launches withheld because the lease of this instance had expired."
    ),
    "tompion_runs_given_up": MetricEntry("runs_given_up", (), "Runs abandoned long after their deadline."),
    "tompion_schedules_replanned": MetricEntry("replanned", (), "Schedules replanned after a time zone data update."),
    "tompion_skewed_passes": MetricEntry("skewed_passes", (), "Passes without firing because of clock skew."),
    "tompion_store_errors": MetricEntry("store_errors", (), "Steps that failed because of the store."),
    "tompion_unexpected_errors": MetricEntry("unexpected_errors", (), "Internal errors of this process."),
    "tompion_runs_settled": MetricEntry("runs_settled", (), "Outcomes recorded by this process."),
    "tompion_notifications_delivered": MetricEntry("notifications_delivered", (), "Notifications delivered."),
    "tompion_notifications_retried": MetricEntry(
        "notifications_retried", (), "Failed deliveries of notifications that are retried."
    ),
    "tompion_notifications_given_up": MetricEntry(
        "notifications_given_up", (), "Notifications that could not be delivered."
    ),
    "tompion_pings": MetricEntry("pings", (), "Health pings sent to the monitor."),
    "tompion_pings_failed": MetricEntry("pings_failed", (), "Health pings that failed."),
    "tompion_runs_finished": MetricEntry("runs_finished", ("namespace", "state"), "Finished runs by state."),
    "tompion_runs_retried": MetricEntry("runs_retried", ("namespace",), "Failed attempts that are retried."),
    "tompion_runs_skipped": MetricEntry("runs_skipped", ("namespace", "reason"), "Skipped runs by reason."),
    "tompion_ticks_missed": MetricEntry("ticks_missed", ("namespace", "reason"), "Missed ticks by reason."),
    "tompion_http_requests": MetricEntry("requests", ("method", "route", "status"), "HTTP requests by status."),
}
HISTOGRAMS: dict[str, MetricEntry] = {
    "tompion_drift_seconds": MetricEntry(
        "drift", (), "Absolute difference between the fire time of a tick and its launch."
    ),
    "tompion_lateness_seconds": MetricEntry(
        "lateness", ("namespace",), "Delay between the fire time of a tick and its launch."
    ),
    "tompion_queue_wait_seconds": MetricEntry(
        "queue_wait", ("namespace",), "Time that runs waited before their first launch."
    ),
    "tompion_http_request_duration_seconds": MetricEntry("request", ("method", "route"), "Duration of HTTP requests."),
}
GAUGES: dict[str, str] = {
    "tompion_overdue_seconds": "Time for which ticks have been due longer than the grace period.",
    "tompion_targets_unreachable": "Targets that launches of this instance cannot reach.",
    "tompion_clock_skew_seconds": "Clock of this machine minus the clock of the database.",
    "tompion_runs_active": "Runs that this process executes now.",
    "tompion_store_up": "1 if the store answers, 0 if not.",
    "tompion_schedules_due": "Due schedules of all namespaces, counted up to 10000.",
    "tompion_runs_waiting": "Runs waiting for a slot or for their fire time, counted up to 10000.",
    "tompion_schedules_paused": "Paused schedules, counted up to 10000.",
    "tompion_schedules_degraded": "Schedules firing in UTC because their time zone is gone, counted up to 10000.",
    "tompion_instances_live": "Engine instances with a recent heartbeat.",
    "tompion_queue_depth": "Runs of a queue that no worker has claimed, counted up to 10000 over all queues.",
    "tompion_queue_oldest_seconds": "Age of the oldest unclaimed run of a queue.",
    "tompion_build_info": "Always 1. The labels have the versions.",
}


class MetricsExporter(Collector):
    """Exports the metrics of one process and its store.

    ``build`` has the labels of ``tompion_build_info``.
    """

    def __init__(self, runner: OperationRunner, build: Mapping[str, str], clock: Clock | None = None) -> None:
        self._runner = runner
        self._clock = clock or SystemClock()
        self._build = build
        self._backlog: StoreBacklog | None = None
        self._backlog_read_s: float | None = None
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def text(self) -> bytes:
        """Return all metrics as text. It can wait for the store, so do not call it in an event loop."""
        return generate_latest(self.registry)

    def describe(self) -> Iterator[Metric]:
        """Return no metrics, so that registration does not read the store."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Yield every metric."""
        now_s = self._clock.now()
        if self._backlog_read_s is None or not 0 <= now_s - self._backlog_read_s < BACKLOG_TTL_S:
            self._backlog, self._backlog_read_s = self._read_backlog(), now_s
        for name, entry in COUNTERS.items():
            yield self._counter(name, entry)
        for name, entry in HISTOGRAMS.items():
            yield _histogram(name, entry, self._runner.metrics.histograms(entry.key))
        for name, value in self._runner.metrics.gauges.items():
            yield _gauge(f"tompion_{name}", value())
        build = GaugeMetricFamily("tompion_build_info", GAUGES["tompion_build_info"], labels=list(self._build))
        build.add_metric(list(self._build.values()), 1)
        yield build
        yield _gauge("tompion_store_up", float(self._backlog is not None))
        if self._backlog is not None:
            yield from _backlog_metrics(self._backlog)

    def _counter(self, name: str, entry: MetricEntry) -> Metric:
        family = CounterMetricFamily(name, entry.help, labels=entry.labels)
        metrics = self._runner.metrics
        values = metrics.counts_by_label(entry.key) if entry.labels else {(): metrics.counts[entry.key]}
        for labels, number in values.items():
            family.add_metric(labels, number)
        return family

    def _read_backlog(self) -> StoreBacklog | None:
        try:
            future = self._runner.send(store_backlog, namespace="*", actor="metrics", writes=False, restricted=False)
            return future.result(MAX_BACKLOG_S)
        except (TompionError, futures.TimeoutError):
            return None


def _gauge(name: str, value: float) -> Metric:
    return GaugeMetricFamily(name, GAUGES[name], value=value)


def _histogram(name: str, entry: MetricEntry, histograms: Mapping[Labels, Histogram]) -> Metric:
    family = HistogramMetricFamily(name, entry.help, labels=entry.labels)
    for labels, histogram in histograms.items():
        cumulative, buckets = 0, []
        for bound, number in zip((*map(str, BOUNDS_S), "+Inf"), histogram.buckets, strict=True):
            cumulative += number
            buckets.append((bound, float(cumulative)))
        family.add_metric(labels, buckets, histogram.total_s)
    return family


def _backlog_metrics(backlog: StoreBacklog) -> Iterator[Metric]:
    """Yield the metrics of the store's backlog. The smallest queues are added up as one."""
    yield _gauge("tompion_schedules_due", backlog.due)
    yield _gauge("tompion_runs_waiting", backlog.waiting)
    yield _gauge("tompion_schedules_paused", backlog.paused)
    yield _gauge("tompion_schedules_degraded", backlog.degraded)
    yield _gauge("tompion_instances_live", backlog.instances)
    depth = GaugeMetricFamily("tompion_queue_depth", GAUGES["tompion_queue_depth"], labels=["queue"])
    oldest = GaugeMetricFamily("tompion_queue_oldest_seconds", GAUGES["tompion_queue_oldest_seconds"], labels=["queue"])
    queues = sorted(backlog.queues, key=lambda queue: -queue.runs)
    for queue in queues[:MAX_QUEUES]:
        depth.add_metric([queue.queue], queue.runs)
        oldest.add_metric([queue.queue], queue.oldest_s)
    if others := queues[MAX_QUEUES:]:
        depth.add_metric([OTHER], sum(queue.runs for queue in others))
        oldest.add_metric([OTHER], max(queue.oldest_s for queue in others))
    yield depth
    yield oldest
