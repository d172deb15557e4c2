"""All routes of the service: those that clients call, those of older services, and those that run no operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tompion.contract.api_routes import API_ROUTES, COMPATIBILITY, PREFIX, REGISTRAR_ROUTES, Route
from tompion.contract.roles import Role
from tompion.contract.stubs import OperationStub, resource_stubs, schedule_stubs
from tompion.model.insight import ScheduleAck
from tompion.model.page import Page
from tompion.model.schedule import Run
from tompion.model.service_info import EffectiveConfig, Health
from tompion.model.web_session import WebSession
from tompion.model.worker import Queue
from tompion.operations.compat import service_routes
from tompion.operations.insight import forecast, problems, stats, upcoming
from tompion.operations.schedules import crud


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


SINGLE_FLIGHT = (forecast.forecast, problems.problems, stats.stats, upcoming.upcoming, crud.count_schedules)
"""Operations that read a whole namespace. Identical concurrent requests share one result."""
_ONE, _CRON, _SERVICE = "/schedules/{schedule_id}", "/api/cron/{name}", COMPATIBILITY


def _service(name: str) -> OperationStub[..., Any]:
    """Return the stub of an operation with the shape of an older service."""
    return OperationStub("compat.service_routes", getattr(service_routes, name))


# docs/reference/rest.md#compatibility
COMPATIBILITY_ROUTES = (
    *REGISTRAR_ROUTES,
    Route(
        "POST",
        "/run-launcher/start",
        Role.OPERATOR,
        _service("launch_run"),
        bool,
        _SERVICE,
        201,
        prefix="",
    ),
    Route("GET", "/api/cron", Role.READER, _service("list_cron"), Page[service_routes.CronJob], _SERVICE, prefix=""),
    Route(
        "POST",
        f"{_CRON}/pause",
        Role.OPERATOR,
        _service("pause_cron"),
        ScheduleAck,
        _SERVICE,
        prefix="",
    ),
    Route(
        "POST",
        f"{_CRON}/resume",
        Role.OPERATOR,
        _service("resume_cron"),
        ScheduleAck,
        _SERVICE,
        prefix="",
    ),
    Route("POST", f"{_CRON}/trigger", Role.OPERATOR, _service("trigger_cron"), Run, _SERVICE, 201, prefix=""),
    Route("POST", f"{_ONE}/fire", Role.OPERATOR, schedule_stubs.trigger, Run, _SERVICE, 201),
    Route("GET", "/api/queues", Role.READER, resource_stubs.list_queues, tuple[Queue, ...], _SERVICE, prefix=""),
)

ROUTES = (*API_ROUTES, *COMPATIBILITY_ROUTES)

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
