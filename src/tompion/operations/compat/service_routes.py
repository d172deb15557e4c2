"""The same operations under the names and in the shapes of older services.

A deployer calls ``/schedules/upsert`` and ``/run-launcher/start``. A cron dashboard calls ``/api/cron``. Each function
calls another operation and returns exactly the fields that the service had. ``version`` is the version of the workflow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from secrets import token_hex
from types import NoneType
from typing import Any

from tompion.encoding.instant import When, datetime_s
from tompion.errors import InvalidField
from tompion.model.insight import ScheduleAck, ServiceSchedule
from tompion.model.page import Page
from tompion.model.schedule import Run, Schedule
from tompion.operations import paging
from tompion.operations.compat.temporal_reads import load_open_schedule
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import idempotent
from tompion.operations.runs import start
from tompion.operations.schedules import control, crud
from tompion.operations.schedules.repository import schedule_view_of
from tompion.operations.validation import check_flag
from tompion.plan.upcoming import upcoming_ticks

MAX_PREVIEW = 5
ALIASES = {"name": "schedule_id", "catch_up": "catchup_policy"}
"""Field names of the older services that only these routes accept."""


@dataclass(frozen=True, slots=True)
class CronJob:
    """A schedule as a cron job. All ticks up to ``last_enqueued_at`` have been decided."""

    name: str
    cron: str | None
    timezone: str
    queue: str
    queue_paused: bool
    paused: bool
    paused_at: datetime | None
    paused_by: str | None
    next_run_at: datetime | None
    last_enqueued_at: datetime


def upsert_schedule(
    context: OperationContext,
    /,
    schedule_id: str | None = None,
    *,
    request_id: str | None = None,
    **fields_by_name: Any,
) -> ScheduleAck:
    """Create or replace a schedule. Without an id, one is generated.

    A deployer may upload the workflow after its schedule, so the workflow need not exist.
    """
    named = {name: value for name, value in {**fields_by_name, "schedule_id": schedule_id}.items() if value is not None}
    for alias, name in ALIASES.items():
        if alias in named and name in named:
            raise InvalidField(alias, f"sent twice: {name} is the same field; send one of them")
    fields = {ALIASES.get(name, name): value for name, value in named.items()}
    chosen = fields.pop("schedule_id", None) or f"s-{token_hex(8)}"
    if fields.get("catchup_policy") in (True, False):
        fields["catchup_policy"] = "all" if fields["catchup_policy"] else "none"
    accepting = replace(context, accepts_unknown_workflows=True)
    schedule = crud.upsert(accepting, chosen, request_id=request_id, **fields)
    return ScheduleAck(schedule.schedule_id, schedule.next_run_at)


@idempotent(NoneType)
def pause_schedule(
    context: OperationContext,
    schedule_id: str,
    paused: bool = True,
    *,
    paused_by: str | None = None,
    request_id: str | None = None,  # noqa: ARG001 - the decorator reads it
) -> None:
    """Pause or resume a schedule."""
    _set_paused(context, schedule_id, paused=check_flag("paused", paused), paused_by=paused_by)


def _set_paused(
    context: OperationContext, schedule_id: str, *, paused: bool, paused_by: str | None = None
) -> ScheduleAck:
    changed = (
        control.pause(context, schedule_id, paused_by=paused_by) if paused else control.resume(context, schedule_id)
    )
    return ScheduleAck(changed.schedule_id, changed.next_run_at)


def get_schedule(context: OperationContext, schedule_id: str) -> ServiceSchedule:
    """Return a schedule that is not deleted, and its next five fire times."""
    loaded = load_open_schedule(context, schedule_id)
    schedule = schedule_view_of(context, loaded, check_target=False)
    ticks = islice(upcoming_ticks(loaded.state, loaded.compiled, context.now_ms), MAX_PREVIEW)
    return ServiceSchedule(
        schedule_id=schedule.schedule_id,
        workflow_id=schedule.workflow_id,
        version=schedule.workflow_version,
        user_id=schedule.user_id,
        cron_expr=_only_cron(schedule),
        timezone=schedule.timezone,
        start_at=schedule.start_at,
        end_at=schedule.end_at,
        next_run_at=schedule.next_run_at,
        paused=schedule.paused,
        jitter_ms=schedule.jitter_ms,
        overlap_policy=schedule.overlap_policy,
        catchup_policy=schedule.catchup_policy,
        updated_at=schedule.updated_at,
        preview=tuple(map(datetime_s, ticks)),
    )


def _only_cron(schedule: Schedule) -> str | None:
    """Return the cron expression of a schedule that has no other source of ticks."""
    has_others = schedule.calendars or schedule.intervals or schedule.rrules or schedule.times
    return schedule.cron[0] if len(schedule.cron) == 1 and not has_others else None


@idempotent(NoneType)
def delete_schedule(
    context: OperationContext,
    schedule_id: str,
    *,
    request_id: str | None = None,  # noqa: ARG001 - the decorator reads it
) -> None:
    """Close a schedule: no tick starts any more."""
    crud.delete(context, schedule_id)


def launch_run(  # noqa: PLR0913 - the parts of the request
    context: OperationContext,
    workflow_id: str,
    idempotency_key: str,
    *,
    version: int | None = None,
    user_id: str | None = None,
    scheduled_for: When | None = None,
) -> bool:
    """Start a run of a workflow, once for each key, and return whether the workflow exists."""
    return start.start_run(context, workflow_id, version, user_id, scheduled_for, idempotency_key=idempotency_key)


def list_cron(
    context: OperationContext, *, limit: int = paging.DEFAULT_PAGE, after: str | None = None
) -> Page[CronJob]:
    """Return schedules as cron jobs, by name."""
    page = crud.list_schedules(context, limit=limit, after=after)
    paused = context.transaction.target_list_paused()
    return Page(tuple(_job(schedule, paused) for schedule in page.items), page.next_page)


@idempotent(ScheduleAck)
def pause_cron(
    context: OperationContext,
    name: str,
    *,
    paused_by: str | None = None,
    request_id: str | None = None,  # noqa: ARG001 - the decorator reads it
) -> ScheduleAck:
    """Pause a schedule: no tick starts until it is resumed."""
    return _set_paused(context, name, paused=True, paused_by=paused_by)


@idempotent(ScheduleAck)
def resume_cron(
    context: OperationContext,
    name: str,
    *,
    request_id: str | None = None,  # noqa: ARG001 - the decorator reads it
) -> ScheduleAck:
    """Resume a schedule. Its ``on_resume`` setting decides the missed ticks."""
    return _set_paused(context, name, paused=False)


def trigger_cron(context: OperationContext, name: str, *, request_id: str | None = None) -> Run:
    """Run a schedule now, whether or not it is paused."""
    return control.trigger(context, name, request_id=request_id)


def _job(schedule: Schedule, paused: set[tuple[str, str, str]]) -> CronJob:
    """Return a schedule as a job."""
    return CronJob(
        name=schedule.schedule_id,
        cron=_only_cron(schedule),
        timezone=schedule.timezone,
        queue=schedule.queue,
        queue_paused=(schedule.namespace, "queue", schedule.queue) in paused,
        paused=schedule.paused_at is not None,
        paused_at=schedule.paused_at,
        paused_by=schedule.paused_by,
        next_run_at=schedule.next_run_at,
        last_enqueued_at=schedule.cursor,
    )
