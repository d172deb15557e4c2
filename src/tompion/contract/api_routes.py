"""The routes of ``/api/v1`` that clients call: the operation behind each one, and the role that it needs.

The arguments of an operation come from the request, by its signature. Path parameters come from the path,
``request_id`` from the header ``Idempotency-Key`` and ``conflict_token`` from ``If-Match``. The others come from the
query of a GET or DELETE, and from the JSON body of the other methods.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tompion.contract.roles import Role
from tompion.contract.stubs import OperationStub, insight_stubs, resource_stubs, run_stubs, schedule_stubs
from tompion.model.api_key import ApiKey, NewKey
from tompion.model.audit_chain import AuditVerification
from tompion.model.bulk import BulkResult, ScheduleCount
from tompion.model.hint import Outlook
from tompion.model.insight import (
    DeclareResult,
    EditDiff,
    Forecast,
    Problems,
    SameSpecSchedule,
    ScheduleAck,
    ScheduleSummary,
    ServiceSchedule,
    Stats,
    Upcoming,
)
from tompion.model.notification import Notification
from tompion.model.page import Page
from tompion.model.schedule import (
    Backfill,
    Change,
    Description,
    DroppedTicks,
    Run,
    Schedule,
    Version,
    Workflow,
)
from tompion.model.spec import NamedCalendar, Preview
from tompion.model.verification import Verification
from tompion.model.worker import Assignment, HeartbeatAck, InstanceInfo, Queue, ReportAck, Worker

PREFIX = "/api/v1"
COMPATIBILITY = "compatibility"
"""The tag of routes with the names and shapes of older services."""
MAY_CREATE = ("declare", "upsert_schedule", "backfill")
"""Operations of a POST that create an object in some cases: if it does not exist yet, or without a dry run."""
READ_ONLY_WITH_BODY = (insight_stubs.preview, insight_stubs.summaries, insight_stubs.diff)
"""Operations that take a body and write nothing."""


@dataclass(frozen=True, slots=True)
class Route:
    """A route that runs an operation.

    ``stub`` is the signature of the operation, and ``response`` the type of its result. ``body_parameter`` is the
    parameter that takes the whole body. ``if_match`` is the operation of a request with the header ``If-Match``, if
    that is another one.
    """

    method: str
    path: str
    role: Role
    stub: OperationStub[..., Any]
    response: Any
    tag: str
    status: int = 200
    body_parameter: str | None = None
    prefix: str = PREFIX
    if_match: OperationStub[..., Any] | None = None

    @property
    def operation(self) -> Callable[..., Any]:
        """Return the operation itself. Its module is imported on first access."""
        return self.stub.operation

    @property
    def full_path(self) -> str:
        """Return the path with its prefix."""
        return f"{self.prefix}{self.path}"

    @property
    def is_compatibility(self) -> bool:
        """Return whether the route has a name of an older service."""
        return self.tag == COMPATIBILITY

    @property
    def may_create(self) -> bool:
        """Return whether a request creates an object if it does not exist yet."""
        return self.method == "PUT" or self.name in MAY_CREATE

    @property
    def path_parameters(self) -> tuple[str, ...]:
        """Return the names of the parameters in the path."""
        return tuple(re.findall(r"{(\w+)}", self.path))

    @property
    def writes(self) -> bool:
        """Return whether the operation writes."""
        return self.method != "GET" and self.stub not in READ_ONLY_WITH_BODY

    @property
    def name(self) -> str:
        """Return the name of the operation, which is also its method in Python."""
        return self.stub.__name__


_SCHEDULE, _RUN, _TARGETS, _WORKFLOW, _CALENDAR = "schedules", "runs", "targets", "workflows", "calendars"
_WORK, _KEYS, _BULK = "workers", "keys", "bulk"
_ONE = "/schedules/{schedule_id}"

API_ROUTES = (
    Route("GET", "/schedules", Role.READER, schedule_stubs.list_schedules, Page[Schedule], _SCHEDULE),
    Route("GET", "/schedules:count", Role.READER, schedule_stubs.count_schedules, ScheduleCount, _SCHEDULE),
    Route("POST", "/schedules", Role.EDITOR, schedule_stubs.create, Schedule, _SCHEDULE, 201),
    Route("GET", _ONE, Role.READER, schedule_stubs.get, Schedule, _SCHEDULE),
    Route("PUT", _ONE, Role.EDITOR, schedule_stubs.upsert, Schedule, _SCHEDULE, if_match=schedule_stubs.update),
    Route("PATCH", _ONE, Role.EDITOR, schedule_stubs.patch, Schedule, _SCHEDULE),
    Route("DELETE", _ONE, Role.EDITOR, schedule_stubs.delete, Schedule, _SCHEDULE),
    Route("GET", f"{_ONE}/describe", Role.READER, run_stubs.describe, Description, _SCHEDULE),
    Route("POST", f"{_ONE}/pause", Role.OPERATOR, schedule_stubs.pause, Schedule, _SCHEDULE),
    Route("POST", f"{_ONE}/resume", Role.OPERATOR, schedule_stubs.resume, Schedule, _SCHEDULE),
    Route("POST", f"{_ONE}/trigger", Role.OPERATOR, schedule_stubs.trigger, Run, _SCHEDULE, 201),
    Route("POST", f"{_ONE}/skip", Role.OPERATOR, schedule_stubs.skip, Schedule, _SCHEDULE),
    Route("POST", f"{_ONE}/unskip", Role.OPERATOR, schedule_stubs.unskip, Schedule, _SCHEDULE),
    Route("GET", f"{_ONE}/backfills", Role.READER, schedule_stubs.backfills, tuple[Backfill, ...], _SCHEDULE),
    Route("POST", f"{_ONE}/backfills", Role.OPERATOR, schedule_stubs.backfill, tuple[Backfill, ...], _SCHEDULE),
    Route("GET", "/backfills/{backfill_id}", Role.READER, schedule_stubs.get_backfill, Backfill, _SCHEDULE),
    Route(
        "POST", "/backfills/{backfill_id}/cancel", Role.OPERATOR, schedule_stubs.cancel_backfill, Backfill, _SCHEDULE
    ),
    Route("GET", f"{_ONE}/hints", Role.READER, schedule_stubs.hints, Outlook, _SCHEDULE),
    Route("POST", f"{_ONE}/hints", Role.OPERATOR, schedule_stubs.hint, Outlook, _SCHEDULE, 201),
    Route("DELETE", f"{_ONE}/hints", Role.OPERATOR, schedule_stubs.clear_hints, Outlook, _SCHEDULE),
    Route("POST", f"{_ONE}/reset-failures", Role.OPERATOR, schedule_stubs.reset_failures, Schedule, _SCHEDULE),
    Route("GET", f"{_ONE}/history", Role.READER, schedule_stubs.history, Page[Change], _SCHEDULE),
    Route("GET", f"{_ONE}/versions", Role.READER, schedule_stubs.versions, tuple[Version, ...], _SCHEDULE),
    Route("POST", f"{_ONE}/versions/{{version}}/restore", Role.EDITOR, schedule_stubs.restore, Schedule, _SCHEDULE),
    Route("GET", f"{_ONE}/same-spec", Role.READER, insight_stubs.same_spec, Page[SameSpecSchedule], _SCHEDULE),
    Route("GET", f"{_ONE}/runs", Role.READER, run_stubs.runs, Page[Run], _RUN),
    Route("GET", f"{_ONE}/dropped", Role.READER, run_stubs.dropped_ranges, tuple[DroppedTicks, ...], _RUN),
    Route("GET", f"{_ONE}/verify", Role.READER, insight_stubs.verify, Verification, _SCHEDULE),
    Route("GET", "/runs", Role.READER, run_stubs.recent_runs, Page[Run], _RUN),
    Route("GET", "/runs/{run_id}", Role.READER, run_stubs.get_run, Run, _RUN),
    Route("POST", "/runs/{run_id}/cancel", Role.OPERATOR, run_stubs.cancel_run, Run, _RUN),
    Route("POST", "/runs/{run_id}/terminate", Role.OPERATOR, run_stubs.terminate_run, Run, _RUN),
    Route("POST", "/runs/{run_id}/retry", Role.OPERATOR, run_stubs.retry_run, Run, _RUN, 201),
    Route("POST", "/workflows/{workflow_id}/runs", Role.OPERATOR, run_stubs.start_run, bool, _WORKFLOW, 201),
    Route("POST", "/callbacks", Role.PUBLIC, run_stubs.report_run, ReportAck, _RUN),
    Route("POST", "/preview", Role.READER, insight_stubs.preview, Preview, _SCHEDULE),
    Route("POST", "/schedules:summaries", Role.READER, insight_stubs.summaries, tuple[ScheduleSummary, ...], _SCHEDULE),
    Route("POST", f"{_ONE}/diff", Role.READER, insight_stubs.diff, EditDiff, _SCHEDULE),
    Route("GET", "/forecast", Role.READER, insight_stubs.forecast, Forecast, _SCHEDULE),
    Route("GET", "/problems", Role.READER, insight_stubs.problems, Problems, _SCHEDULE),
    Route("GET", "/upcoming", Role.READER, insight_stubs.upcoming, Upcoming, _SCHEDULE),
    Route("GET", "/stats", Role.READER, insight_stubs.stats, Stats, _SCHEDULE),
    Route("POST", "/bulk/pause", Role.OPERATOR, schedule_stubs.pause_matching, BulkResult, _BULK),
    Route("POST", "/bulk/resume", Role.OPERATOR, schedule_stubs.resume_matching, BulkResult, _BULK),
    Route("POST", "/bulk/trigger", Role.OPERATOR, schedule_stubs.trigger_matching, BulkResult, _BULK),
    Route("GET", "/audit", Role.READER, schedule_stubs.history, Page[Change], "audit"),
    Route("GET", "/audit/verify", Role.READER, insight_stubs.verify_audit, AuditVerification, "audit"),
    Route("GET", "/workflows", Role.READER, resource_stubs.list_workflows, Page[Workflow], _WORKFLOW),
    Route("GET", "/workflows/{workflow_id}", Role.READER, resource_stubs.get_workflow, Workflow, _WORKFLOW),
    Route(
        "PUT",
        "/workflows/{workflow_id}",
        Role.EDITOR,
        resource_stubs.put_workflow,
        Workflow,
        _WORKFLOW,
        body_parameter="document",
    ),
    Route("POST", "/workflows/{workflow_id}/pause", Role.OPERATOR, resource_stubs.pause_target, None, _TARGETS, 204),
    Route("POST", "/workflows/{workflow_id}/resume", Role.OPERATOR, resource_stubs.resume_target, bool, _TARGETS),
    Route("POST", "/queues/{queue}/pause", Role.OPERATOR, resource_stubs.pause_target, None, _TARGETS, 204),
    Route("POST", "/queues/{queue}/resume", Role.OPERATOR, resource_stubs.resume_target, bool, _TARGETS),
    Route("POST", "/targets/pause", Role.OPERATOR, resource_stubs.pause_target, None, _TARGETS, 204),
    Route("POST", "/targets/resume", Role.OPERATOR, resource_stubs.resume_target, bool, _TARGETS),
    Route("GET", "/queues", Role.READER, resource_stubs.list_queues, tuple[Queue, ...], _TARGETS),
    Route("GET", "/instances", Role.READER, resource_stubs.list_instances, tuple[InstanceInfo, ...], _WORK),
    Route("POST", "/workers", Role.OPERATOR, run_stubs.register_worker, Worker, _WORK, 201),
    Route("POST", "/workers/{worker_id}/claim", Role.OPERATOR, run_stubs.claim_runs, tuple[Assignment, ...], _WORK),
    Route("POST", "/workers/{worker_id}/heartbeat", Role.OPERATOR, run_stubs.heartbeat_worker, HeartbeatAck, _WORK),
    Route("POST", "/workers/{worker_id}/release", Role.OPERATOR, run_stubs.release_runs, int, _WORK),
    Route("DELETE", "/workers/{worker_id}", Role.OPERATOR, run_stubs.remove_worker, None, _WORK, 204),
    Route("POST", f"{_ONE}/declare", Role.EDITOR, schedule_stubs.declare, DeclareResult, _SCHEDULE),
    Route("GET", "/keys", Role.ADMIN, resource_stubs.list_keys, Page[ApiKey], _KEYS),
    Route("POST", "/keys", Role.ADMIN, resource_stubs.create_key, NewKey, _KEYS, 201),
    Route("DELETE", "/keys/{key_id}", Role.ADMIN, resource_stubs.revoke_key, None, _KEYS, 204),
    Route(
        "GET", "/notifications", Role.OPERATOR, resource_stubs.list_notifications, Page[Notification], "notifications"
    ),
    Route("GET", "/calendars", Role.READER, resource_stubs.list_calendars, Page[NamedCalendar], _CALENDAR),
    Route("GET", "/calendars/{name}", Role.READER, resource_stubs.get_calendar, NamedCalendar, _CALENDAR),
    Route(
        "PUT",
        "/calendars/{name}",
        Role.EDITOR,
        resource_stubs.put_calendar,
        NamedCalendar,
        _CALENDAR,
        body_parameter="calendar",
    ),
)

REGISTRAR_ROUTES = (
    Route(
        "POST",
        "/schedules/upsert",
        Role.EDITOR,
        schedule_stubs.upsert_schedule,
        ScheduleAck,
        COMPATIBILITY,
        prefix="",
    ),
    Route(
        "POST", "/schedules/pause", Role.OPERATOR, schedule_stubs.pause_schedule, None, COMPATIBILITY, 204, prefix=""
    ),
    Route("GET", _ONE, Role.READER, schedule_stubs.get_schedule, ServiceSchedule, COMPATIBILITY, prefix=""),
    Route("DELETE", _ONE, Role.EDITOR, schedule_stubs.delete_schedule, None, COMPATIBILITY, 204, prefix=""),
)
"""The routes with which a deployer registers schedules, as the specification names them."""
CLIENT_ROUTES = (*API_ROUTES, *REGISTRAR_ROUTES)
"""The routes whose operations the clients have as methods."""
