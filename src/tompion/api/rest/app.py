"""The REST application: each route of the table becomes an address that parses, asks, and answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from tompion.api.auth.authenticator import Authenticator, OpenAuthenticator
from tompion.api.auth.principal import ANONYMOUS, ANY_NAMESPACE, Principal, authorise
from tompion.api.auth.session_cookie import SessionCookies
from tompion.api.metrics import MetricsExporter
from tompion.api.rate_limit import NamespaceRateLimiter
from tompion.api.rest import problems
from tompion.api.rest.long_poll import until_found
from tompion.api.rest.middleware.access_log import AccessLogMiddleware, AccessRecord
from tompion.api.rest.middleware.allowed_hosts import AllowedHostsMiddleware
from tompion.api.rest.middleware.csrf import CsrfMiddleware
from tompion.api.rest.middleware.encoded_slashes import EncodedSlashesMiddleware
from tompion.api.rest.middleware.request_limits import WHO, RequestLimitsMiddleware
from tompion.api.rest.openapi.document import describe
from tompion.api.rest.read_batching import LIGHT, ReadBatcher
from tompion.api.rest.request_binding import arguments_of
from tompion.api.rest.single_flight import SingleFlight
from tompion.api.rest.sse import ChangeStream
from tompion.api.rest.system_endpoints import ANSWERS
from tompion.contract.json import encode
from tompion.contract.roles import Role
from tompion.contract.routes import ROUTES, SINGLE_FLIGHT, SYSTEM_ROUTES, Route, SystemRoute
from tompion.errors import Forbidden, StoreUnavailable, TompionError
from tompion.model.run import RunSource
from tompion.model.schedule import Run, Schedule
from tompion.operations.context import OperationContext
from tompion.operations.runner import OperationRunner
from tompion.operations.validation import check_namespace

ANSWER_S = 30.0
"""How long the store may take to answer a request."""
Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class Service:
    """What the application is made of."""

    runner: OperationRunner
    version: str
    hosts: tuple[str, ...]
    gate: Authenticator = field(default_factory=OpenAuthenticator)
    cookies: SessionCookies | None = None
    """What keeps whoever signs in to the page; without it, nobody has to."""
    public_url: str = ""
    read_only: bool = False
    max_body_bytes: int = 1024 * 1024
    requests_per_s: int = 0
    neighbours: NamespaceRateLimiter = field(default_factory=lambda: NamespaceRateLimiter(0))
    """How often a namespace may be asked about."""
    configuration: Mapping[str, Any] = field(default_factory=dict)
    problems: Callable[[], Sequence[str]] = tuple
    metrics: MetricsExporter | None = None
    listener: Callable[[AccessRecord], None] | None = None
    """Who is told of each request."""
    triggered: Callable[[str, str], None] | None = None
    """Who is told of a run that somebody has triggered as part of a trace: its key, and their ``traceparent``."""

    @cached_property
    def live(self) -> ChangeStream:
        """Return who tells of changes as they happen."""
        return ChangeStream(self.runner)

    @cached_property
    def gathering(self) -> ReadBatcher:
        """Return who answers small questions together."""
        return ReadBatcher(self.runner)

    @cached_property
    def sharing(self) -> SingleFlight:
        """Return who waits for answers that others wait for as well."""
        return SingleFlight()

    @cached_property
    def description(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        return describe(self.version)


def create_app(service: Service) -> FastAPI:
    """Return the application; it answers only requests addressed to one of its hosts."""
    app = FastAPI(title="Tompion", version=service.version, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(AllowedHostsMiddleware, hosts=service.hosts)
    app.add_middleware(CsrfMiddleware, public_url=service.public_url)
    app.add_middleware(EncodedSlashesMiddleware)
    app.add_middleware(
        RequestLimitsMiddleware, max_body_bytes=service.max_body_bytes, requests_per_s=service.requests_per_s
    )
    app.add_exception_handler(TompionError, problems.answer_error)
    app.add_exception_handler(HTTPException, problems.answer_refusal)
    app.add_exception_handler(ClientDisconnect, problems.answer_nobody)
    app.add_exception_handler(Exception, problems.answer_mistake)
    routes: dict[Any, str] = {}
    for route in ROUTES:
        endpoint = _endpoint(service, route)
        routes[endpoint] = route.address
        app.add_route(route.address, endpoint, [route.method], name=route.name)
    for extra in SYSTEM_ROUTES:
        endpoint = _extra_endpoint(service, extra)
        routes[endpoint] = extra.address
        app.add_route(extra.address, endpoint, [extra.method], name=extra.path)
    app.add_middleware(AccessLogMiddleware, tally=service.runner.tally, routes=routes, listener=service.listener)
    app.state.live = service.live
    return app


def _extra_endpoint(service: Service, extra: SystemRoute) -> Endpoint:
    reply = ANSWERS[f"{extra.method} {extra.path}"]

    async def answer(request: Request) -> Response:
        caller = await _believed(service, request, extra.role)
        namespace = ANY_NAMESPACE if extra.everywhere else namespace_for(service, request, caller)
        _admit(service, caller, namespace, extra.role)
        return await reply(service, request, caller, namespace)

    return answer


def _endpoint(service: Service, route: Route) -> Endpoint:
    shared, light = route.operation in SINGLE_FLIGHT, route.operation in LIGHT

    async def answer(request: Request) -> Response:
        caller = await _believed(service, request, route.role)
        namespace = namespace_for(service, request, caller)
        _admit(service, caller, namespace, route.role)
        if service.read_only and route.writes and route.role is not Role.PUBLIC:
            raise Forbidden("this service is read-only: nothing can be changed through it")
        given = await arguments_of(route, request)
        bound = partial(called, route.operation, given)

        async def ask() -> Any:
            if light:
                return await _in_time(service.gathering.ask(route.operation, namespace, next(iter(given.values()))))
            sent = service.runner.send(
                bound, namespace=namespace, actor=caller.actor, writes=route.writes, walled=caller is not ANONYMOUS
            )
            return await _in_time(asyncio.wrap_future(sent))

        async def gone() -> bool:
            return service.live.closed or await request.is_disconnected()

        wait_ms = given.get("wait_ms")
        if type(wait_ms) is int and wait_ms > 0:
            found = await until_found(service.runner, ask, wait_ms, gone)
        elif shared:
            found = await service.sharing.answer((route.name, namespace, repr(sorted(given.items()))), ask)
        else:
            found = await ask()
        if service.triggered is not None and isinstance(found, Run) and found.source == RunSource.TRIGGER:
            service.triggered(found.key, request.headers.get("traceparent", ""))
        return answered(found, route.status)

    return answer


async def _believed(service: Service, request: Request, role: Role) -> Principal:
    """Return who asks, and note it for whoever counts requests."""
    if role is Role.PUBLIC:
        return ANONYMOUS
    caller = await service.gate.caller(request)
    request.scope[WHO].append(caller.actor)
    return caller


def _admit(service: Service, caller: Principal, namespace: str, role: Role) -> None:
    """Raise unless a caller may do what needs a role, and it is the namespace's turn."""
    authorise(caller, namespace, role)
    if role is not Role.PUBLIC:
        service.neighbours.admit(namespace)


async def _in_time(answer: asyncio.Future[Any]) -> Any:
    """Return what the store answers; raises if it does not, so that nobody waits for ever."""
    late: list[bool] = []

    def give_up() -> None:
        late.append(answer.cancel())

    timer = asyncio.get_running_loop().call_later(ANSWER_S, give_up)
    try:
        return await answer
    except asyncio.CancelledError:
        if not late:
            raise
    finally:
        timer.cancel()
    raise StoreUnavailable(
        f"the store has not answered within {ANSWER_S:.0f} s; a change may have been made: ask again with the same "
        "Idempotency-Key"
    )


def namespace_for(service: Service, request: Request, caller: Principal) -> str:
    """Return the namespace that a request is about; raises :class:`~tompion.errors.InvalidField`."""
    if not request.scope["query_string"]:
        return caller.home
    named = request.query_params.get("namespace")
    return check_namespace(named, service.runner.settings) if named else caller.home


def called(operation: Callable[..., Any], given: dict[str, Any], session: OperationContext) -> Any:
    """Call an operation with the arguments of a request."""
    return operation(session, **given)


def answered(found: object, status: int) -> Response:
    """Return an answer as JSON, with the token of a schedule as its ETag."""
    if found is None:
        return Response(status_code=204)
    headers = {"ETag": f'"{found.token}"'} if isinstance(found, Schedule) else None
    return JSONResponse(encode(found), status, headers=headers)
