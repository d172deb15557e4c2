"""The schedule calls of Temporal's ``WorkflowService``."""

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

from tompion.api.temporal.convert.action import document_of, is_same_action
from tompion.api.temporal.convert.describe import (
    DAY_S,
    MIN_WINDOW_S,
    TOMPION,
    info_message,
    list_entry_message,
    schedule_memo_message,
    schedule_message,
    search_attributes_message,
)
from tompion.api.temporal.convert.spec import spec_message, spec_of
from tompion.api.temporal.convert.values import attributes_of, epoch_ms, memo_of, milliseconds, overlap_of
from tompion.api.temporal.dispatcher import CallContext, Method, bind
from tompion.api.temporal.visibility_query import Predicate, parse_query
from tompion.contract.roles import Role
from tompion.encoding.instant import datetime_ms
from tompion.errors import InvalidField
from tompion.model.policy import CatchUp, Keep, OnResume, Overlap
from tompion.model.schedule import Schedule
from tompion.operations.compat import temporal_reads, temporal_writes
from tompion.operations.compat.temporal_reads import (
    TemporalView,
    count_matching_views,
    matching_times,
    temporal_view,
    temporal_views,
)
from tompion.operations.compat.temporal_writes import SCHEDULES_OWN, ExpectedState, ScheduleActions
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import answer_once
from tompion.operations.resources.search_attributes import search_attribute_types
from tompion.operations.schedules.crud import delete

DEFAULT_WINDOW_S = 365 * DAY_S
UNLIMITED = (1 << 64) - 1
"""The number of remaining actions in a conflict token if it is not limited."""
MAX_REQUEST_ID_CHARS = 1_000
MAX_NOTE_BYTES = 1_000
MAX_PAGE = 1_000
MAX_TIME_S = 7_289_654_400
"""The beginning of the year 2201. No spec has a later time."""
MAX_SCANNED = 10_000
"""A page of a list reads at most this many schedules. The caller gets a token for the next page."""


async def create_schedule(context: CallContext, request: CreateScheduleRequest) -> CreateScheduleResponse:
    """Create a schedule."""
    if not request.request_id:
        raise InvalidField("request_id", "not set on the request")

    def create(operation: OperationContext) -> Schedule:
        seed = f"{context.namespace_id}-{request.schedule_id}"
        types = search_attribute_types(operation)
        fields, document = schedule_fields(request.schedule, request.memo, request.search_attributes, seed, types)
        return temporal_writes.create_bundle(
            operation,
            request.schedule_id,
            document=document,
            fields=fields,
            actions=actions_of(request.initial_patch),
            request_id=request.request_id,
        )

    schedule = await context.run(_idempotent("CreateSchedule", request, create), writes=True)
    return CreateScheduleResponse(conflict_token=token_bytes(schedule))


def schedule_fields(
    schedule: ScheduleMessage, memo: Memo, attributes: SearchAttributes, seed: str, registered: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields of a new schedule, and the document of the workflow that it starts."""
    fields = {
        "spec": spec_of(schedule.spec, seed),
        "memo": {name: value for name, value in memo_of(memo).items() if name != TOMPION},
        "search_attributes": attributes_of(attributes, registered),
        **_policy_fields(schedule.policies),
        **_state_fields(schedule.state),
    }
    return fields, document_of(schedule.action, keep_id=schedule.policies.keep_original_workflow_id)


async def describe_schedule(context: CallContext, request: DescribeScheduleRequest) -> DescribeScheduleResponse:
    """Describe a schedule."""
    view, registered = await context.run(bind(_read_view, request.schedule_id))
    return DescribeScheduleResponse(
        schedule=schedule_message(view, registered),
        info=info_message(view),
        memo=schedule_memo_message(view),
        search_attributes=search_attributes_message(view),
        conflict_token=token_bytes(view.schedule),
    )


def _read_view(context: OperationContext, schedule_id: str) -> tuple[TemporalView, dict[str, str]]:
    return temporal_view(context, schedule_id), search_attribute_types(context)


async def update_schedule(context: CallContext, request: UpdateScheduleRequest) -> UpdateScheduleResponse:
    """Replace a schedule.

    Parts that are equal to their description stay unchanged, including fields that Temporal cannot express.
    """
    expected = read_token(request.conflict_token)
    seed = f"{context.namespace_id}-{request.schedule_id}"

    def update(operation: OperationContext) -> Schedule:
        registered = search_attribute_types(operation)
        view = temporal_view(operation, request.schedule_id)
        fields, document = _changes(view, schedule_message(view, registered), request.schedule, seed)
        if request.HasField("search_attributes"):
            fields["search_attributes"] = attributes_of(request.search_attributes, registered)
        if request.HasField("memo"):
            memo = memo_of(request.memo)
            fields["memo"] = {name: value for name, value in memo.items() if name != TOMPION}
        return temporal_writes.update_bundle(
            operation,
            request.schedule_id,
            document=document,
            fields=fields,
            expected=expected,
            request_id=request.request_id,
        )

    await context.run(_idempotent("UpdateSchedule", request, update), writes=True)
    return UpdateScheduleResponse()


async def patch_schedule(context: CallContext, request: PatchScheduleRequest) -> PatchScheduleResponse:
    """Pause, unpause, trigger or backfill a schedule."""
    actions = actions_of(request.patch)
    if actions == ScheduleActions() and not request.patch.backfill_request:
        raise InvalidField("patch", "not set on the request")
    request_id = request.request_id or None
    patch = bind(temporal_writes.patch_bundle, request.schedule_id, actions=actions, request_id=request_id)
    await context.run(_idempotent("PatchSchedule", request, patch), writes=True)
    return PatchScheduleResponse()


async def delete_schedule(context: CallContext, request: DeleteScheduleRequest) -> DeleteScheduleResponse:
    """Delete a schedule. Its running workflows continue."""
    await context.run(bind(delete, request.schedule_id), writes=True)
    return DeleteScheduleResponse()


async def list_matching_times(
    context: CallContext, request: ListScheduleMatchingTimesRequest
) -> ListScheduleMatchingTimesResponse:
    """Return the times of a schedule after one instant up to another, whatever its state."""
    bounds = [epoch_ms(name, getattr(request, name)) for name in ("start_time", "end_time")]
    times = await context.run(bind(matching_times, request.schedule_id, *bounds))
    response = ListScheduleMatchingTimesResponse()
    for time in times:
        response.start_time.add().FromDatetime(time)
    return response


async def list_schedules(context: CallContext, request: ListSchedulesRequest) -> ListSchedulesResponse:
    """Return a page of the schedules that match a query, by id.

    At most ``MAX_SCANNED`` schedules are read, so a page can be short or empty although more follow.
    """
    predicate = await _predicate(context, request.query)
    max_page = _max_page(context)
    page_size = request.maximum_page_size if 0 < request.maximum_page_size <= max_page else max_page
    after = _page_start(request.next_page_token)
    response = ListSchedulesResponse()
    for _ in range(MAX_SCANNED // max_page):
        missing = page_size - len(response.schedules)
        max_read = missing if predicate is None else max_page
        views, after = await context.run(
            bind(temporal_views, limit=missing, max_read=max_read, after=after, predicate=predicate)
        )
        response.schedules.extend(map(list_entry_message, views))
        if after is None or len(response.schedules) == page_size:
            break
    response.next_page_token = (after or "").encode()
    return response


async def count_schedules(context: CallContext, request: CountSchedulesRequest) -> CountSchedulesResponse:
    """Count the schedules that match a query."""
    predicate = await _predicate(context, request.query)
    if predicate is None:
        return CountSchedulesResponse(count=await context.run(temporal_reads.count_schedules))
    after, count = None, 0
    while True:
        matching, after = await context.run(
            bind(count_matching_views, max_read=_max_page(context), after=after, predicate=predicate)
        )
        count += matching
        if after is None:
            return CountSchedulesResponse(count=count)


def _max_page(context: CallContext) -> int:
    """Return the maximum number of schedules in one read."""
    return min(MAX_PAGE, context.deps.runner.settings.max_page)


async def _predicate(context: CallContext, query: str) -> Predicate | None:
    """Return the predicate of a query, or ``None`` if it is empty. A malformed query fails before the store is read."""
    parse_query(query)
    if not query.strip():
        return None
    return parse_query(query, await context.run(search_attribute_types))


def actions_of(patch: SchedulePatch) -> ScheduleActions:
    """Return the actions that a patch requests."""
    for note in (patch.pause, patch.unpause):
        if len(note.encode()) > MAX_NOTE_BYTES:
            raise InvalidField("patch", f"the note has more than {MAX_NOTE_BYTES} bytes")
    trigger = patch.trigger_immediately if patch.HasField("trigger_immediately") else None
    has_time = trigger is not None and trigger.HasField("scheduled_time")
    return ScheduleActions(
        pause=patch.pause or None,
        resume=patch.unpause or None,
        trigger=None if trigger is None else overlap_of("patch.trigger", trigger.overlap_policy, SCHEDULES_OWN),
        trigger_s=_trigger_time(trigger.scheduled_time) if trigger is not None and has_time else None,
        backfills=tuple(backfill for backfill in map(_backfill, patch.backfill_request) if backfill is not None),
    )


def _trigger_time(time: Timestamp) -> int:
    """Return the scheduled time of a trigger in seconds. It must be a time that a spec could have."""
    seconds = epoch_ms("patch.trigger_immediately.scheduled_time", time) // 1000
    if not 0 <= seconds < MAX_TIME_S:
        raise InvalidField("patch.trigger_immediately.scheduled_time", "expected a time of the years 1970 to 2200")
    return seconds


def _backfill(request: Any) -> tuple[datetime, datetime, str] | None:
    """Return the range of a backfill, or ``None`` if it has no whole second and so no tick."""
    start, end = (epoch_ms(f"backfill.{name}", getattr(request, name)) for name in ("start_time", "end_time"))
    if start > end:
        raise InvalidField("backfill.end_time", "before start_time")
    if -(-start // 1000) > end // 1000:
        return None
    return (
        datetime_ms(start),
        datetime_ms(end),
        overlap_of("backfill.overlap_policy", request.overlap_policy, SCHEDULES_OWN),
    )


def _changes(
    view: TemporalView, current: ScheduleMessage, wanted: ScheduleMessage, seed: str
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the fields that an update changes, and the document of the workflow if it changes that."""
    fields = _state_fields(wanted.state)
    spec = temporal_writes.in_ranges(spec_of(wanted.spec, seed))
    bounds = [None if text is None else datetime.fromisoformat(text) for text in (spec.start_at, spec.end_at)]
    if spec_message(spec, *bounds) != current.spec:
        fields["spec"] = _with_seed_of(view, spec)
    if _comparable_policies(wanted.policies) != _comparable_policies(current.policies):
        fields |= _policy_fields(wanted.policies)
    keep_id = wanted.policies.keep_original_workflow_id
    is_same = is_same_action(wanted.action, current.action) and keep_id == current.policies.keep_original_workflow_id
    return fields, None if is_same else document_of(wanted.action, keep_id=keep_id)


def _with_seed_of(view: TemporalView, spec: Any) -> Any:
    """Return a spec with the current jitter seed. An imported schedule has the seed of its first cluster."""
    seed = view.spec.jitter_seed
    return spec if seed is None or not spec.jitter_ms else replace(spec, jitter_seed=seed)


def _policy_fields(policies: SchedulePolicies) -> dict[str, Any]:
    """Return policies with Temporal's meaning as fields of a schedule."""
    overlap, window_s, pause_on_failure = _comparable_policies(policies)
    return {
        "overlap_policy": overlap,
        "catchup_policy": CatchUp.FIRE_IMMEDIATELY,
        "catchup_window": window_s,
        "pause_on_failure": pause_on_failure,
        "buffer_keep": Keep.FIRST,
        "on_resume": OnResume.SKIP,
    }


def _comparable_policies(policies: SchedulePolicies) -> tuple[str, int, bool]:
    """Return overlap policy, catch-up window and pause on failure, with Temporal's defaults filled in."""
    window_s = DEFAULT_WINDOW_S
    if policies.HasField("catchup_window"):
        window_s = max(milliseconds("policies.catchup_window", policies.catchup_window) // 1000, MIN_WINDOW_S)
    overlap = overlap_of("policies.overlap_policy", policies.overlap_policy, Overlap.SKIP)
    return overlap, window_s, policies.pause_on_failure


def _state_fields(state: ScheduleState) -> dict[str, Any]:
    return {
        "note": state.notes or None,
        "paused": state.paused,
        "remaining_actions": max(state.remaining_actions, 0) if state.limited_actions else None,
    }


def _idempotent(
    operation: str, request: Any, change: Callable[[OperationContext], Schedule]
) -> Callable[[OperationContext], Schedule]:
    """Return a change that is made once per request id, whatever the rest of the request is."""
    if not request.request_id:
        return change
    if len(request.request_id) > MAX_REQUEST_ID_CHARS or "\x00" in request.request_id:
        raise InvalidField("request_id", f"more than {MAX_REQUEST_ID_CHARS} characters, or a NUL character")
    key = f"{request.schedule_id}\0{request.request_id}"
    name = f"{operation} {sha256(key.encode()).hexdigest()}"
    return lambda context: answer_once(context, operation, name, request.schedule_id, Schedule, lambda: change(context))


def token_bytes(schedule: Schedule) -> bytes:
    """Return the conflict token of a schedule, with its remaining actions, because an update would set them."""
    remaining = UNLIMITED if schedule.remaining_actions is None else schedule.remaining_actions
    return schedule.conflict_token.to_bytes(8, "little") + remaining.to_bytes(8, "little")


def read_token(data: bytes) -> ExpectedState | None:
    """Return the state that a conflict token expects. An older token has no remaining actions."""
    if not data:
        return None
    if len(data) not in (8, 16):
        raise InvalidField("conflict_token", "not a conflict token of a schedule")
    token, remaining = int.from_bytes(data[:8], "little"), int.from_bytes(data[8:], "little")
    return ExpectedState(token, None if remaining == UNLIMITED else remaining, has_remaining=len(data) == 16)


def _page_start(token: bytes) -> str | None:
    try:
        return token.decode() or None
    except UnicodeDecodeError:
        raise InvalidField("next_page_token", "not a page token") from None


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
