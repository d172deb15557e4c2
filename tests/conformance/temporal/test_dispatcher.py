"""The Temporal dispatcher: error codes, request ids, conflict tokens, API keys and malformed requests."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from temporalio.api.common.v1 import GrpcStatus
from temporalio.api.enums.v1 import IndexedValueType, ScheduleOverlapPolicy
from temporalio.api.errordetails.v1 import NamespaceNotFoundFailure, WorkflowExecutionAlreadyStartedFailure
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest
from temporalio.api.schedule.v1 import CalendarSpec, Schedule, ScheduleSpec
from temporalio.api.workflowservice.v1 import (
    CountSchedulesRequest,
    CountSchedulesResponse,
    CreateScheduleRequest,
    CreateScheduleResponse,
    DescribeScheduleRequest,
    DescribeScheduleResponse,
    GetSystemInfoRequest,
    ListSchedulesRequest,
    ListSchedulesResponse,
    PatchScheduleRequest,
    UpdateScheduleRequest,
)
from temporalio.bridge.proto.health.v1 import HealthCheckRequest, HealthCheckResponse

from tests.conformance.temporal.kit import dispatcher_for
from tests.support.service import Direct, runner_of
from tests.support.temporal_schedules import ACTION
from tompion.api.auth.api_key_cache import ApiKeyCache
from tompion.api.auth.authenticator import CredentialAuthenticator, Credentials
from tompion.api.temporal.dispatcher import Dispatcher, bind
from tompion.api.temporal.errors import Code, GrpcError
from tompion.api.temporal.system_service import METHODS, WORKFLOW_SERVICE
from tompion.config.settings import Settings
from tompion.errors import StoreUnavailable
from tompion.operations.context import OperationContext
from tompion.operations.resources.api_keys import create_key
from tompion.operations.schedules.repository import open_schedule
from tompion.store.sqlite.driver import SqliteStore

HOURLY = Schedule(spec=ScheduleSpec(cron_string=["0 * * * *"]), action=ACTION)
KEYWORD, INT = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD, IndexedValueType.INDEXED_VALUE_TYPE_INT
Scenario = Callable[[Dispatcher, Direct], Awaitable[Any]]


def run_scenario(
    scenario: Scenario,
    *namespaces: str,
    keys: bool = False,
    read_only: bool = False,
    per_s: int = 0,
    settings: Settings | None = None,
) -> Any:
    """Run a scenario with a dispatcher on an empty store."""

    async def run() -> Any:
        store = SqliteStore()
        try:
            runner = runner_of(store, settings)
            authenticator = CredentialAuthenticator(ApiKeyCache(runner)) if keys else None
            dispatcher = dispatcher_for(
                runner, *namespaces, authenticator=authenticator, read_only=read_only, per_s=per_s
            )
            return await scenario(dispatcher, Direct(runner))
        finally:
            store.close()

    return asyncio.run(run())


async def send(dispatcher: Dispatcher, request: Any, key: str | None = None) -> bytes:
    name = type(request).__name__.removesuffix("Request")
    credentials = Credentials(authorization=() if key is None else (f"Bearer {key}",))
    return await dispatcher.dispatch(f"/{WORKFLOW_SERVICE}/{name}", request.SerializeToString(), credentials)


async def expect_error(dispatcher: Dispatcher, request: Any, key: str | None = None) -> GrpcError:
    with pytest.raises(GrpcError) as error:
        await send(dispatcher, request, key)
    return error.value


def create(schedule_id: str = "s", request_id: str = "r", schedule: Schedule = HOURLY, **more: Any) -> Any:
    names = {"namespace": "default", "schedule_id": schedule_id, "request_id": request_id}
    return CreateScheduleRequest(**{**names, **more}, schedule=schedule)


def trigger(request_id: str) -> PatchScheduleRequest:
    request = PatchScheduleRequest(namespace="default", schedule_id="s", request_id=request_id)
    request.patch.trigger_immediately.overlap_policy = ScheduleOverlapPolicy.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL
    return request


async def describe(dispatcher: Dispatcher) -> DescribeScheduleResponse:
    request = DescribeScheduleRequest(namespace="default", schedule_id="s")
    return DescribeScheduleResponse.FromString(await send(dispatcher, request))


# --- request ids and tokens -----------------------------------------------------------------------------------------


def test_repeated_request_is_applied_once_with_the_same_response() -> None:
    """An SDK without a response sends the request up to ten times, with the same request id."""

    async def scenario(dispatcher: Dispatcher, direct: Direct) -> Any:
        tokens = [CreateScheduleResponse.FromString(await send(dispatcher, create())).conflict_token for _ in range(3)]
        for _ in range(3):
            await send(dispatcher, trigger("t1"))
        await send(dispatcher, trigger("t2"))
        other = await expect_error(dispatcher, create(request_id="another"))
        return tokens, (await describe(dispatcher)).info.action_count, other

    tokens, count, other = run_scenario(scenario)
    assert len(set(tokens)) == 1
    assert count == 2
    assert other.code is Code.ALREADY_EXISTS
    detail = GrpcStatus.FromString(other.status).details[0]
    assert detail.Is(WorkflowExecutionAlreadyStartedFailure.DESCRIPTOR)


def test_each_change_is_applied_once_per_request_id() -> None:
    """An update, a pause and a backfill are sent twice. Another caller changes the schedule in between."""

    async def scenario(dispatcher: Dispatcher, direct: Direct) -> Any:
        await send(dispatcher, create())
        update = UpdateScheduleRequest(namespace="default", schedule_id="s", request_id="u", schedule=HOURLY)
        update.schedule.state.notes = "first"
        patches = []
        for name in ("p", "b"):
            patch = PatchScheduleRequest(namespace="default", schedule_id="s", request_id=name)
            patches.append(patch)
        patches[0].patch.pause = "enough"
        backfill = patches[1].patch.backfill_request.add()
        backfill.start_time.seconds, backfill.end_time.seconds = 1_700_000_000, 1_700_010_000
        for request in (update, *patches):
            await send(dispatcher, request)
        direct.resume("s", note="again")
        for request in (update, *patches):
            await send(dispatcher, request)
        return (await describe(dispatcher)).schedule.state, direct.schedules.backfills("s")

    state, backfills = run_scenario(scenario)
    assert (state.notes, state.paused) == ("again", False)
    assert len(backfills) == 1


def test_conflicting_search_attribute_type_has_no_schedule_details() -> None:
    async def scenario(dispatcher: Dispatcher, direct: Direct) -> GrpcError:
        name = "/temporal.api.operatorservice.v1.OperatorService/AddSearchAttributes"
        request = AddSearchAttributesRequest(namespace="default", search_attributes={"Team": KEYWORD})
        await dispatcher.dispatch(name, request.SerializeToString())
        request.search_attributes["Team"] = INT
        with pytest.raises(GrpcError) as error:
            await dispatcher.dispatch(name, request.SerializeToString())
        return error.value

    error = run_scenario(scenario)
    assert error.code is Code.ALREADY_EXISTS
    assert not GrpcStatus.FromString(error.status).details


def test_health_check_reports_an_unavailable_store(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(dispatcher: Dispatcher, direct: Direct) -> list[int]:
        async def check_health() -> int:
            answer = await dispatcher.dispatch("/grpc.health.v1.Health/Check", HealthCheckRequest().SerializeToString())
            return int(HealthCheckResponse.FromString(answer).status)

        def unavailable(*_: Any) -> Any:
            raise StoreUnavailable("the store is unavailable")

        before = await check_health()
        monkeypatch.setattr(SqliteStore, "read", unavailable)
        return [before, await check_health()]

    serving, not_serving = 1, 2
    assert run_scenario(scenario) == [serving, not_serving]


def test_request_without_an_id_is_rejected() -> None:
    async def scenario(dispatcher: Dispatcher, direct: Direct) -> Any:
        return await expect_error(dispatcher, create(request_id=""))

    assert run_scenario(scenario).code is Code.INVALID_ARGUMENT


def test_update_with_a_stale_token_changes_nothing() -> None:
    async def scenario(dispatcher: Dispatcher, direct: Direct) -> Any:
        await send(dispatcher, create())
        before = await describe(dispatcher)
        update = UpdateScheduleRequest(
            namespace="default", schedule_id="s", schedule=before.schedule, conflict_token=before.conflict_token
        )
        update.schedule.spec.structured_calendar[0].hour[0].CopyFrom(
            type(update.schedule.spec.structured_calendar[0].hour[0])(start=3)
        )
        await send(dispatcher, update)
        update.schedule.spec.structured_calendar[0].hour[0].start = 4
        stale = await expect_error(dispatcher, update)
        return stale, (await describe(dispatcher)).schedule.spec.structured_calendar[0].hour[0].start

    stale, hour = run_scenario(scenario)
    assert (stale.code, hour) == (Code.FAILED_PRECONDITION, 3)
    assert stale.message.startswith("mismatched conflict token")


def test_token_is_stale_after_actions_were_used() -> None:
    """An update that is based on a description with 5 actions left must not restore the 3 that ran since."""

    async def scenario(dispatcher: Dispatcher, direct: Direct) -> Any:
        limited = Schedule()
        limited.CopyFrom(HOURLY)
        limited.state.limited_actions, limited.state.remaining_actions = True, 5
        created = CreateScheduleResponse.FromString(await send(dispatcher, create(schedule=limited)))
        before = await describe(dispatcher)
        direct._runner.send(_use_up, namespace="default", actor="engine", writes=True).result()
        update = UpdateScheduleRequest(namespace="default", schedule_id="s", schedule=before.schedule)
        update.conflict_token = before.conflict_token
        stale = await expect_error(dispatcher, update)
        left = (await describe(dispatcher)).schedule.state.remaining_actions
        update.conflict_token = (await describe(dispatcher)).conflict_token
        await send(dispatcher, update)
        return created.conflict_token == before.conflict_token, stale, left

    same, stale, left = run_scenario(scenario)
    assert same
    assert (stale.code, left) == (Code.FAILED_PRECONDITION, 2)
    assert stale.message.startswith("mismatched conflict token: 5 actions were left, now it is 2")


def _use_up(session: OperationContext) -> None:
    """Reduce the remaining actions, as the engine does when three ticks have started."""
    schedule = open_schedule(session, "s")
    session.transaction.state_update([schedule.state._replace(remaining=2)])


# --- rejected requests ----------------------------------------------------------------------------------------------

BAD: list[tuple[str, Any]] = [
    ("61 * * * *", {"cron_string": ["61 * * * *"]}),
    ("an unknown zone", {"timezone_name": "Mars/Olympus"}),
    ("zones that differ", {"cron_string": ["TZ=UTC 0 * * * *", "0 * * * *"]}),
    ("an hour of 24", {"calendar": [CalendarSpec(hour="24")]}),
    ("a weekday beyond its range", {"calendar": [CalendarSpec(day_of_week="fri-sun")]}),
    ("zone data", {"timezone_data": b"TZif"}),
]


@pytest.mark.parametrize(("about", "spec"), BAD, ids=[about for about, _ in BAD])
def test_invalid_spec_is_rejected(about: str, spec: dict[str, Any]) -> None:
    async def scenario(dispatcher: Dispatcher, direct: Direct) -> Any:
        schedule = Schedule(spec=ScheduleSpec(**{"cron_string": ["0 * * * *"], **spec}), action=ACTION)
        error = await expect_error(dispatcher, create(schedule=schedule))
        count = await send(dispatcher, CountSchedulesRequest(namespace="default"))
        return error.code, CountSchedulesResponse.FromString(count).count

    assert run_scenario(scenario) == (Code.INVALID_ARGUMENT, 0)


def test_unknown_namespace_and_unknown_call_are_rejected() -> None:
    async def scenario(dispatcher: Dispatcher, direct: Direct) -> Any:
        unknown = await expect_error(dispatcher, create(namespace="elsewhere"))
        unset = await expect_error(dispatcher, create(namespace=""))
        with pytest.raises(GrpcError) as other:
            await dispatcher.dispatch(f"/{WORKFLOW_SERVICE}/StartWorkflowExecution", b"")
        return unknown, unset, other.value

    unknown, unset, other = run_scenario(scenario)
    assert unknown.code is Code.NOT_FOUND
    assert GrpcStatus.FromString(unknown.status).details[0].Is(NamespaceNotFoundFailure.DESCRIPTOR)
    assert unset.code is Code.INVALID_ARGUMENT
    assert other.code is Code.UNIMPLEMENTED
    assert "StartWorkflowExecution" in other.message


def test_read_only_service_rejects_changes() -> None:
    async def scenario(dispatcher: Dispatcher, direct: Direct) -> Any:
        return (await expect_error(dispatcher, create())).code

    assert run_scenario(scenario, read_only=True) is Code.PERMISSION_DENIED


def test_the_rate_limit_of_a_namespace_does_not_affect_others() -> None:
    async def scenario(dispatcher: Dispatcher, direct: Direct) -> tuple[GrpcError, bytes]:
        for _ in range(3):
            await send(dispatcher, CountSchedulesRequest(namespace="a"))
        return await expect_error(dispatcher, CountSchedulesRequest(namespace="a")), await send(
            dispatcher, CountSchedulesRequest(namespace="b")
        )

    error, _ = run_scenario(scenario, "a", "b", per_s=3)
    assert error.code is Code.RESOURCE_EXHAUSTED
    assert "namespace_requests_per_s" in error.message


# --- keys -----------------------------------------------------------------------------------------------------------


def test_every_call_but_health_requires_an_api_key() -> None:
    async def scenario(dispatcher: Dispatcher, direct: Direct) -> list[Code]:
        codes = []
        for name in METHODS:
            if name.startswith("/grpc.health"):
                continue
            with pytest.raises(GrpcError) as error:
                await dispatcher.dispatch(name, b"")
            codes.append(error.value.code)
        await dispatcher.dispatch("/grpc.health.v1.Health/Check", b"")
        return codes

    assert set(run_scenario(scenario, keys=True)) == {Code.UNAUTHENTICATED}


def api_key(direct: Direct, role: str, namespace: str = "default") -> str:
    future = direct._runner.send(bind(create_key, role, role=role), namespace=namespace, actor="test", writes=True)
    return future.result(120).secret


def test_roles_and_namespaces_of_api_keys_are_enforced() -> None:
    async def scenario(dispatcher: Dispatcher, direct: Direct) -> Any:
        reader, editor, stranger = (
            api_key(direct, "reader"),
            api_key(direct, "editor"),
            api_key(direct, "admin", "other"),
        )
        await send(dispatcher, GetSystemInfoRequest(), reader)
        await send(dispatcher, create(), editor)
        describe = DescribeScheduleRequest(namespace="default", schedule_id="s")
        await send(dispatcher, describe, reader)
        return (
            (await expect_error(dispatcher, trigger("t"), reader)).code,
            (await expect_error(dispatcher, describe, stranger)).message,
            (await expect_error(dispatcher, create(namespace="nowhere"), stranger)).message,
        )

    denied, other_tenant, unknown = run_scenario(scenario, "default", "other", keys=True)
    assert denied is Code.PERMISSION_DENIED
    assert (other_tenant, unknown) == ("Namespace default is not found.", "Namespace nowhere is not found.")


# --- malformed and concurrent requests --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_malformed_requests_are_rejected_with_client_errors(seed: int) -> None:
    """Every call answers truncated, changed and random bytes with an error code of the client."""
    rng = random.Random(seed)
    valid = create().SerializeToString()

    def malformed() -> bytes:
        data = bytearray(valid)
        kind = rng.randrange(3)
        if kind == 0:
            return bytes(data[: rng.randrange(len(data))])
        if kind == 1:
            return rng.randbytes(rng.randrange(200))
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(data)

    async def scenario(dispatcher: Dispatcher, direct: Direct) -> set[Code]:
        codes = set()
        for name in list(METHODS) * 25:
            try:
                await dispatcher.dispatch(name, malformed())
            except GrpcError as error:
                codes.add(error.code)
        return codes

    assert run_scenario(scenario) <= {Code.INVALID_ARGUMENT, Code.NOT_FOUND, Code.ALREADY_EXISTS}


def test_200_concurrent_creates_are_all_stored() -> None:
    async def scenario(dispatcher: Dispatcher, direct: Direct) -> int:
        await asyncio.gather(*(send(dispatcher, create(f"s-{number}", f"r-{number}")) for number in range(200)))
        return CountSchedulesResponse.FromString(
            await send(dispatcher, CountSchedulesRequest(namespace="default"))
        ).count

    assert run_scenario(scenario) == 200


# --- lists ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["", "TemporalSchedulePaused = false"])
def test_a_smaller_max_page_limits_pages_and_does_not_reject_them(query: str) -> None:
    async def scenario(dispatcher: Dispatcher, direct: Direct) -> tuple[list[list[str]], int]:
        for number in range(5):
            await send(dispatcher, create(f"s-{number}", f"r-{number}"))
        pages: list[list[str]] = []
        token = b""
        while not pages or token:
            request = ListSchedulesRequest(namespace="default", query=query, next_page_token=token)
            response = ListSchedulesResponse.FromString(await send(dispatcher, request))
            pages.append([schedule.schedule_id for schedule in response.schedules])
            token = response.next_page_token
        count = await send(dispatcher, CountSchedulesRequest(namespace="default", query=query))
        return pages, CountSchedulesResponse.FromString(count).count

    pages, count = run_scenario(scenario, settings=Settings(max_page=2))
    assert pages == [["s-0", "s-1"], ["s-2", "s-3"], ["s-4"]]
    assert count == 5


def test_pages_of_a_filtered_list_hold_every_match_once() -> None:
    """The pages of a query hold every matching schedule once and in order. A value of another type does not match."""

    async def scenario(dispatcher: Dispatcher, direct: Direct) -> Any:
        for number in range(25):
            request = create(f"s-{number:02}", f"r{number}")
            value = b'"many"' if number == 7 else str(number).encode()
            request.search_attributes.indexed_fields["Size"].data = value
            await send(dispatcher, request)
        pages, page = [], b""
        while True:
            request = ListSchedulesRequest(
                namespace="default", maximum_page_size=4, query="Size >= 5", next_page_token=page
            )
            response = ListSchedulesResponse.FromString(await send(dispatcher, request))
            pages.append([schedule.schedule_id for schedule in response.schedules])
            page = response.next_page_token
            if not page:
                break
        requests = [
            CountSchedulesRequest(namespace="default", query=query) for query in ("", "Size >= 5", "Size = 'many'")
        ]
        return pages, [CountSchedulesResponse.FromString(await send(dispatcher, request)).count for request in requests]

    pages, counts = run_scenario(scenario)
    expected = [f"s-{number:02}" for number in range(5, 25) if number != 7]
    assert [name for page in pages for name in page] == expected
    assert {len(page) for page in pages[:-1]} == {4}
    assert counts == [25, 19, 1]
