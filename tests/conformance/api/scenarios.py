"""Scenarios that run over every interface. Each step is a method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any

from tompion.contract.sync_methods import SyncMethods
from tompion.errors import TompionError
from tompion.model.page import Page
from tompion.model.schedule import Change

DETAILS = ("field", "hint", "position", "expected", "conflict_token")
DAILY = {"cron": "0 9 * * MON-FRI", "timezone": "Europe/Berlin", "function": "tasks:report"}
Step = tuple[str, tuple[Any, ...], dict[str, Any]]


def step(name: str, *args: Any, **kwargs: Any) -> Step:
    return name, args, kwargs


INSIGHT_STEPS = [
    step("schedules.diff", "s1", cron="30 9 * * MON-FRI", timezone="Europe/Berlin", function="tasks:report", count=6),
    step("schedules.diff", "s1", cron="30 9 * * *"),
    step("schedules.diff", "missing", **DAILY),
    step("forecast", seconds=86_400, buckets=24),
    step("schedules.same_spec", "s1"),
    step("schedules.same_spec", "s1", limit=1, after="s1"),
    step("schedules.same_spec", "missing"),
    step("forecast", seconds=10, buckets=11),
    step("problems"),
    step("audit.list", everything=True),
    step("problems", limit=0),
]
"""The reads of the web UI."""

REGISTRAR_STEPS = [
    step("upsert_schedule", "deployed", workflow_id="flow", version=1, user_id="u1", cron_expr="0 9 * * *"),
    step("upsert_schedule", "deployed", workflow_id="flow", cron_expr="0 9 * * *", timezone="Mars/X"),
    step("get_schedule", "deployed"),
    step("pause_schedule", "deployed", True),
    step("pause_schedule", "deployed", paused=False),
    step("delete_schedule", "deployed"),
    step("get_schedule", "deployed"),
]
"""The methods that the specification names. The command line has other names for them."""

SCENARIOS: dict[str, list[Step]] = {
    "registrar": REGISTRAR_STEPS,
    "schedule lifecycle": [
        step("create", "report", **DAILY, labels={"team": "a"}, catchup_window="1h", payload={"n": [1, None]}),
        step("get", "report"),
        step("put", "report", **DAILY, overlap_policy="buffer_all", max_execution_ms=5_000),
        step("patch", "report", description="every morning", timezone=None),
        step("patch", "report", retry_delay_ms="30s", jitter_ms="1m", max_interval_ms=None),
        step("patch", "report", retry_delay_ms=timedelta(seconds=1.5), min_interval_ms=timedelta(minutes=2)),
        step("patch", "report", launch_deadline_ms="30"),
        step("patch", "report", http={"url": "https://example.org/run", "timeout_ms": "2m"}),
        step("update", "report", cron="@hourly", workflow_id="flow"),
        step("workflows.put", "flow", {"function": "tasks:a"}),
        step("update", "report", cron="@hourly", workflow_id="flow", workflow_version=3),
        step("update", "report", cron=["@hourly", "30 12 * * *"], workflow_id="flow", workflow_version=1),
        step("schedules.history", "report"),
        step("schedules.versions", "report"),
        step("schedules.restore", "report", 1),
        step("schedules.list"),
        step("schedules.list", label="team=a", limit=1),
        step("schedules.list", status="paused"),
        step("schedules.count"),
        step("schedules.count", label="team=a", status="active"),
        step("schedules.count", text="nothing like it"),
        step("schedules.count", status="odd"),
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
        step("schedules.list"),
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
        step("calendars.put", {"name": "bank", "dates": ["2027-01-18"]}),
        step("create", "without", cron="0 9 * * *", exclude={"named": ["bank"]}, function="tasks:a"),
        step("calendars.get", "bank"),
        step("calendars.list"),
        step("schedules.list"),
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
        step("runs.list", "report"),
        step("runs.list", "report", status="ENQUEUED", source="trigger", limit=1),
        step("runs.get", "1-1800000030-1"),
        step("runs.cancel", "1-1800000030-1", request_id="c1"),
        step("runs.terminate", "1-2-3"),
        step("runs.retry", "1-1800000030-1"),
        step("schedules.skip", "report", at=[datetime(2027, 1, 18, 8, tzinfo=UTC)], note="holiday"),
        step("schedules.skip", "report"),
        step("schedules.unskip", "report", at=[datetime(2027, 1, 18, 8, tzinfo=UTC)], note="we work that day"),
        step("schedules.unskip", "report", at=["2027-01-18T08:00:01Z"]),
        step("schedules.unskip", "report", request_id="u1"),
        step("schedules.unskip", "report", request_id="u1"),
        step("backfill", "report", "2027-01-04T00:00:00Z", "2027-01-08T23:00:00Z", only="missing", request_id="b1"),
        step("backfill", "report", "2027-01-04T00:00:00Z", "2027-01-08T23:00:00Z", only="missing", dry_run=True),
        step("schedules.backfills", "report"),
        step("schedules.get_backfill", 3),
        step("schedules.cancel_backfill", 3),
        step("schedules.get_backfill", 99),
        step("schedules.dropped_ranges", "report"),
        step("schedules.verify", "report"),
        step("describe", "report"),
        step("schedules.history", "report", limit=2),
        step("audit.verify"),
        step("audit.verify", after=-1),
    ],
    "bulk": [
        *(step("create", f"s{n}", **DAILY, labels={"team": "a" if n < 3 else "b"}) for n in range(5)),
        step("schedules.pause_matching", label="team=a", dry_run=True),
        step(
            "schedules.pause_matching",
            label="team=a",
            limit=2,
            note="moving",
            until="2027-02-01T00:00:00Z",
            request_id="m1",
        ),
        step(
            "schedules.pause_matching",
            label="team=a",
            limit=2,
            note="moving",
            until="2027-02-01T00:00:00Z",
            request_id="m1",
        ),
        step("schedules.pause_matching", label="team=a", after="s1"),
        step("schedules.pause_matching"),
        step("schedules.pause_matching", schedule_ids=["s3", "missing"], paused_by="ann"),
        step("schedules.pause_matching", schedule_ids=["s3"], label="team=a"),
        step("schedules.resume_matching", schedule_ids=["s0", "s4"], on_resume="skip"),
        step("schedules.resume_matching", everything=True, on_resume="sometimes"),
        step("schedules.resume_matching", status="paused"),
        step("schedules.trigger_matching", text="s", overlap="skip", payload={"n": 1}, request_id="m2"),
        step("schedules.trigger_matching", everything=True, dry_run=True),
        step("runs.recent"),
        step("runs.recent", limit=2),
        step("runs.recent", limit=2, before="4"),
        step("runs.recent", status="FAILED"),
        step("runs.recent", status="odd"),
        step("upcoming", seconds=86_400 * 7, limit=7),
        step("upcoming", schedule_id="s1", seconds=86_400 * 7),
        step("upcoming", seconds=0),
        step("stats"),
        step("stats", seconds=120, buckets=4),
        step("stats", seconds=10, buckets=11),
        step("stats", seconds=10, buckets=0),
        step("upcoming", schedule_id="missing"),
        step("schedules.summaries", ["s1", "missing", "s0"]),
        step("schedules.summaries", [""]),
        *INSIGHT_STEPS,
    ],
    "adaptive schedule": [
        step("create", "poll", intervals="60s", function="tasks:a", adaptive=True, max_interval_ms=600_000),
        step("schedules.hint", "poll", interval_ms=120_000, ttl_ms=3_600_000, reason="quiet", request_id="h1"),
        step("schedules.hints", "poll"),
        step("schedules.hint", "poll", at="2027-01-15T08:05:00Z", author="ann"),
        step("describe", "poll"),
        step("schedules.clear_hints", "poll", reason="busy again"),
        step("schedules.reset_failures", "poll"),
        step("schedules.hint", "poll", interval_ms=-1),
        step("get", "poll"),
    ],
    "workflows and targets": [
        step("workflows.put", "flow", {"executor": "http", "options": {"url": "http://x"}, "dag": {"steps": [1]}}),
        step("workflows.put", "flow", {"function": "tasks:a", "triggers": [{"cron": "@daily"}]}),
        step("workflows.get", "flow"),
        step("workflows.get", "flow", version=1),
        step("workflows.list"),
        step("runs.start", "flow", 2, "u1", "2027-01-01T00:00:00Z", idempotency_key="k-1"),
        step("runs.start", "flow", 2, "u1", "2027-01-01T00:00:00Z", idempotency_key="k-1"),
        step("runs.start", "nowhere", idempotency_key="k-2"),
        step("runs.start", "flow", idempotency_key="k-1"),
        step("runs.list", "run-launcher/flow"),
        step("workflows.pause", "flow", note="broken"),
        step("workflows.get", "flow"),
        step("workflows.resume", "flow"),
        step("queues.pause", "default"),
        step("queues.list"),
        step("instances.list"),
        step("notifications.list"),
        step("notifications.list", status="GIVEN_UP", schedule_id="flow", limit=1),
        step("notifications.list", status="LOST"),
        step("queues.resume", "default"),
        step("audit.list"),
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
        step("runs.get", "nonsense"),
        step("schedules.cancel_backfill", 77),
        step("schedules.restore", "a/b ü", 9),
        step("backfill", "a/b ü", "2027-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        step("schedules.list", limit=0),
        step("schedules.list", status="odd"),
        step("calendars.get", "none"),
        step("workflows.get", "none"),
        step("workflows.put", "w", [1]),
        step("runs.report", "nonsense", "succeeded"),
        step("runs.report", "nonsense", "danced"),
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
    return [result_of(attrgetter(name)(interface), args, kwargs) for name, args, kwargs in scenario]


def result_of(method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a call, or the type, message and details of its error."""
    try:
        return without_request_ids(method(*args, **kwargs))
    except TompionError as error:
        details = {name: getattr(error, name, None) for name in DETAILS}
        return type(error).__name__, str(error), error.retryable, details
