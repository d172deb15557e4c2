"""What a process has counted and how its store stands, as Prometheus reads it.

The table below is all there is.  Numbers of this process come from its :class:`~tompion.model.metrics.Metrics`; those of the
store are asked for when somebody looks, and then not again for a while.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import TimeoutError as TooSlow
from typing import NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from tompion.errors import TompionError
from tompion.model.insight import StoreBacklog
from tompion.model.metrics import BOUNDS_S, OTHER, Histogram, Labels
from tompion.operations.insight.stats import store_backlog
from tompion.operations.runner import OperationRunner
from tompion.runtime.clock import Clock, SystemClock

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
KEPT_S = 10.0
"""How long the numbers of the store are shown again before it is asked again."""
TIMEOUT_S = 5.0
"""How long the store may take to answer before it counts as down."""
MAX_QUEUES = 50
"""So many queues have a number of their own, those with the most runs; the others share one."""


class MetricEntry(NamedTuple):
    """A metric: what it is called in the tally, which labels it has, and what it says."""

    tallied: str
    labels: Labels
    says: str


COUNTERS: dict[str, MetricEntry] = {
    "tompion_runs_emitted": MetricEntry("runs_emitted", (), "Runs that were handed to an executor or to a worker."),
    "tompion_runs_skipped_overlap": MetricEntry(
        "runs_skipped_overlap", (), "Runs skipped because another one was going on."
    ),
    "tompion_runs_failed_launch": MetricEntry("runs_failed_launch", (), "Runs whose executor could not even begin."),
    "tompion_schedules_skipped": MetricEntry("schedules_skipped", (), "Due schedules that started nothing."),
    "tompion_lock_expired": MetricEntry("lock_expired", (), "Runs whose instance has died or was cut off."),
    "tompion_zombies_cleaned": MetricEntry("zombies_cleaned", (), "Runs that failed because nobody picked them up."),
    "tompion_duplicate_executions": MetricEntry(
        "duplicate_executions", (), "Runs launched again after their worker was lost."
    ),
    "tompion_missed_catchup_window": MetricEntry(
        "missed_catchup_window", (), "Ticks dropped as older than catchup_window."
    ),
    "tompion_stale_writes_rejected": MetricEntry(
        "stale_writes_rejected", (), "Outcomes of those who no longer held the run."
    ),
    "tompion_leases_lost": MetricEntry("leases_lost", (), "Runs that were executed here and are somebody else's now."),
    "tompion_runs_given_up": MetricEntry("runs_given_up", (), "Runs that went on long after their deadline."),
    "tompion_schedules_replanned": MetricEntry("replanned", (), "Schedules aimed anew with new time zone data."),
    "tompion_skewed_passes": MetricEntry("skewed_passes", (), "Passes without firing because this clock is off."),
    "tompion_store_errors": MetricEntry("store_errors", (), "Steps that the store could not do just then."),
    "tompion_unexpected_errors": MetricEntry("unexpected_errors", (), "Mistakes of this program."),
    "tompion_runs_settled": MetricEntry("runs_settled", (), "Outcomes that were written down here."),
    "tompion_notices_delivered": MetricEntry("notifications_delivered", (), "Notices that arrived."),
    "tompion_notices_retried": MetricEntry(
        "notifications_retried", (), "Tries to deliver a notice that failed, and are made again."
    ),
    "tompion_notices_given_up": MetricEntry("notifications_given_up", (), "Notices that nobody was told."),
    "tompion_pings": MetricEntry("pings", (), "Times that a monitor was told how this process is."),
    "tompion_pings_failed": MetricEntry("pings_failed", (), "Times that a monitor could not be told."),
    "tompion_runs_finished": MetricEntry("runs_finished", ("namespace", "state"), "Runs that have ended, by how."),
    "tompion_runs_retried": MetricEntry("runs_retried", ("namespace",), "Attempts that failed and are tried again."),
    "tompion_runs_skipped": MetricEntry("runs_skipped", ("namespace", "reason"), "Runs that were skipped, by why."),
    "tompion_ticks_missed": MetricEntry("ticks_missed", ("namespace", "reason"), "Ticks nobody was there for, by why."),
    "tompion_http_requests": MetricEntry("requests", ("method", "route", "status"), "Requests that were answered."),
}
HISTOGRAMS: dict[str, MetricEntry] = {
    "tompion_drift_seconds": MetricEntry(
        "drift", (), "How far launches of ticks were from their fire times, either way."
    ),
    "tompion_lateness_seconds": MetricEntry("lateness", ("namespace",), "How late ticks were launched."),
    "tompion_queue_wait_seconds": MetricEntry(
        "queue_wait", ("namespace",), "How long runs waited before their first launch."
    ),
    "tompion_http_request_duration_seconds": MetricEntry("request", ("method", "route"), "How long requests took."),
}
GAUGES: dict[str, str] = {
    "tompion_clock_skew_seconds": "How far this machine's clock is ahead of the database's.",
    "tompion_runs_active": "Runs that are executed here.",
    "tompion_store_up": "Whether the store answers.",
    "tompion_schedules_due": "Schedules whose next tick is due, of all namespaces, up to 10000.",
    "tompion_runs_waiting": "Runs that wait for their turn or their fire time, up to 10000.",
    "tompion_schedules_paused": "Schedules that are paused, up to 10000.",
    "tompion_schedules_degraded": "Schedules that fire in UTC because their zone is gone, up to 10000.",
    "tompion_instances_live": "Engines of which a sign of life was seen lately.",
    "tompion_queue_depth": "Runs of a queue that nobody has taken yet, up to 10000 of all queues.",
    "tompion_queue_oldest_seconds": "For how long the oldest of them has waited.",
    "tompion_build_info": "Always 1; the labels say what runs.",
}


class MetricsExporter(Collector):
    """The numbers of one process, with a registry of their own."""

    def __init__(self, runner: OperationRunner, build: Mapping[str, str], clock: Clock | None = None) -> None:
        """Take where numbers come from, and the labels that say what runs."""
        self._runner = runner
        self._clock = clock or SystemClock()
        self._build = build
        self._standing: StoreBacklog | None = None
        self._asked_s: float | None = None
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def text(self) -> bytes:
        """Return everything, as it is scraped.  It may wait for the store, so it is not for an event loop."""
        return generate_latest(self.registry)

    def describe(self) -> Iterator[Metric]:
        """Ask nothing when it is registered."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Give every metric of the table."""
        now_s = self._clock.now()
        if self._asked_s is None or not 0 <= now_s - self._asked_s < KEPT_S:
            self._standing, self._asked_s = self._ask(), now_s
        for name, entry in COUNTERS.items():
            yield self._counter(name, entry)
        for name, entry in HISTOGRAMS.items():
            yield _histogram(name, entry, self._runner.tally.histograms(entry.tallied))
        for name, value in self._runner.tally.gauges.items():
            yield _gauge(f"tompion_{name}", value())
        build = GaugeMetricFamily("tompion_build_info", GAUGES["tompion_build_info"], labels=list(self._build))
        build.add_metric(list(self._build.values()), 1)
        yield build
        yield _gauge("tompion_store_up", float(self._standing is not None))
        if self._standing is not None:
            yield from _of_store(self._standing)

    def _counter(self, name: str, entry: MetricEntry) -> Metric:
        family = CounterMetricFamily(name, entry.says, labels=entry.labels)
        tally = self._runner.tally
        values = tally.labelled(entry.tallied) if entry.labels else {(): tally.counts[entry.tallied]}
        for labels, number in values.items():
            family.add_metric(labels, number)
        return family

    def _ask(self) -> StoreBacklog | None:
        try:
            asked = self._runner.send(store_backlog, namespace="*", actor="metrics", writes=False, walled=False)
            return asked.result(TIMEOUT_S)
        except (TompionError, TooSlow):
            return None


def _gauge(name: str, value: float) -> Metric:
    return GaugeMetricFamily(name, GAUGES[name], value=value)


def _histogram(name: str, entry: MetricEntry, spreads: Mapping[Labels, Histogram]) -> Metric:
    family = HistogramMetricFamily(name, entry.says, labels=entry.labels)
    for labels, spread in spreads.items():
        below, buckets = 0, []
        for bound, number in zip((*map(str, BOUNDS_S), "+Inf"), spread.buckets, strict=True):
            below += number
            buckets.append((bound, float(below)))
        family.add_metric(labels, buckets, spread.total_s)
    return family


def _of_store(found: StoreBacklog) -> Iterator[Metric]:
    yield _gauge("tompion_schedules_due", found.due)
    yield _gauge("tompion_runs_waiting", found.waiting)
    yield _gauge("tompion_schedules_paused", found.paused)
    yield _gauge("tompion_schedules_degraded", found.degraded)
    yield _gauge("tompion_instances_live", found.instances)
    depth = GaugeMetricFamily("tompion_queue_depth", GAUGES["tompion_queue_depth"], labels=["queue"])
    oldest = GaugeMetricFamily("tompion_queue_oldest_seconds", GAUGES["tompion_queue_oldest_seconds"], labels=["queue"])
    longest = sorted(found.queues, key=lambda each: -each.runs)
    for each in longest[:MAX_QUEUES]:
        depth.add_metric([each.queue], each.runs)
        oldest.add_metric([each.queue], each.oldest_s)
    if others := longest[MAX_QUEUES:]:
        depth.add_metric([OTHER], sum(each.runs for each in others))
        oldest.add_metric([OTHER], max(each.oldest_s for each in others))
    yield depth
    yield oldest
