"""A schedule names what it runs in one field: through REST to real targets, and back."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.support.executors import CANARY, Server, http_server
from tests.support.service import Http, Served
from tests.support.waiting import wait_until
from tompion import Tompion
from tompion.config.settings import Settings

KEY = bytes(range(32))
SECRET = "whsec_" + base64.b64encode(KEY).decode()
QUICK = Settings(tick_ms=50, launch_retry_ms=10)
BAD_ACTIONS: list[tuple[dict[str, Any], str, str]] = [
    ({}, "function", "there is nothing to run"),
    ({"http": None}, "function", "there is nothing to run"),
    ({"http": {"url": "https://a.example"}, "function": "tasks:report"}, "http", "sent together with function"),
    ({"http": {"url": "https://a.example"}, "command": "backup"}, "http", "sent together with command"),
    ({"http": "https://a.example"}, "http", "is not an object"),
    ({"http": {}}, "http.url", "required"),
    ({"http": {"url": "ftp://a.example"}}, "http.url", "expected a URL"),
    ({"http": {"url": "https://u:p@a.example"}}, "http.url", "must not contain a user or a password"),
    ({"http": {"url": "https://a.example", "methd": "GET"}}, "http.methd", "there is no such option"),
    ({"http": {"url": "https://a.example", "method": "BREW"}}, "http.method", "expected one of GET"),
    ({"http": {"url": "https://a.example", "headers": {"Host": "b"}}}, "http.headers", "must not set the header"),
    ({"http": {"url": "https://a.example", "headers": {"A": 1}}}, "http.headers.A", "expected text"),
    ({"http": {"url": "https://a.example", "expect": [99]}}, "http.expect", "expected statuses"),
    ({"http": {"url": "https://a.example", "expect": []}}, "http.expect", "at least one status"),
    ({"http": {"url": "https://a.example", "timeout_ms": 0}}, "http.timeout_ms", "expected milliseconds from 1"),
    ({"http": {"url": "https://a.example"}, "workflow_version": 2}, "workflow_version", "has no versions"),
    ({"command": ""}, "command", "is not a name"),
    ({"command": {"name": "backup"}}, "command", "is not a name"),
    ({"celery": {}}, "celery.task", "required"),
    ({"celery": {"task": "a", "args": "b"}}, "celery.args", "is not a list"),
    ({"celery": {"task": "a", "kwargs": []}}, "celery.kwargs", "is not an object"),
    ({"celery": {"task": "a", "done": "soon"}}, "celery.done", "expected one of followed"),
    ({"temporal": {"workflow": "W"}}, "temporal.task_queue", "required"),
    ({"nats": {"subject": 5}}, "nats.subject", "expected text"),
    ({"redis": {}}, "redis.stream", "required"),
    ({"rabbitmq": {}}, "rabbitmq.queue", "expected queue or exchange"),
    ({"rabbitmq": {"queue": "a", "exchange": "b"}}, "rabbitmq.exchange", "sent together with queue"),
    ({"postgres": {"table": "a", "function": "b"}}, "postgres.function", "sent together with table"),
]
ACTIONS: list[dict[str, Any]] = [
    {"function": "tasks:report"},
    {"command": "backup"},
    {"http": {"url": "https://a.example/run"}},
    {
        "http": {
            "url": "https://a.example/run",
            "method": "PUT",
            "headers": {"Authorization": "Bearer 12345678"},
            "body": {"n": [1, None]},
            "secret": "reports",
            "expect": [204, "3xx"],
            "timeout_ms": 500,
            "cancel_url": "https://a.example/cancel",
        }
    },
    {"celery": {"task": "shop.close_day", "args": ["berlin", 1], "kwargs": {"dry": True}, "queue": "fast"}},
    {"temporal": {"workflow": "Report", "task_queue": "reports", "args": [1], "id": "as_is"}},
    {"nats": {"subject": "jobs.report", "done": "reported"}},
    {"redis": {"stream": "jobs"}},
    {"rabbitmq": {"exchange": "jobs", "routing_key": "report"}},
    {"postgres": {"table": "app.jobs", "columns": {"key": "$key", "body": {"n": 1}}}},
    {"postgres": {"function": "app.enqueue", "args": ["$payload"]}},
]


@pytest.fixture
def target() -> Iterator[Server]:
    with http_server() as server:
        yield server


@contextmanager
def service(home: Path, executors: dict[str, dict[str, Any]]) -> Iterator[Http]:
    """Serve an app with an engine and these executors."""
    with Tompion(f"sqlite:///{home / 'tompion.db'}", settings=QUICK, executors=executors) as app:
        served = Served(app._runner)
        http = Http(served.url)
        try:
            yield http
        finally:
            http.close()
            served.close()


def ended_run(http: Http, schedule_id: str) -> Any:
    """Trigger a schedule, and return the run once it has ended."""
    run_id = http("POST", f"/api/v1/schedules/{schedule_id}/trigger", {}).json["run_id"]

    def read() -> Any:
        return http("GET", f"/api/v1/runs/{run_id}").json

    assert wait_until(lambda: read()["finished_at"] is not None)
    return read()


def test_an_http_action_calls_its_url(target: Server, tmp_path: Path) -> None:
    target.answer = lambda _: (200, {}, b'{"rows": 3}')
    action = {
        "url": f"{target.url}/run?day=1",
        "method": "PUT",
        "headers": {"X-Team": "a"},
        "body": {"day": "monday"},
        "secret": "reports",
    }
    with service(tmp_path, {"http": {"allow": [target.allow], "secrets": {"reports": SECRET}}}) as http:
        created = http("PUT", "/api/v1/schedules/report", {"cron": "0 9 * * *", "http": action})
        assert created.status < 300, created.body
        run = ended_run(http, "report")
    assert (run["status"], run["result"], run["error"]) == ("SUCCESS", {"rows": 3}, None)
    (request,) = target.seen
    assert (request.method, request.path, request.json) == ("PUT", "/run?day=1", {"day": "monday"})
    assert (request.headers["x-team"], request.headers["content-type"]) == ("a", "application/json")
    assert request.headers["tompion-run-id"] == run["run_id"]
    assert request.headers["tompion-schedule-id"] == "report"
    assert request.headers["tompion-attempt"] == "1"
    assert request.headers["idempotency-key"] == request.headers["webhook-id"]
    assert request.headers["tompion-callback-token"]
    content = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode() + request.body
    signature = base64.b64encode(hmac.new(KEY, content, sha256).digest()).decode()
    assert request.headers["webhook-signature"] == f"v1,{signature}"


def test_without_a_body_the_target_receives_the_run(target: Server, tmp_path: Path) -> None:
    with service(tmp_path, {"http": {"allow": [target.allow]}}) as http:
        fields = {"cron": "0 9 * * *", "payload": {"n": 5}}
        http("PUT", "/api/v1/schedules/post", {**fields, "http": {"url": target.url}})
        http("PUT", "/api/v1/schedules/get", {**fields, "http": {"url": target.url, "method": "GET"}})
        assert ended_run(http, "post")["status"] == "SUCCESS"
        assert ended_run(http, "get")["status"] == "SUCCESS"
    post, get = target.seen
    assert (post.method, post.json["meta"]["payload"], post.json["dag"]) == ("POST", {"n": 5}, None)
    assert (get.method, get.body) == ("GET", b"")


@pytest.mark.parametrize(
    ("expect", "status", "state"),
    [
        (404, 404, "SUCCESS"),
        ([204, "4xx"], 410, "SUCCESS"),
        (202, 202, "SUCCESS"),
        (204, 200, "FAILED"),
        ("2xx", 404, "FAILED"),
        ("5xx", 503, "SUCCESS"),
    ],
)
def test_expected_statuses_complete_the_run(
    target: Server, tmp_path: Path, expect: Any, status: int, state: str
) -> None:
    target.answer = lambda _: (status, {}, b"")
    with service(tmp_path, {"http": {"allow": [target.allow]}}) as http:
        http("PUT", "/api/v1/schedules/a", {"cron": "0 9 * * *", "http": {"url": target.url, "expect": expect}})
        assert ended_run(http, "a")["status"] == state


@pytest.mark.parametrize(("action", "field", "problem"), BAD_ACTIONS)
def test_an_invalid_action_is_rejected_with_its_field(
    http: Http, action: dict[str, Any], field: str, problem: str
) -> None:
    response = http("POST", "/api/v1/schedules", {"schedule_id": "a", "cron": "0 9 * * *", **action})
    assert (response.status, response.json["field"]) == (400, field)
    assert problem in response.json["detail"]
    assert http("GET", "/api/v1/schedules/a").status == 404


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: next(iter(action)))
def test_an_action_is_read_as_it_was_written(http: Http, action: dict[str, Any]) -> None:
    (field,) = action
    http("PUT", "/api/v1/schedules/a", {"cron": "0 9 * * *", **action})
    schedule = http("GET", "/api/v1/schedules/a").json
    document = schedule
    assert document[field] == action[field]
    assert http("PUT", "/api/v1/schedules/a", document).json == document


def test_a_patch_replaces_the_action(http: Http) -> None:
    http("PUT", "/api/v1/schedules/a", {"cron": "0 9 * * *", "function": "tasks:report", "queue": "slow"})
    patched = http("PATCH", "/api/v1/schedules/a", {"http": {"url": "https://a.example"}}).json
    assert (patched["http"], patched["queue"]) == ({"url": "https://a.example"}, "slow")
    assert "function" not in patched
    patched = http("PATCH", "/api/v1/schedules/a", {"command": "backup"}).json
    assert patched["command"] == "backup"
    assert "http" not in patched
    patched = http("PATCH", "/api/v1/schedules/a", {"description": "nightly"}).json
    assert patched["command"] == "backup"
    merge_patch = {"Content_Type": "application/merge-patch+json"}
    response = http("PATCH", "/api/v1/schedules/a", {"command": None}, **merge_patch)
    assert (response.status, response.json.get("field")) == (400, "function"), response.body


def test_lists_and_the_audit_have_no_secrets_of_an_action(http: Http) -> None:
    secret = CANARY
    options = {"url": f"https://a.example/run?token={secret}", "headers": {"Authorization": secret}, "body": secret}
    http("PUT", "/api/v1/schedules/a", {"cron": "0 9 * * *", "http": options})
    http("PATCH", "/api/v1/schedules/a", {"celery": {"task": "shop.close", "kwargs": {"password": secret}}})
    assert secret in http("GET", "/api/v1/schedules/a").body.decode()
    listed = http("GET", "/api/v1/schedules")
    history = http("GET", "/api/v1/schedules/a/history")
    assert secret not in listed.body.decode()
    assert secret not in history.body.decode()
    assert listed.json["items"][0]["celery"] == {"task": "shop.close"}


COMMANDS = {"command": {"commands": {"backup": ["/bin/true"]}}}
MISSING: list[tuple[dict[str, Any], str, str]] = [
    ({"command": "bakcup"}, "command", "no command 'bakcup' is configured"),
    ({"celery": {"task": "a"}}, "celery", "no executor 'celery' is configured"),
    ({"http": {"url": "https://a.example", "secret": "x"}}, "http.secret", "no secret 'x' is configured"),
    ({"workflow_id": "flow"}, "workflow_id", "there is no workflow 'flow'"),
    ({"workflow_id": "etl", "workflow_version": 7}, "workflow_version", "workflow 'etl' has no version 7"),
]


@pytest.mark.parametrize(("action", "field", "problem"), MISSING)
def test_a_target_that_does_not_exist_is_rejected(
    tmp_path: Path, action: dict[str, Any], field: str, problem: str
) -> None:
    with service(tmp_path, COMMANDS) as http:
        http("PUT", "/api/v1/workflows/etl", {"function": "tasks:a"})
        document = {"cron": "0 9 * * *", **action}
        assert http("PUT", "/api/v1/schedules/b", {"cron": "0 9 * * *", "command": "backup"}).json["warnings"] == []
        for response in (
            http("POST", "/api/v1/schedules", {"schedule_id": "a", **document}),
            http("PUT", "/api/v1/schedules/a", document),
            http("PUT", "/api/v1/schedules/b", document),
            http("PATCH", "/api/v1/schedules/b", action),
        ):
            assert (response.status, response.json.get("field")) == (400, field), response.body
            assert problem in response.json["detail"]
        assert http("GET", "/api/v1/schedules/a").status == 404


def test_a_workflow_with_a_missing_executor_or_secret_is_rejected(tmp_path: Path) -> None:
    with service(tmp_path, COMMANDS) as http:
        for document, field in (
            ({"executor": "celry"}, "document.executor"),
            ({"executor": "http", "options": {"url": "https://a.example", "secret": "x"}}, "document.options.secret"),
        ):
            response = http("PUT", "/api/v1/workflows/flow", document)
            assert (response.status, response.json["field"]) == (400, field)


def test_a_warning_names_a_target_that_only_a_worker_knows(tmp_path: Path) -> None:
    celery = {"broker": "memory://"}
    with service(tmp_path, {"celery": celery}) as http:

        def warnings(schedule_id: str, **action: Any) -> list[str]:
            answer = http("PUT", f"/api/v1/schedules/{schedule_id}", {"cron": "0 9 * * *", **action})
            assert answer.status < 300, answer.body
            texts: list[str] = answer.json["warnings"]
            return texts

        assert warnings("a", celery={"task": "shop.refresh"}) == [
            "celery.task: only a Celery worker can check that the task 'shop.refresh' exists"
        ]
        problem = "there is no module 'nowhere_at_all' in this process"
        remedy = "A worker of queue 'default' must provide 'nowhere_at_all:f'"
        assert warnings("b", function="nowhere_at_all:f") == [f"function: {problem}. {remedy}"]
        assert "module 'json' has no 'dmps'" in warnings("c", function="json:dmps")[0]
        assert warnings("d", function="json:dumps") == []
        assert warnings("e", command="backup", queue="elsewhere") == [
            "command: no executor 'command' is configured in this process. A worker of queue 'elsewhere' must have it"
        ]
        patched = http("PATCH", "/api/v1/schedules/b", {"description": "x"}).json
        assert "nowhere_at_all:f" in patched["warnings"][0]


def test_every_answer_about_one_schedule_has_the_same_warnings(http: Http) -> None:
    """A create, a read and a pause return the same warnings. Lists have none, because the checks would cost more."""
    one = "/api/v1/schedules/a"
    created = http("PUT", one, {"cron": "0 9 * * *", "celery": {"task": "shop.refresh"}})
    assert "no executor 'celery' is configured in this process" in created.json["warnings"][0]
    assert http("GET", one).json == created.json
    assert http("GET", one).headers["etag"] == created.headers["etag"]
    assert http("PUT", one, created.json).json == created.json
    for answer in (
        http("GET", f"{one}/describe").json["schedule"],
        http("POST", f"{one}/pause", {}).json,
        http("POST", f"{one}/declare", {"cron": "0 9 * * *", "celery": {"task": "shop.refresh"}}).json["schedule"],
    ):
        assert answer["warnings"] == created.json["warnings"]
    assert http("GET", "/api/v1/schedules").json["items"][0]["warnings"] == []


def test_a_schedule_of_a_workflow_that_is_not_stored_yet_has_a_warning(http: Http) -> None:
    http("POST", "/schedules/upsert", {"schedule_id": "a", "workflow_id": "flow", "cron_expr": "@daily", "version": 2})
    assert http("GET", "/api/v1/schedules/a").json["warnings"] == [
        "workflow_id: there is no workflow 'flow'; store it first"
    ]
    for warning in (["workflow_version: workflow 'flow' has no version 2"], []):
        http("PUT", "/api/v1/workflows/flow", {"function": "tasks:a", "dag": {"warning": warning}})
        assert http("GET", "/api/v1/schedules/a").json["warnings"] == warning


def test_other_fields_can_be_changed_after_the_target_is_gone(tmp_path: Path) -> None:
    with service(tmp_path, COMMANDS) as http:
        http("PUT", "/api/v1/schedules/a", {"cron": "0 9 * * *", "command": "backup"})
    with service(tmp_path, {"command": {"commands": {}}}) as http:
        patched = http("PATCH", "/api/v1/schedules/a", {"description": "nightly"})
        assert (patched.status, len(patched.json["warnings"])) == (200, 1)
        assert "no command 'backup'" in patched.json["warnings"][0]
