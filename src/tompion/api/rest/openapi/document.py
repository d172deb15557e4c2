"""The OpenAPI document: every route, its arguments, its answers and its errors, from the table of routes."""

from __future__ import annotations

import inspect
import re
from typing import Any

from tompion.api.auth.session_cookie import NAME as COOKIE
from tompion.api.rest.openapi.document_schemas import SCHEDULE_DOCUMENT, SPEC_FIELDS
from tompion.api.rest.openapi.examples import BODIES, BODIES_BY_PATH, PARAMETERS, sample_of
from tompion.api.rest.openapi.schemas import REF, Schema, Schemas
from tompion.api.rest.problems import MEDIA_TYPE
from tompion.api.rest.request_binding import JSON_TYPES, MERGE_PATCH, Parameter, taking
from tompion.contract.json import DETAILS
from tompion.contract.roles import Role
from tompion.contract.routes import ROUTES, SYSTEM_ROUTES, Route, SystemRoute
from tompion.operations.compat.service_routes import ALIASES, upsert_schedule
from tompion.operations.insight.edit_diff import diff
from tompion.operations.insight.preview import preview_for
from tompion.operations.insight.summaries import summaries
from tompion.operations.resources.api_keys import create_key
from tompion.operations.resources.calendars import put_calendar
from tompion.operations.runs.remote_workers import claim_runs, register_worker
from tompion.operations.schedules.backfills import backfill
from tompion.operations.schedules.control import skip

ERRORS = {
    400: ("Invalid", "Something in the request cannot be right; the field is named."),
    401: ("Unauthenticated", "Nobody knows who asks."),
    403: ("Forbidden", "Whoever asks may not do that."),
    404: ("NotFound", "There is no such thing, or not for whoever asks."),
    409: ("Conflict", "It does not fit what is stored."),
    412: ("Stale", "The schedule has changed since it was read."),
    413: ("TooLarge", "The body is too large."),
    422: ("LimitReached", "A limit was reached."),
    429: ("TooMany", "Too many requests."),
    503: ("Unavailable", "The store cannot be used just now; try again."),
}
"""What may be wrong, by status: a name, and what it means."""
PROBLEM: Schema = {
    "type": "object",
    "description": "What is wrong, for machines and for people.",
    "properties": {
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "Stable; see the reference of errors."},
        "title": {"type": "string"},
        "detail": {"type": "string", "description": "One line that names the field and the way out."},
        "retryable": {"type": "boolean"},
        "problems": {"type": "array", "items": {"type": "string"}, "description": "Of /readyz: what is wrong."},
        **{name: {} for name in DETAILS},
    },
    "required": ["status", "code", "title", "detail", "retryable"],
}
NAMESPACE: Schema = {
    "name": "namespace",
    "in": "query",
    "description": "The namespace that is meant; without it, the caller's own.",
    "schema": {"type": "string"},
}
HEADERS: dict[str, Schema] = {
    "request_id": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "The same key gives the same answer, once.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 200},
    },
    "token": {
        "name": "If-Match",
        "in": "header",
        "description": "The ETag that the schedule was read with.",
        "schema": {"type": "string", "examples": ['"7"']},
    },
}


SECURITY: Schema = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key, or a signed token."},
    "basic": {"type": "http", "scheme": "basic", "description": "The password is an API key; the name is anything."},
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": "Of whoever has signed in to the page (POST /api/v1/session).",
    },
    "certificate": {"type": "mutualTLS", "description": "A certificate that a [[certificate]] block names."},
}
"""How a caller may show who they are; one is enough, and the first of these that is shown counts."""
LIMITED = (diff, preview_for, summaries, put_calendar, skip, backfill)
"""Operations that a limit may end, besides those on a body or a page."""
UNOPPOSED = (create_key, register_worker, claim_runs)
"""Changes that fit whatever is stored."""


def describe(version: str) -> Schema:
    """Return the document."""
    schemas = Schemas()
    schemas.named["ProblemDetails"] = PROBLEM
    schemas.named["ScheduleDocument"] = SCHEDULE_DOCUMENT
    paths: dict[str, Schema] = {}
    for route in ROUTES:
        paths.setdefault(route.address, {})[route.method.lower()] = _operation(route, schemas)
    for extra in SYSTEM_ROUTES:
        paths.setdefault(extra.address, {})[extra.method.lower()] = _extra(extra, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tompion", "version": version, "description": "Schedules, and what became of every tick."},
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.named.items())),
            "responses": {
                name: {"description": about, "content": {MEDIA_TYPE: {"schema": {"$ref": f"{REF}ProblemDetails"}}}}
                for name, about in ERRORS.values()
            },
            "securitySchemes": SECURITY,
        },
        "security": [{name: []} for name in SECURITY],
    }


def _operation(route: Route, schemas: Schemas) -> Schema:
    first, _, more = (inspect.getdoc(route.operation) or "").partition("\n")
    summary, _, rest = first.partition(".  ")
    more = f"{rest}\n{more}"
    described: Schema = {
        "operationId": _operation_id(route.method.lower(), route.address),
        "summary": summary.rstrip("."),
        "tags": [route.tag],
        "parameters": _parameters(route, schemas),
        "responses": _responses(route, schemas),
        "x-role": route.role.name.lower(),
    }
    if more.strip():
        described["description"] = " ".join(re.sub(r":\w+:`~?([^`]+)`", r"`\1`", more).split())
    if route.role is Role.PUBLIC:
        described["security"] = []
    if route.method not in ("GET", "DELETE"):
        described["requestBody"] = _body(route, schemas)
    return described


def _extra(extra: SystemRoute, schemas: Schemas) -> Schema:
    parameters = [
        {"name": name, "in": "query", "required": False, "description": about, "schema": {"type": kind}}
        for name, kind, about in extra.takes
        if extra.method == "GET"
    ]
    if extra.role is not Role.PUBLIC and not extra.everywhere:
        parameters.append(NAMESPACE)
    kind: Schema = {"type": "object"} if extra.media_type == "application/json" else {"type": "string"}
    if extra.answer is not None:
        kind = schemas.of(extra.answer)
    answer: Schema = {"schema": kind, "example": sample_of(f"{extra.method} {extra.path}")}
    described: Schema = {
        "operationId": _operation_id(extra.method.lower(), extra.address),
        "summary": extra.summary,
        "tags": ["service"],
        "parameters": parameters,
        "responses": {"200": {"description": "Done.", "content": {extra.media_type: answer}}, **_extra_problems(extra)},
        "x-role": extra.role.name.lower(),
    }
    if extra.role is Role.PUBLIC:
        described["security"] = []
    if extra.method == "POST":
        properties = {name: {"type": kind, "description": about} for name, kind, about in extra.takes}
        example = {name: PARAMETERS[name] for name in properties}
        body = {"type": "object", "properties": properties, "required": list(properties), "examples": [example]}
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return described


def _operation_id(method: str, address: str) -> str:
    return re.sub(r"\W+", "_", f"{method}{address}").strip("_")


def _parameters(route: Route, schemas: Schemas) -> list[Schema]:
    taken = taking(route.operation)
    known = taken.parameters
    found = [
        {"name": name, "in": "path", "required": True, "schema": _with_example(name, known.get(name), schemas)}
        for name in route.names
    ]
    found += [HEADERS[name] for name in taken.from_headers]
    if route.method in ("GET", "DELETE"):
        found += [
            {"name": name, "in": "query", "required": each.required, "schema": _with_example(name, each, schemas)}
            for name, each in known.items()
            if name not in taken.from_headers and name not in route.names
        ]
    if route.role is not Role.PUBLIC:
        found.append(NAMESPACE)
    return found


def _with_example(name: str, parameter: Parameter | None, schemas: Schemas) -> Schema:
    schema = _plain_schema(parameter, schemas)
    fits = name in PARAMETERS and schema.get("type") == ("integer" if type(PARAMETERS[name]) is int else "string")
    return {**schema, "examples": [PARAMETERS[name]]} if fits and "enum" not in schema else schema


def _plain_schema(parameter: Parameter | None, schemas: Schemas) -> Schema:
    """Return the schema of a parameter that is written as text."""
    if parameter is None:
        return {"type": "string"}
    schema = schemas.of(parameter.kind)
    kinds = schema.get("type", "string")
    if isinstance(kinds, list):
        rest = [each for each in kinds if each != "null"]
        schema = {**schema, "type": rest[0] if len(rest) == 1 else rest}
    if "anyOf" in schema:  # an instant, in one of its forms
        schema = {"type": "string"}
    if type(parameter.default) in (int, str, bool):
        schema["default"] = parameter.default
    return schema


def _body(route: Route, schemas: Schemas) -> Schema:
    known = taking(route.operation)
    if route.whole is not None:
        schema: Schema = {"type": "object", "examples": [_example(route)]}
    else:
        properties = {
            name: schemas.of(each.kind)
            for name, each in known.parameters.items()
            if name not in known.from_headers and name not in route.names
        }
        required = [name for name in properties if known.parameters[name].required]
        if known.fields:
            properties = {**_fields(route), **properties}
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        schema["examples"] = [_example(route)]
        if required:
            schema["required"] = required
    kinds = JSON_TYPES if route.method == "PATCH" else [kind for kind in JSON_TYPES if kind != MERGE_PATCH]
    needed = route.whole is not None or known.fields or bool(schema.get("required"))
    return {"required": needed, "content": {kind: {"schema": schema} for kind in kinds}}


def _example(route: Route) -> Any:
    return BODIES_BY_PATH.get(route.path, BODIES.get(route.name))


def _fields(route: Route) -> Schema:
    """Return the fields of a document that a route takes; older services call some of them otherwise."""
    if route.operation is preview_for:
        return SPEC_FIELDS
    known: Schema = SCHEDULE_DOCUMENT["properties"]
    if route.operation is not upsert_schedule:
        return known
    return {**known, **{alias: known.get(name, {"type": "string"}) for alias, name in ALIASES.items()}}


def _responses(route: Route, schemas: Schemas) -> Schema:
    if route.answer is None:
        responses: Schema = {"204": {"description": "Done."}}
    else:
        answer: Schema = {"schema": schemas.of(route.answer), "example": sample_of(route.name)}
        content = {"application/json": answer}
        responses = {str(route.status): {"description": "Done.", "content": content}}
    return {**responses, **_problems(_statuses(route))}


def _statuses(route: Route) -> set[int]:
    """Return what may be wrong with a request for a route."""
    changes = route.method != "GET"
    found = {400, 429, 503}  # a host that is not ours, too much, and a store that is away: whatever is asked
    if route.role is not Role.PUBLIC:
        found |= {401, 403, 404}
    if changes:
        found |= {403}  # a page of another site
    if changes and route.method != "DELETE":
        found |= {413}
    if route.writes:
        found |= {404, *(() if route.operation in UNOPPOSED else (409,))}
    if "token" in taking(route.operation).from_headers:
        found |= {412}
    return found | ({422} if route.operation in LIMITED else set())


def _extra_problems(extra: SystemRoute) -> Schema:
    found = {400, 429}
    if extra.role is not Role.PUBLIC:
        found |= {401, 403, 503} if extra.everywhere else {401, 403, 404, 503}
    if extra.path in ("/metrics", "/readyz", "/session"):
        found |= {503, *((404,) if extra.path == "/metrics" else ())}
    if extra.method != "GET":
        found |= {403}
    if extra.method == "POST":
        found |= {401, 413}
    return _problems(found)


def _problems(statuses: set[int]) -> Schema:
    return {str(each): {"$ref": f"#/components/responses/{ERRORS[each][0]}"} for each in ERRORS if each in statuses}
