"""The OpenAPI document: every route, its arguments, its answers and its errors, from the table of routes."""

from __future__ import annotations

import inspect
import re

from foliot.api.rest.arguments import JSON_TYPES, MERGE_PATCH, Parameter, taking
from foliot.api.rest.documents import SCHEDULE_DOCUMENT
from foliot.api.rest.problems import MEDIA_TYPE
from foliot.api.rest.schemas import REF, Schema, Schemas
from foliot.api.roles import Role
from foliot.api.routes import ROUTES, Route
from foliot.wire import DETAILS

ERRORS = {
    400: "Something in the request cannot be right; the field is named.",
    401: "Nobody knows who asks.",
    403: "Whoever asks may not do that.",
    404: "There is no such thing, or not for whoever asks.",
    409: "It does not fit what is stored.",
    412: "The schedule has changed since it was read.",
    413: "The body is too large.",
    422: "A limit was reached.",
    429: "Too many requests.",
    503: "The store cannot be used just now; try again.",
}
PROBLEM: Schema = {
    "type": "object",
    "description": "What is wrong, for machines and for people.",
    "properties": {
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "Stable; see the reference of errors."},
        "title": {"type": "string"},
        "detail": {"type": "string", "description": "One line that names the field and the way out."},
        "retryable": {"type": "boolean"},
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


def describe(version: str) -> Schema:
    """Return the document."""
    schemas = Schemas()
    schemas.named["Problem"] = PROBLEM
    schemas.named["ScheduleDocument"] = SCHEDULE_DOCUMENT
    paths: dict[str, Schema] = {}
    for route in ROUTES:
        paths.setdefault(route.address, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Foliot", "version": version, "description": "Schedules, and what became of every tick."},
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.named.items())),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"bearer": []}],
    }


def _operation(route: Route, schemas: Schemas) -> Schema:
    summary, _, more = (inspect.getdoc(route.operation) or "").partition("\n")
    described: Schema = {
        "operationId": re.sub(r"\W+", "_", f"{route.method.lower()}{route.address}").strip("_"),
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


def _parameters(route: Route, schemas: Schemas) -> list[Schema]:
    taken = taking(route.operation)
    known = taken.parameters
    found = [
        {"name": name, "in": "path", "required": True, "schema": _plain_schema(known.get(name), schemas)}
        for name in route.names
    ]
    found += [HEADERS[name] for name in taken.from_headers]
    if route.method in ("GET", "DELETE"):
        found += [
            {"name": name, "in": "query", "required": each.required, "schema": _plain_schema(each, schemas)}
            for name, each in known.items()
            if name not in taken.from_headers and name not in route.names
        ]
    if route.role is not Role.PUBLIC:
        found.append(NAMESPACE)
    return found


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
        schema: Schema = {"type": "object"}
    else:
        properties = {
            name: schemas.of(each.kind)
            for name, each in known.parameters.items()
            if name not in known.from_headers and name not in route.names
        }
        required = [name for name in properties if known.parameters[name].required]
        if known.fields:
            properties = {**SCHEDULE_DOCUMENT["properties"], **properties}
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        if required:
            schema["required"] = required
        if known.fields:
            schema["examples"] = SCHEDULE_DOCUMENT["examples"]
    kinds = JSON_TYPES if route.method == "PATCH" else [kind for kind in JSON_TYPES if kind != MERGE_PATCH]
    needed = route.whole is not None or known.fields or bool(schema.get("required"))
    return {"required": needed, "content": {kind: {"schema": schema} for kind in kinds}}


def _responses(route: Route, schemas: Schemas) -> Schema:
    if route.answer is None:
        responses: Schema = {"204": {"description": "Done."}}
    else:
        content = {"application/json": {"schema": schemas.of(route.answer)}}
        responses = {str(route.status): {"description": "Done.", "content": content}}
    for status, description in ERRORS.items():
        responses[str(status)] = {
            "description": description,
            "content": {MEDIA_TYPE: {"schema": {"$ref": f"{REF}Problem"}}},
        }
    return responses
