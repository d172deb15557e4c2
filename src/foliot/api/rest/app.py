"""The REST application: each route of the table becomes an address that parses, asks, and answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from foliot.api.rest import problems
from foliot.api.rest.arguments import arguments_of
from foliot.api.rest.gate import NOBODY, Caller, Gate, OpenGate
from foliot.api.rest.health import store_problems
from foliot.api.rest.limits import Limits
from foliot.api.rest.longpoll import until_found
from foliot.api.rest.openapi import describe
from foliot.api.rest.slashes import Slashes
from foliot.api.roles import Role
from foliot.api.routes import PREFIX, ROUTES, Route
from foliot.errors import FoliotError, Forbidden, NotFound
from foliot.model.schedule import Schedule
from foliot.operations.desk import Desk
from foliot.operations.session import Session
from foliot.wire import encode

Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Service:
    """What the application is made of."""

    desk: Desk
    version: str
    hosts: tuple[str, ...]
    gate: Gate = field(default_factory=OpenGate)
    read_only: bool = False
    max_body_bytes: int = 1024 * 1024
    requests_per_s: int = 0
    problems: Callable[[], Sequence[str]] = tuple


def create_app(service: Service) -> FastAPI:
    """Return the application; it answers only requests addressed to one of its hosts."""
    app = FastAPI(title="Foliot", version=service.version, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(service.hosts))
    app.add_middleware(Slashes)
    app.add_middleware(Limits, max_body_bytes=service.max_body_bytes, requests_per_s=service.requests_per_s)
    app.add_exception_handler(FoliotError, problems.answer_error)
    app.add_exception_handler(HTTPException, problems.answer_refusal)
    app.add_exception_handler(Exception, problems.answer_mistake)
    for route in ROUTES:
        app.add_route(route.address, _endpoint(service, route), [route.method], name=route.name)
    document = describe(service.version)

    async def healthz(_request: Request) -> Response:
        return JSONResponse({"status": "ok", "version": service.version})

    async def readyz(_request: Request) -> Response:
        """Say whether the store answers, and whether the engine works that is beside it."""
        found = [*service.problems(), *await store_problems(service.desk.store)]
        if found:
            return problems.problem(503, "not_ready", "; ".join(found), problems=found, retryable=True)
        return JSONResponse({"status": "ready", "version": service.version})

    async def openapi(_request: Request) -> Response:
        return JSONResponse(document)

    app.add_route("/healthz", healthz, ["GET"])
    app.add_route("/readyz", readyz, ["GET"])
    app.add_route(f"{PREFIX}/openapi.json", openapi, ["GET"])
    return app


def _endpoint(service: Service, route: Route) -> Endpoint:
    async def answer(request: Request) -> Response:
        caller = NOBODY if route.role is Role.PUBLIC else await service.gate.caller(request)
        namespace = request.query_params.get("namespace") or caller.home
        authorise(caller, namespace, route.role)
        if service.read_only and route.writes and route.role is not Role.PUBLIC:
            raise Forbidden("this service is read-only: nothing can be changed through it")
        given = await arguments_of(route, request)
        bound = partial(called, route.operation, given)

        async def ask() -> Any:
            sent = service.desk.send(bound, namespace=namespace, actor=caller.actor, writes=route.writes)
            return await asyncio.wrap_future(sent)

        wait_ms = given.get("wait_ms")
        found = await (until_found(service.desk, ask, wait_ms, request.is_disconnected) if wait_ms else ask())
        return answered(found, route.status)

    return answer


def called(operation: Callable[..., Any], given: dict[str, Any], session: Session) -> Any:
    """Call an operation with the arguments of a request."""
    return operation(session, **given)


def authorise(caller: Caller, namespace: str, role: Role) -> None:
    """Raise unless a caller may do what needs a role; of a namespace that is not theirs they learn nothing."""
    held = caller.role_in(namespace)
    if role is not Role.PUBLIC and held is Role.PUBLIC:
        raise NotFound(f"there is no namespace {namespace!r}")
    if held < role:
        raise Forbidden(f"this needs the role {role.name.lower()}; yours is {held.name.lower()}")


def answered(found: object, status: int) -> Response:
    """Return an answer as JSON, with the token of a schedule as its ETag."""
    if found is None:
        return Response(status_code=204)
    headers = {"ETag": f'"{found.token}"'} if isinstance(found, Schedule) else None
    return JSONResponse(encode(found), status, headers=headers)
