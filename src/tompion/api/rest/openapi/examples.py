"""Examples of requests and responses in the OpenAPI document.

Most responses come from ``answers.json``, which ``python -m tests.documentation`` records. The others are here. A test
validates each one against its schema.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

PARAMETERS: dict[str, Any] = {
    "schedule_id": "report",
    "run_id": "1-1800000000-0",
    "backfill_id": 1,
    "workflow_id": "nightly-etl",
    "queue": "default",
    "worker_id": 1,
    "key_id": "1f2e3d4c5b6a",
    "name": "bank-holidays",
    "version": 1,
    "label": "team=billing",
    "status": "paused",
    "text": "report",
    "user_id": "u-17",
    "limit": 50,
    "credential": "tpn_1f2e3d4c5b6a_0f1e2d3c",
}
"""Example values of path and query parameters."""

_AT, _LATER, _NEXT = "2027-01-15T08:00:30Z", "2027-01-15T08:01:00Z", "2027-01-18T08:00:00Z"
_UPSERTED = {"schedule_id": "report", "next_run_at": _NEXT}
_PAUSED = {"schedule_id": "report", "next_run_at": None}
_SERVICE_SCHEDULE = {
    "schedule_id": "report", "workflow_id": "nightly-etl", "version": 1, "user_id": "u-17", "cron_expr": "0 9 * * *",
    "timezone": "Europe/Berlin", "start_at": None, "end_at": None, "next_run_at": "2027-01-16T08:00:00Z",
    "paused": False, "jitter_ms": 0, "overlap_policy": "skip", "catchup_policy": "none", "updated_at": _AT,
    "preview": [
        "2027-01-16T08:00:00Z", "2027-01-17T08:00:00Z", "2027-01-18T08:00:00Z", "2027-01-19T08:00:00Z",
        "2027-01-20T08:00:00Z",
    ],
}  # fmt: skip
_KEY = {
    "key_id": PARAMETERS["key_id"], "namespace": "default", "role": "editor", "name": "ci", "created_by": "local",
    "created_at": _AT, "expires_at": "2030-01-01T00:00:00Z", "revoked_at": None,
}  # fmt: skip
_SESSION = {
    "actor": "key 1f2e3d4c5b6a (ci)", "roles": {"default": "editor"}, "home": "default", "auth": "required",
    "signed_in": True, "read_only": False, "version": "0.1.0",
}  # fmt: skip
_SIGNED_OUT = {**_SESSION, "actor": None, "roles": {}, "signed_in": False}
_ASSIGNMENT = {
    "run_id": "1-1800000030-1", "token": "1-1800000030-1.1.0f3a", "attempt": 1, "failures": 0, "namespace": "default",
    "schedule_id": "report", "source": "trigger", "run_at": _AT, "request_id": "t-0123456789abcdef",
    "action": {
        "function": "tasks:report", "workflow_id": None, "workflow_version": None, "queue": "remote", "user_id": None,
        "executor": None, "options": None,
    },
    "payload": {"day": "2026-12-24"}, "max_execution_ms": None,
    "traceparent": "00-28d4af22e5ec2d30c152ada185806b00-b9c7c989f97918e1-01",
}  # fmt: skip
_INSTANCE = {
    "instance_id": 1, "name": "host-1:4711", "kind": "engine", "release": "0.1.0", "queues": ["default"],
    "alive": True, "started_at": _AT, "last_heartbeat_at": _LATER, "stopped_at": None, "skew_ms": 3,
}  # fmt: skip
_NOTIFICATION = {
    "notification_id": "msg_0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c", "rule_name": "ops", "topic": "failed",
    "schedule_id": "report", "status": "delivered", "attempts": 1, "next_try_at": None, "created_at": _AT,
    "finished_at": _LATER, "last_error": None, "summary_id": None, "data": {"run_id": "1-1800000030-1"},
}  # fmt: skip
_CRON_JOB = {
    "name": "report", "cron": "0 9 * * MON-FRI", "timezone": "Europe/Berlin", "queue": "default",
    "queue_paused": False, "paused": False, "paused_at": None, "paused_by": None, "next_run_at": _NEXT,
    "last_enqueued_at": _AT,
}  # fmt: skip
_CONFIG = {
    "file": "tompion.toml",
    "values": [{
        "name": "limits.tick_ms", "value": 1000, "origin": "default", "default": 1000, "unit": "milliseconds",
        "meaning": "the longest sleep of an idle engine before it looks for work",
    }],
    "executors": ["http"], "schedules": ["report"], "notifications": ["ops"], "issuers": [], "certificates": [],
}  # fmt: skip
_CALENDAR = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Tompion//upcoming ticks//EN\r\nBEGIN:VEVENT\r\n"
    "UID:default/report/20270118T080000Z@tompion\r\nDTSTAMP:20270115T080030Z\r\nDTSTART:20270118T080000Z\r\n"
    "SUMMARY:report\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)


RESPONSES: dict[str, Any] = {
    "dropped_ranges": [{"after": _AT, "until": _LATER, "ticks": 1, "reason": "missed", "decided_at": _LATER}],
    "report_run": {"run_id": "1-1800000030-1", "cancel_requested": False},
    "list_instances": [_INSTANCE],
    "register_worker": {"worker_id": 1, "name": "worker-1", "heartbeat_ms": 10_000, "lease_ms": 120_000},
    "claim_runs": [_ASSIGNMENT],
    "heartbeat_worker": {"to_cancel": [], "lost": []},
    "release_runs": 1,
    "list_keys": {"items": [_KEY], "next_page": None},
    "create_key": {"key": _KEY, "secret": "tpn_1f2e3d4c5b6a_0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a6978"},
    "list_notifications": {"items": [_NOTIFICATION], "next_page": None},
    "upsert_schedule": _UPSERTED,
    "get_schedule": _SERVICE_SCHEDULE,
    "launch_run": True,
    "list_cron": {"items": [_CRON_JOB], "next_page": None},
    "pause_cron": _PAUSED,
    "resume_cron": _UPSERTED,
    "GET /healthz": {"status": "ok", "version": "0.1.0"},
    "GET /readyz": {"status": "ready", "version": "0.1.0"},
    "GET /metrics": "# TYPE tompion_runs_emitted_total counter\ntompion_runs_emitted_total 17.0\n",
    "GET /openapi.json": {"openapi": "3.1.0", "info": {"title": "Tompion", "version": "0.1.0"}, "paths": {}},
    "GET /docs/errors": "<!doctype html>\n<html>…</html>\n",
    "GET /config": _CONFIG,
    "GET /events": "event: hello\ndata: {}\n\n",
    "GET /calendar.ics": _CALENDAR,
    "GET /session": _SESSION,
    "POST /session": _SESSION,
    "DELETE /session": _SIGNED_OUT,
}
"""Example responses by operation, or by method and path."""


def example_response(name: str) -> Any:
    """Return the example response of an operation or route. Raises :class:`KeyError`."""
    if name in RECORDED:
        return RECORDED[name]
    if name in RESPONSES:
        return RESPONSES[name]
    derived: dict[str, Any] = {
        "terminate_run": {**RECORDED["trigger"], "status": "TERMINATED", "reason": "requested"},
        "retry_run": RECORDED["trigger"],
        "trigger_cron": RECORDED["trigger"],
        "declare": {"schedule": RECORDED["create"], "outcome": "created", "drift": []},
    }
    return derived[name]


_UNTIL = "2030-01-01T00:00:00Z"
_DAILY = {"cron": "0 9 * * MON-FRI", "timezone": "Europe/Berlin", "function": "tasks:report"}


BODIES: dict[str, Any] = {
    "create": {"schedule_id": "report", **_DAILY},
    "upsert": {**_DAILY, "overlap_policy": "skip", "catchup_policy": "coalesce"},
    "patch": {"timezone": "America/New_York"},
    "declare": _DAILY,
    "pause": {"note": "maintenance", "until": _UNTIL},
    "resume": {"on_resume": "skip"},
    "trigger": {"payload": {"day": "2026-12-24"}, "overlap": "skip"},
    "skip": {"note": "public holiday"},
    "unskip": {"note": "we work that day"},
    "backfill": {"start": "2026-11-01T00:00:00Z", "end": "2026-11-07T23:59:59Z", "only": "missing"},
    "cancel_backfill": {},
    "hint": {"interval_ms": 120_000, "ttl_ms": 3_600_000, "reason": "quiet"},
    "reset_failures": {},
    "restore": {},
    "cancel_run": {},
    "terminate_run": {},
    "retry_run": {},
    "start_run": {"version": 1, "user_id": "u-17", "idempotency_key": "order-4711"},
    "report_run": {"token": "1-1800000000-0.1.0f3a", "event": "succeeded", "result": {"rows": 12}},
    "preview": {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "count": 3},
    "diff": {"cron": "30 9 * * *", "function": "tasks:report", "count": 4},
    "summaries": {"schedule_ids": ["report"]},
    "pause_matching": {"label": "team=billing", "dry_run": True},
    "resume_matching": {"status": "paused", "dry_run": True},
    "trigger_matching": {"schedule_ids": ["report"], "dry_run": True},
    "put_workflow": {"executor": "http", "options": {"url": "https://jobs.example/run"}, "dag": {"steps": ["load"]}},
    "put_calendar": {"dates": ["2026-12-25", "2026-12-26"]},
    "pause_target": {"note": "database migration"},
    "resume_target": {},
    "register_worker": {"name": "worker-1", "queues": ["default"]},
    "claim_runs": {"queues": ["default"], "limit": 1},
    "heartbeat_worker": {"tokens": []},
    "release_runs": {"tokens": ["1-1800000000-0.1.0f3a"]},
    "create_key": {"name": "ci", "role": "editor", "expires_at": _UNTIL},
    "upsert_schedule": {"schedule_id": "report", "workflow_id": "nightly-etl", "cron_expr": "0 9 * * *", "version": 1},
    "pause_schedule": {"schedule_id": "report", "paused": True},
    "launch_run": {"workflow_id": "nightly-etl", "version": 1, "idempotency_key": "order-4711"},
    "pause_cron": {"paused_by": "ann"},
    "resume_cron": {},
    "trigger_cron": {},
}
"""Example request bodies by operation."""


BODIES_BY_PATH: dict[str, Any] = {
    "/targets/pause": {"queue": "default", "note": "database migration"},
    "/targets/resume": {"workflow_id": "nightly-etl"},
}
"""Example request bodies by path, for operations with several paths."""


RECORDED: dict[str, Any] = json.loads(
    files("tompion.api.rest.openapi").joinpath("answers.json").read_text(encoding="utf-8")
)
"""Recorded responses by operation."""
