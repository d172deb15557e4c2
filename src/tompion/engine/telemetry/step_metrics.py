"""Metrics of committed steps.

A burst is tens of thousands of ticks per second, so equal values are counted together, one batch at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import attrgetter, itemgetter

from tompion.engine.context import EngineContext
from tompion.engine.steps.result import Launches, StepResult
from tompion.model.run import FINAL, MISSED, Reason, RunRow, RunState
from tompion.plan.outcome import Outcome
from tompion.runtime.clock import Clock
from tompion.runtime.metric_values import OTHER

_launch_group = itemgetter(
    *map(RunRow._fields.index, ("origin", "attempt", "failures", "pickups", "fire_ms", "decided_ms"))
)
"""The fields by which launches are counted together. They are all numbers, because hashing an enum is slow."""
_schedule_key = attrgetter("schedule_key")


class StepMetrics:
    """Counts and measures committed steps."""

    def __init__(self, context: EngineContext, clock: Clock) -> None:
        self._context = context
        self._metrics = context.events.metrics
        self._clock = clock

    def record(self, result: StepResult) -> None:
        """Count the outcomes, decisions and launches of a step."""
        if result.outcomes:
            self._metrics.count("runs_settled", len(result.accepted))
            self._metrics.count("stale_writes_rejected", result.stale)
            self._metrics.count("runs_failed_launch", result.failed_launches)
            self._count_outcomes(result)
        self._count_decisions(result)
        if result.launches:
            self._count_launches(result.launches)

    def _count_decisions(self, result: StepResult) -> None:
        """Count skipped and dropped ticks, and runs that a decision ended."""
        metrics = self._metrics
        metrics.count("schedules_skipped", result.idle_schedules)
        metrics.count("lock_expired", result.expired_leases)
        skipped = Counter(
            [(metrics.namespace_label(compiled.namespace), run.reason or "") for run, compiled in result.skipped]
        )
        for dropped_range, compiled in result.dropped_ranges:
            labels = (metrics.namespace_label(compiled.namespace), dropped_range.reason)
            ticks = dropped_range.ticks
            metrics.count("ticks_missed", ticks if dropped_range.reason in MISSED else 0, labels)
            metrics.count("missed_catchup_window", ticks if dropped_range.reason == Reason.OUTSIDE_WINDOW else 0)
            skipped[labels] += ticks if dropped_range.reason == Reason.OVERLAP else 0
        for labels, number in skipped.items():
            metrics.count("runs_skipped", number, labels)
            metrics.count("runs_skipped_overlap", number if labels[1] == Reason.OVERLAP else 0)
        for run, compiled in result.ended:
            metrics.count("runs_finished", 1, (metrics.namespace_label(compiled.namespace), run.state))

    def _count_launches(self, launches: Launches) -> None:
        """Count launches, and measure how late they are and how long they have waited."""
        metrics = self._metrics
        now_ms = int(self._clock.now() * 1000) - self._context.skew_ms
        metrics.count("runs_emitted", len(launches))
        groups = Counter([(compiled.namespace, _launch_group(row)) for row, compiled in launches])
        for (namespace, (origin, attempt, failures, pickups, fire_ms, decided_ms)), number in groups.items():
            if pickups and not failures:
                metrics.count("duplicate_executions", number)
            if attempt != 1:
                continue
            labels = (metrics.namespace_label(namespace),)
            metrics.observe("queue_wait", max(0, now_ms - max(fire_ms, decided_ms)) / 1000, number, labels)
            if not origin:  # a tick, not a trigger or a backfill
                late_s = (now_ms - fire_ms) / 1000
                metrics.observe("drift", abs(late_s), number)
                metrics.observe("lateness", max(0.0, late_s), number, labels)

    def _count_outcomes(self, result: StepResult) -> None:
        """Count successes together, because they are the great majority, and all others one by one."""
        metrics, outcomes = self._metrics, result.outcomes
        if len(result.accepted) != len(outcomes):  # some were stale, and are not counted
            outcomes = [outcome for outcome in outcomes if outcome.id in result.accepted]
        successes = [outcome for outcome in outcomes if outcome.state is RunState.SUCCESS]
        for namespace, number in Counter(self._namespaces(successes)).items():
            metrics.count("runs_finished", number, (metrics.namespace_label(namespace), RunState.SUCCESS))
        if len(successes) == len(outcomes):  # the usual case, without a second search of a long list
            return
        others = [outcome for outcome in outcomes if outcome.state is not RunState.SUCCESS]
        for outcome, namespace in zip(others, self._namespaces(others), strict=True):
            if outcome.reason is Reason.TARGET_UNREACHABLE:
                continue  # the launcher counts it
            if outcome.id in result.retried:
                metrics.count("runs_retried", 1, (metrics.namespace_label(namespace),))
            elif outcome.state in FINAL:
                metrics.count("runs_finished", 1, (metrics.namespace_label(namespace), outcome.state))

    def _namespaces(self, outcomes: Sequence[Outcome]) -> list[str]:
        schedules = self._context.schedules.newest_of(map(_schedule_key, outcomes))
        return [OTHER if compiled is None else compiled.namespace for compiled in schedules]
