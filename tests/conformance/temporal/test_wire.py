"""Raw bytes over a real socket: malformed messages, oversized requests and unknown names.

Every request gets a response with an error code of the client, the server logs no internal error, and a schedule that
existed before is unchanged afterwards.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.common.v1 import GrpcStatus, Memo, Payload, SearchAttributes
from temporalio.api.enums.v1 import IndexedValueType, ScheduleOverlapPolicy
from temporalio.api.errordetails.v1 import NamespaceNotFoundFailure
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.api.schedule.v1 import BackfillRequest, Schedule, SchedulePatch, ScheduleSpec, TriggerImmediatelyRequest
from temporalio.api.workflowservice.v1 import (
    CountSchedulesRequest,
    CreateScheduleRequest,
    DeleteScheduleRequest,
    DescribeNamespaceRequest,
    DescribeScheduleRequest,
    DescribeScheduleResponse,
    GetSystemInfoRequest,
    ListScheduleMatchingTimesRequest,
    ListSchedulesRequest,
    ListSchedulesResponse,
    PatchScheduleRequest,
    UpdateScheduleRequest,
)
from temporalio.bridge.proto.health.v1 import HealthCheckRequest

from tests.conformance.temporal.test_grpc import run_scenario
from tests.support.temporal_schedules import ACTION
from tompion.api.temporal.reflection import METHODS as REFLECTION
from tompion.api.temporal.system_service import METHODS, WORKFLOW_SERVICE
from tompion.operations.runner import OperationRunner

pytestmark = pytest.mark.server
Status = grpc.StatusCode
RANGE = BackfillRequest(start_time=Timestamp(seconds=1_700_000_000), end_time=Timestamp(seconds=1_700_010_000))
HOURLY = Schedule(spec=ScheduleSpec(cron_string=["0 * * * *"]), action=ACTION)
NAMED: dict[str, Any] = {"namespace": "default", "schedule_id": "s"}
CHANGED = {**NAMED, "schedule_id": "changed"}
TRIGGER = TriggerImmediatelyRequest(
    overlap_policy=ScheduleOverlapPolicy.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL,
    scheduled_time=Timestamp(seconds=1_700_000_000),
)
MEMO = Memo(fields={"note": Payload(metadata={"encoding": b"json/plain"}, data=b'{"a": [1, 2.5, "x"]}')})
ATTRIBUTES = SearchAttributes(
    indexed_fields={"Size": Payload(metadata={"encoding": b"json/plain", "type": b"Double"}, data=b"12.5")}
)


def complete_schedule() -> Schedule:
    """Return a schedule with a value in every field."""
    schedule = Schedule()
    schedule.CopyFrom(HOURLY)
    schedule.spec.start_time.seconds, schedule.spec.end_time.seconds = 1_700_000_000, 1_900_000_000
    schedule.spec.interval.add(interval=Duration(seconds=3600), phase=Duration(seconds=60))
    schedule.spec.jitter.seconds, schedule.spec.timezone_name = 30, "Europe/Rome"
    schedule.policies.catchup_window.seconds = 600
    schedule.state.notes, schedule.state.limited_actions, schedule.state.remaining_actions = "a note", True, 5
    started = schedule.action.start_workflow
    started.workflow_run_timeout.seconds, started.workflow_task_timeout.nanos = 60, 500_000_000
    started.retry_policy.initial_interval.seconds, started.retry_policy.backoff_coefficient = 1, 2.0
    started.memo.CopyFrom(MEMO)
    started.search_attributes.CopyFrom(ATTRIBUTES)
    started.header.fields["h"].data = b"x"
    return schedule


REQUESTS: dict[str, Any] = {
    "CreateSchedule": CreateScheduleRequest(
        **NAMED, request_id="r", schedule=complete_schedule(), memo=MEMO, search_attributes=ATTRIBUTES
    ),
    "DescribeSchedule": DescribeScheduleRequest(**NAMED),
    "UpdateSchedule": UpdateScheduleRequest(
        **CHANGED,
        request_id="r",
        schedule=complete_schedule(),
        memo=MEMO,
        search_attributes=ATTRIBUTES,
    ),
    "PatchSchedule": PatchScheduleRequest(
        **CHANGED,
        request_id="r",
        patch=SchedulePatch(trigger_immediately=TRIGGER, backfill_request=[RANGE], pause="p"),
    ),
    "ListScheduleMatchingTimes": ListScheduleMatchingTimesRequest(**NAMED),
    "DeleteSchedule": DeleteScheduleRequest(**NAMED),
    "ListSchedules": ListSchedulesRequest(namespace="default", query="ScheduleId = 's' AND Size > 3"),
    "CountSchedules": CountSchedulesRequest(namespace="default", query="TemporalSchedulePaused = true"),
    "GetSystemInfo": GetSystemInfoRequest(),
    "DescribeNamespace": DescribeNamespaceRequest(namespace="default"),
    "ListSearchAttributes": ListSearchAttributesRequest(namespace="default"),
    "AddSearchAttributes": AddSearchAttributesRequest(
        namespace="default", search_attributes={"Team": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD}
    ),
    "Check": HealthCheckRequest(service=WORKFLOW_SERVICE),
}
"""A valid request of each call."""
SETTINGS, PING, GOAWAY = 4, 6, 7
CLIENT_ERRORS = {Status.INVALID_ARGUMENT, Status.NOT_FOUND, Status.ALREADY_EXISTS, Status.FAILED_PRECONDITION}
Call = Callable[..., Awaitable[bytes]]
Scenario = Callable[[Call, str], Awaitable[Any]]


def run_connected(scenario: Scenario) -> Any:
    """Run a scenario with a function that sends bytes to a call, and the address of the server.

    The schedule ``kept`` must be unchanged afterwards. The scenario may change the schedule ``changed``.
    """

    async def with_channel(address: str, runner: OperationRunner) -> Any:
        async with grpc.aio.insecure_channel(address, options=[("grpc.max_send_message_length", -1)]) as channel:

            async def call(name: str, body: bytes, **more: Any) -> bytes:
                answer: bytes = await channel.unary_unary(name)(body, **more)
                return answer

            for name in ("kept", "changed"):
                create = CreateScheduleRequest(namespace="default", schedule_id=name, request_id=name, schedule=HOURLY)
                await call(path("CreateSchedule"), create.SerializeToString())
            describe = DescribeScheduleRequest(namespace="default", schedule_id="kept").SerializeToString()
            before = await call(path("DescribeSchedule"), describe)
            result = await scenario(call, address)
            after = await call(path("DescribeSchedule"), describe)
            assert definition(after) == definition(before)
            return result

    return run_scenario(with_channel)


def definition(answer: bytes) -> tuple[Any, ...]:
    response = DescribeScheduleResponse.FromString(answer)
    return response.schedule, response.conflict_token, response.info.action_count


def path(name: str) -> str:
    """Return the full name of a call."""
    [full_name] = [method for method in METHODS if method.endswith(f"/{name}")]
    return full_name


async def expect_error(call: Awaitable[bytes]) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await call
    return error.value


def details(error: grpc.aio.AioRpcError) -> GrpcStatus:
    [status] = [value for name, value in error.trailing_metadata() if name == "grpc-status-details-bin"]
    return GrpcStatus.FromString(status)


def frame(kind: int, body: bytes) -> bytes:
    """Return an HTTP/2 frame of the connection, which belongs to no stream."""
    return len(body).to_bytes(3, "big") + bytes([kind, 0]) + bytes(4) + body


def malformed(rng: random.Random, valid: bytes) -> bytes:
    """Return a message that is truncated, has changed bytes, has a repeated part, or is random."""
    data = bytearray(valid)
    kind = rng.randrange(4)
    if kind == 0:
        return bytes(data[: rng.randrange(len(data) + 1)])
    if kind == 1 or not data:
        return rng.randbytes(rng.randrange(200))
    if kind == 2:
        first, last = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        return bytes(data[:last] + data[first:])
    for _ in range(rng.randrange(1, 6)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def test_every_call_has_a_sample_request() -> None:
    assert {name.rpartition("/")[2] for name in METHODS} == set(REQUESTS)


@pytest.mark.parametrize("name", REQUESTS)
def test_malformed_messages_are_rejected_with_client_errors(name: str) -> None:
    rng = random.Random(name)
    valid = REQUESTS[name].SerializeToString()

    async def scenario(call: Call, address: str) -> set[Any]:
        codes = set()
        for _ in range(200):
            try:
                await call(path(name), malformed(rng, valid))
            except grpc.aio.AioRpcError as error:
                codes.add(error.code())
        return codes

    codes = run_connected(scenario)
    assert codes <= CLIENT_ERRORS
    assert Status.INVALID_ARGUMENT in codes


@pytest.mark.parametrize("name", sorted(REFLECTION))
def test_malformed_reflection_requests_are_answered(name: str) -> None:
    async def scenario(call: Call, address: str) -> int:
        rng = random.Random(name)
        async with grpc.aio.insecure_channel(address) as channel:
            stream = channel.stream_stream(name)()
            answers = 0
            for _ in range(40):
                await stream.write(rng.randbytes(rng.randrange(60)))
                answers += bool(await stream.read())
            await stream.done_writing()
            return answers

    assert run_connected(scenario) == 40


def test_oversized_requests_are_rejected() -> None:
    """The limits of metadata, of a message, and of a payload within it."""

    async def scenario(call: Call, address: str) -> list[grpc.aio.AioRpcError]:
        large = CreateScheduleRequest()
        large.CopyFrom(REQUESTS["CreateSchedule"])
        large.schedule.action.start_workflow.input.payloads.append(Payload(data=bytes(300 * 1024)))
        body, create = large.SerializeToString(), path("CreateSchedule")
        return [
            await expect_error(call(path("GetSystemInfo"), b"", metadata=(("x-large", "y" * 100_000),))),
            await expect_error(call(create, bytes(5 * 1024 * 1024))),
            await expect_error(call(create, body)),
        ]

    metadata, message, payload = run_connected(scenario)
    assert metadata.code() is message.code() is Status.RESOURCE_EXHAUSTED
    assert payload.code() is Status.INVALID_ARGUMENT
    assert "max_payload_bytes (262144)" in payload.details()


@pytest.mark.parametrize("name", [name for name in REQUESTS if name not in ("GetSystemInfo", "Check")])
def test_unknown_namespace_is_rejected_by_every_call(name: str) -> None:
    async def scenario(call: Call, address: str) -> list[grpc.aio.AioRpcError]:
        errors = []
        for namespace in ("elsewhere", "", "default\0", "\N{SNOWMAN}" * 10_000):
            request = type(REQUESTS[name])()
            request.CopyFrom(REQUESTS[name])
            request.namespace = namespace
            errors.append(await expect_error(call(path(name), request.SerializeToString())))
        return errors

    unknown, unset, odd, long = run_connected(scenario)
    assert unset.code() is Status.INVALID_ARGUMENT
    for error in (unknown, odd, long):
        assert error.code() is Status.NOT_FOUND
        assert details(error).details[0].Is(NamespaceNotFoundFailure.DESCRIPTOR)


@pytest.mark.parametrize(
    "name",
    [
        f"/{WORKFLOW_SERVICE}/StartWorkflowExecution",
        f"/{WORKFLOW_SERVICE}/PollWorkflowTaskQueue",
        f"/{WORKFLOW_SERVICE}/",
        "/no.such.Service/Call",
        "/",
    ],
)
def test_unknown_call_is_unimplemented(name: str) -> None:
    async def scenario(call: Call, address: str) -> grpc.aio.AioRpcError:
        return await expect_error(call(name, b"anything"))

    error = run_connected(scenario)
    assert error.code() is Status.UNIMPLEMENTED
    assert name in error.details()


def test_connection_with_another_protocol_is_closed() -> None:
    async def scenario(call: Call, address: str) -> list[bytes]:
        host, _, port = address.rpartition(":")
        inputs = [
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            b"\x16\x03\x01\x02\x00",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\xff\xff",
        ]
        outputs = []
        for text in (*inputs, random.Random(1).randbytes(4_000)):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(text)
            writer.write_eof()
            outputs.append(await reader.read())
            writer.close()
            await writer.wait_closed()
        return outputs

    assert len(run_connected(scenario)) == 4


def test_idle_client_may_send_keepalive_pings() -> None:
    """The SDKs send a ping every 30 s. A gRPC server with default options closes the connection after the third."""

    async def scenario(call: Call, address: str) -> set[int]:
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, b""))
        kinds = set()
        for number in range(100):
            writer.write(frame(PING, number.to_bytes(8, "big")))
            kind = None
            while kind not in (PING, GOAWAY):
                head = await reader.readexactly(9)
                kind = head[3]
                await reader.readexactly(int.from_bytes(head[:3], "big"))
                kinds.add(kind)
        writer.close()
        await writer.wait_closed()
        return kinds

    assert GOAWAY not in run_connected(scenario)


def test_acknowledged_creates_survive_callers_that_time_out() -> None:
    """Half of the callers time out. Their schedules may exist or not, and every acknowledged schedule exists."""

    async def scenario(call: Call, address: str) -> Any:
        answered, codes = set(), set()

        async def create(number: int) -> None:
            request = CreateScheduleRequest(
                namespace="default", schedule_id=f"s-{number}", request_id=f"r-{number}", schedule=HOURLY
            )
            more = {"timeout": 0.001 * (number % 20)} if number % 2 else {}
            try:
                await call(path("CreateSchedule"), request.SerializeToString(), **more)
            except grpc.aio.AioRpcError as error:
                codes.add(error.code())
            else:
                answered.add(request.schedule_id)

        await asyncio.gather(*map(create, range(200)))
        listed = ListSchedulesRequest(namespace="default", maximum_page_size=1_000).SerializeToString()
        response = ListSchedulesResponse.FromString(await call(path("ListSchedules"), listed))
        return answered, codes, {entry.schedule_id for entry in response.schedules}

    answered, codes, stored = run_connected(scenario)
    assert codes <= {Status.DEADLINE_EXCEEDED}
    assert len(answered) >= 100
    assert answered <= stored
