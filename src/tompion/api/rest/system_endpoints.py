"""Addresses that are no operations: health, the description, live changes, a calendar, the configuration."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from tompion.api.auth.principal import Principal, authorise
from tompion.api.metrics import CONTENT_TYPE
from tompion.api.rest.ical_feed import feed
from tompion.api.rest.problems import problem
from tompion.api.rest.session_endpoints import begin_visit, end_visit, show_visit
from tompion.contract.roles import Role
from tompion.errors import InvalidField, NotFound, display
from tompion.model.insight import CalendarFeed
from tompion.operations.context import OperationContext
from tompion.operations.insight.upcoming import upcoming_feed
from tompion.operations.views import datetime_ms

if TYPE_CHECKING:
    from tompion.api.rest.app import Service
from concurrent.futures import Future
from typing import Protocol

Answering = Callable[["Service", Request, Principal, str], Awaitable[Response]]


DAY_S = 24 * 3_600


MAX_DAYS = 400


DEFAULT_DAYS = 30


CALENDAR = ("namespace", "schedule_id", "days")
"""What may be said of the calendar that is wanted."""


MAX_EVENTS = 5_000
"""How many events it has, shared by its schedules."""


async def healthz(service: Service, _request: Request, _caller: Principal, _namespace: str) -> Response:
    """Say that the service is there."""
    return JSONResponse({"status": "ok", "version": service.version})


async def readyz(service: Service, _request: Request, _caller: Principal, _namespace: str) -> Response:
    """Say whether the store answers, and whether the engine works that is beside it."""
    found = [*service.problems(), *await store_problems(service.runner.store)]
    if found:
        return problem(503, "not_ready", "; ".join(found), problems=found, retryable=True)
    return JSONResponse({"status": "ready", "version": service.version})


async def metrics(service: Service, _request: Request, _caller: Principal, _namespace: str) -> Response:
    """Answer a scrape."""
    if service.metrics is None:
        raise NotFound("this service has no metrics")
    text = await asyncio.get_running_loop().run_in_executor(None, service.metrics.text)
    return Response(text, headers={"Content-Type": CONTENT_TYPE})


async def openapi(service: Service, _request: Request, _caller: Principal, _namespace: str) -> Response:
    """Return the description of all addresses."""
    return JSONResponse(service.description)


async def config(service: Service, _request: Request, _caller: Principal, _namespace: str) -> Response:
    """Return every setting, and where its value came from."""
    return JSONResponse(service.configuration)


async def events(service: Service, request: Request, caller: Principal, namespace: str) -> Response:
    """Tell of changes as they happen, for as long as the caller may look."""
    if request.method == "HEAD":
        return Response(media_type="text/event-stream")

    async def may_still() -> None:
        authorise(await service.gate.caller(request), namespace, Role.READER)

    told = await service.live.events(namespace, caller.actor, may_still)
    return StreamingResponse(told, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def calendar(service: Service, request: Request, caller: Principal, namespace: str) -> Response:
    """Return the coming ticks as a calendar."""
    for name in request.query_params:
        if name not in CALENDAR:
            raise InvalidField(name, f"there is no such parameter; expected {', '.join(CALENDAR)}")
    look = partial(
        _looked_ahead,
        schedule_id=request.query_params.get("schedule_id"),
        seconds=_days(request.query_params.get("days")) * DAY_S,
    )
    sent = service.runner.send(look, namespace=namespace, actor=caller.actor, writes=False)
    found, now_ms = await asyncio.wrap_future(sent)
    text = feed(found, namespace, datetime_ms(now_ms))
    return Response(text, media_type="text/calendar", headers={"Content-Disposition": 'inline; filename="tompion.ics"'})


def _looked_ahead(session: OperationContext, **given: Any) -> tuple[CalendarFeed, int]:
    return upcoming_feed(session, limit=MAX_EVENTS, **given), session.now_ms


def _days(text: str | None) -> int:
    if text is None:
        return DEFAULT_DAYS
    if not (text.isascii() and text.isdecimal() and 1 <= len(text) <= 3 and 1 <= int(text) <= MAX_DAYS):
        raise InvalidField("days", f"{display(text)}; expected a whole number from 1 to {MAX_DAYS}")
    return int(text)


ANSWERS: dict[str, Answering] = {
    "GET /healthz": healthz,
    "GET /readyz": readyz,
    "GET /metrics": metrics,
    "GET /openapi.json": openapi,
    "GET /config": config,
    "GET /events": events,
    "GET /calendar.ics": calendar,
    "GET /session": show_visit,
    "POST /session": begin_visit,
    "DELETE /session": end_visit,
}
"""Who answers each of the addresses."""


ANSWER_S = 5.0
"""How long the store may take to say what time it is."""


class Readable(Protocol):
    """A store, as far as its health is concerned."""

    def read(self, work: Callable[[Any], int]) -> Future[int]:
        """Run work that writes nothing."""


async def store_problems(store: Readable) -> list[str]:
    """Return what is wrong with a store; nothing, if it answers."""
    try:
        answer = asyncio.wrap_future(store.read(lambda transaction: transaction.now_ms()))
        done, _ = await asyncio.wait([answer], timeout=ANSWER_S)
        if done:
            answer.result()
            return []
        answer.cancel()
    except Exception as error:  # noqa: BLE001 - whatever it is, the store does not answer
        return [f"the store does not answer: {error}"]
    return [f"the store has not answered within {ANSWER_S:.0f} s"]
