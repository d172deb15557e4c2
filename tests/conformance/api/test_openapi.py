"""The checked-in description of the API: its examples are accepted, and what it does not describe never happens."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

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

from tests.support.operations import BEGIN
from tests.support.service import SECONDS, Http, Response, Served, runner_of, serve_runner
from tompion import Tompion
from tompion.api.auth import session_cookie
from tompion.config.loader import load
from tompion.operations.resources.api_keys import create_key
from tompion.operations.runner import OperationRunner
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.clock import ManualClock

if TYPE_CHECKING:
    from tests.support.servers.database_pool import Recycling

DOCUMENT = json.loads((Path(__file__).parents[3] / "docs/reference/openapi.json").read_text(encoding="utf-8"))
BODIES = [
    pytest.param(method, path, kind, body["schema"], id=f"{method} {path} {kind}")
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    for kind, body in operation.get("requestBody", {}).get("content", {}).items()
]
ENDLESS = "/api/v1/events"
DOCUMENTED = [
    "/api/v1/schedules",
    "/api/v1/schedules/{schedule_id}",
    "/api/v1/schedules/{schedule_id}/declare",
    "/api/v1/schedules/{schedule_id}/diff",
    "/schedules/upsert",
]
"""Where the body is a document of a schedule."""
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
)
UNKNOWN = ("/keys/", "/workers/", "/callbacks", "/runs/", "/versions/")
"""Where an example names what a store of its own cannot have."""


@pytest.fixture
def http() -> Iterator[Http]:
    store = SqliteStore(clock=ManualClock(BEGIN))
    with serve_runner(runner_of(store)) as url:
        asking = Http(url)
        seed(asking)
        yield asking
        asking.close()
    store.close()


def seed(http: Callable[..., Response]) -> None:
    """Put there what the examples are about."""
    http("PUT", "/api/v1/schedules/report", {"intervals": "1h", "function": "tasks:report"})
    http("PUT", "/api/v1/workflows/nightly-etl", {"executor": "http", "options": {"url": "https://jobs.example/run"}})
    http("PUT", "/api/v1/schedules/bank-holidays", {"cron": "@daily", "function": "tasks:report"})
    http("PUT", "/api/v1/calendars/bank-holidays", {"dates": ["2026-12-25"]})


@pytest.mark.parametrize(("method", "path", "kind", "schema"), BODIES)
def test_every_example_request_is_valid_and_accepted(
    http: Http, method: str, path: str, kind: str, schema: Any
) -> None:
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
def test_every_example_response_matches_its_schema(schema: Any, example: Any) -> None:
    jsonschema_rs.validate({**schema, "components": DOCUMENT["components"]}, example)


def test_every_response_has_an_example_and_a_schema() -> None:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            contents = [
                content
                for status, answer in operation["responses"].items()
                if status.startswith("2")
                for content in answer.get("content", {}).values()
            ]
            assert contents or next(iter(operation["responses"])) == "204", (method, path)
            for content in contents:
                assert "example" in content, (method, path)
                assert content["schema"] != {"type": "object"} or path.endswith("/openapi.json"), (method, path)


def test_queues_and_tokens_of_workers_are_lists_of_text() -> None:
    schemas = [
        (path, name, schema)
        for path, methods in DOCUMENT["paths"].items()
        if "/workers" in path and "requestBody" in methods.get("post", {})
        for name, schema in methods["post"]["requestBody"]["content"]["application/json"]["schema"][
            "properties"
        ].items()
        if name in ("queues", "tokens")
    ]
    assert schemas
    assert [item for item in schemas if item[2] != {"type": "array", "items": {"type": "string"}}] == []


def test_error_statuses_are_listed_per_operation() -> None:
    def problems(method: str, path: str) -> set[int]:
        return {int(status) for status in DOCUMENT["paths"][path][method]["responses"] if int(status) >= 400}

    assert problems("get", "/healthz") == {400, 429}
    assert problems("get", "/readyz") == {400, 429, 503}
    assert problems("get", "/api/v1/schedules") == {400, 401, 403, 404, 429, 503}
    assert problems("patch", "/api/v1/schedules/{schedule_id}") == {400, 401, 403, 404, 409, 412, 413, 429, 503}
    assert problems("post", "/api/v1/preview") == {400, 401, 403, 404, 413, 422, 429, 503}
    assert 409 not in problems("post", "/api/v1/keys")


def test_every_authentication_scheme_is_described() -> None:
    schemes = DOCUMENT["components"]["securitySchemes"]
    kinds = {(scheme["type"], scheme.get("scheme") or scheme.get("in")) for scheme in schemes.values()}
    assert kinds == {("http", "bearer"), ("http", "basic"), ("apiKey", "cookie"), ("mutualTLS", None)}
    assert DOCUMENT["security"] == [{name: []} for name in schemes]
    assert schemes["cookie"]["name"] == session_cookie.COOKIE_NAME


class ServiceUnderTest(NamedTuple):
    """A service that requires credentials, and a key for all namespaces."""

    url: str
    key: str


@contextmanager
def serve_with_key(runner: OperationRunner) -> Iterator[ServiceUnderTest]:
    """Serve an operation runner to callers with the key."""
    future = runner.send(
        lambda context: create_key(context, "all", role="admin"), namespace="*", actor="ann", writes=True
    )
    key = future.result(SECONDS).secret
    served = Served(runner, load({}, {"auth": "required"}))
    asking = Http(served.url)
    try:
        seed(lambda *request: asking(*request, Authorization=f"Bearer {key}"))
        yield ServiceUnderTest(served.url, key)
    finally:
        asking.close()
        served.close()


@pytest.fixture(scope="module")
def service() -> Iterator[ServiceUnderTest]:
    """A service for generated requests, valid and invalid."""
    store = SqliteStore(clock=ManualClock(BEGIN))
    with serve_with_key(runner_of(store)) as opened:
        yield opened
    store.close()


@pytest.fixture(scope="module")
def busy(migrated_databases: Recycling) -> Iterator[ServiceUnderTest]:
    """The same on PostgreSQL, with an engine that works meanwhile."""
    with migrated_databases.lent() as url, Tompion(url) as home, serve_with_key(home._runner) as opened:
        yield opened


described = schemathesis.openapi.from_dict(DOCUMENT).exclude(path=ENDLESS)


quick = settings(deadline=None, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))


@pytest.mark.slow
@described.exclude(path=DOCUMENTED).parametrize()
@settings(quick, max_examples=2)
def test_generated_requests_get_only_described_responses(case: Any, service: ServiceUnderTest) -> None:
    """No internal error, and no status, type or field that the document does not name."""
    check(case, service)


@pytest.mark.slow
@described.include(path=DOCUMENTED).parametrize()
@settings(quick, max_examples=1)
def test_generated_schedule_documents_get_only_described_responses(case: Any, service: ServiceUnderTest) -> None:
    """They take long to draw."""
    check(case, service)


@described.exclude(path=DOCUMENTED).parametrize()
@settings(quick, max_examples=1, phases=[Phase.generate])
def test_generated_requests_get_only_described_responses_on_postgresql_with_an_engine(
    case: Any, busy: ServiceUnderTest
) -> None:
    """Schedule documents are tested there by their examples only."""
    check(case, busy)


def test_generated_schedule_documents_get_only_described_responses_on_postgresql(busy: ServiceUnderTest) -> None:
    http = Http(busy.url)
    for path in DOCUMENTED:
        for method, operation in DOCUMENT["paths"][path].items():
            for kind, content in operation.get("requestBody", {}).get("content", {}).items():
                filled = path.replace("{schedule_id}", "report")
                (body,) = content["schema"]["examples"]
                response = http(method.upper(), filled, body, Content_Type=kind, Authorization=f"Bearer {busy.key}")
                described = operation["responses"][str(response.status)]
                if response.status < 300:
                    schema = described["content"]["application/json"]["schema"]
                    jsonschema_rs.validate({**schema, "components": DOCUMENT["components"]}, response.json)
    http.close()


def check(case: Any, service: ServiceUnderTest) -> None:
    """Send a request as an administrator, and validate the response against the document."""
    case.cookies.clear()
    case.headers["Authorization"] = f"Bearer {service.key}"
    case.headers.pop("Idempotency-Key", None)  # one that was used for something else would be all that is looked at
    if isinstance(case.body, dict) and type(case.body.get("wait_ms")) is int:
        case.body["wait_ms"] = min(case.body["wait_ms"], 1)
    case.call_and_validate(base_url=service.url, checks=CHECKS)
