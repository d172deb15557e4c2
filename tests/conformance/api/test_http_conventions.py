"""Conventions of HTTP: 201 and Location, ETag and 304, Link, compression, request ids and links to error codes."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.service import Http, Served, runner_of
from tompion.api.rest import app as rest_app
from tompion.config.loader import load
from tompion.errors import TompionError
from tompion.store.base import Store
from tompion.store.sqlite.driver import SqliteStore

V1, ONE = "/api/v1", "/api/v1/schedules/report"
DAILY = {"cron": "0 9 * * *", "timezone": "Europe/Berlin", "function": "tasks:report"}
WORKFLOW = {"executor": "http", "options": {"url": "https://jobs.example/run"}}


@pytest.mark.parametrize(
    ("path", "document", "other"),
    [
        (ONE, DAILY, {**DAILY, "cron": "@hourly"}),
        (f"{V1}/schedules/a%2Fb", DAILY, {**DAILY, "cron": "@hourly"}),
        (f"{V1}/workflows/flow", WORKFLOW, {**WORKFLOW, "dag": {"steps": 1}}),
        (f"{V1}/calendars/bank", {"dates": ["2026-12-25"]}, {"dates": ["2026-12-26"]}),
    ],
)
def test_a_put_that_creates_responds_with_201_and_a_location(http: Http, path: str, document: Any, other: Any) -> None:
    created = http("PUT", path, document)
    assert (created.status, created.headers["location"]) == (201, path)
    assert http("GET", created.headers["location"]).status == 200
    for again in (document, other):
        replaced = http("PUT", path, again)
        assert (replaced.status, replaced.headers.get("location")) == (200, None)


def test_a_put_that_creates_a_deleted_schedule_again_responds_with_201(http: Http) -> None:
    http("PUT", ONE, DAILY)
    http("DELETE", ONE)
    assert http("PUT", ONE, DAILY).status == 201


def test_a_repeated_request_has_the_same_status(http: Http) -> None:
    """The second answer comes from the store."""
    answers = [http("PUT", ONE, DAILY, Idempotency_Key="k1") for _ in range(2)]
    assert [(answer.status, answer.headers["location"]) for answer in answers] == [(201, ONE), (201, ONE)]
    replaced = [http("PUT", ONE, DAILY, Idempotency_Key="k2").status for _ in range(2)]
    assert replaced == [200, 200]


def test_a_post_that_creates_has_a_location(http: Http) -> None:
    created = http("POST", f"{V1}/schedules?namespace=team", {**DAILY, "schedule_id": "a/b"})
    assert (created.status, created.headers["location"]) == (201, f"{V1}/schedules/a%2Fb?namespace=team")
    assert http("GET", created.headers["location"]).json["schedule_id"] == "a/b"
    http("PUT", ONE, {**DAILY, "adaptive": True})
    run = http("POST", f"{ONE}/trigger", {})
    assert (run.status, run.headers["location"]) == (201, f"{V1}/runs/{run.json['run_id']}")
    assert http("GET", run.headers["location"]).json["run_id"] == run.json["run_id"]
    hint = http("POST", f"{ONE}/hints", {"interval_ms": 120_000})
    assert (hint.status, hint.headers["location"]) == (201, f"{ONE}/hints")
    key = http("POST", f"{V1}/keys", {"name": "ci"})
    assert key.headers["location"] == f"{V1}/keys/{key.json['key']['key_id']}"
    worker = http("POST", f"{V1}/workers", {"name": "w"})
    assert worker.headers["location"] == f"{V1}/workers/{worker.json['worker_id']}"
    skipped = http("POST", f"{ONE}/trigger", {"overlap": "skip"})
    again = http("POST", f"{skipped.headers['location']}/retry", {})
    assert (again.status, again.headers["location"]) == (201, f"{V1}/runs/{again.json['run_id']}")
    declared = [http("POST", f"{V1}/schedules/code/declare", DAILY) for _ in range(2)]
    assert [answer.status for answer in declared] == [201, 200]
    assert declared[0].headers["location"] == f"{V1}/schedules/code"


def test_a_run_of_a_workflow_has_a_location(http: Http) -> None:
    """The body is only true or false, so the path is the only way to the run."""
    http("PUT", f"{V1}/workflows/flow?namespace=team", WORKFLOW)
    start = {"idempotency_key": "order-1"}
    answers = [http("POST", f"{V1}/workflows/flow/runs?namespace=team", start) for _ in range(2)]
    assert [(answer.status, answer.json) for answer in answers] == [(201, True)] * 2
    first, second = (answer.headers["location"] for answer in answers)
    assert first == second
    assert http("GET", first).json["schedule_id"] == "run-launcher/flow"
    unknown = http("POST", f"{V1}/workflows/nothing/runs", {"idempotency_key": "order-2"})
    assert (unknown.status, unknown.json) == (201, False)
    assert http("GET", unknown.headers["location"]).json["idempotency_key"] == "order-2"


def test_every_route_with_201_documents_a_location(http: Http) -> None:
    document = http("GET", f"{V1}/openapi.json").json
    created = [
        (path, method, operation["responses"]["201"])
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if "201" in operation["responses"]
    ]
    assert len(created) > 10
    assert [(path, method) for path, method, answer in created if "Location" not in answer["headers"]] == []


def test_backfills_have_a_location(http: Http) -> None:
    http("PUT", ONE, {**DAILY, "start_at": "2026-01-01T00:00:00Z"})
    one = http("POST", f"{ONE}/backfills", {"start": "2026-11-01T00:00:00Z", "end": "2026-11-02T00:00:00Z"})
    assert (one.status, one.headers["location"]) == (201, f"{V1}/backfills/{one.json[0]['backfill_id']}")


def test_every_read_has_an_etag_and_an_unchanged_one_responds_with_304(http: Http) -> None:
    http("PUT", ONE, DAILY)
    http("PUT", f"{V1}/workflows/flow", WORKFLOW)
    for path in (ONE, f"{V1}/schedules", f"{V1}/workflows/flow", f"{V1}/stats", f"{V1}/openapi.json"):
        first = http("GET", path)
        etag = first.headers["etag"]
        for condition in (etag, f"W/{etag}", f'"other", {etag}', "*"):
            unchanged = http("GET", path, If_None_Match=condition)
            assert (unchanged.status, unchanged.headers["etag"], unchanged.body) == (304, etag, b""), (path, condition)
        assert http("GET", path, If_None_Match='"other"').body == first.body


def test_the_etag_of_a_schedule_changes_with_its_state(http: Http) -> None:
    """A run changes the counters, but not the conflict token."""
    token = http("PUT", ONE, DAILY).json["conflict_token"]
    before = http("GET", ONE).headers["etag"]
    http("POST", f"{ONE}/trigger", {})
    after = http("GET", ONE, If_None_Match=before)
    assert (after.status, after.json["conflict_token"]) == (200, token)
    assert http("PATCH", ONE, {"description": "x"}, If_Match=before).status == 200
    assert http("PATCH", ONE, {"description": "y"}, If_Match=before).status == 412


def test_a_page_links_to_the_next_one(http: Http) -> None:
    for name in ("a", "b b", "c"):
        http("PUT", f"{V1}/schedules/{quote(name)}", {**DAILY, "labels": {"team": "x&y"}})
    first = http("GET", f"{V1}/schedules?label=team%3Dx%26y&limit=2")
    assert first.headers["link"] == f'<{V1}/schedules?label=team%3Dx%26y&limit=2&after=b+b>; rel="next"'
    second = http("GET", first.headers["link"].partition("<")[2].partition(">")[0])
    assert ([schedule["schedule_id"] for schedule in second.json["items"]], "link" in second.headers) == (["c"], False)
    history = http("GET", f"{V1}/schedules/a/history?limit=1")
    assert "link" not in history.headers
    http("PATCH", f"{V1}/schedules/a", {"description": "x"})
    link = http("GET", f"{V1}/schedules/a/history?limit=1").headers["link"]
    assert re.fullmatch(rf'<{V1}/schedules/a/history\?limit=1&before=[^>]+>; rel="next"', link)


def test_large_responses_are_compressed_and_small_ones_are_not(http: Http) -> None:
    http("PUT", ONE, DAILY)
    small = http("GET", ONE, Accept_Encoding="gzip")
    assert ("content-encoding" in small.headers, small.json["schedule_id"]) == (False, "report")
    path = f"{V1}/openapi.json"
    plain, compressed = http("GET", path), http("GET", path, Accept_Encoding="gzip, br")
    assert (plain.headers["vary"], compressed.headers["vary"]) == ("Accept-Encoding", "Accept-Encoding")
    assert (compressed.headers["content-encoding"], "content-encoding" in plain.headers) == ("gzip", False)
    assert gzip.decompress(compressed.body) == plain.body
    assert len(compressed.body) * 5 < len(plain.body)
    assert compressed.headers["etag"] == f"W/{plain.headers['etag']}"
    assert http("GET", path, Accept_Encoding="gzip", If_None_Match=compressed.headers["etag"]).status == 304


def test_a_request_id_of_the_caller_is_kept(http: Http) -> None:
    answer = http("GET", f"{V1}/nowhere", X_Request_Id="deploy-17/a:b")
    assert (answer.headers["x-request-id"], answer.json["request_id"]) == ("deploy-17/a:b", "deploy-17/a:b")
    assert http("GET", "/healthz", X_Request_Id="x" * 128).headers["x-request-id"] == "x" * 128


@pytest.mark.parametrize("name", ["", "a b", "x" * 129, 'a"b', "<script>", "\xe9"])
def test_other_request_ids_are_replaced(http: Http, name: str) -> None:
    first, second = (http("GET", ONE, X_Request_Id=name) for _ in range(2))
    assert re.fullmatch("[0-9a-f]{16}", first.headers["x-request-id"])
    assert first.headers["x-request-id"] != second.headers["x-request-id"]
    assert first.json["request_id"] == first.headers["x-request-id"]


def test_refused_requests_have_a_request_id(http: Http) -> None:
    answer = http("GET", "/healthz", Host="other.example")
    assert (answer.status, answer.json["request_id"]) == (400, answer.headers["x-request-id"])


def test_an_unexpected_error_has_the_request_id_in_the_response_and_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_arguments: Any) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(rest_app, "call_operation", fail)
    store = SqliteStore()
    served = Served(runner_of(store))
    http = Http(served.url)
    answer = http("GET", f"{V1}/schedules", X_Request_Id="r-1")
    http.close()
    served.close()
    store.close()
    assert (answer.status, answer.headers["x-request-id"], answer.json["request_id"]) == (500, "r-1", "r-1")
    assert "RuntimeError: a defect\nrequest id: r-1\n" in caplog.text


def test_the_type_of_a_problem_links_to_its_description(http: Http) -> None:
    problem = http("GET", ONE).json
    assert problem["type"] == "/docs/errors#not_found"
    page = http("GET", "/docs/errors", Accept="text/html")
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    anchors = set(re.findall(r'<tr id="(\w+)">', page.body.decode()))
    assert {"unknown_host", "internal_error", *(kind.code for kind in TompionError.__subclasses__())} <= anchors


def test_the_description_names_the_address_of_the_service(store: Store) -> None:
    served = Served(runner_of(store), replace(load({}), public_url="https://jobs.example"))
    http = Http(served.url)
    assert json.loads(http("GET", f"{V1}/openapi.json").body)["servers"] == [{"url": "https://jobs.example"}]
    http.close()
    served.close()
