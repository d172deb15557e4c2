"""The protocol of both clients, without a network: from a call to a request, and from a response to a result.

The routes are the server's own, so the two cannot differ. A change without a request id gets one, so that a request
that is retried after a lost response is done once. The few changes that cannot have a request id are not retried after
they were sent: the caller gets :class:`~tompion.errors.OutcomeUnknown`.
"""

from __future__ import annotations

import inspect
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from datetime import date, timedelta
from functools import cache
from secrets import token_hex
from typing import Any, NamedTuple, TypedDict
from urllib.parse import quote, urlencode, urlsplit

from tompion.client.errors import error_of
from tompion.contract.api_routes import CLIENT_ROUTES, PREFIX, Route
from tompion.contract.json import decode, encode
from tompion.contract.stubs import OperationStub, resource_stubs, run_stubs, schedule_stubs
from tompion.encoding.codec import to_plain
from tompion.errors import InvalidField, OutcomeUnknown, StoreUnavailable, TompionError

MAX_ATTEMPTS = 4
RETRY_DELAY_S = 0.2
"""The delay before the second attempt. It doubles with each attempt."""
MAX_RETRY_AFTER_S = 10.0
"""The limit for a ``Retry-After`` header."""
TOO_MANY_REQUESTS = 429
"""The service has refused the request and has done nothing."""
NO_ANSWER = "no answer from"
"""Beginning of the message about a service that is not reachable."""
GATEWAY_ERRORS = (502, 504)
"""Responses of a proxy, which does not know whether the service has done the request."""
RETRYABLE = (TOO_MANY_REQUESTS, *GATEWAY_ERRORS, 503)
"""Responses after which the same request may succeed."""
IDEMPOTENT = (
    run_stubs.start_run,
    run_stubs.report_run,
    resource_stubs.revoke_key,
    run_stubs.heartbeat_worker,
    run_stubs.release_runs,
    run_stubs.remove_worker,
    schedule_stubs.declare,
)
"""Changes without a request id that can be repeated: they have a key or a token of their own, or they set a state."""
HEADERS = {"request_id": "Idempotency-Key", "conflict_token": "If-Match"}
REQUEST_ID = "X-Request-Id"
"""The header that the log of the service records, and the id that errors name."""
DEFAULT_TIMEOUT_S = 30.0


class ApiRequest(NamedTuple):
    """A request, and the type of its result."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes | None
    result_type: Any
    repeatable: bool = True
    """Whether the request can be sent again although the service may have done it already."""


class ApiResponse(NamedTuple):
    """A response. ``retry_after`` is the value of the header ``Retry-After``."""

    status: int
    body: bytes
    retry_after: str | None = None


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a service, and the credentials for it."""

    host: str
    port: int
    path: str
    secure: bool
    namespace: str | None = None
    key: str | None = None

    @property
    def origin(self) -> str:
        """Return scheme, host and port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}"


class ClientOptions(TypedDict, total=False):
    """The keyword arguments of both clients."""

    key: str | None
    namespace: str | None
    timeout_s: float
    tls: ssl.SSLContext | None


class RequestSender:
    """The base of both clients. It connects with the first call. ``key`` is an API key."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        namespace: str | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._address = address_of(url, namespace, key)
        self._timeout_s = timeout_s
        self._tls = tls


def address_of(url: str, namespace: str | None, key: str | None) -> Address:
    """Return the address in a URL. Raises :class:`~tompion.errors.InvalidField`."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise InvalidField("url", "expected the address of a service, such as http://127.0.0.1:8640")
    secure = parts.scheme == "https"
    try:
        port = parts.port or (443 if secure else 80)
    except ValueError:
        raise InvalidField("url", "the port is not a number from 1 to 65535") from None
    return Address(
        host=parts.hostname,
        port=port,
        path=parts.path.rstrip("/"),
        secure=secure,
        namespace=namespace,
        key=key,
    )


def build_request(address: Address, operation: OperationStub[..., Any], args: Any, kwargs: Any) -> ApiRequest:
    """Return the request for an operation."""
    arguments = _bind(operation, args, kwargs)
    route = _route_for(operation, arguments)
    headers = _base_headers(address)
    if "request_id" in _signature(operation).parameters:
        headers[HEADERS["request_id"]] = _header_value(arguments.pop("request_id", None) or f"c-{token_hex(16)}")
    if (conflict_token := arguments.pop("conflict_token", None)) is not None:
        headers[HEADERS["conflict_token"]] = f'"{conflict_token}"'
    if operation is route.if_match:
        headers.setdefault(HEADERS["conflict_token"], "*")
    path, rest = _fill_path(route, arguments)
    query = {} if address.namespace is None else {"namespace": address.namespace}
    body = None
    if route.method in ("GET", "DELETE"):
        query |= {name: _text(value) for name, value in rest.items() if value is not None}
    else:
        body = _json(rest[route.body_parameter] if route.body_parameter else rest)
        headers["Content-Type"] = "application/merge-patch+json" if route.method == "PATCH" else "application/json"
    target = f"{address.path}{route.prefix}{path}" + (f"?{urlencode(query)}" if query else "")
    return ApiRequest(
        method=route.method,
        target=target,
        headers=headers,
        body=body,
        result_type=route.response,
        repeatable=_is_repeatable(route, headers),
    )


def build_system_request(address: Address, path: str) -> ApiRequest:
    """Return the request for a system route that responds with JSON."""
    return ApiRequest(
        method="GET",
        target=f"{address.path}{PREFIX}{path}",
        headers=_base_headers(address),
        body=None,
        result_type=None,
    )


def _base_headers(address: Address) -> dict[str, str]:
    headers = {"Accept": "application/json", REQUEST_ID: token_hex(8)}
    if address.key is not None:
        headers["Authorization"] = f"Bearer {address.key}"
    return headers


def is_final(request: ApiRequest, response: ApiResponse) -> bool:
    """Return whether a response is final, so that the request is not retried."""
    return response.status not in RETRYABLE or not (request.repeatable or response.status == TOO_MANY_REQUESTS)


def retry_delay_s(attempt: int, response: ApiResponse | None = None) -> float:
    """Return the delay after an attempt: the exponential backoff, or ``Retry-After`` if that is longer."""
    backoff: float = RETRY_DELAY_S * 2**attempt
    retry_after = "" if response is None or response.retry_after is None else response.retry_after.strip()
    if not (retry_after.isascii() and retry_after.isdigit()):
        return backoff
    return max(backoff, min(float(retry_after), MAX_RETRY_AFTER_S))


def result_of(request: ApiRequest, response: ApiResponse) -> Any:
    """Return the result in a response. Raises the error that the operation has raised on the server."""
    status, body = response.status, response.body
    if 200 <= status < 300:
        if not body:
            return None
        data = json.loads(body)
        return data if request.result_type is None else decode(request.result_type, data)
    error = error_of(status, body)
    if status >= 500:
        error.args = (f"{error}; {_log_hint(request)}",)
    raise _outcome_unknown(request, str(error)) if status in GATEWAY_ERRORS and not request.repeatable else error


def connection_error(address: Address, request: ApiRequest, error: Exception, *, sent: bool) -> TompionError:
    """Return the error for a request without a response."""
    reason = str(error) or type(error).__name__
    hint = f"; {_log_hint(request)}" if sent else ""
    unreachable = StoreUnavailable(f"{NO_ANSWER} {address.origin}: {reason}{hint}")
    return unreachable if request.repeatable or not sent else _outcome_unknown(request, str(unreachable))


def _log_hint(request: ApiRequest) -> str:
    return f"the log of the service has request id {request.headers[REQUEST_ID]}"


def _outcome_unknown(request: ApiRequest, reason: str) -> OutcomeUnknown:
    path = request.target.partition("?")[0]
    return OutcomeUnknown(f"{request.method} {path} may have been done; check before you repeat it: {reason}")


def _is_repeatable(route: Route, headers: Mapping[str, str]) -> bool:
    return not route.writes or HEADERS["request_id"] in headers or route.stub in IDEMPOTENT


@cache
def _signature(operation: OperationStub[..., Any]) -> inspect.Signature:
    return inspect.signature(operation)


def _bind(operation: OperationStub[..., Any], args: Any, kwargs: Any) -> dict[str, Any]:
    """Return the arguments of a call by name. Raises ``TypeError`` as the operation itself would."""
    signature = _signature(operation)
    bound = signature.bind(None, *args, **kwargs)
    arguments: dict[str, Any] = {}
    for name, value in list(bound.arguments.items())[1:]:
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            arguments |= value
        else:
            arguments[name] = value
    return arguments


@cache
def _routes(operation: OperationStub[..., Any]) -> tuple[Route, ...]:
    return tuple(route for route in CLIENT_ROUTES if operation in (route.stub, route.if_match))


def _route_for(operation: OperationStub[..., Any], arguments: Mapping[str, Any]) -> Route:
    """Return the first route of an operation whose path parameters are all among the arguments."""
    parameters = _signature(operation).parameters
    for route in _routes(operation):
        if all(arguments.get(name) is not None or name not in parameters for name in route.path_parameters):
            return route
    missing = ", ".join(sorted({name for route in _routes(operation) for name in route.path_parameters}))
    raise InvalidField(missing, "required field is missing")


def _fill_path(route: Route, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the path with its parameters filled in, and the other arguments."""
    path, rest = route.path, dict(arguments)
    for name in route.path_parameters:
        value = rest.pop(name) if name in rest else _member(rest.get(route.body_parameter or ""), name)
        if value == "":
            raise InvalidField(name, "required field is empty")
        path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
    return path, rest


def _member(document: Any, name: str) -> Any:
    """Return a member of a document that is the whole body."""
    value = document.get(name) if isinstance(document, Mapping) else getattr(document, name, None)
    if value is None:
        raise InvalidField(name, "required field is missing")
    return value


def _header_value(value: Any) -> str:
    """Return a request id as a header value."""
    text = str(value)
    if not (text.isascii() and text.isprintable()):
        raise InvalidField("request_id", "expected printable ASCII, because it is sent as an HTTP header")
    return text


def _text(value: Any) -> str:
    plain = to_plain(value)
    return str(plain).lower() if isinstance(plain, bool) else str(plain)


def _json(value: Any) -> bytes:
    try:
        return json.dumps(value, default=_json_value, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidField("payload", f"not JSON: {error}") from None


def _json_value(value: Any) -> Any:
    """Return a Python value that JSON does not have, as a JSON value."""
    if isinstance(value, date):
        return value.isoformat()
    if is_dataclass(value):
        return encode(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, timedelta):
        seconds, microseconds = divmod(value // timedelta(microseconds=1), 1_000_000)
        return seconds if seconds < 0 else f"{seconds}.{microseconds:06}s"
    raise TypeError(f"a {type(value).__name__} is not JSON")
