"""Traces: what became of each run, as spans of OpenTelemetry, written when it is known.

One run, one trace; its id is the first half of the run's key.  Each attempt at it is a span ``tompion.run``, from its
fire time to its outcome, with what it consisted of below: ``tompion.decide`` (fire time to decision), ``tompion.wait``
(decision to lease), ``tompion.launch`` (lease to call) and ``tompion.execute`` (the executor's call).  An attempt after
another is no child of it, but linked to it.

All ids are derived from the key (:mod:`tompion.model.trace_context`), and all times but those of the call are the ledger's.  So
nothing has to be remembered while a run is under way: whichever instance writes down how it ended writes the same span,
an executor can be told its parent before that exists, and after a crash the trace goes on where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from opentelemetry import context, trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.sampling import Decision, Sampler
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from tompion.engine.schedule_cache import ScheduleCache
from tompion.engine.steps.result import Notes, Settled
from tompion.executors.base import RunContext
from tompion.model.run import FAILURES, FINAL, RunId, RunRow, RunState, idempotency_key
from tompion.model.trace_context import EXECUTE, RUN, SAMPLED, read_traceparent, span_id_of, trace_id_of, traceparent_of
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.outcome import ExecutionTiming, Outcome
from tompion.runtime.clock import Clock

MS = 1_000_000
SCOPE = InstrumentationScope("tompion")
OF_RUN = "tompion.run"


class TracedRun(NamedTuple):
    """A run that spans are written about."""

    row: RunRow
    compiled: CompiledSchedule
    key: str

    @property
    def began_ns(self) -> int:
        """Return when its attempt began to matter: the first at the fire time, another one when it was taken."""
        row = self.row
        first = row.attempt <= 1 or row.started_ms is None
        return (row.fire_ms if first else row.started_ms or row.decided_ms) * MS


class Tracing:
    """Writes spans; what a sampler does not want costs no more than asking it."""

    def __init__(self, processor: SpanProcessor, sampler: Sampler, resource: Resource, clock: Clock) -> None:
        """Take where spans go, which traces are wanted, and what this process says of itself."""
        self._processor = processor
        self._sampler = sampler
        self._resource = resource
        self._clock = clock

    def now_ns(self) -> int:
        """Return the time of this machine."""
        return int(self._clock.now() * 1e9)

    def trace_id(self, key: str) -> str:
        """Return the trace of a run, as logs show it."""
        return f"{trace_id_of(key):032x}"

    def traceparent(self, launch: RunContext) -> str:
        """Return what an executor is to hand on."""
        return traceparent_of(launch.key, launch.attempt, sampled=self._is_wanted(launch.key))

    def handed_on(self, key: str, attempt: int) -> str:
        """Return what a worker is to hand on that has taken a run: nobody here calls, so the run is the parent."""
        return traceparent_of(key, attempt, sampled=self._is_wanted(key), part=RUN)

    def enter(self, launch: RunContext) -> None:
        """Let spans that a function makes in this process be part of its run."""
        flags = TraceFlags(SAMPLED if self._is_wanted(launch.key) else 0)
        span = span_id_of(launch.key, launch.attempt, EXECUTE)
        here = SpanContext(trace_id_of(launch.key), span, is_remote=False, trace_flags=flags)
        context.attach(trace.set_span_in_context(trace.NonRecordingSpan(here)))

    def settled(self, schedules: ScheduleCache, outcomes: Sequence[Outcome], settled: Settled) -> None:
        """Write what is known of attempts that have ended, or that go on elsewhere."""
        for outcome in outcomes:
            compiled = schedules.newest(outcome.schedule_key)
            run = RunId(*outcome[:3])
            if (
                compiled is None
                or outcome.row is None
                or run not in settled.accepted
                or outcome.state is RunState.ENQUEUED
            ):
                continue
            row = outcome.row._replace(started_ms=outcome.started_ms)
            told = self._told(row, compiled)
            if told is None:
                continue
            end_ns = settled.now_ms * MS
            if outcome.course is not None:
                self._write_call(told, outcome, outcome.course, end_ns)
            if outcome.state in FINAL:
                self._write_run(
                    told, outcome.state, outcome.reason, outcome.error, end_ns, retried=run in settled.retried
                )

    def noted(self, notes: Notes) -> None:
        """Write that runs were skipped, or ended by others."""
        for row, compiled in (*notes.skipped, *notes.ended):
            told = self._told(row, compiled)
            if told is not None:
                self._write_run(told, row.state, row.reason, row.error, (row.finished_ms or row.decided_ms) * MS)

    def triggered(self, key: str, traceparent: str) -> None:
        """Write that somebody has asked for a run, with a link to what they were doing."""
        at_ns = self.now_ns()
        parent = read_traceparent(traceparent)
        if parent is None or not self._is_wanted(key):
            return
        other = SpanContext(parent.trace_id, parent.span_id, is_remote=True, trace_flags=TraceFlags(parent.flags))
        self._write("tompion.trigger", key, 1, at_ns, at_ns, part="trigger", links=(Link(other),))

    def close(self) -> None:
        """Send what is left."""
        self._processor.shutdown()

    def _is_wanted(self, key: str) -> bool:
        decided = self._sampler.should_sample(None, trace_id_of(key), OF_RUN).decision
        return decided is Decision.RECORD_AND_SAMPLE

    def _told(self, row: RunRow, compiled: CompiledSchedule) -> TracedRun | None:
        names = (compiled.namespace, compiled.schedule_id)
        key = idempotency_key(*names, row.source, row.nominal_s, row.origin, row.request_id)
        return TracedRun(row, compiled, key) if self._is_wanted(key) else None

    def _write_call(self, told: TracedRun, outcome: Outcome, course: ExecutionTiming, end_ns: int) -> None:
        """The launch, and the executor's call: known to the machine that made it, which need not see the end."""
        key, attempt = told.key, told.row.attempt
        leased_ns = (outcome.started_ms or told.row.decided_ms) * MS
        called_ns = min(max(course.called_ns, leased_ns), end_ns)
        ended_ns = min(max(course.ended_ns, called_ns), end_ns)
        self._write("tompion.launch", key, attempt, leased_ns, called_ns, part="launch")
        self._write(
            "tompion.execute",
            key,
            attempt,
            called_ns,
            ended_ns,
            part=EXECUTE,
            kind=SpanKind.INTERNAL if course.executor == "function" else SpanKind.PRODUCER,
            attributes={"tompion.executor": course.executor},
            status=_status(outcome.state, outcome.error),
        )

    def _write_run(  # noqa: PLR0913 - how it ended
        self, told: TracedRun, state: str, reason: str | None, error: str | None, end_ns: int, *, retried: bool = False
    ) -> None:
        row, key = told.row, told.key
        began_ns, leased_ns = told.began_ns, (row.started_ms or row.finished_ms or row.decided_ms) * MS
        if row.attempt <= 1:
            decided_ns = max(row.decided_ms * MS, began_ns)
            self._write("tompion.decide", key, row.attempt, began_ns, decided_ns, part="decide")
            if leased_ns > decided_ns:
                self._write("tompion.wait", key, row.attempt, decided_ns, leased_ns, part="wait")
        links = () if row.attempt <= 1 else (Link(self._context(key, row.attempt - 1, RUN)),)
        attributes = {
            "tompion.namespace": told.compiled.namespace,
            "tompion.schedule_id": told.compiled.schedule_id,
            "tompion.run_id": str(row.id),
            "tompion.key": key,
            "tompion.nominal_s": row.nominal_s,
            "tompion.source": str(row.source),
            "tompion.attempt": row.attempt,
            "tompion.lateness_s": max(0, leased_ns - row.fire_ms * MS) / 1e9,
            "tompion.outcome": str(state),
            "tompion.retried": retried,
            **({} if reason is None else {"tompion.reason": str(reason)}),
        }
        self._write(
            OF_RUN, key, row.attempt, began_ns, max(end_ns, began_ns), attributes=attributes, links=links,
            status=_status(state, error),
        )  # fmt: skip

    def _context(self, key: str, attempt: int, part: str) -> SpanContext:
        return SpanContext(
            trace_id_of(key), span_id_of(key, attempt, part), is_remote=False, trace_flags=TraceFlags(SAMPLED)
        )

    def _write(  # noqa: PLR0913 - what a span is made of
        self,
        name: str,
        key: str,
        attempt: int,
        start_ns: int,
        end_ns: int,
        *,
        part: str = RUN,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: dict[str, Any] | None = None,
        links: Sequence[Link] = (),
        status: Status | None = None,
    ) -> None:
        span = ReadableSpan(
            name=name,
            context=self._context(key, attempt, part),
            parent=None if part == RUN else self._context(key, attempt, RUN),
            resource=self._resource,
            attributes=attributes or {},
            links=links,
            kind=kind,
            status=status or Status(),
            start_time=start_ns,
            end_time=end_ns,
            instrumentation_scope=SCOPE,
        )
        self._processor.on_end(span)


def _status(state: str, error: str | None) -> Status:
    if state in FAILURES:
        return Status(StatusCode.ERROR, error.splitlines()[0] if error else None)
    return Status(StatusCode.OK) if state == RunState.SUCCESS else Status()
