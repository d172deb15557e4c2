"""What an engine says of its work, once that is in the ledger: numbers, events, traces.

A burst is tens of thousands of ticks a second.  So what is alike is counted together, a batch at a time, and what only
listeners and traces want is worked out only if there are any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import itemgetter

from tompion.engine.context import EngineContext
from tompion.engine.steps.result import Carried, Launches, Notes, Settled
from tompion.engine.telemetry.run_events import tell_ends, tell_launches, tell_notes, tell_outcomes
from tompion.model.metrics import OTHER
from tompion.model.run import FINAL, MISSED, Reason, RunRow, RunState
from tompion.plan.outcome import Outcome
from tompion.runtime.clock import Clock

_of_launch = itemgetter(
    *map(RunRow._fields.index, ("origin", "attempt", "failures", "pickups", "fire_ms", "decided_ms"))
)
"""What launches that are counted together have in common: numbers only, because to hash an enum is slow."""
_schedule_of = itemgetter(0)


class EngineMetrics:
    """The books of one instance."""

    def __init__(self, instance: EngineContext, clock: Clock) -> None:
        """Take the instance, and the clock of this machine."""
        self._instance = instance
        self._clock = clock

    def launched(self, launches: Launches) -> None:
        """Say what is launched, how late, and how long it has waited."""
        if launches:
            self._count_launches(launches)
            tell_launches(self._instance, launches)

    def settled(self, outcomes: Sequence[Outcome], settled: Settled) -> None:
        """Say how runs have ended, or that they are tried again; and what became of those that waited for them."""
        tally = self._instance.probe.tally
        tally.count("runs_settled", len(settled.accepted))
        tally.count("stale_writes_rejected", settled.stale)
        self._count_ends(outcomes, settled)
        tell_outcomes(self._instance, outcomes, settled)
        if settled.notes is not None:
            self.noted(settled.notes)
        if self._instance.tracing is not None:
            self._instance.tracing.settled(self._instance.schedules, outcomes, settled)

    def carried(self, carried: Iterable[Carried]) -> None:
        """Say what was carried out in the transaction that has taken it."""
        for launches, outcomes, settled in carried:
            failed = sum(each.reason is Reason.LAUNCH_FAILED for each in outcomes)
            self._instance.probe.count("runs_failed_launch", failed)
            self.launched(launches)
            self.settled(outcomes, settled)

    def noted(self, notes: Notes) -> None:
        """Say what was skipped, missed, or ended by others."""
        tally = self._instance.probe.tally
        tally.count("schedules_skipped", notes.idle)
        tally.count("lock_expired", notes.exposed)
        skipped = Counter([(tally.namespace(compiled.namespace), run.reason or "") for run, compiled in notes.skipped])
        for dropped_range, compiled in notes.dropped_ranges:
            labels = (tally.namespace(compiled.namespace), dropped_range.reason)
            tally.count("ticks_missed", dropped_range.ticks if dropped_range.reason in MISSED else 0, labels)
            tally.count(
                "missed_catchup_window", dropped_range.ticks if dropped_range.reason == Reason.OUTSIDE_WINDOW else 0
            )
            skipped[labels] += dropped_range.ticks if dropped_range.reason == Reason.OVERLAP else 0
        for labels, number in skipped.items():
            tally.count("runs_skipped", number, labels)
            tally.count("runs_skipped_overlap", number if labels[1] == Reason.OVERLAP else 0)
        for run, compiled in notes.ended:
            tally.count("runs_finished", 1, (tally.namespace(compiled.namespace), run.state))
        tell_notes(self._instance, notes)
        tell_ends(self._instance, notes.ended)
        if self._instance.tracing is not None:
            self._instance.tracing.noted(notes)

    def _count_launches(self, launches: Launches) -> None:
        tally = self._instance.probe.tally
        now_ms = int(self._clock.now() * 1000) - self._instance.skew_ms
        tally.count("runs_emitted", len(launches))
        alike = Counter([(compiled.namespace, _of_launch(row)) for row, compiled in launches])
        for (name, (origin, attempt, failures, pickups, fire_ms, decided_ms)), number in alike.items():
            if pickups and not failures:
                tally.count("duplicate_executions", number)
            if attempt != 1:
                continue
            labels = (tally.namespace(name),)
            tally.observe("queue_wait", max(0, now_ms - max(fire_ms, decided_ms)) / 1000, number, labels)
            if not origin:  # it is a tick, which nobody has asked for
                late_s = (now_ms - fire_ms) / 1000
                tally.observe("drift", abs(late_s), number)
                tally.observe("lateness", max(0.0, late_s), number, labels)

    def _count_ends(self, outcomes: Sequence[Outcome], settled: Settled) -> None:
        """Count successes together, which is almost all of them, and the others one by one."""
        tally = self._instance.probe.tally
        if len(settled.accepted) != len(outcomes):
            outcomes = [each for each in outcomes if each[:3] in settled.accepted]
        well = [each for each in outcomes if each[4] is RunState.SUCCESS]
        for name, number in Counter(self._namespaces(well)).items():
            tally.count("runs_finished", number, (tally.namespace(name), RunState.SUCCESS))
        if len(well) == len(outcomes):
            return
        others = [each for each in outcomes if each[4] is not RunState.SUCCESS]
        for each, name in zip(others, self._namespaces(others), strict=True):
            if each[:3] in settled.retried:
                tally.count("runs_retried", 1, (tally.namespace(name),))
            elif each.state in FINAL:
                tally.count("runs_finished", 1, (tally.namespace(name), each.state))

    def _namespaces(self, outcomes: Sequence[Outcome]) -> list[str]:
        found = self._instance.schedules.newest_of(map(_schedule_of, outcomes))
        return [OTHER if compiled is None else compiled.namespace for compiled in found]
