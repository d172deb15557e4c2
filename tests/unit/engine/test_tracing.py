"""One trace for each run across instances, with the real SDK and a recording exporter."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler, TraceIdRatioBased
from opentelemetry.trace import SpanKind, StatusCode

from tests.unit.engine.harness import BEGIN, EngineHarness, kill
from tompion.encoding.trace_context import read_traceparent, span_id_of, trace_id_of, traceparent_of
from tompion.engine.telemetry.tracing import Tracing
from tompion.executors.base import Accepted, Completed, RunContext
from tompion.model.run import RunState, idempotency_key
from tompion.operations.schedules import control
from tompion.runtime.clock import pause

KEY = "0873d2335530a38cc1a735df3ecde576eab490688a91c7303392228a0e156ffa"


class Traced:
    """The exported spans, by name."""

    def __init__(self, harness: EngineHarness, sampler: Sampler = ALWAYS_ON) -> None:
        self._exporter = InMemorySpanExporter()
        self._harness = harness
        self._sampler = sampler
        self.one = self.another()

    def another(self) -> Tracing:
        processor = SimpleSpanProcessor(self._exporter)
        return Tracing(processor, self._sampler, Resource({"service.name": "tompion"}), self._harness.clock)

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        return self._exporter.get_finished_spans()

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == name]


def seconds(span: ReadableSpan) -> tuple[float, float]:
    assert span.start_time is not None
    assert span.end_time is not None
    return span.start_time / 1e9 - BEGIN, span.end_time / 1e9 - BEGIN


def of(span: ReadableSpan) -> dict[str, Any]:
    return {name.removeprefix("tompion."): value for name, value in (span.attributes or {}).items()}


def test_run_is_a_trace_from_its_fire_time_to_its_outcome(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")
    harness.plan = lambda _: (5.0, Completed())
    traced = Traced(harness)

    async def scenario() -> None:
        await harness.engine(tracing=traced.one).start()
        await pause(60)

    harness.run(scenario)
    (launch,) = [execution.launch for execution in harness.executor.executions]
    assert {span.name for span in traced.spans} == {
        "tompion.run",
        "tompion.decide",
        "tompion.launch",
        "tompion.execute",
    }
    (root,) = traced.named("tompion.run")
    assert root.parent is None
    assert {span.context.trace_id for span in traced.spans} == {trace_id_of(launch.idempotency_key)}
    assert {span.parent and span.parent.span_id for span in traced.spans if span is not root} == {root.context.span_id}
    assert len({span.context.span_id for span in traced.spans}) == 4
    assert seconds(root) == pytest.approx((30, 35), abs=0.1)
    (call,) = traced.named("tompion.execute")
    assert seconds(call) == pytest.approx((30, 35), abs=0.1)
    assert of(call) == {"executor": "function"}
    attributes = of(root)
    assert attributes.pop("lateness_s") == pytest.approx(0, abs=0.1)
    assert attributes == {
        "namespace": "default", "schedule_id": "report", "run_id": launch.run_id, "key": launch.idempotency_key,
        "nominal_s": int(launch.run_at.timestamp()), "source": "schedule", "attempt": 1, "outcome": "SUCCESS",
        "retried": False,
    }  # fmt: skip
    assert root.status.status_code is StatusCode.OK
    assert launch.traceparent == f"00-{trace_id_of(launch.idempotency_key):032x}-{call.context.span_id:016x}-01"
    assert launch.meta["traceparent"] == launch.traceparent
    assert copy(launch).traceparent == launch.traceparent


def test_retry_has_a_link_to_the_first_attempt(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *", max_attempts=2)
    harness.plan = lambda launch: (
        0.0,
        Completed(RunState.FAILED, error="no luck\nat all") if launch.attempt == 1 else Completed(),
    )
    traced = Traced(harness)

    async def scenario() -> None:
        await harness.engine(tracing=traced.one).start()
        await pause(100)

    harness.run(scenario)
    first, second = traced.named("tompion.run")
    assert (of(first)["outcome"], of(first)["retried"], first.status.description) == ("FAILED", True, "no luck")
    assert (of(second)["outcome"], of(second)["attempt"], second.parent) == ("SUCCESS", 2, None)
    assert [link.context.span_id for link in second.links] == [first.context.span_id]
    assert second.context.trace_id == first.context.trace_id


def test_another_instance_continues_the_trace_after_a_crash(harness: EngineHarness) -> None:
    """The span of the first attempt is never written. Its children and the second attempt still have its id."""
    harness.create(cron="1 8 * * *")
    harness.plan = lambda _: (20.0, Completed())
    traced = Traced(harness)

    async def scenario() -> None:
        first = harness.engine(tracing=traced.one)
        await first.start()
        await pause(31)
        await kill(first)
        await harness.engine(tracing=traced.another()).start()
        await pause(200)

    harness.run(scenario)
    lost, rescued = [execution.launch for execution in harness.executor.executions]
    (root,) = traced.named("tompion.run")
    assert of(root)["attempt"] == 2
    before = read_traceparent(lost.traceparent or "")
    assert before is not None
    assert before.trace_id == root.context.trace_id
    assert [link.context.span_id for link in root.links] == [span_id_of(lost.idempotency_key, 1)]
    assert rescued.traceparent != lost.traceparent


def test_remote_run_is_traced_by_two_instances(harness: EngineHarness) -> None:
    """The instance that calls the target writes the call. The instance that settles the report writes the rest."""
    harness.create(cron="1 8 * * *", max_execution_ms=20_000)
    harness.plan = lambda _: (1.0, Accepted("there"))  # type: ignore[assignment,return-value]  # a target that calls back
    traced = Traced(harness)

    async def scenario() -> None:
        await harness.engine(tracing=traced.one).start()
        await pause(35)
        assert {span.name for span in traced.spans} == {"tompion.launch", "tompion.execute"}
        await pause(60)

    harness.run(scenario)
    (root,) = traced.named("tompion.run")
    assert of(root)["outcome"] == "TIMED_OUT"
    assert root.status.status_code is StatusCode.ERROR
    assert {span.parent.span_id for span in traced.spans if span.parent} == {root.context.span_id}
    assert len(traced.named("tompion.execute")) == 1


def test_queued_and_skipped_runs_are_traced(harness: EngineHarness) -> None:
    harness.create(cron="1,2 8 * * *", overlap_policy="queue")
    harness.create("other", cron="1,2 8 * * *", overlap_policy="skip")
    harness.plan = lambda launch: (100.0 if launch.run_at.minute == 1 else 0.0, Completed())
    traced = Traced(harness)

    async def scenario() -> None:
        await harness.engine(tracing=traced.one).start()
        await pause(200)

    harness.run(scenario)
    (wait,) = traced.named("tompion.wait")
    assert seconds(wait) == pytest.approx((90, 130), abs=1)
    (skipped,) = [of(span) for span in traced.named("tompion.run") if of(span)["outcome"] == "SKIPPED"]
    assert (skipped["schedule_id"], skipped["reason"]) == ("other", "overlap")


def test_only_sampled_traces_are_written_and_the_flag_is_passed_on(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")
    traced = Traced(harness, ALWAYS_OFF)

    async def scenario() -> None:
        await harness.engine(tracing=traced.one).start()
        await pause(60)

    harness.run(scenario)
    (launch,) = [execution.launch for execution in harness.executor.executions]
    assert traced.spans == ()
    assert launch.traceparent is not None
    assert launch.traceparent.endswith("-00")


def test_all_instances_sample_the_same_traces(harness: EngineHarness) -> None:
    sampler = TraceIdRatioBased(0.5)
    one, other = Traced(harness, sampler).one, Traced(harness, sampler).one
    keys = [idempotency_key("default", "report", "schedule", number) for number in range(200)]
    wanted = [one._is_sampled(key) for key in keys]
    assert wanted == [other._is_sampled(key) for key in keys]
    assert set(wanted) == {True, False}


def test_spans_of_a_function_are_part_of_its_run(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")
    traced = Traced(harness)
    provider = TracerProvider()
    inner = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(inner))

    def work(_: RunContext) -> tuple[float, Completed]:
        with provider.get_tracer("tasks").start_as_current_span("inside"):
            return 0.0, Completed()

    harness.plan = work

    async def scenario() -> None:
        await harness.engine(tracing=traced.one).start()
        await pause(60)

    harness.run(scenario)
    (span,) = inner.get_finished_spans()
    (call,) = traced.named("tompion.execute")
    assert span.parent is not None
    assert (span.parent.span_id, span.context.trace_id) == (call.context.span_id, call.context.trace_id)
    assert call.kind is SpanKind.INTERNAL
    assert not trace.get_current_span().get_span_context().is_valid


def test_trigger_has_a_link_to_the_span_of_its_caller(harness: EngineHarness) -> None:
    harness.create()
    run = harness.call(control.trigger, "report")
    traced = Traced(harness)
    traced.one.record_trigger(run.idempotency_key, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    traced.one.record_trigger(run.idempotency_key, "")
    (span,) = traced.spans
    (link,) = span.links
    assert (
        f"{link.context.trace_id:032x}-{link.context.span_id:016x}"
        == "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"
    )
    assert span.context.trace_id == trace_id_of(run.idempotency_key)
    assert span.parent is not None
    assert span.parent.span_id == span_id_of(run.idempotency_key, 1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no",
        f"00-{'0' * 32}-{'1' * 16}-01",
        f"00-{'1' * 32}-{'0' * 16}-01",
        f"ff-{'1' * 32}-{'1' * 16}-01",
        "00-1-1-01",
    ],
)
def test_invalid_traceparent_is_ignored(text: str) -> None:
    assert read_traceparent(text) is None


def test_ids_are_stable() -> None:
    assert f"{trace_id_of(KEY):032x}" == KEY[:32]
    assert traceparent_of(KEY, 1, sampled=True) == f"00-{KEY[:32]}-{span_id_of(KEY, 1, 'execute'):016x}-01"
    assert traceparent_of(KEY, 1, sampled=True) == "00-0873d2335530a38cc1a735df3ecde576-6bfb8738a0846511-01"
    assert trace_id_of("a key of another system") == trace_id_of("a key of another system") != trace_id_of("another")
    assert read_traceparent(traceparent_of(KEY, 3, sampled=False)) is not None
