"""Scenarios that run over every interface. Each step is an operation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tompion.contract.methods import SyncMethods
from tompion.errors import TompionError
from tompion.model.page import Page
from tompion.model.schedule import Change

DETAILS = ("field", "hint", "position", "expected", "conflict_token")
DAILY = {"cron": "0 9 * * MON-FRI", "timezone": "Europe/Berlin", "function": "tasks:report"}
Step = tuple[str, tuple[Any, ...], dict[str, Any]]


def step(name: str, *args: Any, **kwargs: Any) -> Step:
    return name, args, kwargs


INSIGHT_STEPS = [
    step("diff", "s1", cron="30 9 * * MON-FRI", timezone="Europe/Berlin", function="tasks:report", count=6),
    step("diff", "s1", cron="30 9 * * *"),
    step("diff", "missing", **DAILY),
    step("forecast", seconds=86_400, buckets=24),
    step("same_spec", "s1"),
    step("same_spec", "s1", limit=1, after="s1"),
    step("same_spec", "missing"),
    step("forecast", seconds=10, buckets=11),
    step("problems"),
    step("history", everything=True),
    step("problems", limit=0),
]
"""The reads of the web UI."""

SCENARIOS: dict[str, list[Step]] = {
    "schedule lifecycle": [
        step("create", "report", **DAILY, labels={"team": "a"}, catchup_window="1h", payload={"n": [1, None]}),
        step("get", "report"),
        step("upsert", "report", **DAILY, overlap_policy="buffer_all", max_execution_ms=5_000),
        step("patch", "report", description="every morning", timezone=None),
        step("update", "report", cron="@hourly", workflow_id="flow"),
        step("put_workflow", "flow", {"function": "tasks:a"}),
        step("update", "report", cron="@hourly", workflow_id="flow", workflow_version=3),
        step("update", "report", cron=["@hourly", "30 12 * * *"], workflow_id="flow", workflow_version=1),
        step("history", "report"),
        step("versions", "report"),
        step("restore", "report", 1),
        step("list_schedules"),
        step("list_schedules", label="team=a", limit=1),
        step("list_schedules", status="paused"),
        step("count_schedules"),
        step("count_schedules", label="team=a", status="active"),
        step("count_schedules", text="nothing like it"),
        step("count_schedules", status="odd"),
        step("delete", "report"),
        step("get", "report"),
        step("delete", "report", purge=True),
        step("get", "report"),
    ],
    "memo and search attributes": [
        step(
            "create",
            "memo",
            **DAILY,
            memo={"why": ["a", None]},
            note="new",
            search_attributes={
                "Team": {"type": "Keyword", "value": "billing"},
                "Tags": {"type": "KeywordList", "value": ["a"]},
            },
        ),
        step("get", "memo"),
        step("patch", "memo", memo=None, note="changed"),
        step("list_schedules"),
        step("patch", "memo", search_attributes={"Size": {"type": "Int", "value": "three"}}),
        step("patch", "memo", search_attributes={"Size": {"type": "Number", "value": 3}}),
        step("patch", "memo", search_attributes={"Size": 3}),
        step("patch", "memo", search_attributes=None),
        step("update", "memo", **DAILY, jitter_ms=60_000, jitter_mode="temporal", jitter_seed="ns-memo"),
        step("preview", cron="@daily", jitter_ms=60_000, jitter_mode="temporal", after="2027-01-01T00:00:00Z", count=2),
    ],
    "every kind of spec": [
        step("create", "interval", intervals=timedelta(minutes=15), function="tasks:a"),
        step("create", "rrule", rrules="FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=9;BYMINUTE=0;BYSECOND=0", function="tasks:a"),
        step("create", "once", times=[datetime(2027, 2, 1, tzinfo=UTC)], function="tasks:a", jitter_ms=500),
        step("create", "calendar", calendars={"hour": "9", "day_of_week": "MON"}, function="tasks:a", dst_gap="skip"),
        step("put_calendar", {"name": "bank", "dates": ["2027-01-18"]}),
        step("create", "without", cron="0 9 * * *", exclude={"named": ["bank"]}, function="tasks:a"),
        step("get_calendar", "bank"),
        step("list_calendars"),
        step("list_schedules"),
        step("preview", cron="30 2 * * *", timezone="Europe/Berlin", after="2027-03-27T00:00:00Z", count=3),
        step("preview", intervals="1h", after=datetime(2027, 1, 1, tzinfo=UTC), count=2),
    ],
    "operations": [
        step("create", "report", **DAILY),
        step("pause", "report", note="maintenance", until="2027-02-01T00:00:00Z", paused_by="ann"),
        step("pause", "report", request_id="p1"),
        step("describe", "report"),
        step("resume", "report", on_resume="skip", note="it is over"),
        step("trigger", "report", payload={"by": "hand"}, request_id="t1"),
        step("trigger", "report", payload={"by": "hand"}, request_id="t1"),
        step("trigger", "report", overlap="skip", request_id="t2"),
        step("runs", "report"),
        step("runs", "report", status="ENQUEUED", source="trigger", limit=1),
        step("get_run", "1-1800000030-1"),
        step("cancel_run", "1-1800000030-1", request_id="c1"),
        step("terminate_run", "1-2-3"),
        step("retry_run", "1-1800000030-1"),
        step("skip", "report", at=[datetime(2027, 1, 18, 8, tzinfo=UTC)], note="holiday"),
        step("skip", "report"),
        step("unskip", "report", at=[datetime(2027, 1, 18, 8, tzinfo=UTC)], note="we work that day"),
        step("unskip", "report", at=["2027-01-18T08:00:01Z"]),
        step("unskip", "report", request_id="u1"),
        step("unskip", "report", request_id="u1"),
        step("backfill", "report", "2027-01-04T00:00:00Z", "2027-01-08T23:00:00Z", only="missing", request_id="b1"),
        step("backfills", "report"),
        step("get_backfill", 3),
        step("cancel_backfill", 3),
        step("get_backfill", 99),
        step("dropped_ranges", "report"),
        step("verify", "report"),
        step("describe", "report"),
        step("history", "report", limit=2),
        step("verify_audit"),
        step("verify_audit", after=-1),
    ],
    "bulk": [
        *(step("create", f"s{n}", **DAILY, labels={"team": "a" if n < 3 else "b"}) for n in range(5)),
        step("pause_matching", label="team=a", dry_run=True),
        step("pause_matching", label="team=a", limit=2, note="moving", until="2027-02-01T00:00:00Z", request_id="m1"),
        step("pause_matching", label="team=a", limit=2, note="moving", until="2027-02-01T00:00:00Z", request_id="m1"),
        step("pause_matching", label="team=a", after="s1"),
        step("pause_matching"),
        step("pause_matching", schedule_ids=["s3", "missing"], paused_by="ann"),
        step("pause_matching", schedule_ids=["s3"], label="team=a"),
        step("resume_matching", schedule_ids=["s0", "s4"], on_resume="skip"),
        step("resume_matching", everything=True, on_resume="sometimes"),
        step("resume_matching", status="paused"),
        step("trigger_matching", text="s", overlap="skip", payload={"n": 1}, request_id="m2"),
        step("trigger_matching", everything=True, dry_run=True),
        step("recent_runs"),
        step("recent_runs", limit=2),
        step("recent_runs", limit=2, before="4"),
        step("recent_runs", status="FAILED"),
        step("recent_runs", status="odd"),
        step("upcoming", seconds=86_400 * 7, limit=7),
        step("upcoming", schedule_id="s1", seconds=86_400 * 7),
        step("upcoming", seconds=0),
        step("stats"),
        step("stats", seconds=120, buckets=4),
        step("stats", seconds=10, buckets=11),
        step("stats", seconds=10, buckets=0),
        step("upcoming", schedule_id="missing"),
        step("summaries", ["s1", "missing", "s0"]),
        step("summaries", [""]),
        *INSIGHT_STEPS,
    ],
    "adaptive schedule": [
        step("create", "poll", intervals="60s", function="tasks:a", adaptive=True, max_interval_ms=600_000),
        step("hint", "poll", interval_ms=120_000, ttl_ms=3_600_000, reason="quiet", request_id="h1"),
        step("hints", "poll"),
        step("hint", "poll", at="2027-01-15T08:05:00Z", author="ann"),
        step("describe", "poll"),
        step("clear_hints", "poll", reason="busy again"),
        step("reset_failures", "poll"),
        step("hint", "poll", interval_ms=-1),
        step("get", "poll"),
    ],
    "workflows and targets": [
        step("put_workflow", "flow", {"executor": "http", "options": {"url": "http://x"}, "dag": {"steps": [1]}}),
        step("put_workflow", "flow", {"function": "tasks:a", "triggers": [{"cron": "@daily"}]}),
        step("get_workflow", "flow"),
        step("get_workflow", "flow", version=1),
        step("list_workflows"),
        step("start_run", "flow", 2, "u1", "2027-01-01T00:00:00Z", idempotency_key="k-1"),
        step("start_run", "flow", 2, "u1", "2027-01-01T00:00:00Z", idempotency_key="k-1"),
        step("start_run", "nowhere", idempotency_key="k-2"),
        step("start_run", "flow", idempotency_key="k-1"),
        step("runs", "run-launcher/flow"),
        step("pause_target", workflow_id="flow", note="broken"),
        step("get_workflow", "flow"),
        step("resume_target", workflow_id="flow"),
        step("pause_target", queue="default"),
        step("list_queues"),
        step("list_instances"),
        step("list_notifications"),
        step("list_notifications", status="GIVEN_UP", schedule_id="flow", limit=1),
        step("list_notifications", status="LOST"),
        step("resume_target", queue="default"),
        step("history"),
    ],
    "invalid requests": [
        step("create", "a", cron="61 * * * *", function="tasks:a"),
        step("create", "a", cron="@daily", timezone="Mars/X", function="tasks:a"),
        step("create", "a", cron="@daily"),
        step("create", "a", cron="@daily", function="tasks:a", colour=1),
        step("create", "a", cron="@daily", function="tasks:a", max_concurrent=0),
        step("create", "x" * 500, cron="@daily", function="tasks:a"),
        step("create", "a/b ü", cron="@daily", function="tasks:a"),
        step("create", "a/b ü", cron="@daily", function="tasks:a"),
        step("get", "a/b ü"),
        step("pause", "a/b ü", conflict_token=99),
        step("pause", "a/b ü", until="some day"),
        step("pause", "a/b ü", until="2020-01-01T00:00:00Z"),
        step("pause", "missing"),
        step("trigger", "a/b ü", overlap="sometimes"),
        step("trigger", "a/b ü", request_id="r1"),
        step("pause", "a/b ü", request_id="r1"),
        step("get_run", "nonsense"),
        step("cancel_backfill", 77),
        step("restore", "a/b ü", 9),
        step("backfill", "a/b ü", "2027-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        step("list_schedules", limit=0),
        step("list_schedules", status="odd"),
        step("get_calendar", "none"),
        step("get_workflow", "none"),
        step("put_workflow", "w", [1]),
        step("pause_target"),
        step("report_run", "nonsense", "succeeded"),
        step("report_run", "nonsense", "danced"),
        step("preview", cron="@daily", count=0),
        step("preview", colour=1),
    ],
}


def without_request_ids(answer: Any) -> Any:
    """Return a result without the request ids that clients generate."""
    if isinstance(answer, Page):
        return replace(answer, items=tuple(map(without_request_ids, answer.items)))
    if isinstance(answer, Change) and (answer.request_id or "").startswith("c-"):
        return replace(answer, request_id=None)
    return answer


def results_of(interface: SyncMethods, scenario: list[Step]) -> list[Any]:
    """Return the result of each step of a scenario."""
    return [result_of(getattr(interface, name), args, kwargs) for name, args, kwargs in scenario]


def result_of(method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a call, or the type, message and details of its error."""
    try:
        return without_request_ids(method(*args, **kwargs))
    except TompionError as error:
        details = {name: getattr(error, name, None) for name in DETAILS}
        return type(error).__name__, str(error), error.retryable, details
