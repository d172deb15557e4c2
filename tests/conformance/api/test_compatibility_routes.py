"""The routes that older services have: the same operations, in their shapes."""

from __future__ import annotations

from tests.support.service import Http

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
    assert (upserted.status, upserted.json) == (
        200,
        {"schedule_id": "daily-report", "next_run_at": "2027-01-15T14:00:00Z"},
    )
    schedule = http("GET", "/schedules/daily-report").json
    assert len(schedule["next_fire_times"]) == 5
    assert schedule["next_fire_times"][0] == "2027-01-15T14:00:00Z"
    assert schedule["schedule"]["workflow_version"] == 3
    assert schedule["schedule"]["overlap_policy"] == "queue"
    assert http("POST", "/schedules/pause", {"schedule_id": "daily-report", "paused": True}).status == 200
    assert http("POST", "/schedules/upsert", INPUT).status == 200
    assert http("GET", "/schedules/daily-report").json["schedule"]["status"] == "paused", "upsert keeps the pause"
    http("POST", "/schedules/pause", {"schedule_id": "daily-report", "paused": False})
    assert http("GET", "/schedules/daily-report").json["schedule"]["status"] == "active"
    assert http("DELETE", "/schedules/daily-report").status == 200
    assert http("GET", "/schedules/daily-report").json["schedule"]["status"] == "closed"


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
    assert http("POST", "/run-launcher/start", arguments).json == {"started": False}
    http("PUT", "/api/v1/workflows/flow", {"function": "tasks:a"})
    again = {**arguments, "idempotency_key": "cd" * 32}
    assert [http("POST", "/run-launcher/start", again).json for _ in range(2)] == [{"started": True}] * 2
    runs = http("GET", "/api/v1/schedules/run-launcher%2Fflow/runs").json["items"]
    assert sorted(run["idempotency_key"] for run in runs) == ["ab" * 32, "cd" * 32]


def test_cron_jobs_are_listed_paused_and_triggered(http: Http) -> None:
    http("POST", "/schedules/upsert", {**INPUT, "schedule_id": "a/b", "queue": "reports"})
    http("POST", "/api/v1/queues/reports/pause", {})
    assert http("POST", "/api/cron/a%2Fb/pause", {"paused_by": "ann"}).status == 200
    (job,) = http("GET", "/api/cron").json["items"]
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
