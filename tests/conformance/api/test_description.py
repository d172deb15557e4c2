"""The checked-in description of the API: its examples are accepted, and what it does not describe never happens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from foliot.store.sqlite.driver import SqliteStore
from foliot.testing.clock import ManualClock
from tests.conformance.api.kit import Http, desk_of, serving
from tests.conformance.operations.kit import BEGIN

DOCUMENT = json.loads((Path(__file__).parents[3] / "docs/reference/openapi.json").read_text(encoding="utf-8"))
BODIES = [
    pytest.param(method, path, kind, body["schema"], id=f"{method} {path} {kind}")
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    for kind, body in operation.get("requestBody", {}).get("content", {}).items()
]
ENDLESS = "/api/v1/events"
UNKNOWN = ("/keys/", "/workers/", "/reports", "/runs/", "/versions/")
"""Where an example names what a store of its own cannot have."""


@pytest.fixture
def http() -> Iterator[Http]:
    store = SqliteStore(clock=ManualClock(BEGIN))
    with serving(desk_of(store)) as url:
        asking = Http(url)
        seed(asking)
        yield asking
        asking.close()
    store.close()


def seed(http: Http) -> None:
    """Put there what the examples are about."""
    http("PUT", "/api/v1/schedules/report", {"intervals": "1h", "function": "tasks:report"})
    http("PUT", "/api/v1/workflows/nightly-etl", {"executor": "http", "options": {"url": "https://jobs.example/run"}})
    http("PUT", "/api/v1/schedules/bank-holidays", {"cron": "@daily", "function": "tasks:report"})
    http("PUT", "/api/v1/calendars/bank-holidays", {"dates": ["2026-12-25"]})


@pytest.mark.parametrize(("method", "path", "kind", "schema"), BODIES)
def test_every_example_is_valid_and_accepted(http: Http, method: str, path: str, kind: str, schema: Any) -> None:
    (example,) = schema["examples"]
    whole = {**schema, "components": DOCUMENT["components"]}
    assert jsonschema_rs.is_valid(whole, example)
    if any(part in path for part in UNKNOWN) or path.endswith(("/backfills/{backfill_id}/cancel", "/declare")):
        return
    if path.endswith("/hints"):
        http("PATCH", "/api/v1/schedules/report", {"adaptive": True})
    if method == "post" and path.endswith("/schedules"):
        http("DELETE", "/api/v1/schedules/report?purge=true")
    filled = path
    for parameter in DOCUMENT["paths"][path][method]["parameters"]:
        if parameter["in"] == "path":
            filled = filled.replace(f"{{{parameter['name']}}}", str(parameter["schema"]["examples"][0]))
    answer = http(method.upper(), filled, example, **{"Content-Type": kind})
    assert 200 <= answer.status < 300, answer.body


@pytest.mark.parametrize(
    ("schema", "example"),
    [
        pytest.param(content["schema"], content["example"], id=f"{method} {path}")
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
        for answer in operation["responses"].values()
        for content in answer.get("content", {}).values()
        if "example" in content
    ],
)
def test_every_example_of_an_answer_is_one(schema: Any, example: Any) -> None:
    jsonschema_rs.validate({**schema, "components": DOCUMENT["components"]}, example)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A service that is asked everything that the description allows, and much that it does not."""
    store = SqliteStore(clock=ManualClock(BEGIN))
    with serving(desk_of(store)) as url:
        asking = Http(url)
        seed(asking)
        asking.close()
        yield url
    store.close()


described = schemathesis.openapi.from_dict(DOCUMENT).exclude(path=ENDLESS)


@described.parametrize()
@settings(
    max_examples=3,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_nothing_happens_that_is_not_described(case: Any, address: str) -> None:
    """No mistake of ours, no status, type or field that the description does not name."""
    case.headers.pop("Idempotency-Key", None)  # one that was used for something else would be all that is looked at
    if isinstance(case.body, dict) and type(case.body.get("wait_ms")) is int:
        case.body["wait_ms"] = min(case.body["wait_ms"], 1)
    case.call_and_validate(
        base_url=address,
        checks=(
            not_a_server_error,
            status_code_conformance,
            content_type_conformance,
            response_schema_conformance,
            response_headers_conformance,
        ),
    )
