"""The routes of ``/api/v1``: the operation behind each one, and the role that it needs.

The arguments of an operation come from the request, by its signature. Path parameters come from the path,
``request_id`` from the header ``Idempotency-Key`` and ``token`` from ``If-Match``. The others come from the query of a
GET or DELETE, and from the JSON body of the other methods.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tompion.contract.roles import Role
from tompion.model.audit import AuditVerification
from tompion.model.hint import Outlook
from tompion.model.insight import EditDiff, Forecast, Problems, SameSpecSchedule, ScheduleSummary, Stats, Upcoming
from tompion.model.notification import Notification
from tompion.model.page import Page
from tompion.model.bulk import BulkResult, ScheduleCount
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
from tompion.model.security import ApiKey, NewKey, WebSession
from tompion.model.service_info import EffectiveConfig, Health
from tompion.model.spec import NamedCalendar
from tompion.model.verification import Verification
from tompion.model.worker import Assignment, HeartbeatAck, InstanceInfo, Queue, Worker
from tompion.operations.compat import service_routes
from tompion.operations.insight import edit_diff, forecast, problems, stats, summaries, upcoming
from tompion.operations.insight.preview import Preview, preview_for
from tompion.operations.resources import api_keys, calendars, notifications, targets, workers, workflows
from tompion.operations.runs import callbacks, cancel, read, remote_workers, start
from tompion.operations.runs.callbacks import ReportAck
from tompion.operations.schedules import backfills, bulk, control, crud, declare, hints, history
from tompion.operations.schedules.declare import DeclareResult
from tompion.operations.verify import audit_chain, schedule

PREFIX = "/api/v1"
COMPATIBILITY = "compatibility"
"""The tag of routes with the names and shapes of older services."""


@dataclass(frozen=True, slots=True)
class Route:
    """A route that runs an operation.

    ``response`` is the type of the operation's result. ``body_parameter`` is the parameter that takes the whole body.
    ``if_match`` is the operation of a request with the header ``If-Match``, if that is another one.
    """

    method: str
    path: str
    role: Role
    operation: Callable[..., Any]
    response: Any
    tag: str
    status: int = 200
    body_parameter: str | None = None
    prefix: str = PREFIX
    if_match: Callable[..., Any] | None = None

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
        return self.method == "PUT" or self.operation is declare.declare

    @property
    def path_parameters(self) -> tuple[str, ...]:
        """Return the names of the parameters in the path."""
        return tuple(re.findall(r"{(\w+)}", self.path))

    @property
    def writes(self) -> bool:
        """Return whether the operation writes."""
        return self.method != "GET" and self.operation not in READ_ONLY_WITH_BODY

    @property
    def name(self) -> str:
        """Return the name of the operation, which is also its method in Python."""
        return NAMES.get(self.operation, self.operation.__name__)


@dataclass(frozen=True, slots=True)
class SystemRoute:
    """A route that is not an operation: health, metrics, OpenAPI, events, sessions.

    The role is needed in the namespace of the request, or in ``all_namespaces``. ``parameters`` has the name, JSON type
    and description of each parameter: of the query, or of the body of a POST. ``response`` is the type of the result,
    if it is JSON with a schema.
    """

    path: str
    role: Role
    media_type: str
    summary: str
    all_namespaces: bool = False
    parameters: tuple[tuple[str, str, str], ...] = ()
    prefix: str = PREFIX
    method: str = "GET"
    response: Any = None

    @property
    def full_path(self) -> str:
        """Return the path with its prefix."""
        return f"{self.prefix}{self.path}"


READ_ONLY_WITH_BODY = (preview_for, summaries.summaries, edit_diff.diff)
"""Operations that take a body and write nothing."""
SINGLE_FLIGHT = (forecast.forecast, problems.problems, stats.stats, upcoming.upcoming, crud.count_schedules)
"""Operations that read a whole namespace. Identical concurrent requests share one result."""
NAMES = {preview_for: "preview", read.run: "get_run"}
"""Operations whose method in Python has another name."""

_SCHEDULE, _RUN, _TARGETS, _WORKFLOW, _CALENDAR = "schedules", "runs", "targets", "workflows", "calendars"
_WORK, _KEYS, _BULK = "workers", "keys", "bulk"
_ONE, _CRON, _SERVICE = "/schedules/{schedule_id}", "/api/cron/{name}", COMPATIBILITY

ROUTES = (
    Route("GET", "/schedules", Role.READER, crud.list_schedules, Page[Schedule], _SCHEDULE),
    Route("GET", "/schedules:count", Role.READER, crud.count_schedules, ScheduleCount, _SCHEDULE),
    Route("POST", "/schedules", Role.EDITOR, crud.create, Schedule, _SCHEDULE, 201),
    Route("GET", _ONE, Role.READER, crud.get, Schedule, _SCHEDULE),
    Route("PUT", _ONE, Role.EDITOR, crud.upsert, Schedule, _SCHEDULE, if_match=crud.update),
    Route("PATCH", _ONE, Role.EDITOR, crud.patch, Schedule, _SCHEDULE),
    Route("DELETE", _ONE, Role.EDITOR, crud.delete, Schedule, _SCHEDULE),
    Route("GET", f"{_ONE}/describe", Role.READER, read.describe, Description, _SCHEDULE),
    Route("POST", f"{_ONE}/pause", Role.OPERATOR, control.pause, Schedule, _SCHEDULE),
    Route("POST", f"{_ONE}/resume", Role.OPERATOR, control.resume, Schedule, _SCHEDULE),
    Route("POST", f"{_ONE}/trigger", Role.OPERATOR, control.trigger, Run, _SCHEDULE, 201),
    Route("POST", f"{_ONE}/skip", Role.OPERATOR, control.skip, Schedule, _SCHEDULE),
    Route("POST", f"{_ONE}/unskip", Role.OPERATOR, control.unskip, Schedule, _SCHEDULE),
    Route("GET", f"{_ONE}/backfills", Role.READER, backfills.backfills, tuple[Backfill, ...], _SCHEDULE),
    Route("POST", f"{_ONE}/backfills", Role.OPERATOR, backfills.backfill, tuple[Backfill, ...], _SCHEDULE, 201),
    Route("GET", "/backfills/{backfill_id}", Role.READER, backfills.get_backfill, Backfill, _SCHEDULE),
    Route("POST", "/backfills/{backfill_id}/cancel", Role.OPERATOR, backfills.cancel_backfill, Backfill, _SCHEDULE),
    Route("GET", f"{_ONE}/hints", Role.READER, hints.hints, Outlook, _SCHEDULE),
    Route("POST", f"{_ONE}/hints", Role.OPERATOR, hints.hint, Outlook, _SCHEDULE, 201),
    Route("DELETE", f"{_ONE}/hints", Role.OPERATOR, hints.clear_hints, Outlook, _SCHEDULE),
    Route("POST", f"{_ONE}/reset-failures", Role.OPERATOR, hints.reset_failures, Schedule, _SCHEDULE),
    Route("GET", f"{_ONE}/history", Role.READER, history.history, Page[Change], _SCHEDULE),
    Route("GET", f"{_ONE}/versions", Role.READER, history.versions, tuple[Version, ...], _SCHEDULE),
    Route("POST", f"{_ONE}/versions/{{version}}/restore", Role.EDITOR, history.restore, Schedule, _SCHEDULE),
    Route("GET", f"{_ONE}/same-spec", Role.READER, forecast.same_spec, Page[SameSpecSchedule], _SCHEDULE),
    Route("GET", f"{_ONE}/runs", Role.READER, read.runs, Page[Run], _RUN),
    Route("GET", f"{_ONE}/dropped", Role.READER, read.dropped_ranges, tuple[DroppedTicks, ...], _RUN),
    Route("GET", f"{_ONE}/verify", Role.READER, schedule.verify, Verification, _SCHEDULE),
    Route("GET", "/runs", Role.READER, read.recent_runs, Page[Run], _RUN),
    Route("GET", "/runs/{run_id}", Role.READER, read.run, Run, _RUN),
    Route("POST", "/runs/{run_id}/cancel", Role.OPERATOR, cancel.cancel_run, Run, _RUN),
    Route("POST", "/runs/{run_id}/terminate", Role.OPERATOR, cancel.terminate_run, Run, _RUN),
    Route("POST", "/runs/{run_id}/retry", Role.OPERATOR, cancel.retry_run, Run, _RUN, 201),
    Route("POST", "/workflows/{workflow_id}/runs", Role.OPERATOR, start.start_run, bool, _WORKFLOW, 201),
    Route("POST", "/callbacks", Role.PUBLIC, callbacks.report_run, ReportAck, _RUN),
    Route("POST", "/preview", Role.READER, preview_for, Preview, _SCHEDULE),
    Route("POST", "/schedules:summaries", Role.READER, summaries.summaries, tuple[ScheduleSummary, ...], _SCHEDULE),
    Route("POST", f"{_ONE}/diff", Role.READER, edit_diff.diff, EditDiff, _SCHEDULE),
    Route("GET", "/forecast", Role.READER, forecast.forecast, Forecast, _SCHEDULE),
    Route("GET", "/problems", Role.READER, problems.problems, Problems, _SCHEDULE),
    Route("GET", "/upcoming", Role.READER, upcoming.upcoming, Upcoming, _SCHEDULE),
    Route("GET", "/stats", Role.READER, stats.stats, Stats, _SCHEDULE),
    Route("POST", "/bulk/pause", Role.OPERATOR, bulk.pause_matching, BulkResult, _BULK),
    Route("POST", "/bulk/resume", Role.OPERATOR, bulk.resume_matching, BulkResult, _BULK),
    Route("POST", "/bulk/trigger", Role.OPERATOR, bulk.trigger_matching, BulkResult, _BULK),
    Route("GET", "/audit", Role.READER, history.history, Page[Change], "audit"),
    Route("GET", "/audit/verify", Role.READER, audit_chain.verify_audit, AuditVerification, "audit"),
    Route("GET", "/workflows", Role.READER, workflows.list_workflows, Page[Workflow], _WORKFLOW),
    Route("GET", "/workflows/{workflow_id}", Role.READER, workflows.get_workflow, Workflow, _WORKFLOW),
    Route(
        "PUT",
        "/workflows/{workflow_id}",
        Role.EDITOR,
        workflows.put_workflow,
        Workflow,
        _WORKFLOW,
        body_parameter="document",
    ),
    Route("POST", "/workflows/{workflow_id}/pause", Role.OPERATOR, targets.pause_target, None, _TARGETS, 204),
    Route("POST", "/workflows/{workflow_id}/resume", Role.OPERATOR, targets.resume_target, bool, _TARGETS),
    Route("POST", "/queues/{queue}/pause", Role.OPERATOR, targets.pause_target, None, _TARGETS, 204),
    Route("POST", "/queues/{queue}/resume", Role.OPERATOR, targets.resume_target, bool, _TARGETS),
    Route("POST", "/targets/pause", Role.OPERATOR, targets.pause_target, None, _TARGETS, 204),
    Route("POST", "/targets/resume", Role.OPERATOR, targets.resume_target, bool, _TARGETS),
    Route("GET", "/queues", Role.READER, workers.list_queues, tuple[Queue, ...], _TARGETS),
    Route("GET", "/instances", Role.READER, workers.list_instances, tuple[InstanceInfo, ...], _WORK),
    Route("POST", "/workers", Role.OPERATOR, remote_workers.register_worker, Worker, _WORK, 201),
    Route(
        "POST", "/workers/{worker_id}/claim", Role.OPERATOR, remote_workers.claim_runs, tuple[Assignment, ...], _WORK
    ),
    Route(
        "POST", "/workers/{worker_id}/heartbeat", Role.OPERATOR, remote_workers.heartbeat_worker, HeartbeatAck, _WORK
    ),
    Route("POST", "/workers/{worker_id}/release", Role.OPERATOR, remote_workers.release_runs, int, _WORK),
    Route("DELETE", "/workers/{worker_id}", Role.OPERATOR, remote_workers.remove_worker, None, _WORK, 204),
    Route("POST", f"{_ONE}/declare", Role.EDITOR, declare.declare, DeclareResult, _SCHEDULE),
    Route("GET", "/keys", Role.ADMIN, api_keys.list_keys, Page[ApiKey], _KEYS),
    Route("POST", "/keys", Role.ADMIN, api_keys.create_key, NewKey, _KEYS, 201),
    Route("DELETE", "/keys/{key_id}", Role.ADMIN, api_keys.revoke_key, None, _KEYS, 204),
    Route(
        "GET", "/notifications", Role.OPERATOR, notifications.list_notifications, Page[Notification], "notifications"
    ),
    Route("GET", "/calendars", Role.READER, calendars.list_calendars, Page[NamedCalendar], _CALENDAR),
    Route("GET", "/calendars/{name}", Role.READER, calendars.get_calendar, NamedCalendar, _CALENDAR),
    Route(
        "PUT",
        "/calendars/{name}",
        Role.EDITOR,
        calendars.put_calendar,
        NamedCalendar,
        _CALENDAR,
        body_parameter="calendar",
    ),
    # Routes of older services: docs/reference/rest.md#compatibility
    Route(
        "POST",
        "/schedules/upsert",
        Role.EDITOR,
        service_routes.upsert_schedule,
        service_routes.ScheduleAck,
        _SERVICE,
        prefix="",
    ),
    Route(
        "POST",
        "/schedules/pause",
        Role.OPERATOR,
        service_routes.pause_schedule,
        service_routes.ScheduleAck,
        _SERVICE,
        prefix="",
    ),
    Route("GET", _ONE, Role.READER, service_routes.show_schedule, service_routes.ScheduleDetails, _SERVICE, prefix=""),
    Route("DELETE", _ONE, Role.EDITOR, service_routes.delete_schedule, service_routes.ScheduleAck, _SERVICE, prefix=""),
    Route(
        "POST",
        "/run-launcher/start",
        Role.OPERATOR,
        service_routes.launch_run,
        service_routes.StartAck,
        _SERVICE,
        prefix="",
    ),
    Route("GET", "/api/cron", Role.READER, service_routes.list_cron, Page[service_routes.CronJob], _SERVICE, prefix=""),
    Route(
        "POST",
        f"{_CRON}/pause",
        Role.OPERATOR,
        service_routes.pause_cron,
        service_routes.ScheduleAck,
        _SERVICE,
        prefix="",
    ),
    Route(
        "POST",
        f"{_CRON}/resume",
        Role.OPERATOR,
        service_routes.resume_cron,
        service_routes.ScheduleAck,
        _SERVICE,
        prefix="",
    ),
    Route("POST", f"{_CRON}/trigger", Role.OPERATOR, service_routes.trigger_cron, Run, _SERVICE, 201, prefix=""),
    Route("POST", f"{_ONE}/fire", Role.OPERATOR, control.trigger, Run, _SERVICE, 201),
    Route("GET", "/api/queues", Role.READER, workers.list_queues, tuple[Queue, ...], _SERVICE, prefix=""),
)

_JSON = "application/json"
SYSTEM_ROUTES = (
    SystemRoute("/healthz", Role.PUBLIC, _JSON, "Liveness: the service is running", prefix="", response=Health),
    SystemRoute(
        "/readyz",
        Role.PUBLIC,
        _JSON,
        "Readiness: the store answers and the engine in the same process works",
        prefix="",
        response=Health,
    ),
    SystemRoute("/metrics", Role.READER, "text/plain", "Return metrics for Prometheus", all_namespaces=True, prefix=""),
    SystemRoute("/openapi.json", Role.PUBLIC, _JSON, "Return this OpenAPI document"),
    SystemRoute("/docs/errors", Role.PUBLIC, "text/html", "Return a page with the codes of errors", prefix=""),
    SystemRoute(
        "/config",
        Role.ADMIN,
        _JSON,
        "Return the effective configuration, with the source of each value",
        all_namespaces=True,
        response=EffectiveConfig,
    ),
    SystemRoute("/events", Role.READER, "text/event-stream", "Stream changes as Server-Sent Events"),
    SystemRoute(
        "/calendar.ics",
        Role.READER,
        "text/calendar",
        "Return upcoming ticks as an iCalendar feed",
        parameters=(
            ("schedule_id", "string", "Only this schedule."),
            ("days", "integer", "Number of days ahead (default 30)."),
        ),
    ),
    SystemRoute("/session", Role.PUBLIC, _JSON, "Return the caller and its roles", response=WebSession),
    SystemRoute(
        "/session",
        Role.PUBLIC,
        _JSON,
        "Sign in to the web UI with an API key or a JWT, and set the session cookie",
        parameters=(("credential", "string", "An API key or a JWT."),),
        method="POST",
        response=WebSession,
    ),
    SystemRoute("/session", Role.PUBLIC, _JSON, "Sign out of the web UI", method="DELETE", response=WebSession),
)
