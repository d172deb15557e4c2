"""Write operations of the Temporal-compatible API: a schedule and its own workflow, written together.

That API has one call for several operations. Each part is the operation that every API has, in one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tompion.encoding.instant import When, datetime_ms
from tompion.errors import InvalidField, NotFound, StaleToken
from tompion.model.policy import Overlap
from tompion.model.schedule import Schedule, ScheduleStatus
from tompion.model.spec import SpecDocument
from tompion.operations.context import OperationContext
from tompion.operations.instants import epoch_ms
from tompion.operations.resources.workflows import write_workflow
from tompion.operations.schedules import backfills, control, crud
from tompion.operations.schedules.repository import AuditEntry, open_schedule
from tompion.operations.schedules.schedule_document import parse_schedule
from tompion.operations.validation import UNSET, check_name
from tompion.spec.calendar.ranges import in_one_zone, ranges_of

WORKFLOW_PREFIX = "temporal/"
"""The prefix of the id of a workflow that belongs to one schedule. The schedule's id follows it."""


@dataclass(frozen=True, slots=True)
class ScheduleActions:
    """The actions of a request besides the definition, in this order: pause or resume, a trigger, backfills."""

    pause: str | None = None
    resume: str | None = None
    trigger: str | None = None
    trigger_s: int | None = None
    backfills: tuple[tuple[When, When, str], ...] = ()


SCHEDULES_OWN = "schedule"
"""The overlap policy that stands for the policy of the schedule."""


@dataclass(frozen=True, slots=True)
class ExpectedState:
    """The state of a schedule that a caller has read: its token and, optionally, its remaining actions."""

    token: int
    remaining: int | None = None
    has_remaining: bool = False


def create_bundle(  # noqa: PLR0913 - the parts of the request
    context: OperationContext,
    schedule_id: str,
    *,
    document: Any,
    fields: Mapping[str, Any],
    actions: ScheduleActions,
    request_id: str | None = None,
) -> Schedule:
    """Create a schedule that starts a workflow of its own, and apply the actions."""
    check_name("schedule_id", schedule_id, context.settings)
    deleted = crud.reserve_id(context, schedule_id)
    schedule_input = parse_schedule(
        {**_in_ranges(fields), **_own_workflow(context, schedule_id, document)}, context.settings
    )
    schedule = crud.create_definition(
        context, schedule_id, deleted, schedule_input, AuditEntry("create", request_id), may_never_fire=True
    )
    return _apply(context, schedule, actions, request_id)


def update_bundle(  # noqa: PLR0913 - the parts of the request
    context: OperationContext,
    schedule_id: str,
    *,
    document: Any = None,
    fields: Mapping[str, Any],
    expected: ExpectedState | None = None,
    request_id: str | None = None,
) -> Schedule:
    """Change a schedule and, if there is a document, the workflow that it starts."""
    loaded = open_schedule(context, schedule_id, None if expected is None else expected.token, closed=True)
    if expected is not None and expected.has_remaining and loaded.state.remaining != expected.remaining:
        changed = f"{expected.remaining} actions were left, now it is {loaded.state.remaining}"
        raise StaleToken(expected.token, loaded.row.token, changed)
    if loaded.row.state == ScheduleStatus.CLOSED:
        raise NotFound(f"there is no schedule {schedule_id!r} in namespace {context.namespace!r}")
    action = {} if document is None else _own_workflow(context, schedule_id, document)
    schedule_input = parse_schedule({**_in_ranges(fields), **action}, context.settings, loaded.definition)
    return crud.replace_definition(context, loaded, schedule_input, AuditEntry("update", request_id))


def patch_bundle(
    context: OperationContext, schedule_id: str, *, actions: ScheduleActions, request_id: str | None = None
) -> Schedule:
    """Apply actions to a schedule."""
    schedule = crud.get(context, schedule_id)
    if schedule.status is ScheduleStatus.CLOSED:
        raise NotFound(f"there is no schedule {schedule_id!r} in namespace {context.namespace!r}")
    return _apply(context, schedule, actions, request_id)


def _apply(context: OperationContext, schedule: Schedule, actions: ScheduleActions, request_id: str | None) -> Schedule:
    name, own = schedule.schedule_id, schedule.definition.policy.overlap_policy
    if actions.pause is not None:
        schedule = control.pause(context, name, note=actions.pause)
    if actions.resume is not None:
        schedule = control.resume(context, name, note=actions.resume)
    if actions.trigger is not None:
        control.trigger_now(context, name, _overlap(actions.trigger, own), UNSET, request_id, actions.trigger_s)
    for start, end, overlap in actions.backfills:
        backfills.backfill(context, name, start, _not_ahead(context, end), overlap=_overlap(overlap, own))
    return schedule


def _not_ahead(context: OperationContext, end: When) -> When:
    """Return the end of a backfill. An end slightly ahead of the store's clock counts as now."""
    ahead_ms = epoch_ms("end", end) - context.now_ms
    return datetime_ms(context.now_ms) if 0 < ahead_ms <= context.settings.max_clock_skew_ms else end


def _overlap(wanted: str, own: Overlap) -> str:
    return own if wanted == SCHEDULES_OWN else wanted


def _own_workflow(context: OperationContext, schedule_id: str, document: Any) -> dict[str, Any]:
    """Write the workflow of a schedule, and return the fields that refer to it."""
    if len(WORKFLOW_PREFIX) + len(schedule_id) > context.settings.max_name_chars:
        most = context.settings.max_name_chars - len(WORKFLOW_PREFIX)
        raise InvalidField("schedule_id", f"{len(schedule_id)} characters, more than {most} (max_name_chars)")
    workflow = write_workflow(context, f"{WORKFLOW_PREFIX}{schedule_id}", document)
    return {"workflow_id": workflow.workflow_id, "workflow_version": workflow.version}


def in_ranges(spec: SpecDocument) -> SpecDocument:
    """Return a spec in ranges, with the time zone that its cron strings name."""
    return ranges_of(in_one_zone(spec)).spec


def in_ranges_or_empty(spec: SpecDocument) -> SpecDocument:
    """Return a spec in ranges, or an empty spec if it has no ticks."""
    ranged = in_ranges(spec)
    return ranged if ranged.calendars or ranged.intervals else SpecDocument()


def _in_ranges(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields with their spec in ranges, which is the form that is stored and read again."""
    spec = fields.get("spec")
    return {**fields, "spec": in_ranges_or_empty(spec)} if isinstance(spec, SpecDocument) else dict(fields)
