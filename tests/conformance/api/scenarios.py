"""Stories that are told through every door; each line is an operation, and what it answers or raises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tompion.contract.methods import SyncMethods
from tompion.errors import TompionError
from tompion.model.page import Page
from tompion.model.schedule import Change

DAILY = {"cron": "0 9 * * MON-FRI", "timezone": "Europe/Berlin", "function": "tasks:report"}
Line = tuple[str, tuple[Any, ...], dict[str, Any]]


def line(name: str, *args: Any, **given: Any) -> Line:
    return name, args, given


PAGE_LINES = [
    line("diff", "s1", cron="30 9 * * MON-FRI", timezone="Europe/Berlin", function="tasks:report", count=6),
    line("diff", "s1", cron="30 9 * * *"),
    line("diff", "nobody", **DAILY),
    line("forecast", seconds=86_400, buckets=24),
    line("same_spec", "s1"),
    line("same_spec", "s1", limit=1, after="s1"),
    line("same_spec", "nobody"),
    line("forecast", seconds=10, buckets=11),
    line("problems"),
    line("history", everything=True),
    line("problems", limit=0),
]
"""What the page asks for."""

STORIES: dict[str, list[Line]] = {
    "a schedule's life": [
        line("create", "report", **DAILY, labels={"team": "a"}, catchup_window="1h", payload={"n": [1, None]}),
        line("get", "report"),
        line("upsert", "report", **DAILY, overlap_policy="buffer_all", max_execution_ms=5_000),
        line("patch", "report", description="every morning", timezone=None),
        line("update", "report", cron=["@hourly", "30 12 * * *"], workflow_id="flow", workflow_version=3),
        line("history", "report"),
        line("versions", "report"),
        line("restore", "report", 1),
        line("list_schedules"),
        line("list_schedules", label="team=a", limit=1),
        line("list_schedules", state="paused"),
        line("count_schedules"),
        line("count_schedules", label="team=a", state="active"),
        line("count_schedules", text="nothing like it"),
        line("count_schedules", state="odd"),
        line("delete", "report"),
        line("get", "report"),
        line("delete", "report", purge=True),
        line("get", "report"),
    ],
    "what a schedule says about itself": [
        line(
            "create",
            "told",
            **DAILY,
            memo={"why": ["a", None]},
            note="new",
            search_attributes={
                "Team": {"type": "Keyword", "value": "billing"},
                "Tags": {"type": "KeywordList", "value": ["a"]},
            },
        ),
        line("get", "told"),
        line("patch", "told", memo=None, note="changed"),
        line("list_schedules"),
        line("patch", "told", search_attributes={"Size": {"type": "Int", "value": "three"}}),
        line("patch", "told", search_attributes={"Size": {"type": "Number", "value": 3}}),
        line("patch", "told", search_attributes={"Size": 3}),
        line("patch", "told", search_attributes=None),
        line("update", "told", **DAILY, jitter_ms=60_000, jitter_mode="temporal", jitter_seed="ns-told"),
        line("preview", cron="@daily", jitter_ms=60_000, jitter_mode="temporal", after="2027-01-01T00:00:00Z", count=2),
    ],
    "every kind of spec": [
        line("create", "interval", intervals=timedelta(minutes=15), function="tasks:a"),
        line("create", "rrule", rrules="FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=9;BYMINUTE=0;BYSECOND=0", function="tasks:a"),
        line("create", "once", times=[datetime(2027, 2, 1, tzinfo=UTC)], function="tasks:a", jitter_ms=500),
        line("create", "calendar", calendars={"hour": "9", "day_of_week": "MON"}, function="tasks:a", dst_gap="skip"),
        line("put_calendar", {"name": "bank", "dates": ["2027-01-18"]}),
        line("create", "without", cron="0 9 * * *", exclude={"named": ["bank"]}, function="tasks:a"),
        line("get_calendar", "bank"),
        line("list_calendars"),
        line("list_schedules"),
        line("preview", cron="30 2 * * *", timezone="Europe/Berlin", after="2027-03-27T00:00:00Z", count=3),
        line("preview", intervals="1h", after=datetime(2027, 1, 1, tzinfo=UTC), count=2),
    ],
    "operating": [
        line("create", "report", **DAILY),
        line("pause", "report", note="maintenance", until="2027-02-01T00:00:00Z", paused_by="ann"),
        line("pause", "report", request_id="p1"),
        line("describe", "report"),
        line("resume", "report", on_resume="skip", note="it is over"),
        line("trigger", "report", payload={"by": "hand"}, request_id="t1"),
        line("trigger", "report", payload={"by": "hand"}, request_id="t1"),
        line("trigger", "report", overlap="skip", request_id="t2"),
        line("runs", "report"),
        line("runs", "report", state="ENQUEUED", source="trigger", limit=1),
        line("get_run", "1-1800000030-1"),
        line("cancel_run", "1-1800000030-1", request_id="c1"),
        line("terminate_run", "1-2-3"),
        line("retry_run", "1-1800000030-1"),
        line("skip", "report", at=[datetime(2027, 1, 18, 8, tzinfo=UTC)], note="holiday"),
        line("skip", "report"),
        line("unskip", "report", at=[datetime(2027, 1, 18, 8, tzinfo=UTC)], note="we work that day"),
        line("unskip", "report", at=["2027-01-18T08:00:01Z"]),
        line("unskip", "report", request_id="u1"),
        line("unskip", "report", request_id="u1"),
        line("backfill", "report", "2027-01-04T00:00:00Z", "2027-01-08T23:00:00Z", only="missing", request_id="b1"),
        line("backfills", "report"),
        line("get_backfill", 3),
        line("cancel_backfill", 3),
        line("get_backfill", 99),
        line("dropped_ranges", "report"),
        line("verify", "report"),
        line("describe", "report"),
        line("history", "report", limit=2),
        line("verify_audit"),
        line("verify_audit", after=-1),
    ],
    "many at once": [
        *(line("create", f"s{n}", **DAILY, labels={"team": "a" if n < 3 else "b"}) for n in range(5)),
        line("pause_matching", label="team=a", dry_run=True),
        line("pause_matching", label="team=a", limit=2, note="moving", until="2027-02-01T00:00:00Z", request_id="m1"),
        line("pause_matching", label="team=a", limit=2, note="moving", until="2027-02-01T00:00:00Z", request_id="m1"),
        line("pause_matching", label="team=a", after="s1"),
        line("pause_matching"),
        line("pause_matching", schedule_ids=["s3", "nobody"], paused_by="ann"),
        line("pause_matching", schedule_ids=["s3"], label="team=a"),
        line("resume_matching", schedule_ids=["s0", "s4"], on_resume="skip"),
        line("resume_matching", everything=True, on_resume="sometimes"),
        line("resume_matching", state="paused"),
        line("trigger_matching", text="s", overlap="skip", payload={"n": 1}, request_id="m2"),
        line("trigger_matching", everything=True, dry_run=True),
        line("recent_runs"),
        line("recent_runs", limit=2),
        line("recent_runs", limit=2, before="4"),
        line("recent_runs", state="FAILED"),
        line("recent_runs", state="odd"),
        line("upcoming", seconds=86_400 * 7, limit=7),
        line("upcoming", schedule_id="s1", seconds=86_400 * 7),
        line("upcoming", seconds=0),
        line("stats"),
        line("stats", seconds=120, buckets=4),
        line("stats", seconds=10, buckets=11),
        line("stats", seconds=10, buckets=0),
        line("upcoming", schedule_id="nobody"),
        line("summaries", ["s1", "nobody", "s0"]),
        line("summaries", [""]),
        *PAGE_LINES,
    ],
    "an adaptive schedule": [
        line("create", "poll", intervals="60s", function="tasks:a", adaptive=True, max_interval_ms=600_000),
        line("hint", "poll", interval_ms=120_000, ttl_ms=3_600_000, reason="quiet", request_id="h1"),
        line("hints", "poll"),
        line("hint", "poll", at="2027-01-15T08:05:00Z", author="ann"),
        line("describe", "poll"),
        line("clear_hints", "poll", reason="busy again"),
        line("reset_failures", "poll"),
        line("hint", "poll", interval_ms=-1),
        line("get", "poll"),
    ],
    "workflows and targets": [
        line("put_workflow", "flow", {"executor": "http", "options": {"url": "http://x"}, "dag": {"steps": [1]}}),
        line("put_workflow", "flow", {"function": "tasks:a", "triggers": [{"cron": "@daily"}]}),
        line("get_workflow", "flow"),
        line("get_workflow", "flow", version=1),
        line("list_workflows"),
        line("start_run", "flow", 2, "u1", "2027-01-01T00:00:00Z", idempotency_key="k-1"),
        line("start_run", "flow", 2, "u1", "2027-01-01T00:00:00Z", idempotency_key="k-1"),
        line("start_run", "nowhere", idempotency_key="k-2"),
        line("start_run", "flow", idempotency_key="k-1"),
        line("runs", "run-launcher/flow"),
        line("pause_target", workflow_id="flow", note="broken"),
        line("get_workflow", "flow"),
        line("resume_target", workflow_id="flow"),
        line("pause_target", queue="default"),
        line("list_queues"),
        line("list_instances"),
        line("list_notifications"),
        line("list_notifications", state="GIVEN_UP", schedule_id="flow", limit=1),
        line("list_notifications", state="LOST"),
        line("resume_target", queue="default"),
        line("history"),
    ],
    "what cannot be": [
        line("create", "a", cron="61 * * * *", function="tasks:a"),
        line("create", "a", cron="@daily", timezone="Mars/X", function="tasks:a"),
        line("create", "a", cron="@daily"),
        line("create", "a", cron="@daily", function="tasks:a", colour=1),
        line("create", "a", cron="@daily", function="tasks:a", max_concurrent=0),
        line("create", "x" * 500, cron="@daily", function="tasks:a"),
        line("create", "a/b ü", cron="@daily", function="tasks:a"),
        line("create", "a/b ü", cron="@daily", function="tasks:a"),
        line("get", "a/b ü"),
        line("pause", "a/b ü", token=99),
        line("pause", "a/b ü", until="yesterday"),
        line("pause", "a/b ü", until="2020-01-01T00:00:00Z"),
        line("pause", "nobody"),
        line("trigger", "a/b ü", overlap="sometimes"),
        line("trigger", "a/b ü", request_id="r1"),
        line("pause", "a/b ü", request_id="r1"),
        line("get_run", "nonsense"),
        line("cancel_backfill", 77),
        line("restore", "a/b ü", 9),
        line("backfill", "a/b ü", "2027-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        line("list_schedules", limit=0),
        line("list_schedules", state="odd"),
        line("get_calendar", "none"),
        line("get_workflow", "none"),
        line("put_workflow", "w", [1]),
        line("pause_target"),
        line("report_run", "nonsense", "succeeded"),
        line("report_run", "nonsense", "danced"),
        line("preview", cron="@daily", count=0),
        line("preview", colour=1),
    ],
}


def unasked(answer: Any) -> Any:
    """An answer without the request ids that clients give to changes on their own."""
    if isinstance(answer, Page):
        return replace(answer, items=tuple(map(unasked, answer.items)))
    if isinstance(answer, Change) and (answer.request_id or "").startswith("c-"):
        return replace(answer, request_id=None)
    return answer


def told(door: SyncMethods, story: list[Line]) -> list[Any]:
    """What a door answers to each line of a story."""
    return [answered(getattr(door, name), args, given) for name, args, given in story]


def answered(method: Callable[..., Any], args: tuple[Any, ...], given: dict[str, Any]) -> Any:
    """An answer, or what was raised: its type, its message, and what else it knows."""
    try:
        return unasked(method(*args, **given))
    except TompionError as error:
        known = {name: getattr(error, name, None) for name in ("field", "hint", "position", "expected", "token")}
        return type(error).__name__, str(error), error.retryable, known
