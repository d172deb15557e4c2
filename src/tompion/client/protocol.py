"""What both clients do without touching a network: a call becomes a request, an answer becomes what was asked for.

The table of routes is the server's own, so the two cannot differ.  A change that names no request id is given one: a
request that is sent again because its answer was lost is done once.  The few changes that can carry none are not sent
again once they have left: whoever asked is told that it may have happened.
"""

from __future__ import annotations

import inspect
import json
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from datetime import date, timedelta
from functools import cache
from secrets import token_hex
from typing import Any, NamedTuple, TypedDict, get_type_hints
from urllib.parse import quote, urlencode, urlsplit

from tompion.client.errors import error_of
from tompion.contract.json import decode, encode
from tompion.contract.routes import PREFIX, ROUTES, Route
from tompion.errors import InvalidField, OutcomeUnknown, StoreUnavailable, TompionError
from tompion.model.codec import to_plain
from tompion.operations.resources import api_keys
from tompion.operations.runs import callbacks, remote_workers, start
from tompion.operations.schedules import declare

ATTEMPTS = 4
RETRY_S = 0.2
"""The pause before the second attempt; it doubles."""
MAX_PAUSE_S = 10.0
"""How long a service may let us wait before we ask again, whatever its ``Retry-After`` says."""
REFUSED = 429
"""The answer of a service that has done nothing, because it is asked too often."""
UNSURE = (502, 504)
"""Answers of somebody between us and a service, who does not know what has become of a request."""
BUSY = (REFUSED, *UNSURE, 503)
"""Answers after which the same request may succeed."""
TWICE_IS_ONCE = (
    start.start_run,
    callbacks.report_run,
    api_keys.revoke_key,
    remote_workers.heartbeat_worker,
    remote_workers.remove_worker,
    declare.declare,
)
"""Changes without a request id of ours that are done once all the same: by a key of their own, by the token of an
attempt, or because the second one finds all as it wants it."""
HEADERS = {"request_id": "Idempotency-Key", "token": "If-Match"}
TIMEOUT_S = 30.0


class ApiRequest(NamedTuple):
    """A request, and the type of its answer."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes | None
    answer: Any
    repeatable: bool = True
    """Whether it may be sent again although it may have been done already."""


class ApiResponse(NamedTuple):
    """What came back: ``retry_after`` is that header, if it was there."""

    status: int
    body: bytes
    retry_after: str | None = None


@dataclass(frozen=True, slots=True)
class Address:
    """Where a service is, and who asks it."""

    host: str
    port: int
    path: str
    secure: bool
    namespace: str | None = None
    key: str | None = None

    @property
    def origin(self) -> str:
        """Return the beginning of every address."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{shown}:{self.port}"


class ClientOptions(TypedDict, total=False):
    """What else a caller is given."""

    key: str | None
    namespace: str | None
    timeout_s: float
    tls: ssl.SSLContext | None


class RequestSender:
    """Whoever asks a service: where it is, and how long to wait for it."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        namespace: str | None = None,
        timeout_s: float = TIMEOUT_S,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Take the service's address; nothing is connected yet.  ``key`` is an API key."""
        self._address = address_of(url, namespace, key)
        self._timeout_s = timeout_s
        self._tls = tls


def address_of(url: str, namespace: str | None, key: str | None) -> Address:
    """Return what a URL says; raises :class:`~tompion.errors.InvalidField`."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise InvalidField("url", "expected the address of a service, such as http://127.0.0.1:8640")
    secure = parts.scheme == "https"
    try:
        port = parts.port or (443 if secure else 80)
    except ValueError:
        raise InvalidField("url", "its port is no number from 1 to 65535") from None
    return Address(parts.hostname, port, parts.path.rstrip("/"), secure, namespace, key)


def question(address: Address, operation: Callable[..., Any], args: Any, kwargs: Any) -> ApiRequest:
    """Return the request for an operation."""
    given = _bound(operation, args, kwargs)
    route = _route_of(operation, given)
    headers = {"Accept": "application/json"}
    if address.key is not None:
        headers["Authorization"] = f"Bearer {address.key}"
    if "request_id" in _signature(operation).parameters:
        headers[HEADERS["request_id"]] = _header(given.pop("request_id", None) or f"c-{token_hex(16)}")
    if "token" in given and _is_of_schedule(operation):
        token = given.pop("token")
        if token is not None:
            headers[HEADERS["token"]] = f'"{token}"'
    path, rest = _filled(route, given)
    query = {} if address.namespace is None else {"namespace": address.namespace}
    body = None
    if route.method in ("GET", "DELETE"):
        query |= {name: _text(value) for name, value in rest.items() if value is not None}
    else:
        body = _json(rest[route.whole] if route.whole else rest)
        headers["Content-Type"] = "application/merge-patch+json" if route.method == "PATCH" else "application/json"
    target = f"{address.path}{route.prefix}{path}" + (f"?{urlencode(query)}" if query else "")
    return ApiRequest(route.method, target, headers, body, route.answer, _is_repeatable(route, headers))


def look(address: Address, path: str) -> ApiRequest:
    """Return the request for JSON that is no operation's answer."""
    headers = {"Accept": "application/json"}
    if address.key is not None:
        headers["Authorization"] = f"Bearer {address.key}"
    return ApiRequest("GET", f"{address.path}{PREFIX}{path}", headers, None, None)


def is_final(asked: ApiRequest, found: ApiResponse) -> bool:
    """Whether an answer is the last word, and the same request is not to be sent again."""
    return found.status not in BUSY or not (asked.repeatable or found.status == REFUSED)


def pause_s(attempt: int, found: ApiResponse | None = None) -> float:
    """Return how long to wait after an attempt: as the service says, within bounds, or a little more each time."""
    own: float = RETRY_S * 2**attempt
    said = "" if found is None or found.retry_after is None else found.retry_after.strip()
    if not (said.isascii() and said.isdigit()):
        return own
    return max(own, min(float(said), MAX_PAUSE_S))


def answer(asked: ApiRequest, found: ApiResponse) -> Any:
    """Return what a request was answered with; raises what the operation has raised there."""
    status, body = found.status, found.body
    if 200 <= status < 300:
        if not body:
            return None
        data = json.loads(body)
        return data if asked.answer is None else decode(asked.answer, data)
    error = error_of(status, body)
    raise _unknown(asked, str(error)) if status in UNSURE and not asked.repeatable else error


def broken(address: Address, asked: ApiRequest, error: Exception, *, sent: bool) -> TompionError:
    """Return the error that says that no answer came, and what that means."""
    if asked.repeatable or not sent:
        return unreachable(address, error)
    return _unknown(asked, str(unreachable(address, error)))


def unreachable(address: Address, error: Exception) -> StoreUnavailable:
    """Return the error that says that nobody answers."""
    return StoreUnavailable(f"no answer from {address.origin}: {str(error) or type(error).__name__}")


def _unknown(asked: ApiRequest, told: str) -> OutcomeUnknown:
    where = asked.target.partition("?")[0]
    return OutcomeUnknown(f"{asked.method} {where} may have happened, look before you do it again: {told}")


def _is_repeatable(route: Route, headers: Mapping[str, str]) -> bool:
    return not route.writes or HEADERS["request_id"] in headers or route.operation in TWICE_IS_ONCE


@cache
def _signature(operation: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(operation)


@cache
def _is_of_schedule(operation: Callable[..., Any]) -> bool:
    """Whether the token that an operation takes is that of a schedule, and not that of a run."""
    return get_type_hints(operation).get("token") is not str


def _bound(operation: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, Any]:
    """Return the arguments by name, as they are given; raises ``TypeError`` as the operation itself would."""
    signature = _signature(operation)
    bound = signature.bind(None, *args, **kwargs)
    given: dict[str, Any] = {}
    for name, value in list(bound.arguments.items())[1:]:
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            given |= value
        else:
            given[name] = value
    return given


@cache
def _routes(operation: Callable[..., Any]) -> tuple[Route, ...]:
    return tuple(route for route in ROUTES if route.operation is operation)


def _route_of(operation: Callable[..., Any], given: Mapping[str, Any]) -> Route:
    """Return the route of an operation whose path names what is given."""
    for route in _routes(operation):
        if all(given.get(name) is not None or name not in _signature(operation).parameters for name in route.names):
            return route
    missing = ", ".join(sorted({name for route in _routes(operation) for name in route.names}))
    raise InvalidField(missing, "it must be given")


def _filled(route: Route, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the path with the names in it, and what is left."""
    path, rest = route.path, dict(given)
    for name in route.names:
        value = rest.pop(name) if name in rest else _within(rest.get(route.whole or ""), name)
        if value == "":
            raise InvalidField(name, "it must be given, and not be empty")
        path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
    return path, rest


def _within(document: Any, name: str) -> Any:
    """Return the name of a document that is sent as a whole."""
    value = document.get(name) if isinstance(document, Mapping) else getattr(document, name, None)
    if value is None:
        raise InvalidField(name, "it must be given")
    return value


def _header(value: Any) -> str:
    """Return a request id as a header can hold it."""
    text = str(value)
    if not (text.isascii() and text.isprintable()):
        raise InvalidField("request_id", "over HTTP it must be printable ASCII")
    return text


def _text(value: Any) -> str:
    plain = to_plain(value)
    return str(plain).lower() if isinstance(plain, bool) else str(plain)


def _json(value: Any) -> bytes:
    try:
        return json.dumps(value, default=_plain, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidField("payload", f"not JSON: {error}") from None


def _plain(value: Any) -> Any:
    """Return what people may write in Python and JSON has no word for."""
    if isinstance(value, date):
        return value.isoformat()
    if is_dataclass(value):
        return encode(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
        return int(seconds) if seconds.is_integer() else seconds
    raise TypeError(f"a {type(value).__name__}")
