"""The REST application: an endpoint for each route of the contract."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from tompion.api.auth.authenticator import Authenticator, OpenAuthenticator
from tompion.api.auth.principal import ANONYMOUS, ANY_NAMESPACE, Principal, authorise
from tompion.api.auth.session_cookie import SessionCookies
from tompion.api.metrics import MetricsExporter
from tompion.api.rate_limit import NamespaceRateLimiter
from tompion.api.rest import problems
from tompion.api.rest.credentials import credentials_of
from tompion.api.rest.long_poll import poll_until_result
from tompion.api.rest.middleware.access_log import AccessLogMiddleware, AccessRecord
from tompion.api.rest.middleware.allowed_hosts import AllowedHostsMiddleware
from tompion.api.rest.middleware.csrf import CsrfMiddleware
from tompion.api.rest.middleware.encoded_slashes import EncodedSlashesMiddleware
from tompion.api.rest.middleware.request_limits import AUTHENTICATED_ACTORS, RequestLimitsMiddleware
from tompion.api.rest.openapi.document import describe
from tompion.api.rest.read_batching import POINT_READS, ReadBatcher
from tompion.api.rest.request_binding import bind_arguments
from tompion.api.rest.responses import Created, json_body, json_response
from tompion.api.rest.single_flight import SingleFlight
from tompion.api.rest.sse import ChangeStream
from tompion.api.rest.system_endpoints import ENDPOINTS
from tompion.contract.api_routes import Route
from tompion.contract.roles import Role
from tompion.contract.routes import ROUTES, SINGLE_FLIGHT, SYSTEM_ROUTES, SystemRoute
from tompion.errors import Forbidden, StoreUnavailable, TompionError
from tompion.model.insight import DeclareResult, ScheduleAck
from tompion.model.run import RunSource
from tompion.model.schedule import Run, Schedule
from tompion.operations.context import OperationContext
from tompion.operations.runner import OperationRunner
from tompion.operations.validation import check_namespace

MAX_STORE_S = 30.0
"""The longest time that a request waits for the store to answer a read."""
MAX_WRITE_S = 10.0
"""The longest time that a request waits for the store to accept a change."""
Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class Service:
    """The parts and the limits of the application."""

    runner: OperationRunner
    version: str
    hosts: tuple[str, ...]
    authenticator: Authenticator = field(default_factory=OpenAuthenticator)
    session_cookies: SessionCookies | None = None
    """Encrypts the cookies of web UI sessions. ``None`` if the service needs no authentication."""
    public_url: str = ""
    read_only: bool = False
    max_body_bytes: int = 1024 * 1024
    requests_per_s: int = 0
    namespace_limits: NamespaceRateLimiter = field(default_factory=lambda: NamespaceRateLimiter(0))
    configuration: Mapping[str, Any] = field(default_factory=dict)
    problems: Callable[[], Sequence[str]] = tuple
    """Returns the problems of the engine in the same process, for ``/readyz``."""
    metrics: MetricsExporter | None = None
    on_request: Callable[[AccessRecord], None] | None = None
    """Called after each request."""
    on_trigger: Callable[[str, str], None] | None = None
    """Called with the key of a triggered run and the ``traceparent`` header of the request."""

    @cached_property
    def change_stream(self) -> ChangeStream:
        """Return the stream behind ``/events``."""
        return ChangeStream(self.runner)

    @cached_property
    def read_batcher(self) -> ReadBatcher:
        """Return the batcher of concurrent point reads."""
        return ReadBatcher(self.runner)

    @cached_property
    def single_flight(self) -> SingleFlight:
        """Return the results that identical concurrent requests share."""
        return SingleFlight()

    @cached_property
    def openapi(self) -> bytes:
        """Return the OpenAPI document as JSON."""
        return json_body(describe(self.version, self.public_url or "/"))


def create_app(service: Service) -> Starlette:
    """Return the application.

    The middleware that is added last runs first: the access log sees every request, then come the request limits,
    encoded slashes, CSRF and the check of the ``Host`` header.
    """
    app = Starlette()
    app.add_middleware(AllowedHostsMiddleware, hosts=service.hosts)
    app.add_middleware(CsrfMiddleware, public_url=service.public_url)
    app.add_middleware(EncodedSlashesMiddleware)
    app.add_middleware(
        RequestLimitsMiddleware, max_body_bytes=service.max_body_bytes, requests_per_s=service.requests_per_s
    )
    app.add_exception_handler(TompionError, problems.error_response)
    app.add_exception_handler(HTTPException, problems.http_error_response)
    app.add_exception_handler(ClientDisconnect, problems.disconnect_response)
    app.add_exception_handler(Exception, problems.internal_error_response)
    paths: dict[Any, str] = {}
    for route in ROUTES:
        endpoint = _operation_endpoint(service, route)
        paths[endpoint] = route.full_path
        app.add_route(route.full_path, endpoint, [route.method], name=route.name)
    for system_route in SYSTEM_ROUTES:
        endpoint = _system_endpoint(service, system_route)
        paths[endpoint] = system_route.full_path
        app.add_route(system_route.full_path, endpoint, [system_route.method], name=system_route.path)
    app.add_middleware(AccessLogMiddleware, metrics=service.runner.metrics, paths=paths, on_request=service.on_request)
    app.state.change_stream = service.change_stream
    return app


def _system_endpoint(service: Service, route: SystemRoute) -> Endpoint:
    respond = ENDPOINTS[f"{route.method} {route.path}"]

    async def endpoint(request: Request) -> Response:
        caller = await _authenticate(service, request, route.role)
        namespace = ANY_NAMESPACE if route.all_namespaces else namespace_of(service, request, caller)
        _authorise(service, caller, namespace, route.role)
        return await respond(service, request, caller, namespace)

    return endpoint


def _operation_endpoint(service: Service, route: Route) -> Endpoint:
    """Return the endpoint that authorises, binds and runs the operation of a route."""
    is_shared, is_point_read = route.operation in SINGLE_FLIGHT, route.operation in POINT_READS

    async def endpoint(request: Request) -> Response:
        caller = await _authenticate(service, request, route.role)
        namespace = namespace_of(service, request, caller)
        _authorise(service, caller, namespace, route.role)
        if service.read_only and route.writes and route.role is not Role.PUBLIC:
            raise Forbidden("this service is read-only")
        arguments = await bind_arguments(route, request)
        conditional = route.if_match.operation if route.if_match and "if-match" in request.headers else None
        operation = partial(call_operation, route, conditional or route.operation, arguments)

        async def run() -> Any:
            if is_point_read:
                name = next(iter(arguments.values()))
                return await _within_limit(service.read_batcher.read(route.operation, namespace, name), MAX_STORE_S)
            future = service.runner.send(
                operation,
                namespace=namespace,
                actor=caller.actor,
                writes=route.writes,
                restricted=caller is not ANONYMOUS,
            )
            return await _within_limit(asyncio.wrap_future(future), MAX_WRITE_S if route.writes else MAX_STORE_S)

        async def is_gone() -> bool:
            return service.change_stream.closed or await request.is_disconnected()

        wait_ms = arguments.get("wait_ms")
        if type(wait_ms) is int and wait_ms > 0:
            result = await poll_until_result(service.runner, run, wait_ms, is_gone)
        elif is_shared:
            result = await service.single_flight.run((route.name, namespace, repr(sorted(arguments.items()))), run)
        else:
            result = await run()
        if service.on_trigger is not None and isinstance(result, Run) and result.source == RunSource.TRIGGER:
            service.on_trigger(result.idempotency_key, request.headers.get("traceparent", ""))
        return await json_response(request, route, result)

    return endpoint


async def _authenticate(service: Service, request: Request, role: Role) -> Principal:
    """Return the caller, and record its name for the request limits."""
    if role is Role.PUBLIC:
        return ANONYMOUS
    caller = await service.authenticator.authenticate(credentials_of(request))
    request.scope[AUTHENTICATED_ACTORS].append(caller.actor)
    return caller


def _authorise(service: Service, caller: Principal, namespace: str, role: Role) -> None:
    """Raise unless the caller has the role and the namespace is within its rate limit."""
    authorise(caller, namespace, role)
    if role is not Role.PUBLIC:
        service.namespace_limits.admit(namespace)


async def _within_limit(future: asyncio.Future[Any], limit_s: float) -> Any:
    """Return the result of a future. Raises :class:`~tompion.errors.StoreUnavailable` after a limit."""
    timed_out: list[bool] = []

    def give_up() -> None:
        timed_out.append(future.cancel())

    timer = asyncio.get_running_loop().call_later(limit_s, give_up)
    try:
        return await future
    except asyncio.CancelledError:
        if not timed_out:
            raise
    finally:
        timer.cancel()
    raise StoreUnavailable(
        f"the store has not answered within {limit_s:.0f} s; the change may have been made: retry with the same "
        "Idempotency-Key"
    )


def namespace_of(service: Service, request: Request, caller: Principal) -> str:
    """Return the namespace of a request. Raises :class:`~tompion.errors.InvalidField`."""
    if not request.scope["query_string"]:
        return caller.home
    name = request.query_params.get("namespace")
    return check_namespace(name, service.runner.settings) if name else caller.home


def call_operation(
    route: Route, operation: Callable[..., Any], arguments: dict[str, Any], context: OperationContext
) -> Any:
    """Call an operation with the arguments of a request."""
    result = operation(context, **arguments)
    if context.started:
        return Created(result, context.started[0])
    if not context.created:
        return result
    has_created = route.response in context.created or (
        isinstance(result, DeclareResult | ScheduleAck) and Schedule in context.created
    )
    return Created(result) if has_created else result
