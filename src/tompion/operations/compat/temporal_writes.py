"""A schedule and the workflow that it alone starts, written together; and several requests at once.

Doors in the manner of another system have one call for what are several operations here.  Nothing of it is decided
here: each part is the operation that every door has, in one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tompion.errors import InvalidField, NotFound, StaleToken
from tompion.model.policy import Overlap
from tompion.model.schedule import Schedule, ScheduleStatus
from tompion.model.spec import SpecDocument
from tompion.operations.context import OperationContext
from tompion.operations.instants import When, epoch_ms
from tompion.operations.resources.workflows import put_workflow
from tompion.operations.schedules import backfills, control, crud
from tompion.operations.schedules.definition import parse_schedule
from tompion.operations.schedules.repository import AuditEntry, open_schedule
from tompion.operations.validation import UNSET, check_name
from tompion.operations.views import datetime_ms
from tompion.spec.calendar.ranges import in_one_zone, ranges_of

OWN = "temporal/"
"""How the id of a workflow begins that belongs to one schedule; the schedule's id comes after it."""


@dataclass(frozen=True, slots=True)
class ScheduleActions:
    """What is asked of a schedule besides its definition, in this order: pause or resume, a run now, backfills."""

    pause: str | None = None
    resume: str | None = None
    trigger: str | None = None
    trigger_s: int | None = None
    backfills: tuple[tuple[When, When, str], ...] = ()


SCHEDULES_OWN = "schedule"
"""As an overlap policy: whatever the schedule has."""


@dataclass(frozen=True, slots=True)
class ExpectedState:
    """What whoever changes a schedule has seen of it: its token and, perhaps, how many actions remained."""

    token: int
    remaining: int | None = None
    has_remaining: bool = False


def create_bundle(  # noqa: PLR0913 - the parts of the request
    context: OperationContext,
    schedule_id: str,
    *,
    document: Any,
    given: Mapping[str, Any],
    wishes: ScheduleActions,
    request_id: str | None = None,
) -> Schedule:
    """Create a schedule that starts a workflow of its own, and do at once what is wished."""
    check_name("schedule_id", schedule_id, context.settings)
    deleted = crud.reserve_id(context, schedule_id)
    drafted = parse_schedule({**_in_ranges(given), **_own_workflow(context, schedule_id, document)}, context.settings)
    made = crud.create_definition(
        context, schedule_id, deleted, drafted, AuditEntry("create", request_id), may_never_fire=True
    )
    return _granted(context, made, wishes, request_id)


def update_bundle(  # noqa: PLR0913 - the parts of the request
    context: OperationContext,
    schedule_id: str,
    *,
    document: Any = None,
    given: Mapping[str, Any],
    seen: ExpectedState | None = None,
    request_id: str | None = None,
) -> Schedule:
    """Change a schedule and, if there is a document, the workflow that it starts."""
    opened = open_schedule(context, schedule_id, None if seen is None else seen.token, closed=True)
    if seen is not None and seen.has_remaining and opened.state.remaining != seen.remaining:
        changed = f"{seen.remaining} actions were left, now it is {opened.state.remaining}"
        raise StaleToken(seen.token, opened.row.token, changed)
    if opened.row.state == ScheduleStatus.CLOSED:
        raise NotFound(f"there is no schedule {schedule_id!r} in namespace {context.namespace!r}")
    action = {} if document is None else _own_workflow(context, schedule_id, document)
    drafted = parse_schedule({**_in_ranges(given), **action}, context.settings, opened.definition)
    return crud.replace_definition(context, opened, drafted, AuditEntry("update", request_id))


def patch_bundle(
    context: OperationContext, schedule_id: str, *, wishes: ScheduleActions, request_id: str | None = None
) -> Schedule:
    """Do with a schedule what is wished."""
    found = crud.get(context, schedule_id)
    if found.state is ScheduleStatus.CLOSED:
        raise NotFound(f"there is no schedule {schedule_id!r} in namespace {context.namespace!r}")
    return _granted(context, found, wishes, request_id)


def _granted(
    context: OperationContext, schedule: Schedule, wishes: ScheduleActions, request_id: str | None
) -> Schedule:
    name, own = schedule.schedule_id, schedule.definition.policy.overlap_policy
    if wishes.pause is not None:
        schedule = control.pause(context, name, note=wishes.pause)
    if wishes.resume is not None:
        schedule = control.resume(context, name, note=wishes.resume)
    if wishes.trigger is not None:
        control.trigger_now(context, name, _overlap(wishes.trigger, own), UNSET, request_id, wishes.trigger_s)
    for start, end, overlap in wishes.backfills:
        backfills.backfill(context, name, start, _not_ahead(context, end), overlap=_overlap(overlap, own))
    return schedule


def _not_ahead(context: OperationContext, end: When) -> When:
    """The end of a backfill; what is now by the clock of whoever asks, which may be a little ahead, is now."""
    ahead_ms = epoch_ms("end", end) - context.now_ms
    return datetime_ms(context.now_ms) if 0 < ahead_ms <= context.settings.max_clock_skew_ms else end


def _overlap(wanted: str, own: Overlap) -> str:
    return own if wanted == SCHEDULES_OWN else wanted


def _own_workflow(context: OperationContext, schedule_id: str, document: Any) -> dict[str, Any]:
    """Write the workflow of a schedule; return the fields that refer to it."""
    if len(OWN) + len(schedule_id) > context.settings.max_name_chars:
        most = context.settings.max_name_chars - len(OWN)
        raise InvalidField("schedule_id", f"{len(schedule_id)} characters, more than {most} (max_name_chars)")
    made = put_workflow(context, f"{OWN}{schedule_id}", document)
    return {"workflow_id": made.workflow_id, "workflow_version": made.version}


def in_ranges(spec: SpecDocument) -> SpecDocument:
    """Return a spec in ranges, with the zone that its cron strings name."""
    return ranges_of(in_one_zone(spec)).spec


def in_ranges_or_empty(spec: SpecDocument) -> SpecDocument:
    """Return a spec in ranges; without any ticks there is nothing else to say."""
    ranged = in_ranges(spec)
    return ranged if ranged.calendars or ranged.intervals else SpecDocument()


def _in_ranges(given: Mapping[str, Any]) -> dict[str, Any]:
    """Fields whose spec is in ranges: so it is stored, and so it is read again."""
    spec = given.get("spec")
    return {**given, "spec": in_ranges_or_empty(spec)} if isinstance(spec, SpecDocument) else dict(given)
