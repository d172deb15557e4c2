"""The OpenAPI document: routes with their parameters, bodies, responses and errors, generated from the contract."""

from __future__ import annotations

import inspect
import re
from typing import Any, get_origin

from tompion.api.auth.session_cookie import COOKIE_NAME
from tompion.api.rest.openapi.document_schemas import SCHEDULE_DOCUMENT, SPEC_FIELDS
from tompion.api.rest.openapi.examples import BODIES, BODIES_BY_PATH, PARAMETERS, example_response
from tompion.api.rest.openapi.schemas import REF, Schema, Schemas
from tompion.api.rest.problems import MEDIA_TYPE
from tompion.api.rest.request_binding import JSON_TYPES, MERGE_PATCH, Parameter, signature_of
from tompion.contract.api_routes import Route
from tompion.contract.json import DETAILS
from tompion.contract.roles import Role
from tompion.contract.routes import ROUTES, SYSTEM_ROUTES, SystemRoute
from tompion.model.page import Page
from tompion.model.schedule import Schedule
from tompion.operations.compat.service_routes import ALIASES, upsert_schedule
from tompion.operations.insight.edit_diff import diff
from tompion.operations.insight.preview import preview
from tompion.operations.insight.summaries import summaries
from tompion.operations.resources.api_keys import create_key
from tompion.operations.resources.calendars import put_calendar
from tompion.operations.runs.remote_workers import claim_runs, register_worker
from tompion.operations.schedules.backfills import backfill
from tompion.operations.schedules.control import skip
from tompion.operations.schedules.schedule_document import SHORT_NAMES

ERRORS = {
    400: ("BadRequest", "The request is not valid. The problem names the field."),
    401: ("Unauthenticated", "Missing or invalid credentials."),
    403: ("Forbidden", "The caller lacks the required role."),
    404: ("NotFound", "The object does not exist, or the caller has no access to it."),
    409: ("Conflict", "The request conflicts with the stored state."),
    412: ("PreconditionFailed", "The schedule has changed since it was read."),
    413: ("TooLarge", "The body is too large."),
    422: ("LimitExceeded", "A limit would be exceeded."),
    429: ("TooManyRequests", "Too many requests."),
    503: ("Unavailable", "The store is not available. Retry later."),
}
"""The name and the description of each error response, by status."""
PROBLEM: Schema = {
    "type": "object",
    "description": "A problem document (RFC 9457).",
    "properties": {
        "type": {"type": "string", "format": "uri-reference", "description": "A page that describes the code."},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "A stable code. See the reference of errors."},
        "title": {"type": "string"},
        "detail": {"type": "string", "description": "One line that names the field and what to do."},
        "retryable": {"type": "boolean"},
        "request_id": {"type": "string", "description": "The X-Request-Id of the response. The log has it, too."},
        "problems": {"type": "array", "items": {"type": "string"}, "description": "Only /readyz: the problems."},
        **{name: {} for name in DETAILS},
    },
    "required": ["type", "status", "code", "title", "detail", "retryable", "request_id"],
}
NAMESPACE: Schema = {
    "name": "namespace",
    "in": "query",
    "description": "The namespace. The default is the namespace of the caller.",
    "schema": {"type": "string"},
}
HEADERS: dict[str, Schema] = {
    "request_id": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "A request with the same key is done once and has the same response.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 200},
    },
    "conflict_token": {
        "name": "If-Match",
        "in": "header",
        "description": "The ETag of the schedule. The request fails if the schedule has changed since.",
        "schema": {"type": "string", "examples": ['"7"']},
    },
}


LOCATION: Schema = {"description": "The path of the new object.", "schema": {"type": "string"}}
ETAG: Schema = {
    "description": "For If-None-Match. That of a schedule is also for If-Match.",
    "schema": {"type": "string"},
}
LINK: Schema = {"description": 'The next page, with rel="next".', "schema": {"type": "string"}}
SECURITY: Schema = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key or a JWT."},
    "basic": {
        "type": "http",
        "scheme": "basic",
        "description": "The password is an API key. The user name is ignored.",
    },
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE_NAME,
        "description": "The session cookie of the web UI (POST /api/v1/session).",
    },
    "certificate": {"type": "mutualTLS", "description": "A client certificate that a [[certificate]] block names."},
}
"""The ways to authenticate. A request uses the first one that it has credentials for."""
LIMITED = (diff, preview, summaries, put_calendar, skip, backfill)
"""Operations that can exceed a limit, besides the limits of a body and a page."""
CREATED = 201
NO_CONFLICT = (create_key, register_worker, claim_runs)
"""Changes that cannot conflict with the stored state."""


def describe(version: str, url: str = "/") -> Schema:
    """Return the OpenAPI document of a version, for a service at a URL."""
    schemas = Schemas()
    schemas.named["ProblemDetails"] = PROBLEM
    schemas.named["ScheduleDocument"] = SCHEDULE_DOCUMENT
    paths: dict[str, Schema] = {}
    for route in ROUTES:
        paths.setdefault(route.full_path, {})[route.method.lower()] = _operation(route, schemas)
    for system_route in SYSTEM_ROUTES:
        paths.setdefault(system_route.full_path, {})[system_route.method.lower()] = _system_operation(
            system_route, schemas
        )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tompion",
            "version": version,
            "description": "Durable schedules and the outcome of every tick.",
        },
        "servers": [{"url": url}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.named.items())),
            "responses": {
                name: {"description": text, "content": {MEDIA_TYPE: {"schema": {"$ref": f"{REF}ProblemDetails"}}}}
                for name, text in ERRORS.values()
            },
            "securitySchemes": SECURITY,
        },
        "security": [{name: []} for name in SECURITY],
    }


def _operation(route: Route, schemas: Schemas) -> Schema:
    """Return the OpenAPI operation of a route."""
    summary, description = summary_and_description(route.operation)
    operation: Schema = {
        "operationId": _operation_id(route.method.lower(), route.full_path),
        "summary": summary,
        "tags": [route.tag],
        "parameters": _parameters(route, schemas),
        "responses": _responses(route, schemas),
        "x-role": route.role.name.lower(),
    }
    if description:
        operation["description"] = description
    if route.role is Role.PUBLIC:
        operation["security"] = []
    if route.method not in ("GET", "DELETE"):
        operation["requestBody"] = _body(route, schemas)
    return operation


def summary_and_description(operation: Any) -> tuple[str, str]:
    """Return the first sentence of an operation's docstring, and the rest without Sphinx roles."""
    first, _, more = (inspect.getdoc(operation) or "").partition("\n")
    summary, _, rest = re.sub(r"\.\s+", ". ", first).partition(". ")
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", f"{rest}\n{more}")
    return summary.rstrip("."), " ".join(text.split())


def _system_operation(route: SystemRoute, schemas: Schemas) -> Schema:
    """Return the OpenAPI operation of a route without an operation, such as health or metrics."""
    parameters = [
        {"name": name, "in": "query", "required": False, "description": description, "schema": {"type": kind}}
        for name, kind, description in route.parameters
        if route.method == "GET"
    ]
    if route.role is not Role.PUBLIC and not route.all_namespaces:
        parameters.append(NAMESPACE)
    schema: Schema = {"type": "object"} if route.media_type == "application/json" else {"type": "string"}
    if route.response is not None:
        schema = schemas.of(route.response)
    content: Schema = {"schema": schema, "example": example_response(f"{route.method} {route.path}")}
    operation: Schema = {
        "operationId": _operation_id(route.method.lower(), route.full_path),
        "summary": route.summary,
        "tags": ["service"],
        "parameters": parameters,
        "responses": {
            "200": {"description": "Success.", "content": {route.media_type: content}},
            **_error_responses(_system_statuses(route)),
        },
        "x-role": route.role.name.lower(),
    }
    if route.role is Role.PUBLIC:
        operation["security"] = []
    if route.method == "POST":
        properties = {name: {"type": kind, "description": description} for name, kind, description in route.parameters}
        example = {name: PARAMETERS[name] for name in properties}
        body = {"type": "object", "properties": properties, "required": list(properties), "examples": [example]}
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return operation


def _operation_id(method: str, path: str) -> str:
    return re.sub(r"\W+", "_", f"{method}{path}").strip("_")


def _parameters(route: Route, schemas: Schemas) -> list[Schema]:
    """Return the parameters of a route: path, headers, query and namespace."""
    signature = signature_of(route.operation)
    parameters = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": _parameter_schema(name, signature.parameters.get(name), schemas),
        }
        for name in route.path_parameters
    ]
    parameters += [HEADERS[name] for name in signature.from_headers]
    if route.method in ("GET", "DELETE"):
        parameters += [
            {
                "name": name,
                "in": "query",
                "required": parameter.required,
                "schema": _parameter_schema(name, parameter, schemas),
            }
            for name, parameter in signature.parameters.items()
            if name not in signature.from_headers and name not in route.path_parameters
        ]
    if route.role is not Role.PUBLIC:
        parameters.append(NAMESPACE)
    return parameters


def _parameter_schema(name: str, parameter: Parameter | None, schemas: Schemas) -> Schema:
    """Return the schema of a parameter, with an example if there is one of its type."""
    schema = _text_schema(parameter, schemas)
    fits = name in PARAMETERS and schema.get("type") == ("integer" if type(PARAMETERS[name]) is int else "string")
    return {**schema, "examples": [PARAMETERS[name]]} if fits and "enum" not in schema else schema


def _text_schema(parameter: Parameter | None, schemas: Schemas) -> Schema:
    """Return the schema of a parameter that is written as text."""
    if parameter is None:
        return {"type": "string"}
    schema = schemas.of(parameter.kind)
    kinds = schema.get("type", "string")
    if isinstance(kinds, list):
        rest = [kind for kind in kinds if kind != "null"]
        schema = {**schema, "type": rest[0] if len(rest) == 1 else rest}
    if "anyOf" in schema:  # an instant, which has several forms
        schema = {"type": "string"}
    if type(parameter.default) in (int, str, bool):
        schema["default"] = parameter.default
    return schema


def _body(route: Route, schemas: Schemas) -> Schema:
    """Return the request body of a route."""
    signature = signature_of(route.operation)
    if route.body_parameter is not None:
        schema: Schema = {"type": "object", "examples": [_example_body(route)]}
    else:
        properties = {
            name: schemas.of(parameter.kind)
            for name, parameter in signature.parameters.items()
            if name not in signature.from_headers and name not in route.path_parameters
        }
        required = [name for name in properties if signature.parameters[name].required]
        if signature.fields:
            properties = {**_document_fields(route), **properties}
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        schema["examples"] = [_example_body(route)]
        if required:
            schema["required"] = required
    kinds = JSON_TYPES if route.method == "PATCH" else [kind for kind in JSON_TYPES if kind != MERGE_PATCH]
    is_required = route.body_parameter is not None or signature.fields or bool(schema.get("required"))
    return {"required": is_required, "content": {kind: {"schema": schema} for kind in kinds}}


def _example_body(route: Route) -> Any:
    return BODIES_BY_PATH.get(route.path, BODIES.get(route.name))


def _document_fields(route: Route) -> Schema:
    """Return the fields of the document that a route takes. The compatibility routes also take aliases."""
    if route.operation is preview:
        return SPEC_FIELDS
    fields: Schema = SCHEDULE_DOCUMENT["properties"]
    if route.operation is not upsert_schedule:
        return fields
    return {
        **fields,
        **{alias: fields.get(name, {"type": "string"}) for alias, name in {**SHORT_NAMES, **ALIASES}.items()},
    }


def _responses(route: Route, schemas: Schemas) -> Schema:
    """Return the responses of a route by status."""
    if route.response is None:
        responses: Schema = {"204": {"description": "Success."}}
    else:
        content: Schema = {"schema": schemas.of(route.response), "example": example_response(route.name)}
        success: Schema = {"description": "Success.", "content": {"application/json": content}}
        if headers := _response_headers(route):
            success["headers"] = headers
        responses = {str(route.status): success}
        if route.may_create:
            responses["201"] = {**success, "description": "Created.", "headers": {**headers, "Location": LOCATION}}
        if route.method == "GET":
            responses["304"] = {"description": "The response is the one that If-None-Match names."}
    return {**responses, **_error_responses(_statuses(route))}


def _response_headers(route: Route) -> Schema:
    headers: Schema = {}
    if route.status == CREATED:
        headers["Location"] = LOCATION
    if route.method == "GET" or route.response is Schedule:
        headers["ETag"] = ETAG
    if route.method == "GET" and get_origin(route.response) is Page:
        headers["Link"] = LINK
    return headers


def _statuses(route: Route) -> set[int]:
    """Return the error statuses that a route can respond with."""
    changes = route.method != "GET"
    statuses = {400, 429, 503}  # every route: an unknown host, too many requests, no store
    if route.role is not Role.PUBLIC:
        statuses |= {401, 403, 404}
    if changes:
        statuses |= {403}  # CSRF
    if changes and route.method != "DELETE":
        statuses |= {413}
    if route.writes:
        statuses |= {404, *(() if route.operation in NO_CONFLICT else (409,))}
    if "conflict_token" in signature_of(route.operation).from_headers:
        statuses |= {412}
    return statuses | ({422} if route.operation in LIMITED else set())


def _system_statuses(route: SystemRoute) -> set[int]:
    """Return the error statuses that a system route can respond with."""
    statuses = {400, 429}
    if route.role is not Role.PUBLIC:
        statuses |= {401, 403, 503} if route.all_namespaces else {401, 403, 404, 503}
    if route.path in ("/metrics", "/readyz", "/session"):
        statuses |= {503, *((404,) if route.path == "/metrics" else ())}
    if route.method != "GET":
        statuses |= {403}
    if route.method == "POST":
        statuses |= {401, 413}
    return statuses


def _error_responses(statuses: set[int]) -> Schema:
    return {
        str(status): {"$ref": f"#/components/responses/{ERRORS[status][0]}"} for status in ERRORS if status in statuses
    }
