"""Binds a request to the arguments of an operation."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from starlette.requests import Request

from tompion.api.rest.middleware.encoded_slashes import restore_slashes
from tompion.contract.api_routes import Route
from tompion.encoding.strict_json import DuplicateName, parse_strict_json
from tompion.errors import InvalidField, InvalidInput, display
from tompion.operations.resources.api_keys import create_key
from tompion.operations.schedules.conflict_token import ANY_TOKEN

MERGE_PATCH = "application/merge-patch+json"
JSON_TYPES = ("application/json", MERGE_PATCH)
HEADER_PARAMETERS = ("request_id", "conflict_token")
IDEMPOTENCY_PARAMETERS = ("request_id", "idempotency_key")
"""Parameters that take the value of ``Idempotency-Key``."""
NOT_IDEMPOTENT: dict[Callable[..., Any], str] = {
    create_key: "not supported here, because the secret of a key is not stored; if a response was lost, create another "
    "key and revoke the first one"
}
"""Operations that cannot be repeated with the same ``Idempotency-Key``, and why."""
SAFE_METHODS = ("GET", "HEAD")
TRUE, FALSE = ("true", "1", "yes"), ("false", "0", "no")
MAX_NUMBER_CHARS = 18


class Parameter(NamedTuple):
    """A parameter of an operation."""

    name: str
    kind: Any
    default: Any
    required: bool


class OperationSignature(NamedTuple):
    """The parameters of an operation by name. ``fields`` is true if it also takes the fields of a document."""

    parameters: Mapping[str, Parameter]
    fields: bool

    @property
    def from_headers(self) -> tuple[str, ...]:
        """Return the parameters that come from headers."""
        return tuple(name for name in HEADER_PARAMETERS if name in self.parameters)


@cache
def signature_of(operation: Callable[..., Any]) -> OperationSignature:
    """Return the parameters of an operation without its context."""
    hints = get_type_hints(operation)
    parameters: dict[str, Parameter] = {}
    fields = False
    for name, parameter in list(inspect.signature(operation).parameters.items())[1:]:
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            fields = True
            continue
        required = parameter.default is inspect.Parameter.empty
        parameters[name] = Parameter(
            name=name,
            kind=hints.get(name, Any),
            default=None if required else parameter.default,
            required=required,
        )
    return OperationSignature(parameters, fields)


async def bind_arguments(route: Route, request: Request) -> dict[str, Any]:
    """Return the arguments for a route's operation. Raises :class:`~tompion.errors.InvalidInput`."""
    signature = signature_of(route.operation)
    arguments = _from_headers(route, request, signature)
    arguments |= _from_path(request, signature)
    if request.method in ("GET", "DELETE"):
        arguments |= _from_query(request, signature, arguments)
    else:
        _refuse_query(request)
        arguments |= _from_body(await read_json_body(request), route, request, signature, arguments)
    for name, parameter in signature.parameters.items():
        if parameter.required and name not in arguments:
            raise InvalidField(name, "required field is missing")
    return arguments


def _from_body(
    body: Any, route: Route, request: Request, signature: OperationSignature, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments in a body. A value that differs from the path or a header is rejected."""
    if route.body_parameter is not None:
        return {route.body_parameter: _with_name_of_path(body, request)}
    if not isinstance(body, dict):
        raise InvalidInput("the body is not a JSON object")
    for name, value in body.items():
        if name in arguments and (value != arguments[name] or not signature.fields):
            where = "path" if name in request.path_params else "header"
            raise InvalidField(name, f"{display(value)} in the body differs from the {where}; send it once")
        if name not in signature.parameters and not signature.fields:
            raise InvalidField(name, f"unknown field; expected {_expected_names(signature, request)}")
    return _patch_fields(body, request) if route.method == "PATCH" else body


def _from_path(request: Request, signature: OperationSignature) -> dict[str, Any]:
    return {
        name: _parse_parameter(signature.parameters[name], restore_slashes(text))
        for name, text in request.path_params.items()
        if name in signature.parameters
    }


def _from_headers(route: Route, request: Request, signature: OperationSignature) -> dict[str, Any]:
    """Return the arguments in headers. A precondition that the route does not support is rejected."""
    arguments: dict[str, Any] = {}
    if "idempotency-key" in request.headers:
        key = request.headers["idempotency-key"]
        arguments = {name: key for name in IDEMPOTENCY_PARAMETERS if name in signature.parameters}
        if route.writes and not arguments:
            raise InvalidField("Idempotency-Key", NOT_IDEMPOTENT.get(route.operation, "not supported by this request"))
    if "conflict_token" in signature.from_headers and "if-match" in request.headers:
        arguments["conflict_token"] = _parse_etag(request.headers["if-match"])
    elif request.method not in SAFE_METHODS and "if-match" in request.headers:
        raise InvalidField("If-Match", "not supported by this request")
    if request.method not in SAFE_METHODS and "if-none-match" in request.headers:
        raise InvalidField("If-None-Match", "not supported; POST /schedules creates a schedule only if it is new")
    return arguments


def _refuse_query(request: Request) -> None:
    """Raise if an argument is in the query of a request that takes its arguments in the body."""
    for name in request.query_params:
        if name != "namespace":
            raise InvalidField(name, "not accepted in the query; send the arguments of this request in its body")


def _parse_etag(text: str) -> int:
    if text.strip() == "*":
        return ANY_TOKEN
    digits = text.strip().removeprefix("W/").strip('"').partition("-")[0]
    if not digits.isascii() or not digits.isdecimal() or len(digits) > MAX_NUMBER_CHARS:
        raise InvalidField("If-Match", f'{display(text)}; expected the ETag of the schedule, such as "7"')
    return int(digits)


def _from_query(request: Request, signature: OperationSignature, arguments: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if not request.scope["query_string"]:
        return values
    for name in request.query_params:
        if name == "namespace":
            continue
        if name not in signature.parameters or name in arguments:
            raise InvalidField(name, f"unknown parameter; expected {_expected_names(signature, request)}")
        values[name] = _parse_parameter(signature.parameters[name], request.query_params[name])
    return values


def _expected_names(signature: OperationSignature, request: Request) -> str:
    names = [
        name for name in signature.parameters if name not in request.path_params and name not in signature.from_headers
    ]
    return ", ".join(names) or "no fields"


def _parse_parameter(parameter: Parameter, text: str) -> Any:
    """Return the value of a parameter that is written as text."""
    if parameter.kind is str:
        return text
    kinds = _union_members(parameter.kind)
    if bool in kinds:
        if text.lower() in TRUE or text.lower() in FALSE:
            return text.lower() in TRUE
        raise InvalidField(parameter.name, f"{display(text)}; expected true or false")
    if int in kinds and str not in kinds:
        digits = text.removeprefix("-")
        if digits.isascii() and digits.isdecimal() and len(text) <= MAX_NUMBER_CHARS:
            return int(text)
        raise InvalidField(parameter.name, f"{display(text)}; expected a whole number")
    return text


def _union_members(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


async def read_json_body(request: Request) -> Any:
    """Return the JSON body of a request.

    Other media types are refused, because a form on another site can send them without a preflight.
    """
    text = await request.body()
    if not text:
        return {}
    media_type = _media_type(request)
    if media_type not in JSON_TYPES:
        raise InvalidField("Content-Type", f"{display(media_type)}; expected {' or '.join(JSON_TYPES)}")
    try:
        return parse_strict_json(text)
    except DuplicateName as error:
        raise InvalidField(error.name, "duplicate field") from None
    except (ValueError, RecursionError):
        raise InvalidInput("the body is not valid JSON") from None


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _patch_fields(body: dict[str, Any], request: Request) -> dict[str, Any]:
    """Return the fields of a patch. ``null`` clears a field in a merge patch and is ignored in plain JSON."""
    if _media_type(request) == MERGE_PATCH:
        return body
    return {name: value for name, value in body.items() if value is not None}


def _with_name_of_path(body: Any, request: Request) -> Any:
    """Return a document with the name in the path. The document can repeat it."""
    if "name" not in request.path_params or not isinstance(body, dict):
        return body
    name = restore_slashes(request.path_params["name"])
    if body.setdefault("name", name) != name:
        raise InvalidField("name", f"{display(body['name'])} is not the name in the path")
    return body
