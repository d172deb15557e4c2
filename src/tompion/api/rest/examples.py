"""Examples for those who read the description of the API: what a request may look like."""

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
    "state": "paused",
    "text": "report",
    "user_id": "u-17",
    "limit": 50,
    "credential": "flt_1f2e3d4c5b6a_0f1e2d3c",
}
"""What stands in a path or a query, by its name."""

_UNTIL = "2030-01-01T00:00:00Z"
_DAILY = {"cron": "0 9 * * MON-FRI", "timezone": "Europe/Berlin", "function": "tasks:report"}
BODIES: dict[str, Any] = {
    "create": {"schedule_id": "report", **_DAILY},
    "upsert": {**_DAILY, "overlap_policy": "skip", "catchup_policy": "coalesce"},
    "update": {**_DAILY, "labels": {"team": "billing"}},
    "patch": {"timezone": "America/New_York"},
    "declare": _DAILY,
    "pause": {"note": "maintenance", "until": _UNTIL},
    "resume": {"on_resume": "skip"},
    "trigger": {"payload": {"day": "2026-12-24"}, "overlap": "skip"},
    "skip": {"note": "nobody is there that day"},
    "unskip": {"note": "somebody is there after all"},
    "backfill": {"start": "2026-11-01T00:00:00Z", "end": "2026-11-07T23:59:59Z", "only": "missing"},
    "cancel_backfill": {},
    "hint": {"interval_ms": 120_000, "ttl_ms": 3_600_000, "reason": "quiet"},
    "reset_failures": {},
    "restore": {},
    "cancel_run": {},
    "terminate_run": {},
    "retry_run": {},
    "start_run": {"version": 1, "user_id": "u-17", "idempotency_key": "order-4711"},
    "report": {"token": "1-1800000000-0.1.0f3a", "event": "succeeded", "result": {"rows": 12}},
    "preview": {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "count": 3},
    "effect": {"cron": "30 9 * * *", "function": "tasks:report", "count": 4},
    "glances": {"schedule_ids": ["report"]},
    "pause_matching": {"label": "team=billing", "dry_run": True},
    "resume_matching": {"state": "paused", "dry_run": True},
    "trigger_matching": {"schedule_ids": ["report"], "dry_run": True},
    "put_workflow": {"executor": "http", "options": {"url": "https://jobs.example/run"}, "dag": {"steps": ["load"]}},
    "put_calendar": {"dates": ["2026-12-25", "2026-12-26"]},
    "pause_target": {"note": "it is being moved"},
    "resume_target": {},
    "join_work": {"name": "worker-1", "queues": ["default"]},
    "take_work": {"queues": ["default"], "limit": 1},
    "beat_work": {"tokens": []},
    "leave_work": {},
    "create_key": {"name": "ci", "role": "editor", "expires_at": _UNTIL},
    "upsert_schedule": {"schedule_id": "report", "workflow_id": "nightly-etl", "cron_expr": "0 9 * * *", "version": 1},
    "pause_schedule": {"schedule_id": "report", "paused": True},
    "launch_run": {"workflow_id": "nightly-etl", "version": 1, "idempotency_key": "order-4711"},
    "pause_cron": {"paused_by": "ann"},
    "resume_cron": {},
    "trigger_cron": {},
}
"""The body of a request, by the name of its operation."""
BODIES_BY_PATH: dict[str, Any] = {
    "/targets/pause": {"queue": "default", "note": "it is being moved"},
    "/targets/resume": {"workflow_id": "nightly-etl"},
}
"""The same, where one operation has several paths."""
ANSWERS: dict[str, Any] = json.loads(files("tompion.api.rest").joinpath("answers.json").read_text(encoding="utf-8"))
"""An answer, by the name of its operation: ``python -m tests.documentation`` asks for them."""
