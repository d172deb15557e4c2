"""The routes that older services have: the same operations, with exactly the fields of their specifications."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.service import Http

SCHEDULE_FIELDS = {
    "schedule_id",
    "workflow_id",
    "version",
    "user_id",
    "cron_expr",
    "timezone",
    "start_at",
    "end_at",
    "next_run_at",
    "paused",
    "jitter_ms",
    "overlap_policy",
    "catchup_policy",
    "updated_at",
}
"""The fields of a schedule in the specification of the deployer's service."""
CRON_FIELDS = {
    "name",
    "cron",
    "timezone",
    "queue",
    "queue_paused",
    "paused",
    "paused_at",
    "paused_by",
    "next_run_at",
    "last_enqueued_at",
}
INPUT = {
    "schedule_id": "daily-report",
    "workflow_id": "flow",
    "version": 3,
    "user_id": "u1",
    "cron_expr": "0 9 * * *",
    "timezone": "America/New_York",
    "start_at": None,
    "jitter_ms": 500,
    "overlap_policy": "queue",
    "catchup_policy": "fire_immediately",
}


def test_a_deployer_upserts_reads_pauses_and_deletes(http: Http) -> None:
    upserted = http("POST", "/schedules/upsert", INPUT)
    acknowledged = {"schedule_id": "daily-report", "next_run_at": "2027-01-15T14:00:00Z"}
    assert (upserted.status, upserted.json) == (201, acknowledged)
    assert upserted.headers["location"] == "/schedules/daily-report"
    schedule = http("GET", upserted.headers["location"]).json
    assert schedule == {
        **INPUT,
        "end_at": None,
        "next_run_at": "2027-01-15T14:00:00Z",
        "paused": False,
        "updated_at": schedule["updated_at"],
        "preview": [f"2027-01-{day}T14:00:00Z" for day in range(15, 20)],
    }
    assert schedule.keys() == SCHEDULE_FIELDS | {"preview"}
    paused = http("POST", "/schedules/pause", {"schedule_id": "daily-report", "paused": True})
    assert (paused.status, paused.body) == (204, b"")
    replaced = http("POST", "/schedules/upsert", INPUT)
    assert (replaced.status, replaced.json) == (200, acknowledged)
    assert http("GET", "/schedules/daily-report").json["paused"] is True, "upsert keeps the pause"
    http("POST", "/schedules/pause", {"schedule_id": "daily-report", "paused": False})
    assert http("GET", "/schedules/daily-report").json["paused"] is False
    deleted = http("DELETE", "/schedules/daily-report")
    assert (deleted.status, deleted.body) == (204, b"")
    assert http("GET", "/schedules/daily-report").status == 404
    assert http("GET", "/api/v1/schedules/daily-report").json["status"] == "closed"


def test_a_schedule_that_was_read_can_be_upserted_again(http: Http) -> None:
    """The service of the deployer ignored no field, so the ones that it computed are left out."""
    http("POST", "/schedules/upsert", {**INPUT, "start_at": "2027-02-01T00:00:00Z", "end_at": "2028-01-01T00:00:00Z"})
    before = http("GET", "/api/v1/schedules/daily-report").json
    schedule = http("GET", "/schedules/daily-report").json
    computed = ("next_run_at", "updated_at", "preview")
    fields = {name: value for name, value in schedule.items() if name not in computed}
    assert http("POST", "/schedules/upsert", fields).status == 200
    assert http("GET", "/api/v1/schedules/daily-report").json == before


@pytest.mark.parametrize(
    "source",
    [{"cron": ["@daily", "@hourly"]}, {"intervals": ["15m"]}, {"cron": "@daily", "times": ["2027-02-01T00:00:00Z"]}],
)
def test_a_schedule_with_other_sources_has_no_cron_expression(http: Http, source: dict[str, Any]) -> None:
    assert http("PUT", "/api/v1/schedules/a", {"function": "tasks:a", **source}).status == 201
    schedule = http("GET", "/schedules/a").json
    assert (schedule["cron_expr"], schedule["workflow_id"], schedule["version"]) == (None, None, None)
    assert http("GET", "/api/cron").json["items"][0]["cron"] is None


def test_every_answer_has_exactly_the_fields_of_its_specification(http: Http) -> None:
    acknowledged = {"schedule_id", "next_run_at"}
    expected: list[tuple[str, str, Any, int, set[str] | None]] = [
        ("POST", "/schedules/upsert", INPUT, 201, acknowledged),
        ("POST", "/schedules/upsert", INPUT, 200, acknowledged),
        ("GET", "/schedules/daily-report", None, 200, SCHEDULE_FIELDS | {"preview"}),
        ("POST", "/schedules/pause", {"schedule_id": "daily-report", "paused": True}, 204, None),
        ("POST", "/schedules/pause", {"schedule_id": "daily-report", "paused": False}, 204, None),
        ("POST", "/api/cron/daily-report/pause", {"paused_by": "ann"}, 200, acknowledged),
        ("POST", "/api/cron/daily-report/resume", None, 200, acknowledged),
        ("DELETE", "/schedules/daily-report", None, 204, None),
    ]
    for method, path, body, status, fields in expected:
        answer = http(method, path, body)
        assert answer.status == status, (method, path)
        assert (set(answer.json) if answer.body else None) == fields, (method, path)


def test_answers_are_repeated_for_the_same_idempotency_key(http: Http) -> None:
    for _ in range(2):
        upserted = http("POST", "/schedules/upsert", INPUT, Idempotency_Key="u1")
        assert (upserted.status, upserted.headers["location"]) == (201, "/schedules/daily-report")
    for _ in range(2):
        assert http("POST", "/schedules/pause", {"schedule_id": "daily-report"}, Idempotency_Key="p1").status == 204
    for _ in range(2):
        assert http("DELETE", "/schedules/daily-report", Idempotency_Key="d1").status == 204


def test_upsert_generates_an_id_and_names_an_invalid_field(http: Http) -> None:
    fields = {"workflow_id": "flow", "cron_expr": "@daily"}
    schedule_id = http("POST", "/schedules/upsert", fields).json["schedule_id"]
    assert http("GET", f"/schedules/{schedule_id}").status == 200
    bad = http("POST", "/schedules/upsert", {**fields, "timezone": "Mars/X"})
    assert (bad.status, bad.json["field"]) == (400, "timezone")
    assert http("GET", "/schedules/missing").status == 404
    assert http("POST", "/schedules/pause", {"schedule_id": "missing"}).status == 404


def test_the_launcher_starts_a_run_once(http: Http) -> None:
    arguments = {
        "workflow_id": "flow",
        "version": 1,
        "user_id": "u1",
        "scheduled_for": "2027-01-01T00:00:00Z",
        "idempotency_key": "ab" * 32,
    }
    assert http("POST", "/run-launcher/start", arguments).json is False
    http("PUT", "/api/v1/workflows/flow", {"function": "tasks:a"})
    again = {**arguments, "idempotency_key": "cd" * 32}
    answers = [http("POST", "/run-launcher/start", again) for _ in range(2)]
    assert [(answer.status, answer.json) for answer in answers] == [(201, True)] * 2
    assert answers[0].headers["location"] == answers[1].headers["location"]
    assert http("GET", answers[0].headers["location"]).json["idempotency_key"] == "cd" * 32
    runs = http("GET", "/api/v1/schedules/run-launcher%2Fflow/runs").json["items"]
    assert sorted(run["idempotency_key"] for run in runs) == ["ab" * 32, "cd" * 32]


def test_cron_jobs_are_listed_paused_and_triggered(http: Http) -> None:
    http("POST", "/schedules/upsert", {**INPUT, "schedule_id": "a/b", "queue": "reports"})
    http("POST", "/api/v1/queues/reports/pause", {})
    assert http("POST", "/api/cron/a%2Fb/pause", {"paused_by": "ann"}).status == 200
    (job,) = http("GET", "/api/cron").json["items"]
    assert job.keys() == CRON_FIELDS
    assert {name: job[name] for name in ("name", "cron", "timezone", "paused", "paused_by", "queue_paused")} == {
        "name": "a/b",
        "cron": "0 9 * * *",
        "timezone": "America/New_York",
        "paused": True,
        "paused_by": "ann",
        "queue_paused": True,
    }
    assert job["paused_at"] is not None
    assert http("POST", "/api/cron/a%2Fb/pause").status == 200, "a body is optional, and pausing again is not an error"
    assert http("POST", "/api/cron/a%2Fb/trigger").status == 201
    assert http("POST", "/api/cron/a%2Fb/resume").status == 200
    assert http("GET", "/api/cron").json["items"][0]["paused"] is False
    assert [queue["queue"] for queue in http("GET", "/api/queues").json] == ["reports"]
    assert http("POST", "/api/cron/missing/pause").status == 404


def test_a_field_and_its_alias_together_are_refused(http: Http) -> None:
    """Regression: a document with `name` and `schedule_id` was an internal error."""
    for alias, value in (("name", "other"), ("cron", "@daily"), ("workflow_version", 2)):
        refused = http("POST", "/schedules/upsert", {**INPUT, alias: value})
        assert (refused.status, refused.json["code"]) == (400, "invalid_field")
        assert "sent twice" in refused.json["detail"]
