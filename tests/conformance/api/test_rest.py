"""HTTP semantics: statuses, headers, problem documents and the rules of PATCH."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.service import Http, Served, runner_of
from tompion.api.rest.openapi.document import describe
from tompion.contract.routes import ROUTES, SYSTEM_ROUTES
from tompion.store.base import Store

ONE = "/api/v1/schedules/report"
WRITTEN = (
    "schedule_id", "cron", "timezone", "jitter_ms", "function", "overlap_policy", "catchup_policy", "min_interval_ms",
    "labels", "catchup_window", "on_worker_lost",
)  # fmt: skip
DAILY = {"cron": "0 9 * * *", "timezone": "Europe/Berlin", "function": "tasks:report"}


def test_a_schedule_can_be_read_and_sent_back(http: Http) -> None:
    created = http("PUT", ONE, {**DAILY, "labels": {"a": "b"}, "catchup_window": "1h", "on_worker_lost": "fail"})
    assert (created.status, created.headers["location"]) == (201, ONE)
    assert created.headers["etag"].startswith('"1-')
    document = created.json
    assert {name: document[name] for name in WRITTEN} == {
        "schedule_id": "report",
        "cron": ["0 9 * * *"],
        "timezone": "Europe/Berlin",
        "jitter_ms": 0,
        "function": "tasks:report",
        "overlap_policy": "skip",
        "catchup_policy": "none",
        "min_interval_ms": 0,
        "labels": {"a": "b"},
        "catchup_window": 3600,
        "on_worker_lost": "fail",
    }
    again = http("PUT", ONE, document)
    assert again.status == 200
    assert http("GET", ONE).json == document


def test_create_returns_201_and_409_for_an_existing_id(http: Http) -> None:
    assert http("POST", "/api/v1/schedules", {**DAILY, "schedule_id": "report"}).status == 201
    taken = http("POST", "/api/v1/schedules", {**DAILY, "schedule_id": "report"})
    assert (taken.status, taken.json["code"]) == (409, "already_exists")
    assert taken.headers["content-type"] == "application/problem+json"


def test_a_stale_etag_is_a_failed_precondition_and_a_stale_token_a_conflict(http: Http) -> None:
    http("PUT", ONE, DAILY)
    http("POST", f"{ONE}/pause", {})
    stale = http("PUT", ONE, DAILY, If_Match='"1"')
    assert (stale.status, stale.json["code"], stale.json["conflict_token"]) == (412, "stale_token", 2)
    conflict = http("PUT", ONE, {**DAILY, "conflict_token": 1})
    assert (conflict.status, conflict.json["code"]) == (409, "stale_token")
    assert http("PUT", ONE, DAILY, If_Match='"2"').status == 200
    assert http("PUT", ONE, DAILY, If_Match="nonsense").status == 400


def test_if_match_star_requires_an_existing_schedule(http: Http) -> None:
    """RFC 9110, 13.1.1: ``*`` is true if there is anything at all."""
    missing = http("PUT", ONE, DAILY, If_Match="*")
    assert (missing.status, missing.json["code"]) == (412, "not_found")
    assert http("GET", ONE).status == 404
    assert http("POST", f"{ONE}/pause", {}, If_Match="*").status == 404, "it would be without the condition, too"
    http("PUT", ONE, DAILY)
    http("POST", f"{ONE}/pause", {})
    assert http("PUT", ONE, DAILY, If_Match="*").json["conflict_token"] == 2
    assert http("PATCH", ONE, {"description": "x"}, If_Match="*", Idempotency_Key="p1").json["conflict_token"] == 3
    assert http("PATCH", ONE, {"description": "x"}, If_Match="*", Idempotency_Key="p1").json["conflict_token"] == 3
    assert http("DELETE", ONE, If_Match="*").status == 200
    assert http("PUT", ONE, {**DAILY, "conflict_token": -1}).status == 409, "only the header knows the star"


def test_a_put_with_a_condition_does_not_revive_a_deleted_schedule(http: Http) -> None:
    token = http("PUT", ONE, DAILY).json["conflict_token"]
    deleted = http("DELETE", ONE).json
    assert (deleted["status"], deleted["conflict_token"]) == ("closed", token + 1)
    for condition in ("*", f'"{token + 1}"'):
        refused = http("PUT", ONE, DAILY, If_Match=condition)
        assert (refused.status, refused.json["code"]) == (409, "schedule_closed")
    assert http("GET", ONE).json["status"] == "closed"
    assert http("PUT", ONE, DAILY).json["status"] == "active"


def test_a_worker_is_deregistered_with_delete(http: Http) -> None:
    worker = http("POST", "/api/v1/workers", {"name": "w"}).json["worker_id"]
    assert [http("DELETE", f"/api/v1/workers/{worker}").status for _ in range(2)] == [204, 204]
    assert http("POST", f"/api/v1/workers/{worker}/claim", {}).status == 404


def test_older_names_of_routes(http: Http) -> None:
    http("PUT", ONE, DAILY)
    assert http("POST", f"{ONE}/fire", {}).json["source"] == "trigger"
    assert http("POST", ONE, DAILY).status == 405


def test_the_same_idempotency_key_is_done_once(http: Http) -> None:
    http("PUT", ONE, DAILY)
    first, again = (http("POST", f"{ONE}/trigger", {}, Idempotency_Key="k1") for _ in range(2))
    assert (first.status, first.json) == (201, again.json)
    other = http("POST", f"{ONE}/pause", {}, Idempotency_Key="k1")
    assert (other.status, other.json["code"]) == (409, "request_reused")


def test_null_is_ignored_in_a_patch_and_clears_in_a_merge_patch(http: Http) -> None:
    http("PUT", ONE, {**DAILY, "description": "x"})
    plain = http("PATCH", ONE, {"timezone": None, "description": "y"})
    assert plain.json["timezone"] == "Europe/Berlin"
    assert plain.json["description"] == "y"
    merged = http("PATCH", ONE, {"timezone": None}, Content_Type="application/merge-patch+json")
    assert merged.json["timezone"] == "UTC"
    assert merged.json["description"] == "y"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "field"),
    [
        ("PUT", ONE, {**DAILY, "timezone": "Mars/X"}, 400, "timezone"),
        ("PUT", ONE, {**DAILY, "cron": "x"}, 400, "cron"),
        ("PUT", ONE, {**DAILY, "max_concurrent": -1}, 400, "max_concurrent"),
        ("PUT", ONE, {**DAILY, "schedule_id": "other"}, 400, "schedule_id"),
        ("PUT", ONE, [1], 400, None),
        ("PUT", ONE, b"{", 400, None),
        ("PUT", ONE, b'{"payload": NaN}', 400, None),
        ("PUT", ONE, b"[" * 100_000, 400, None),
        ("GET", "/api/v1/schedules?limit=x", None, 400, "limit"),
        ("GET", "/api/v1/schedules?colour=x", None, 400, "colour"),
        ("DELETE", f"{ONE}?purge=perhaps", None, 400, "purge"),
        ("GET", "/api/v1/runs/nonsense", None, 404, None),
        ("GET", ONE, None, 404, None),
        ("GET", "/api/v1/schedules/a%00b", None, 400, None),
        ("POST", f"{ONE}/pause", {"colour": 1}, 400, "colour"),
        ("POST", "/api/v1/backfills/x/cancel", {}, 400, "backfill_id"),
        ("GET", "/api/v1/nowhere", None, 404, None),
        ("DELETE", "/api/v1/schedules", None, 405, None),
        ("POST", "/api/v1/callbacks", {"token": "x", "event": "succeeded"}, 400, "token"),
    ],
)
def test_invalid_requests_return_problem_documents(
    http: Http, method: str, path: str, body: Any, status: int, field: str | None
) -> None:
    answer = http(method, path, body)
    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
    assert set(answer.json) >= {"status", "code", "title", "detail", "retryable"}
    assert answer.json.get("field") == field


def test_other_content_types_are_refused(http: Http) -> None:
    answer = http("PUT", ONE, b"a=b", Content_Type="application/x-www-form-urlencoded")
    assert (answer.status, answer.json["field"]) == (400, "Content-Type")


def test_lists_are_paged(http: Http) -> None:
    for name in "abc":
        http("PUT", f"/api/v1/schedules/{name}", DAILY)
    first = http("GET", "/api/v1/schedules?limit=2").json
    second = http("GET", f"/api/v1/schedules?limit=2&after={first['next_page']}").json
    assert [schedule["schedule_id"] for schedule in first["items"] + second["items"]] == ["a", "b", "c"]
    assert second["next_page"] is None


def test_health_and_readiness_endpoints(http: Http, store: Store) -> None:
    assert (http("GET", "/healthz").status, http("GET", "/readyz").json["status"]) == (200, "ready")
    store.close()
    assert http("GET", "/healthz").status == 200
    answer = http("GET", "/readyz")
    assert (answer.status, answer.json["code"]) == (503, "not_ready")
    assert "the store does not answer" in answer.json["problems"][0]


def test_a_service_whose_engine_hangs_is_not_ready(store: Store) -> None:
    engine_problems: list[str] = []
    served = Served(runner_of(store), problems=lambda: engine_problems)
    http = Http(served.url)
    try:
        assert http("GET", "/readyz").status == 200
        engine_problems.append("the engine has not looked for work for 40 s (it hangs)")
        answer = http("GET", "/readyz")
        assert (answer.status, answer.json["problems"]) == (503, engine_problems)
    finally:
        http.close()
        served.close()


def test_namespaces_are_separate(http: Http) -> None:
    http("PUT", f"{ONE}?namespace=one", DAILY)
    assert http("GET", f"{ONE}?namespace=one").status == 200
    assert http("GET", ONE).status == 404
    assert http("GET", "/api/v1/schedules?namespace=two").json["items"] == []


def test_openapi_has_every_route(http: Http) -> None:
    document = http("GET", "/api/v1/openapi.json").json
    assert document == json.loads(json.dumps(describe(document["info"]["version"])))
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert described == {(route.method, route.full_path) for route in ROUTES} | {
        (item.method, item.full_path) for item in SYSTEM_ROUTES
    }
    references = {item for item in _references(document) if "/schemas/" in item}
    assert references
    assert references == {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}


def _references(node: Any) -> list[str]:
    if isinstance(node, dict):
        references = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return references + [reference for value in node.values() for reference in _references(value)]
    return [reference for value in node for reference in _references(value)] if isinstance(node, list) else []
