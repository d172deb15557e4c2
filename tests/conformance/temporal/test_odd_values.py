"""Values that a message can hold and a store, or JSON, or a calendar cannot: refused, or kept, and never a mistake.

Whatever is sent, the schedules of the namespace can be read afterwards, through this door and through REST.
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

from tests.conformance.temporal.kit import door_to
from tests.conformance.temporal.test_door import ask, create
from tests.support.service import Direct, runner_of
from tompion.api.temporal.dispatcher import Dispatcher
from tompion.api.temporal.errors import Code, GrpcError
from tompion.bootstrap.store import open_store
from tompion.contract.json import encode

YEAR_1_S = -62_135_596_800
DEEP = b"[" * 100_000 + b"]" * 100_000
Change = Callable[[Any], object]
"""What is done to a request."""


def payload(data: bytes, kind: str = "") -> Payload:
    return Payload(metadata={"encoding": b"json/plain", **({"type": kind.encode()} if kind else {})}, data=data)


def attribute(data: bytes, kind: str = "") -> Change:
    return lambda request: request.search_attributes.indexed_fields["A"].CopyFrom(payload(data, kind))


def started(name: str, **given: int) -> Change:
    def change(request: Any) -> None:
        value = getattr(request.schedule.action.start_workflow, name)
        for field, number in given.items():
            setattr(value, field, number)

    return change


def action_attribute(request: Any) -> None:
    request.schedule.action.start_workflow.search_attributes.indexed_fields["A"].CopyFrom(payload(b"{"))


REFUSED: dict[str, Change] = {
    "a double that is no number": attribute(b"NaN", "Double"),
    "a double beyond all bounds": attribute(b"1e999", "Double"),
    "a double beyond all bounds, unsaid": attribute(b"-Infinity"),
    "a double of 400 digits": attribute(b"1" + b"0" * 400, "Double"),
    "half a character": attribute(b'"\\ud800"'),
    "half a character in a list": attribute(b'["\\udfff", "b"]', "KeywordList"),
    "NUL in a keyword": attribute(b'"\\u0000"'),
    "deep JSON in an attribute": attribute(DEEP),
    "no JSON in an attribute of the action": action_attribute,
    "a start before the year 1": lambda request: setattr(request.schedule.spec.start_time, "seconds", YEAR_1_S - 1),
    "an end before the year 1": lambda request: setattr(request.schedule.spec.end_time, "seconds", -(1 << 60)),
    "a timeout of 30 million years": started("workflow_run_timeout", seconds=10**15),
    "a timeout of two signs": started("workflow_task_timeout", seconds=1, nanos=-1),
    "a retry interval of too many nanoseconds": lambda request: setattr(
        request.schedule.action.start_workflow.retry_policy.initial_interval, "nanos", 2_000_000_000
    ),
    "NUL in the request id": lambda request: setattr(request, "request_id", "a\0b"),
    "NUL in the notes": lambda request: setattr(request.schedule.state, "notes", "a\0b"),
    "NUL in the schedule's id": lambda request: setattr(request, "schedule_id", "a\0b"),
    "NUL in the zone": lambda request: setattr(request.schedule.spec, "timezone_name", "a\0b"),
}
KEPT: dict[str, Change] = {
    "NaN in a memo": lambda request: request.memo.fields["m"].CopyFrom(payload(b'{"a": NaN}')),
    "1e999 in a memo": lambda request: request.memo.fields["m"].CopyFrom(payload(b"[1e999]")),
    "half a character in a memo": lambda request: request.memo.fields["m"].CopyFrom(payload(b'"\\ud800"')),
    "NUL in a memo": lambda request: request.memo.fields["m"].CopyFrom(payload(b'"\\u0000"')),
    "deep JSON in a memo": lambda request: request.memo.fields["m"].CopyFrom(payload(b"[" * 900 + b"]" * 900)),
    "NUL in the workflow's id": lambda request: setattr(request.schedule.action.start_workflow, "workflow_id", "a\0b"),
    "NUL in the workflow's type": lambda request: setattr(
        request.schedule.action.start_workflow.workflow_type, "name", "a\0b"
    ),
    "a start in the year 1": lambda request: setattr(request.schedule.spec.start_time, "seconds", YEAR_1_S),
}


def told(store_url: str, story: Callable[[Dispatcher, Direct], Awaitable[Any]]) -> Any:
    async def tell() -> Any:
        store = open_store(store_url)
        try:
            runner = runner_of(store)
            return await story(door_to(runner), Direct(runner))
        finally:
            store.close()

    return asyncio.run(tell())


async def outcome(door: Dispatcher, request: Any) -> Code | None:
    try:
        await ask(door, request)
    except GrpcError as error:
        return error.code
    return None


async def readable(door: Dispatcher, direct: Direct) -> None:
    """Everything that was stored can be read by everybody."""
    await ask(door, ListSchedulesRequest(namespace="default"))
    JSONResponse(encode(direct.list_schedules()))


def changed(change: Change, request: Any) -> Any:
    change(request)
    return request


def updating() -> UpdateScheduleRequest:
    made: CreateScheduleRequest = create()
    return UpdateScheduleRequest(
        namespace="default", schedule_id="s", request_id="u", schedule=made.schedule, memo=made.memo
    )


def test_what_cannot_be_is_refused_and_breaks_nothing(store_url: str) -> None:
    async def story(door: Dispatcher, direct: Direct) -> dict[str, list[Code | None]]:
        await ask(door, create())
        found = {}
        for title, change in REFUSED.items():
            asked = [create("other", request_id="o"), updating()]
            found[title] = [await outcome(door, changed(change, request)) for request in asked]
            await readable(door, direct)
        return found

    found = told(store_url, story)
    found.pop("NUL in the schedule's id")  # nobody has one of that name
    assert {title: codes for title, codes in found.items() if set(codes) != {Code.INVALID_ARGUMENT}} == {}


def test_what_can_be_kept_is_kept(store_url: str) -> None:
    """A memo that JSON has no words for is kept byte for byte."""

    async def story(door: Dispatcher, direct: Direct) -> dict[str, bool]:
        same = {}
        for number, (title, change) in enumerate(KEPT.items()):
            request = changed(change, create(f"s{number}", f"r{number}"))
            await ask(door, request)
            asked = DescribeScheduleRequest(namespace="default", schedule_id=f"s{number}")
            found = DescribeScheduleResponse.FromString(await ask(door, asked))
            wanted = request.schedule.action.start_workflow
            shown = found.schedule.action.start_workflow
            same[title] = (found.memo.fields["m"] == request.memo.fields["m"]) and (
                (shown.workflow_id, shown.workflow_type) == (wanted.workflow_id, wanted.workflow_type)
            )
            await readable(door, direct)
        return same

    assert [title for title, same in told(store_url, story).items() if not same] == []


@pytest.mark.parametrize("seconds", [YEAR_1_S - 1, YEAR_1_S, -100_000_000_000, -1, 7_289_654_400, 1 << 60])
def test_times_that_no_spec_could_have(store_url: str, seconds: int) -> None:
    async def story(door: Dispatcher, direct: Direct) -> list[Code | None]:
        await ask(door, create())
        triggered = PatchScheduleRequest(namespace="default", schedule_id="s", request_id="t")
        triggered.patch.trigger_immediately.scheduled_time.seconds = seconds
        filled = PatchScheduleRequest(namespace="default", schedule_id="s", request_id="b")
        range_ = filled.patch.backfill_request.add()
        range_.start_time.seconds, range_.end_time.seconds = seconds, seconds + 10
        matching = ListScheduleMatchingTimesRequest(namespace="default", schedule_id="s")
        matching.start_time.seconds, matching.end_time.seconds = seconds, seconds + 10
        found = [await outcome(door, request) for request in (triggered, filled, matching)]
        await readable(door, direct)
        return found

    trigger, *others = told(store_url, story)
    assert trigger is Code.INVALID_ARGUMENT
    assert set(others) <= {None, Code.INVALID_ARGUMENT}
