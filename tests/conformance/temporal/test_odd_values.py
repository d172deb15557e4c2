"""Values that a protobuf message can hold, but a store, JSON or a calendar cannot. They are rejected or stored exactly.

After each request, the schedules of the namespace can still be read, through the Temporal API and through REST.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.responses import JSONResponse
from temporalio.api.common.v1 import Payload
from temporalio.api.workflowservice.v1 import (
    CreateScheduleRequest,
    DescribeScheduleRequest,
    DescribeScheduleResponse,
    ListScheduleMatchingTimesRequest,
    ListSchedulesRequest,
    PatchScheduleRequest,
    UpdateScheduleRequest,
)

from tests.conformance.temporal.kit import dispatcher_for
from tests.conformance.temporal.test_dispatcher import create, send
from tests.support.service import Direct, runner_of
from tompion.api.temporal.dispatcher import Dispatcher
from tompion.api.temporal.errors import Code, GrpcError
from tompion.bootstrap.store import open_store
from tompion.contract.json import encode

YEAR_1_S = -62_135_596_800
DEEP = b"[" * 100_000 + b"]" * 100_000
Change = Callable[[Any], object]
"""Modifies a request."""


def payload(data: bytes, kind: str = "") -> Payload:
    return Payload(metadata={"encoding": b"json/plain", **({"type": kind.encode()} if kind else {})}, data=data)


def attribute(data: bytes, kind: str = "") -> Change:
    return lambda request: request.search_attributes.indexed_fields["A"].CopyFrom(payload(data, kind))


def set_timeout(name: str, **parts: int) -> Change:
    def change(request: Any) -> None:
        value = getattr(request.schedule.action.start_workflow, name)
        for field, number in parts.items():
            setattr(value, field, number)

    return change


def action_attribute(request: Any) -> None:
    request.schedule.action.start_workflow.search_attributes.indexed_fields["A"].CopyFrom(payload(b"{"))


REJECTED: dict[str, Change] = {
    "a double that is NaN": attribute(b"NaN", "Double"),
    "an infinite double": attribute(b"1e999", "Double"),
    "an infinite double without a type": attribute(b"-Infinity"),
    "a double of 400 digits": attribute(b"1" + b"0" * 400, "Double"),
    "a lone surrogate": attribute(b'"\\ud800"'),
    "a lone surrogate in a list": attribute(b'["\\udfff", "b"]', "KeywordList"),
    "NUL in a keyword": attribute(b'"\\u0000"'),
    "deep JSON in an attribute": attribute(DEEP),
    "invalid JSON in an attribute of the action": action_attribute,
    "a start before the year 1": lambda request: setattr(request.schedule.spec.start_time, "seconds", YEAR_1_S - 1),
    "an end before the year 1": lambda request: setattr(request.schedule.spec.end_time, "seconds", -(1 << 60)),
    "a timeout of 30 million years": set_timeout("workflow_run_timeout", seconds=10**15),
    "a timeout with mixed signs": set_timeout("workflow_task_timeout", seconds=1, nanos=-1),
    "a retry interval of too many nanoseconds": lambda request: setattr(
        request.schedule.action.start_workflow.retry_policy.initial_interval, "nanos", 2_000_000_000
    ),
    "NUL in the request id": lambda request: setattr(request, "request_id", "a\0b"),
    "NUL in the notes": lambda request: setattr(request.schedule.state, "notes", "a\0b"),
    "NUL in the schedule's id": lambda request: setattr(request, "schedule_id", "a\0b"),
    "NUL in the zone": lambda request: setattr(request.schedule.spec, "timezone_name", "a\0b"),
}
STORED: dict[str, Change] = {
    "NaN in a memo": lambda request: request.memo.fields["m"].CopyFrom(payload(b'{"a": NaN}')),
    "1e999 in a memo": lambda request: request.memo.fields["m"].CopyFrom(payload(b"[1e999]")),
    "a lone surrogate in a memo": lambda request: request.memo.fields["m"].CopyFrom(payload(b'"\\ud800"')),
    "NUL in a memo": lambda request: request.memo.fields["m"].CopyFrom(payload(b'"\\u0000"')),
    "deep JSON in a memo": lambda request: request.memo.fields["m"].CopyFrom(payload(b"[" * 900 + b"]" * 900)),
    "NUL in the workflow's id": lambda request: setattr(request.schedule.action.start_workflow, "workflow_id", "a\0b"),
    "NUL in the workflow's type": lambda request: setattr(
        request.schedule.action.start_workflow.workflow_type, "name", "a\0b"
    ),
    "a start in the year 1": lambda request: setattr(request.schedule.spec.start_time, "seconds", YEAR_1_S),
}


def run_scenario(store_url: str, scenario: Callable[[Dispatcher, Direct], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        store = open_store(store_url)
        try:
            runner = runner_of(store)
            return await scenario(dispatcher_for(runner), Direct(runner))
        finally:
            store.close()

    return asyncio.run(run())


async def outcome(dispatcher: Dispatcher, request: Any) -> Code | None:
    try:
        await send(dispatcher, request)
    except GrpcError as error:
        return error.code
    return None


async def read_everything(dispatcher: Dispatcher, direct: Direct) -> None:
    """Read all schedules through the Temporal API and as the JSON of the REST API."""
    await send(dispatcher, ListSchedulesRequest(namespace="default"))
    JSONResponse(encode(direct.schedules.list()))


def apply(change: Change, request: Any) -> Any:
    change(request)
    return request


def update() -> UpdateScheduleRequest:
    creation: CreateScheduleRequest = create()
    return UpdateScheduleRequest(
        namespace="default", schedule_id="s", request_id="u", schedule=creation.schedule, memo=creation.memo
    )


def test_invalid_values_are_rejected_and_change_nothing(store_url: str) -> None:
    async def scenario(dispatcher: Dispatcher, direct: Direct) -> dict[str, list[Code | None]]:
        await send(dispatcher, create())
        codes = {}
        for title, change in REJECTED.items():
            requests = [create("other", request_id="o"), update()]
            codes[title] = [await outcome(dispatcher, apply(change, request)) for request in requests]
            await read_everything(dispatcher, direct)
        return codes

    codes = run_scenario(store_url, scenario)
    codes.pop("NUL in the schedule's id")  # its update is NOT_FOUND
    assert {title: pair for title, pair in codes.items() if set(pair) != {Code.INVALID_ARGUMENT}} == {}


def test_unusual_values_are_stored_exactly(store_url: str) -> None:
    """A memo that JSON cannot represent is stored byte for byte."""

    async def scenario(dispatcher: Dispatcher, direct: Direct) -> dict[str, bool]:
        same = {}
        for number, (title, change) in enumerate(STORED.items()):
            request = apply(change, create(f"s{number}", f"r{number}"))
            await send(dispatcher, request)
            describe = DescribeScheduleRequest(namespace="default", schedule_id=f"s{number}")
            response = DescribeScheduleResponse.FromString(await send(dispatcher, describe))
            expected = request.schedule.action.start_workflow
            actual = response.schedule.action.start_workflow
            same[title] = (response.memo.fields["m"] == request.memo.fields["m"]) and (
                (actual.workflow_id, actual.workflow_type) == (expected.workflow_id, expected.workflow_type)
            )
            await read_everything(dispatcher, direct)
        return same

    assert [title for title, same in run_scenario(store_url, scenario).items() if not same] == []


@pytest.mark.parametrize("seconds", [YEAR_1_S - 1, YEAR_1_S, -100_000_000_000, -1, 7_289_654_400, 1 << 60])
def test_times_out_of_range_are_rejected_or_match_nothing(store_url: str, seconds: int) -> None:
    async def scenario(dispatcher: Dispatcher, direct: Direct) -> list[Code | None]:
        await send(dispatcher, create())
        trigger = PatchScheduleRequest(namespace="default", schedule_id="s", request_id="t")
        trigger.patch.trigger_immediately.scheduled_time.seconds = seconds
        backfill = PatchScheduleRequest(namespace="default", schedule_id="s", request_id="b")
        range_ = backfill.patch.backfill_request.add()
        range_.start_time.seconds, range_.end_time.seconds = seconds, seconds + 10
        matching = ListScheduleMatchingTimesRequest(namespace="default", schedule_id="s")
        matching.start_time.seconds, matching.end_time.seconds = seconds, seconds + 10
        codes = [await outcome(dispatcher, request) for request in (trigger, backfill, matching)]
        await read_everything(dispatcher, direct)
        return codes

    trigger_code, *other_codes = run_scenario(store_url, scenario)
    assert trigger_code is Code.INVALID_ARGUMENT
    assert set(other_codes) <= {None, Code.INVALID_ARGUMENT}
