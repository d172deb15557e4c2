"""From a request to the arguments of an operation."""

from __future__ import annotations

import inspect
import json
import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from starlette.requests import Request

from tompion.api.rest.middleware.encoded_slashes import unslashed
from tompion.contract.routes import Route
from tompion.errors import InvalidField, InvalidInput, display
from tompion.operations.resources.api_keys import create_key
from tompion.operations.schedules.repository import ANY_TOKEN

MERGE_PATCH = "application/merge-patch+json"
JSON_TYPES = ("application/json", MERGE_PATCH)
FROM_HEADERS = ("request_id", "token")
KEYED = ("request_id", "idempotency_key")
"""Parameters that ``Idempotency-Key`` gives."""
UNKEYED: dict[Callable[..., Any], str] = {
    create_key: "a key's secret is stored nowhere, so nothing could be answered again; after an answer that was lost, "
    "make another key and revoke the one that nobody has"
}
"""Why some changes are not done once for each key."""
SAFE = ("GET", "HEAD")
TRUE, FALSE = ("true", "1", "yes"), ("false", "0", "no")


class Parameter(NamedTuple):
    """A parameter of an operation, as a door sees it."""

    name: str
    kind: Any
    default: Any
    required: bool


class OperationSignature(NamedTuple):
    """What an operation takes: its parameters by name, and whether it takes fields that have no parameter."""

    parameters: Mapping[str, Parameter]
    fields: bool

    @property
    def from_headers(self) -> tuple[str, ...]:
        """Return the parameters that headers give; the token of a run is none of a schedule's."""
        return tuple(name for name in FROM_HEADERS if name in self.parameters and self.parameters[name].kind is not str)


@cache
def taking(operation: Callable[..., Any]) -> OperationSignature:
    """Return what an operation takes besides its session."""
    hints = get_type_hints(operation)
    found: dict[str, Parameter] = {}
    fields = False
    for name, parameter in list(inspect.signature(operation).parameters.items())[1:]:
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            fields = True
            continue
        required = parameter.default is inspect.Parameter.empty
        kind = hints.get(name, Any)
        found[name] = Parameter(name, kind, None if required else parameter.default, required)
    return OperationSignature(found, fields)


async def arguments_of(route: Route, request: Request) -> dict[str, Any]:
    """Return the arguments for a route's operation; raises :class:`~tompion.errors.InvalidInput`."""
    known = taking(route.operation)
    given = _from_headers(route, request, known)
    given |= {name: _read(known.parameters[name], text) for name, text in _in_path(request, known)}
    if request.method in ("GET", "DELETE"):
        given |= _from_query(request, known, given)
    else:
        _refuse_query(request)
        given |= _from_body(await body_of(request), route, request, known, given)
    for name, parameter in known.parameters.items():
        if parameter.required and name not in given:
            raise InvalidField(name, "it must be given")
    return given


def _from_body(
    body: Any, route: Route, request: Request, known: OperationSignature, given: Mapping[str, Any]
) -> dict[str, Any]:
    if route.whole is not None:
        return {route.whole: _named(body, request)}
    if not isinstance(body, dict):
        raise InvalidInput("the body is no JSON object")
    for name in body:
        if name in request.path_params or (name in known.from_headers and name in given):
            raise InvalidField(name, "given twice: in the body, and in the path or a header")
        if name not in known.parameters and not known.fields:
            raise InvalidField(name, f"there is no such field; expected {_listed(known, request)}")
    return _patched(body, request) if route.method == "PATCH" else body


def _in_path(request: Request, known: OperationSignature) -> list[tuple[str, str]]:
    return [(name, unslashed(text)) for name, text in request.path_params.items() if name in known.parameters]


def _from_headers(route: Route, request: Request, known: OperationSignature) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if "idempotency-key" in request.headers:
        given = {name: request.headers["idempotency-key"] for name in KEYED if name in known.parameters}
        if route.writes and not given:
            raise InvalidField("Idempotency-Key", UNKEYED.get(route.operation, "this change takes none"))
    if "token" in known.from_headers and "if-match" in request.headers:
        given["token"] = _token_of(request.headers["if-match"])
    elif request.method not in SAFE and "if-match" in request.headers:
        raise InvalidField("If-Match", "this change takes no condition")
    if request.method not in SAFE and "if-none-match" in request.headers:
        raise InvalidField("If-None-Match", "no change takes it; POST /schedules creates only what is not there")
    return given


def _refuse_query(request: Request) -> None:
    """Raise if something stands in the query that belongs into the body: ignored, it would be missed."""
    for name in request.query_params:
        if name != "namespace":
            raise InvalidField(name, "it stands in the query; arguments of this request belong into its body")


def _token_of(text: str) -> int:
    if text.strip() == "*":
        return ANY_TOKEN
    plain = text.strip().removeprefix("W/").strip('"')
    if not plain.isascii() or not plain.isdecimal() or len(plain) > 18:
        raise InvalidField("If-Match", f'{display(text)}; expected the ETag that a schedule came with, such as "7"')
    return int(plain)


def _from_query(request: Request, known: OperationSignature, given: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if not request.scope["query_string"]:
        return found
    for name in request.query_params:
        if name == "namespace":
            continue
        if name not in known.parameters or name in given:
            raise InvalidField(name, f"there is no such parameter; expected {_listed(known, request)}")
        found[name] = _read(known.parameters[name], request.query_params[name])
    return found


def _listed(known: OperationSignature, request: Request) -> str:
    names = [name for name in known.parameters if name not in request.path_params and name not in known.from_headers]
    return ", ".join(names) or "none at all"


def _read(parameter: Parameter, text: str) -> Any:
    """Read a parameter from text, as its type wants it."""
    if parameter.kind is str:
        return text
    kinds = _kinds(parameter.kind)
    if bool in kinds:
        if text.lower() in TRUE or text.lower() in FALSE:
            return text.lower() in TRUE
        raise InvalidField(parameter.name, f"{display(text)}; expected true or false")
    if int in kinds and str not in kinds:
        if text.removeprefix("-").isascii() and text.removeprefix("-").isdecimal() and len(text) <= 18:
            return int(text)
        raise InvalidField(parameter.name, f"{display(text)}; expected a whole number")
    return text


def _kinds(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


async def body_of(request: Request) -> Any:
    """Return the JSON of a request; raises for what is not called JSON, which a page of another site could send."""
    text = await request.body()
    if not text:
        return {}
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in JSON_TYPES:  # what the page of another site can send is none of these
        raise InvalidField("Content-Type", f"{display(media_type)}; expected {' or '.join(JSON_TYPES)}")
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)
    except InvalidField:
        raise
    except (ValueError, RecursionError):
        raise InvalidInput("the body is no JSON") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; raises if a name stands there twice, because others may read the other one."""
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(name for number, (name, _) in enumerate(pairs) if name in dict(pairs[:number]))
        raise InvalidField(twice, "it stands there twice")
    return found


def _refuse_constant(text: str) -> None:
    raise ValueError(text)


def _patched(body: dict[str, Any], request: Request) -> dict[str, Any]:
    """Return the fields of a patch: plain JSON leaves out what is null, a merge patch clears it."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() == MERGE_PATCH:
        return body
    return {name: value for name, value in body.items() if value is not None}


def _named(body: Any, request: Request) -> Any:
    """Return a document with the name that its path gives it, which it may repeat."""
    if "name" not in request.path_params or not isinstance(body, dict):
        return body
    name = unslashed(request.path_params["name"])
    if body.setdefault("name", name) != name:
        raise InvalidField("name", f"{display(body['name'])} is not the name in the path")
    return body
