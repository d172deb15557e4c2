"""The door itself: what it refuses and with which code, request ids, conflict tokens, keys, and nonsense."""

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

from tests.conformance.temporal.kit import door_to
from tests.support.service import Direct, runner_of
from tests.support.temporal_schedules import ACTION
from tompion.api.auth.api_key_cache import ApiKeyCache
from tompion.api.auth.authenticator import CredentialAuthenticator, Credentials
from tompion.api.temporal.dispatcher import Dispatcher, bind
from tompion.api.temporal.errors import Code, GrpcError
from tompion.api.temporal.system_service import METHODS, WORKFLOW_SERVICE
from tompion.errors import StoreUnavailable
from tompion.operations.context import OperationContext
from tompion.operations.resources.api_keys import create_key
from tompion.operations.schedules.repository import open_schedule
from tompion.store.sqlite.driver import SqliteStore

HOURLY = Schedule(spec=ScheduleSpec(cron_string=["0 * * * *"]), action=ACTION)
KEYWORD, INT = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD, IndexedValueType.INDEXED_VALUE_TYPE_INT
Story = Callable[[Dispatcher, Direct], Awaitable[Any]]


def told(story: Story, *namespaces: str, keys: bool = False, read_only: bool = False, per_s: int = 0) -> Any:
    """A story in front of a door on an empty store."""

    async def tell() -> Any:
        store = SqliteStore()
        try:
            runner = runner_of(store)
            gate = CredentialAuthenticator(ApiKeyCache(runner)) if keys else None
            door = door_to(runner, *namespaces, gate=gate, read_only=read_only, per_s=per_s)
            return await story(door, Direct(runner))
        finally:
            store.close()

    return asyncio.run(tell())


async def ask(door: Dispatcher, request: Any, key: str | None = None) -> bytes:
    name = type(request).__name__.removesuffix("Request")
    credentials = Credentials(authorization=() if key is None else (f"Bearer {key}",))
    return await door.dispatch(f"/{WORKFLOW_SERVICE}/{name}", request.SerializeToString(), credentials)


async def refused(door: Dispatcher, request: Any, key: str | None = None) -> GrpcError:
    with pytest.raises(GrpcError) as error:
        await ask(door, request, key)
    return error.value


def create(schedule_id: str = "s", request_id: str = "r", schedule: Schedule = HOURLY, **more: Any) -> Any:
    names = {"namespace": "default", "schedule_id": schedule_id, "request_id": request_id}
    return CreateScheduleRequest(**{**names, **more}, schedule=schedule)


def trigger(request_id: str) -> PatchScheduleRequest:
    request = PatchScheduleRequest(namespace="default", schedule_id="s", request_id=request_id)
    request.patch.trigger_immediately.overlap_policy = ScheduleOverlapPolicy.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL
    return request


async def described(door: Dispatcher) -> DescribeScheduleResponse:
    request = DescribeScheduleRequest(namespace="default", schedule_id="s")
    return DescribeScheduleResponse.FromString(await ask(door, request))


# --- request ids and tokens -----------------------------------------------------------------------------------------


def test_the_same_request_is_answered_the_same_and_done_once() -> None:
    """An SDK that hears nothing asks again, up to ten times, with the same request id."""

    async def story(door: Dispatcher, direct: Direct) -> Any:
        tokens = [CreateScheduleResponse.FromString(await ask(door, create())).conflict_token for _ in range(3)]
        for _ in range(3):
            await ask(door, trigger("t1"))
        await ask(door, trigger("t2"))
        other = await refused(door, create(request_id="another"))
        return tokens, (await described(door)).info.action_count, other

    tokens, count, other = told(story)
    assert len(set(tokens)) == 1
    assert count == 2
    assert other.code is Code.ALREADY_EXISTS
    detail = GrpcStatus.FromString(other.status).details[0]
    assert detail.Is(WorkflowExecutionAlreadyStartedFailure.DESCRIPTOR)


def test_every_change_is_made_once_for_each_request_id() -> None:
    """An update, a pause and a backfill that are sent again, after others have changed what they changed."""

    async def story(door: Dispatcher, direct: Direct) -> Any:
        await ask(door, create())
        update = UpdateScheduleRequest(namespace="default", schedule_id="s", request_id="u", schedule=HOURLY)
        update.schedule.state.notes = "first"
        patches = []
        for name in ("p", "b"):
            patch = PatchScheduleRequest(namespace="default", schedule_id="s", request_id=name)
            patches.append(patch)
        patches[0].patch.pause = "enough"
        filled = patches[1].patch.backfill_request.add()
        filled.start_time.seconds, filled.end_time.seconds = 1_700_000_000, 1_700_010_000
        for request in (update, *patches):
            await ask(door, request)
        direct.resume("s", note="again")
        for request in (update, *patches):
            await ask(door, request)
        return (await described(door)).schedule.state, direct.backfills("s")

    state, backfills = told(story)
    assert (state.notes, state.paused) == ("again", False)
    assert len(backfills) == 1


def test_the_type_of_a_search_attribute_is_not_a_schedule_that_exists() -> None:
    async def story(door: Dispatcher, direct: Direct) -> GrpcError:
        name = "/temporal.api.operatorservice.v1.OperatorService/AddSearchAttributes"
        request = AddSearchAttributesRequest(namespace="default", search_attributes={"Team": KEYWORD})
        await door.dispatch(name, request.SerializeToString())
        request.search_attributes["Team"] = INT
        with pytest.raises(GrpcError) as error:
            await door.dispatch(name, request.SerializeToString())
        return error.value

    error = told(story)
    assert error.code is Code.ALREADY_EXISTS
    assert not GrpcStatus.FromString(error.status).details


def test_health_says_whether_the_store_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(door: Dispatcher, direct: Direct) -> list[int]:
        async def checked() -> int:
            answer = await door.dispatch("/grpc.health.v1.Health/Check", HealthCheckRequest().SerializeToString())
            return int(HealthCheckResponse.FromString(answer).status)

        def away(*_: Any) -> Any:
            raise StoreUnavailable("the store is away")

        well = await checked()
        monkeypatch.setattr(SqliteStore, "read", away)
        return [well, await checked()]

    serving, not_serving = 1, 2
    assert told(story) == [serving, not_serving]


def test_a_request_without_an_id_is_refused() -> None:
    async def story(door: Dispatcher, direct: Direct) -> Any:
        return await refused(door, create(request_id=""))

    assert told(story).code is Code.INVALID_ARGUMENT


def test_a_stale_token_changes_nothing() -> None:
    async def story(door: Dispatcher, direct: Direct) -> Any:
        await ask(door, create())
        before = await described(door)
        update = UpdateScheduleRequest(
            namespace="default", schedule_id="s", schedule=before.schedule, conflict_token=before.conflict_token
        )
        update.schedule.spec.structured_calendar[0].hour[0].CopyFrom(
            type(update.schedule.spec.structured_calendar[0].hour[0])(start=3)
        )
        await ask(door, update)
        update.schedule.spec.structured_calendar[0].hour[0].start = 4
        stale = await refused(door, update)
        return stale, (await described(door)).schedule.spec.structured_calendar[0].hour[0].start

    stale, hour = told(story)
    assert (stale.code, hour) == (Code.FAILED_PRECONDITION, 3)
    assert stale.message.startswith("mismatched conflict token")


def test_a_token_knows_how_many_actions_remain() -> None:
    """Whoever had described a schedule with 5 actions left gave it 5 again, after it had used 3 of them."""

    async def story(door: Dispatcher, direct: Direct) -> Any:
        limited = Schedule()
        limited.CopyFrom(HOURLY)
        limited.state.limited_actions, limited.state.remaining_actions = True, 5
        made = CreateScheduleResponse.FromString(await ask(door, create(schedule=limited)))
        before = await described(door)
        direct._runner.send(_use_up, namespace="default", actor="engine", writes=True).result()
        update = UpdateScheduleRequest(namespace="default", schedule_id="s", schedule=before.schedule)
        update.conflict_token = before.conflict_token
        stale = await refused(door, update)
        left = (await described(door)).schedule.state.remaining_actions
        update.conflict_token = (await described(door)).conflict_token
        await ask(door, update)
        return made.conflict_token == before.conflict_token, stale, left

    same, stale, left = told(story)
    assert same
    assert (stale.code, left) == (Code.FAILED_PRECONDITION, 2)
    assert stale.message.startswith("mismatched conflict token: token: 5 actions were left, now it is 2")


def _use_up(session: OperationContext) -> None:
    """What the engine does when three ticks have started."""
    opened = open_schedule(session, "s")
    session.transaction.state_update([opened.state._replace(remaining=2)])


# --- what is refused ------------------------------------------------------------------------------------------------

BAD: list[tuple[str, Any]] = [
    ("61 * * * *", {"cron_string": ["61 * * * *"]}),
    ("a zone that is none", {"timezone_name": "Mars/Olympus"}),
    ("zones that differ", {"cron_string": ["TZ=UTC 0 * * * *", "0 * * * *"]}),
    ("an hour of 24", {"calendar": [CalendarSpec(hour="24")]}),
    ("a weekday beyond its range", {"calendar": [CalendarSpec(day_of_week="fri-sun")]}),
    ("zone data", {"timezone_data": b"TZif"}),
]


@pytest.mark.parametrize(("about", "spec"), BAD, ids=[about for about, _ in BAD])
def test_a_spec_that_cannot_be_is_refused(about: str, spec: dict[str, Any]) -> None:
    async def story(door: Dispatcher, direct: Direct) -> Any:
        schedule = Schedule(spec=ScheduleSpec(**{"cron_string": ["0 * * * *"], **spec}), action=ACTION)
        error = await refused(door, create(schedule=schedule))
        count = await ask(door, CountSchedulesRequest(namespace="default"))
        return error.code, CountSchedulesResponse.FromString(count).count

    assert told(story) == (Code.INVALID_ARGUMENT, 0)


def test_an_unknown_namespace_and_an_unknown_call() -> None:
    async def story(door: Dispatcher, direct: Direct) -> Any:
        unknown = await refused(door, create(namespace="elsewhere"))
        unset = await refused(door, create(namespace=""))
        with pytest.raises(GrpcError) as other:
            await door.dispatch(f"/{WORKFLOW_SERVICE}/StartWorkflowExecution", b"")
        return unknown, unset, other.value

    unknown, unset, other = told(story)
    assert unknown.code is Code.NOT_FOUND
    assert GrpcStatus.FromString(unknown.status).details[0].Is(NamespaceNotFoundFailure.DESCRIPTOR)
    assert unset.code is Code.INVALID_ARGUMENT
    assert other.code is Code.UNIMPLEMENTED
    assert "StartWorkflowExecution" in other.message


def test_a_read_only_service_changes_nothing() -> None:
    async def story(door: Dispatcher, direct: Direct) -> Any:
        return (await refused(door, create())).code

    assert told(story, read_only=True) is Code.PERMISSION_DENIED


def test_the_rate_limit_of_a_namespace_does_not_affect_others() -> None:
    async def story(door: Dispatcher, direct: Direct) -> tuple[GrpcError, bytes]:
        for _ in range(3):
            await ask(door, CountSchedulesRequest(namespace="a"))
        return await refused(door, CountSchedulesRequest(namespace="a")), await ask(
            door, CountSchedulesRequest(namespace="b")
        )

    over, _ = told(story, "a", "b", per_s=3)
    assert over.code is Code.RESOURCE_EXHAUSTED
    assert "namespace_requests_per_s" in over.message


# --- keys -----------------------------------------------------------------------------------------------------------


def test_every_call_but_health_needs_a_key() -> None:
    async def story(door: Dispatcher, direct: Direct) -> list[Code]:
        found = []
        for name in METHODS:
            if name.startswith("/grpc.health"):
                continue
            with pytest.raises(GrpcError) as error:
                await door.dispatch(name, b"")
            found.append(error.value.code)
        await door.dispatch("/grpc.health.v1.Health/Check", b"")
        return found

    assert set(told(story, keys=True)) == {Code.UNAUTHENTICATED}


def key(direct: Direct, role: str, namespace: str = "default") -> str:
    made = direct._runner.send(bind(create_key, role, role=role), namespace=namespace, actor="test", writes=True)
    return made.result(120).secret


def test_roles_and_tenants() -> None:
    async def story(door: Dispatcher, direct: Direct) -> Any:
        reader, editor, stranger = key(direct, "reader"), key(direct, "editor"), key(direct, "admin", "other")
        await ask(door, GetSystemInfoRequest(), reader)
        await ask(door, create(), editor)
        looked = DescribeScheduleRequest(namespace="default", schedule_id="s")
        await ask(door, looked, reader)
        return (
            (await refused(door, trigger("t"), reader)).code,
            (await refused(door, looked, stranger)).message,
            (await refused(door, create(namespace="nowhere"), stranger)).message,
        )

    denied, theirs, nobodys = told(story, "default", "other", keys=True)
    assert denied is Code.PERMISSION_DENIED
    assert (theirs, nobodys) == ("Namespace default is not found.", "Namespace nowhere is not found.")


# --- nonsense, and many at once -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_nonsense_is_refused_and_breaks_nothing(seed: int) -> None:
    """Truncated, flipped and random bytes to every call: a code that says whose fault it is, and no mistake of ours."""
    rng = random.Random(seed)
    whole = create().SerializeToString()

    def mangled() -> bytes:
        data = bytearray(whole)
        kind = rng.randrange(3)
        if kind == 0:
            return bytes(data[: rng.randrange(len(data))])
        if kind == 1:
            return rng.randbytes(rng.randrange(200))
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(data)

    async def story(door: Dispatcher, direct: Direct) -> set[Code]:
        codes = set()
        for name in list(METHODS) * 25:
            try:
                await door.dispatch(name, mangled())
            except GrpcError as error:
                codes.add(error.code)
        return codes

    assert told(story) <= {Code.INVALID_ARGUMENT, Code.NOT_FOUND, Code.ALREADY_EXISTS}


def test_two_hundred_at_once_lose_nothing() -> None:
    async def story(door: Dispatcher, direct: Direct) -> int:
        await asyncio.gather(*(ask(door, create(f"s-{number}", f"r-{number}")) for number in range(200)))
        return CountSchedulesResponse.FromString(await ask(door, CountSchedulesRequest(namespace="default"))).count

    assert told(story) == 200


# --- lists ----------------------------------------------------------------------------------------------------------


def test_a_filtered_list_gathers_only_what_it_shows() -> None:
    """Pages of a query hold what passes, in order, each once; one whose attribute has another type is not found."""

    async def story(door: Dispatcher, direct: Direct) -> Any:
        for number in range(25):
            request = create(f"s-{number:02}", f"r{number}")
            value = b'"many"' if number == 7 else str(number).encode()
            request.search_attributes.indexed_fields["Size"].data = value
            await ask(door, request)
        pages, page = [], b""
        while True:
            asked = ListSchedulesRequest(
                namespace="default", maximum_page_size=4, query="Size >= 5", next_page_token=page
            )
            found = ListSchedulesResponse.FromString(await ask(door, asked))
            pages.append([each.schedule_id for each in found.schedules])
            page = found.next_page_token
            if not page:
                break
        counts = [
            CountSchedulesRequest(namespace="default", query=query) for query in ("", "Size >= 5", "Size = 'many'")
        ]
        return pages, [CountSchedulesResponse.FromString(await ask(door, each)).count for each in counts]

    pages, counts = told(story)
    wanted = [f"s-{number:02}" for number in range(5, 25) if number != 7]
    assert [name for page in pages for name in page] == wanted
    assert {len(page) for page in pages[:-1]} == {4}
    assert counts == [25, 19, 1]
