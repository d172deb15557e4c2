"""Endpoints that are not operations: metrics, OpenAPI, configuration, events and the iCalendar feed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse

from tompion.api.auth.principal import Principal, authorise
from tompion.api.metrics import CONTENT_TYPE
from tompion.api.rest.credentials import credentials_of
from tompion.api.rest.error_page import error_page
from tompion.api.rest.health_endpoints import healthz, readyz
from tompion.api.rest.ical_feed import ical_feed
from tompion.api.rest.responses import body_response, etag_of
from tompion.api.rest.session_endpoints import get_session, sign_in, sign_out
from tompion.contract.roles import Role
from tompion.encoding.instant import datetime_ms
from tompion.errors import InvalidField, NotFound, display
from tompion.model.insight import CalendarFeed
from tompion.operations.context import OperationContext
from tompion.operations.insight.upcoming import upcoming_feed

if TYPE_CHECKING:
    from tompion.api.rest.app import Service

SystemEndpoint = Callable[["Service", Request, Principal, str], Awaitable[Response]]
DAY_S = 24 * 3_600
MAX_FEED_DAYS = 400
DEFAULT_FEED_DAYS = 30
FEED_PARAMETERS = ("namespace", "schedule_id", "days")
MAX_FEED_EVENTS = 5_000
"""The limit of events in a feed, shared by all schedules."""


async def metrics(service: Service, _request: Request, _caller: Principal, _namespace: str) -> Response:
    """Return the metrics for Prometheus."""
    if service.metrics is None:
        raise NotFound("metrics are not enabled")
    text = await asyncio.get_running_loop().run_in_executor(None, service.metrics.text)
    return Response(text, headers={"Content-Type": CONTENT_TYPE})


async def openapi(service: Service, request: Request, _caller: Principal, _namespace: str) -> Response:
    """Return the OpenAPI document."""
    body = service.openapi
    return await body_response(request, body, 200, {"ETag": etag_of(body)})


async def errors_page(_service: Service, _request: Request, _caller: Principal, _namespace: str) -> Response:
    """Return the page that describes the codes of errors."""
    return HTMLResponse(error_page())


async def config(service: Service, _request: Request, _caller: Principal, _namespace: str) -> Response:
    """Return the effective configuration, without secrets."""
    return JSONResponse(service.configuration)


async def events(service: Service, request: Request, caller: Principal, namespace: str) -> Response:
    """Stream changes for as long as the caller is authorised."""
    if request.method == "HEAD":
        return Response(media_type="text/event-stream")

    async def check_access() -> None:
        authorise(await service.authenticator.authenticate(credentials_of(request)), namespace, Role.READER)

    stream = await service.change_stream.events(namespace, caller.actor, check_access)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def calendar(service: Service, request: Request, caller: Principal, namespace: str) -> Response:
    """Return upcoming ticks as an iCalendar feed."""
    for name in request.query_params:
        if name not in FEED_PARAMETERS:
            raise InvalidField(name, f"unknown parameter; expected {', '.join(FEED_PARAMETERS)}")
    read = partial(
        _read_feed,
        schedule_id=request.query_params.get("schedule_id"),
        seconds=_days(request.query_params.get("days")) * DAY_S,
    )
    future = service.runner.send(read, namespace=namespace, actor=caller.actor, writes=False)
    upcoming, now_ms = await asyncio.wrap_future(future)
    text = ical_feed(upcoming, namespace, datetime_ms(now_ms))
    return Response(text, media_type="text/calendar", headers={"Content-Disposition": 'inline; filename="tompion.ics"'})


def _read_feed(context: OperationContext, **arguments: Any) -> tuple[CalendarFeed, int]:
    return upcoming_feed(context, limit=MAX_FEED_EVENTS, **arguments), context.now_ms


def _days(text: str | None) -> int:
    if text is None:
        return DEFAULT_FEED_DAYS
    if not (text.isascii() and text.isdecimal() and 1 <= len(text) <= 3 and 1 <= int(text) <= MAX_FEED_DAYS):
        raise InvalidField("days", f"{display(text)}; expected a whole number from 1 to {MAX_FEED_DAYS}")
    return int(text)


ENDPOINTS: dict[str, SystemEndpoint] = {
    "GET /healthz": healthz,
    "GET /readyz": readyz,
    "GET /metrics": metrics,
    "GET /openapi.json": openapi,
    "GET /docs/errors": errors_page,
    "GET /config": config,
    "GET /events": events,
    "GET /calendar.ics": calendar,
    "GET /session": get_session,
    "POST /session": sign_in,
    "DELETE /session": sign_out,
}
"""The endpoint of each system route, by method and path."""
