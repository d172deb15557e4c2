"""The calls about schedules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.common.v1 import Memo, SearchAttributes
from temporalio.api.schedule.v1 import Schedule as ScheduleMessage
from temporalio.api.schedule.v1 import SchedulePatch, SchedulePolicies, ScheduleState
from temporalio.api.workflowservice.v1 import (
    CountSchedulesRequest,
    CountSchedulesResponse,
    CreateScheduleRequest,
    CreateScheduleResponse,
    DeleteScheduleRequest,
    DeleteScheduleResponse,
    DescribeScheduleRequest,
    DescribeScheduleResponse,
    ListScheduleMatchingTimesRequest,
    ListScheduleMatchingTimesResponse,
    ListSchedulesRequest,
    ListSchedulesResponse,
    PatchScheduleRequest,
    PatchScheduleResponse,
    UpdateScheduleRequest,
    UpdateScheduleResponse,
)

from tompion.api.temporal.convert.action import document_of, is_same
from tompion.api.temporal.convert.describe import (
    DAY_S,
    MIN_WINDOW_S,
    TOMPION,
    attributes_shown,
    entry_message,
    info_message,
    memo_shown,
    schedule_message,
)
from tompion.api.temporal.convert.spec import spec_message, spec_of
from tompion.api.temporal.convert.values import attributes_of, epoch_ms, instant, memo_of, milliseconds, overlap_of
from tompion.api.temporal.dispatcher import CallContext, Method, bind
from tompion.api.temporal.visibility_query import Test, read_query
from tompion.contract.roles import Role
from tompion.errors import InvalidField
from tompion.model.policy import CatchUp, Keep, OnResume, Overlap
from tompion.model.schedule import Schedule
from tompion.operations.compat import temporal_writes
from tompion.operations.compat.temporal_reads import (
    TemporalView,
    count_matching_views,
    matching_times,
    temporal_view,
    temporal_views,
)
from tompion.operations.compat.temporal_reads import count_schedules as dossier_count
from tompion.operations.compat.temporal_writes import SCHEDULES_OWN, ExpectedState, ScheduleActions
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import answer_once
from tompion.operations.resources.search_attributes import search_attribute_types
from tompion.operations.schedules.crud import delete

USUAL_WINDOW_S = 365 * DAY_S
UNLIMITED = (1 << 64) - 1
"""In a conflict token: the number of actions is not limited."""
MAX_REQUEST_ID = 1_000
MAX_NOTE_BYTES = 1_000
MAX_PAGE = 1_000
END_S = 7_289_654_400
"""The beginning of the year 2201: no spec has a time after it."""
LOOKED_AT = 10_000
"""How many schedules one page of a list may look at before it lets the caller ask for the next."""


async def create_schedule(context: CallContext, request: CreateScheduleRequest) -> CreateScheduleResponse:
    """Create a schedule."""
    if not request.request_id:
        raise InvalidField("request_id", "it is not set on the request")

    def work(session: OperationContext) -> Schedule:
        seed = f"{context.namespace_id}-{request.schedule_id}"
        registered = search_attribute_types(session)
        given, document = given_of(request.schedule, request.memo, request.search_attributes, seed, registered)
        wishes = wishes_of(request.initial_patch)
        return temporal_writes.create_bundle(
            session, request.schedule_id, document=document, fields=given, actions=wishes, request_id=request.request_id
        )

    made = await context.run(_once("CreateSchedule", request, work), writes=True)
    return CreateScheduleResponse(conflict_token=token_bytes(made))


def given_of(
    schedule: ScheduleMessage, memo: Memo, attributes: SearchAttributes, seed: str, registered: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields of a new schedule, and the document of what it starts."""
    given = {
        "spec": spec_of(schedule.spec, seed),
        "memo": {name: value for name, value in memo_of(memo).items() if name != TOMPION},
        "search_attributes": attributes_of(attributes, registered),
        **_policies(schedule.policies),
        **_state(schedule.state),
    }
    return given, document_of(schedule.action, keep_id=schedule.policies.keep_original_workflow_id)


async def describe_schedule(context: CallContext, request: DescribeScheduleRequest) -> DescribeScheduleResponse:
    """Show a schedule."""
    known, registered = await context.run(bind(_described, request.schedule_id))
    return DescribeScheduleResponse(
        schedule=schedule_message(known, registered),
        info=info_message(known),
        memo=memo_shown(known),
        search_attributes=attributes_shown(known),
        conflict_token=token_bytes(known.schedule),
    )


def _described(session: OperationContext, schedule_id: str) -> tuple[TemporalView, dict[str, str]]:
    return temporal_view(session, schedule_id), search_attribute_types(session)


async def update_schedule(context: CallContext, request: UpdateScheduleRequest) -> UpdateScheduleResponse:
    """Replace a schedule; whatever is sent as it was shown stays as it is, with all that Temporal cannot show of it."""
    seen = read_token(request.conflict_token)
    seed = f"{context.namespace_id}-{request.schedule_id}"

    def work(session: OperationContext) -> Schedule:
        registered = search_attribute_types(session)
        known = temporal_view(session, request.schedule_id)
        given, document = _changes(known, schedule_message(known, registered), request.schedule, seed)
        if request.HasField("search_attributes"):
            given["search_attributes"] = attributes_of(request.search_attributes, registered)
        if request.HasField("memo"):
            memo = memo_of(request.memo)
            given["memo"] = {name: value for name, value in memo.items() if name != TOMPION}
        return temporal_writes.update_bundle(
            session, request.schedule_id, document=document, fields=given, expected=seen, request_id=request.request_id
        )

    await context.run(_once("UpdateSchedule", request, work), writes=True)
    return UpdateScheduleResponse()


async def patch_schedule(context: CallContext, request: PatchScheduleRequest) -> PatchScheduleResponse:
    """Pause, unpause, trigger or backfill a schedule."""
    wishes = wishes_of(request.patch)
    if wishes == ScheduleActions() and not request.patch.backfill_request:
        raise InvalidField("patch", "it is not set on the request")
    named = request.request_id or None
    work = bind(temporal_writes.patch_bundle, request.schedule_id, actions=wishes, request_id=named)
    await context.run(_once("PatchSchedule", request, work), writes=True)
    return PatchScheduleResponse()


async def delete_schedule(context: CallContext, request: DeleteScheduleRequest) -> DeleteScheduleResponse:
    """Delete a schedule; what it has started goes on."""
    await context.run(bind(delete, request.schedule_id), writes=True)
    return DeleteScheduleResponse()


async def list_matching_times(
    context: CallContext, request: ListScheduleMatchingTimesRequest
) -> ListScheduleMatchingTimesResponse:
    """Say when a schedule would start, after one instant up to another, whatever its state."""
    times = [epoch_ms(name, getattr(request, name)) for name in ("start_time", "end_time")]
    found = await context.run(bind(matching_times, request.schedule_id, *times))
    answer = ListScheduleMatchingTimesResponse()
    for moment in found:
        answer.start_time.add().FromDatetime(moment)
    return answer


async def list_schedules(context: CallContext, request: ListSchedulesRequest) -> ListSchedulesResponse:
    """List schedules by their ids, those that a query lets pass."""
    test = await _test(context, request.query)
    wanted = request.maximum_page_size if 0 < request.maximum_page_size <= MAX_PAGE else MAX_PAGE
    after = _page(request.next_page_token)
    answer = ListSchedulesResponse()
    for _ in range(LOOKED_AT // MAX_PAGE):
        most = wanted - len(answer.schedules)
        look_at = most if test is None else MAX_PAGE
        found, after = await context.run(bind(temporal_views, limit=most, look_at=look_at, after=after, test=test))
        answer.schedules.extend(map(entry_message, found))
        if after is None or len(answer.schedules) == wanted:
            break
    answer.next_page_token = (after or "").encode()
    return answer


async def count_schedules(context: CallContext, request: CountSchedulesRequest) -> CountSchedulesResponse:
    """Count the schedules that a query lets pass."""
    test = await _test(context, request.query)
    if test is None:
        return CountSchedulesResponse(count=await context.run(dossier_count))
    after, count = None, 0
    while True:
        passing, after = await context.run(bind(count_matching_views, look_at=MAX_PAGE, after=after, test=test))
        count += passing
        if after is None:
            return CountSchedulesResponse(count=count)


async def _test(context: CallContext, query: str) -> Test | None:
    """The test that a query is, if it is any; it is read before anything is looked up."""
    read_query(query)
    if not query.strip():
        return None
    return read_query(query, await context.run(search_attribute_types))


# --- what is asked for ----------------------------------------------------------------------------------------------


def wishes_of(patch: SchedulePatch) -> ScheduleActions:
    """Return what a patch asks for."""
    for note in (patch.pause, patch.unpause):
        if len(note.encode()) > MAX_NOTE_BYTES:
            raise InvalidField("patch", f"a note of more than {MAX_NOTE_BYTES} bytes")
    trigger = patch.trigger_immediately if patch.HasField("trigger_immediately") else None
    timed = trigger is not None and trigger.HasField("scheduled_time")
    return ScheduleActions(
        pause=patch.pause or None,
        resume=patch.unpause or None,
        trigger=None if trigger is None else overlap_of("patch.trigger", trigger.overlap_policy, SCHEDULES_OWN),
        trigger_s=_run_for(trigger.scheduled_time) if trigger is not None and timed else None,
        backfills=tuple(each for each in map(_backfill, patch.backfill_request) if each is not None),
    )


def _run_for(time: Timestamp) -> int:
    """The time that a run is asked for: one that a spec could have."""
    seconds = epoch_ms("patch.trigger_immediately.scheduled_time", time) // 1000
    if not 0 <= seconds < END_S:
        raise InvalidField("patch.trigger_immediately.scheduled_time", "expected a time of the years 1970 to 2200")
    return seconds


def _backfill(request: Any) -> tuple[datetime, datetime, str] | None:
    """A range to run again; one that holds no whole second holds no tick."""
    start, end = (epoch_ms(f"backfill.{name}", getattr(request, name)) for name in ("start_time", "end_time"))
    if start > end:
        raise InvalidField("backfill.end_time", "it is before start_time")
    if -(-start // 1000) > end // 1000:
        return None
    return instant(start), instant(end), overlap_of("backfill.overlap_policy", request.overlap_policy, SCHEDULES_OWN)


def _changes(
    known: TemporalView, shown: ScheduleMessage, wanted: ScheduleMessage, seed: str
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the fields that an update changes, and the document, if it changes what is started."""
    given = _state(wanted.state)
    ranged = temporal_writes.in_ranges(spec_of(wanted.spec, seed))
    bounds = [None if text is None else datetime.fromisoformat(text) for text in (ranged.start_at, ranged.end_at)]
    if spec_message(ranged, *bounds) != shown.spec:
        given["spec"] = _keeping_seed(ranged, known)
    if _plain_policies(wanted.policies) != _plain_policies(shown.policies):
        given |= _policies(wanted.policies)
    keep_id = wanted.policies.keep_original_workflow_id
    same = is_same(wanted.action, shown.action) and keep_id == shown.policies.keep_original_workflow_id
    return given, None if same else document_of(wanted.action, keep_id=keep_id)


def _keeping_seed(spec: Any, known: TemporalView) -> Any:
    """A spec whose jitter stays that of before: an imported schedule has the seed of where it comes from."""
    seed = known.spec.jitter_seed
    return spec if seed is None or not spec.jitter_ms else replace(spec, jitter_seed=seed)


def _policies(policies: SchedulePolicies) -> dict[str, Any]:
    """The fields of policies as Temporal means them."""
    plain = _plain_policies(policies)
    return {
        "overlap_policy": plain[0],
        "catchup_policy": CatchUp.FIRE_IMMEDIATELY,
        "catchup_window": plain[1],
        "pause_on_failure": plain[2],
        "buffer_keep": Keep.FIRST,
        "on_resume": OnResume.SKIP,
    }


def _plain_policies(policies: SchedulePolicies) -> tuple[str, int, bool]:
    window_s = USUAL_WINDOW_S
    if policies.HasField("catchup_window"):
        window_s = max(milliseconds("policies.catchup_window", policies.catchup_window) // 1000, MIN_WINDOW_S)
    overlap = overlap_of("policies.overlap_policy", policies.overlap_policy, Overlap.SKIP)
    return overlap, window_s, policies.pause_on_failure


def _state(state: ScheduleState) -> dict[str, Any]:
    return {
        "note": state.notes,
        "paused": state.paused,
        "remaining_actions": max(state.remaining_actions, 0) if state.limited_actions else None,
    }


def _once(
    operation: str, request: Any, work: Callable[[OperationContext], Schedule]
) -> Callable[[OperationContext], Schedule]:
    """Return a change that is made once for each request id; what else the request says does not matter then."""
    if not request.request_id:
        return work
    if len(request.request_id) > MAX_REQUEST_ID or "\x00" in request.request_id:
        raise InvalidField("request_id", f"more than {MAX_REQUEST_ID} characters, or a NUL among them")
    said = f"{request.schedule_id}\0{request.request_id}"
    name = f"{operation} {sha256(said.encode()).hexdigest()}"
    return lambda session: answer_once(session, operation, name, request.schedule_id, Schedule, lambda: work(session))


def token_bytes(schedule: Schedule) -> bytes:
    """Return a conflict token as it is sent: the schedule's, and how many actions remain, which an update would set."""
    remaining = UNLIMITED if schedule.remaining_actions is None else schedule.remaining_actions
    return schedule.token.to_bytes(8, "little") + remaining.to_bytes(8, "little")


def read_token(data: bytes) -> ExpectedState | None:
    """Return what the conflict token says that was sent, if there is one; an older one says nothing of actions."""
    if not data:
        return None
    if len(data) not in (8, 16):
        raise InvalidField("conflict_token", "this is no token of a schedule")
    token, left = int.from_bytes(data[:8], "little"), int.from_bytes(data[8:], "little")
    return ExpectedState(token, None if left == UNLIMITED else left, checks_remaining=len(data) == 16)


def _page(token: bytes) -> str | None:
    try:
        return token.decode() or None
    except UnicodeDecodeError:
        raise InvalidField("next_page_token", "this is no page token") from None


METHODS: dict[str, Method] = {
    "CreateSchedule": Method(CreateScheduleRequest, Role.EDITOR, create_schedule, writes=True),
    "DescribeSchedule": Method(DescribeScheduleRequest, Role.READER, describe_schedule),
    "UpdateSchedule": Method(UpdateScheduleRequest, Role.EDITOR, update_schedule, writes=True),
    "PatchSchedule": Method(PatchScheduleRequest, Role.OPERATOR, patch_schedule, writes=True),
    "ListScheduleMatchingTimes": Method(ListScheduleMatchingTimesRequest, Role.READER, list_matching_times),
    "DeleteSchedule": Method(DeleteScheduleRequest, Role.EDITOR, delete_schedule, writes=True),
    "ListSchedules": Method(ListSchedulesRequest, Role.READER, list_schedules),
    "CountSchedules": Method(CountSchedulesRequest, Role.READER, count_schedules),
}
