"""Requests with wrong values: every write route answers with a problem, and never with an internal error."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.schedule_documents import DOCUMENTS
from tests.support.service import Http
from tompion.api.rest.openapi.examples import BODIES, BODIES_BY_PATH, PARAMETERS
from tompion.contract.api_routes import Route
from tompion.contract.routes import ROUTES

V1, ONE = "/api/v1", "/api/v1/schedules/report"
DAILY = {"cron": "0 9 * * *", "function": "tasks:report", "adaptive": True}
VALUES: tuple[Any, ...] = (
    True,
    -1,
    1.5,
    10**30,
    "",
    "x" * 20_000,
    "a\x00b",
    "a\ud800b",
    "2027-13-99",
    "9999-12-31T23:59:59Z",
    [],
    [None],
    [["x"]],
    {"a": None},
    {"url": "http://["},
)
"""Values of a wrong type, too large, too small, or not storable."""
BODIES_THAT_ARE_NOT_DOCUMENTS = (
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe",
    b"\x00",
    b"[" * 50_000,
    b'{"a": NaN}',
    b'{"a": 1, "a": 2}',
    b'{"\\ud800": 1}',
    b'{"no_such_field": 1}',
)
MEDIA_TYPES = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/xml")
MORE_FIELDS = (
    "spec",
    "schedule_id",
    "conflict_token",
    "definition",
    "version",
    "cron_expr",
    "note",
    "windows",
    "dates",
)
WRITES = [route for route in ROUTES if route.method not in ("GET", "DELETE")]
NESTED: list[tuple[str, dict[str, Any]]] = [
    (f"{V1}/calendars/bank", {"timezone": True}),
    (f"{V1}/calendars/bank", {"timezone": ["UTC"]}),
    (f"{V1}/calendars/bank", {"windows": [{"begin": 1, "end": 2}]}),
    (f"{V1}/calendars/bank", {"windows": [{"begin": "2027-01-01", "end": "2027-01-02", "note": "a\ud800"}]}),
    (f"{V1}/calendars/bank", {"windows": [{"begin": "2027-01-01", "end": "2027-01-02", "note": {}}]}),
    (ONE, {**DAILY, "jitter_seed": "a\ud800b"}),
    (ONE, {**DAILY, "jitter_seed": "a\x00b"}),
    (ONE, {**DAILY, "calendars": [{"hour": "1", "comment": "a\ud800b"}]}),
    (ONE, {**DAILY, "exclude": {"windows": [{"from": "2027-01-01", "to": "2027-01-02", "note": "a\ud800b"}]}}),
    (ONE, {**DAILY, "exclude": {"holidays": [{"country": "D\ud800", "dates": ["2027-01-01"]}]}}),
    (ONE, {**DAILY, "exclude": {"holidays": [{"country": "DE", "dates": ["2027-01-01"], "source": "\ud800"}]}}),
    (ONE, {**DAILY, "labels": {"a\ud800": "b"}}),
    (ONE, {**DAILY, "memo": {"a\ud800": 1}}),
    (ONE, {**DAILY, "search_attributes": {"a\ud800": {"type": "Int", "value": 1}}}),
    (ONE, {**DAILY, "payload": {"a\ud800": 1}}),
    (ONE, {"cron": "@daily", "http": {"url": "https://a.example", "headers": {"X": "\ud800"}}}),
    (ONE, {"cron": "@daily", "celery": {"task": "a", "kwargs": {"a": "\ud800"}}}),
    (f"{V1}/workflows/flow", {"function": "tasks:a", "dag": {"a": "\ud800"}}),
]


@pytest.fixture
def service(http: Http) -> Http:
    """A service with the objects that the paths name."""
    assert http("PUT", ONE, DAILY).status == 201
    assert http("PUT", f"{V1}/workflows/{PARAMETERS['workflow_id']}", {"function": "tasks:report"}).status == 201
    return http


def path_of(route: Route) -> str:
    path = route.full_path
    for name in route.path_parameters:
        path = path.replace(f"{{{name}}}", str(PARAMETERS[name]))
    return path


def field_names(route: Route) -> list[str]:
    """Return the fields that a body can have."""
    parameters = list(inspect.signature(route.operation).parameters.values())[1:]
    names = [parameter.name for parameter in parameters if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
    if len(names) < len(parameters):
        names += [name for document in DOCUMENTS.values() for name in document]
    return sorted({*names, *MORE_FIELDS})


def requests_of(route: Route) -> Iterator[tuple[bytes, str]]:
    """Yield bodies and their media types."""
    example = BODIES_BY_PATH.get(route.path, BODIES.get(route.name)) or {}
    for body in BODIES_THAT_ARE_NOT_DOCUMENTS:
        yield body, "application/json"
    for media_type in MEDIA_TYPES:
        yield json.dumps(example).encode(), media_type
    for name in field_names(route):
        for value in VALUES:
            yield json.dumps({**example, name: value}).encode(), "application/json"


@pytest.mark.parametrize("tag", sorted({route.tag for route in WRITES}))
def test_no_body_is_an_internal_error(service: Http, tag: str) -> None:
    problems = []
    for route in WRITES:
        for body, media_type in requests_of(route) if route.tag == tag else ():
            answer = service(route.method, path_of(route), body, Content_Type=media_type)
            if answer.status < 400:
                continue
            is_problem = answer.headers["content-type"] == "application/problem+json" and bool(answer.json["detail"])
            if answer.status >= 500 or not is_problem:
                problems.append((route.method, route.path, body[:200], answer.status, answer.body[:200]))
                service.close()  # the service closes the connection after an internal error
    assert problems == []


@pytest.mark.parametrize(("path", "document"), NESTED)
def test_a_nested_value_that_no_store_can_hold_is_rejected(service: Http, path: str, document: dict[str, Any]) -> None:
    """Regression: a half of a surrogate pair, and a time zone that is not text, were internal errors."""
    answer = service("PUT", path, document)
    assert (answer.status, answer.json["status"]) == (400, 400), answer.body
    assert answer.json["field"]


@pytest.mark.parametrize("route", WRITES, ids=lambda route: f"{route.method} {route.full_path}")
def test_a_wrong_media_type_and_a_duplicate_field_are_rejected(service: Http, route: Route) -> None:
    path = path_of(route)
    refused = service(route.method, path, b'{"a": 1}', Content_Type="text/plain")
    assert (refused.status, refused.json["field"]) == (400, "Content-Type")
    refused = service(route.method, path, b'{"a": 1, "a": 2}')
    assert (refused.status, refused.json["field"], refused.json["problem"]) == (400, "a", "duplicate field")
