"""Traces: each run as OpenTelemetry spans, written when its outcome is known.

A run is a trace, and its trace id is the first half of the run's key. Each attempt is a span ``tompion.run``, from the
fire time to the outcome, with child spans: ``tompion.decide`` (fire time to decision), ``tompion.wait`` (decision to
lease), ``tompion.launch`` (lease to call) and ``tompion.execute`` (the executor's call). A later attempt is not a child
of the one before, but has a link to it.

All ids are derived from the key (:mod:`tompion.encoding.trace_context`), and all times except those of the call are in
the ledger. So an engine keeps no trace state while a run is in flight: any instance that writes the outcome writes the
same span, an executor receives its parent before that span exists, and a trace continues after a crash.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from opentelemetry.context import attach
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.sampling import Decision, Sampler
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from tompion.encoding.trace_context import (
    EXECUTE,
    RUN,
    SAMPLED,
    read_traceparent,
    span_id_of,
    trace_id_of,
    traceparent_of,
)
from tompion.engine.schedule_cache import ScheduleCache
from tompion.engine.steps.result import StepResult
from tompion.executors.base import RunContext
from tompion.model.run import FAILURES, FINAL, RunRow, RunState, idempotency_key
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.outcome import ExecutionTiming, Outcome
from tompion.runtime.clock import Clock

NS_PER_MS = 1_000_000
SCOPE = InstrumentationScope("tompion")
RUN_SPAN = "tompion.run"


class TracedRun(NamedTuple):
    """A sampled run."""

    row: RunRow
    compiled: CompiledSchedule
    key: str

    @property
    def began_ns(self) -> int:
        """Return the start of the attempt: the fire time of the first one, the claim of any other."""
        row = self.row
        first = row.attempt <= 1 or row.started_ms is None
        return (row.fire_ms if first else row.started_ms or row.decided_ms) * NS_PER_MS


class Tracing:
    """Writes spans to a processor. A run that is not sampled costs only the call of the sampler."""

    def __init__(self, processor: SpanProcessor, sampler: Sampler, resource: Resource, clock: Clock) -> None:
        self._processor = processor
        self._sampler = sampler
        self._resource = resource
        self._clock = clock

    def now_ns(self) -> int:
        """Return the time of this machine in nanoseconds."""
        return int(self._clock.now() * 1e9)

    def trace_id(self, key: str) -> str:
        """Return the trace id of a run as it appears in logs."""
        return f"{trace_id_of(key):032x}"

    def traceparent(self, run_context: RunContext) -> str:
        """Return the ``traceparent`` that an executor passes on."""
        return traceparent_of(
            run_context.idempotency_key, run_context.attempt, sampled=self._is_sampled(run_context.idempotency_key)
        )

    def worker_traceparent(self, key: str, attempt: int) -> str:
        """Return the ``traceparent`` for a remote worker. No executor is called here, so the run is the parent."""
        return traceparent_of(key, attempt, sampled=self._is_sampled(key), part=RUN)

    def enter(self, run_context: RunContext) -> None:
        """Make the run the parent of the spans that its function creates in this process."""
        flags = TraceFlags(SAMPLED if self._is_sampled(run_context.idempotency_key) else 0)
        span_id = span_id_of(run_context.idempotency_key, run_context.attempt, EXECUTE)
        span_context = SpanContext(
            trace_id_of(run_context.idempotency_key), span_id, is_remote=False, trace_flags=flags
        )
        attach(set_span_in_context(NonRecordingSpan(span_context)))

    def record(self, schedules: ScheduleCache, result: StepResult) -> None:
        """Write the spans of attempts that ended or were accepted by a target, and of runs that never started."""
        for outcome in result.outcomes:
            compiled = schedules.newest(outcome.schedule_key)
            if compiled is not None and outcome.row is not None and outcome.state is not RunState.ENQUEUED:
                self._record_outcome(outcome, outcome.row, compiled, result)
        for row, compiled in (*result.skipped, *result.ended):
            run = self._sampled_run(row, compiled)
            if run is not None:
                end_ns = (row.finished_ms or row.decided_ms) * NS_PER_MS
                self._write_run(run, row.state, row.reason, row.error, end_ns)

    def _record_outcome(self, outcome: Outcome, row: RunRow, compiled: CompiledSchedule, result: StepResult) -> None:
        """Write the spans of an accepted outcome, if its run is sampled."""
        run_id = outcome.id
        if run_id not in result.accepted:
            return
        run = self._sampled_run(row._replace(started_ms=outcome.started_ms), compiled)
        if run is None:
            return
        end_ns = result.now_ms * NS_PER_MS
        if outcome.timing is not None:
            self._write_call(run, outcome, outcome.timing, end_ns)
        if outcome.state in FINAL:
            is_retried = run_id in result.retried
            self._write_run(run, outcome.state, outcome.reason, outcome.error, end_ns, retried=is_retried)

    def record_trigger(self, key: str, traceparent: str) -> None:
        """Write a span for a trigger, with a link to the span of its caller."""
        at_ns = self.now_ns()
        parent = read_traceparent(traceparent)
        if parent is None or not self._is_sampled(key):
            return
        caller = SpanContext(parent.trace_id, parent.span_id, is_remote=True, trace_flags=TraceFlags(parent.flags))
        self._write("tompion.trigger", key, 1, at_ns, at_ns, part="trigger", links=(Link(caller),))

    def close(self) -> None:
        """Send the spans that are left."""
        self._processor.shutdown()

    def _is_sampled(self, key: str) -> bool:
        decision = self._sampler.should_sample(None, trace_id_of(key), RUN_SPAN).decision
        return decision is Decision.RECORD_AND_SAMPLE

    def _sampled_run(self, row: RunRow, compiled: CompiledSchedule) -> TracedRun | None:
        names = (compiled.namespace, compiled.schedule_id)
        key = idempotency_key(*names, row.source, row.nominal_s, row.origin, row.request_id)
        return TracedRun(row, compiled, key) if self._is_sampled(key) else None

    def _write_call(self, run: TracedRun, outcome: Outcome, timing: ExecutionTiming, end_ns: int) -> None:
        """Write the launch and the executor's call. Only the machine that made the call knows their times."""
        key, attempt = run.key, run.row.attempt
        leased_ns = (outcome.started_ms or run.row.decided_ms) * NS_PER_MS
        called_ns = min(max(timing.called_ns, leased_ns), end_ns)
        ended_ns = min(max(timing.ended_ns, called_ns), end_ns)
        self._write("tompion.launch", key, attempt, leased_ns, called_ns, part="launch")
        self._write(
            "tompion.execute",
            key,
            attempt,
            called_ns,
            ended_ns,
            part=EXECUTE,
            kind=SpanKind.INTERNAL if timing.executor == "function" else SpanKind.PRODUCER,
            attributes={"tompion.executor": timing.executor},
            status=_status(outcome.state, outcome.error),
        )

    def _write_run(  # noqa: PLR0913 - the outcome of a run
        self, run: TracedRun, state: str, reason: str | None, error: str | None, end_ns: int, *, retried: bool = False
    ) -> None:
        """Write the span of an attempt. The first attempt also has spans for the decision and the wait."""
        row, key = run.row, run.key
        began_ns, leased_ns = run.began_ns, (row.started_ms or row.finished_ms or row.decided_ms) * NS_PER_MS
        if row.attempt <= 1:
            decided_ns = max(row.decided_ms * NS_PER_MS, began_ns)
            self._write("tompion.decide", key, row.attempt, began_ns, decided_ns, part="decide")
            if leased_ns > decided_ns:
                self._write("tompion.wait", key, row.attempt, decided_ns, leased_ns, part="wait")
        links = () if row.attempt <= 1 else (Link(self._context(key, row.attempt - 1, RUN)),)
        attributes = {
            "tompion.namespace": run.compiled.namespace,
            "tompion.schedule_id": run.compiled.schedule_id,
            "tompion.run_id": str(row.id),
            "tompion.key": key,
            "tompion.nominal_s": row.nominal_s,
            "tompion.source": str(row.source),
            "tompion.attempt": row.attempt,
            "tompion.lateness_s": max(0, leased_ns - row.fire_ms * NS_PER_MS) / 1e9,
            "tompion.outcome": str(state),
            "tompion.retried": retried,
            **({} if reason is None else {"tompion.reason": str(reason)}),
        }
        self._write(
            RUN_SPAN, key, row.attempt, began_ns, max(end_ns, began_ns), attributes=attributes, links=links,
            status=_status(state, error),
        )  # fmt: skip

    def _context(self, key: str, attempt: int, part: str) -> SpanContext:
        return SpanContext(
            trace_id_of(key), span_id_of(key, attempt, part), is_remote=False, trace_flags=TraceFlags(SAMPLED)
        )

    def _write(  # noqa: PLR0913 - the parts of a span
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
        """Export one span."""
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
