"""Documents of schedules of every kind: each source of ticks, each action, each policy, and each field besides them."""

from __future__ import annotations

from typing import Any

from tompion.model.policy import CatchUp, Keep, OnResume, OnWorkerLost, Overlap
from tompion.model.spec import DIALECTS, DST_GAPS, DST_OVERLAPS, DST_PROFILES, JITTER_MODES

Document = dict[str, Any]

WORKFLOW_ID, CALENDAR = "nightly", "bank"
WORKFLOW: Document = {"executor": "http", "options": {"url": "https://jobs.example/run"}}
DATES = ["2027-12-24", "2027-12-31"]
"""The workflow and the calendar that some documents name."""

DAILY: Document = {"cron": "0 9 * * *"}
RUN: Document = {"function": "tasks:report"}

SOURCES: dict[str, Document] = {
    "cron": {"cron": "0 9 * * *"},
    "cron in a zone": {"cron": "0 9 * * MON-FRI", "timezone": "Europe/Berlin"},
    "cron in UTC": {"cron": "0 9 * * *", "timezone": "UTC"},
    "cron with its own zone": {"cron": "CRON_TZ=Asia/Tokyo 0 9 * * *"},
    "several cron expressions": {"cron": ["0 9 * * *", "30 17 * * FRI"], "timezone": "America/New_York"},
    "cron with seconds": {"cron": "*/15 0 9 * * *"},
    "cron with a hash": {"cron": "H H * * *"},
    "a shorthand": {"cron": "@daily"},
    "the last day": {"cron": "0 0 L * *"},
    "calendars": {
        "calendars": [
            {"hour": "9", "minute": "0", "day_of_week": "MON-FRI", "comment": "office hours"},
            {"hour": [{"start": 8, "end": 18, "step": 2}], "month": "JAN-JUN", "year": "2027-2030"},
        ],
        "timezone": "Europe/Berlin",
    },
    "an interval": {"intervals": "15m"},
    "an interval with an offset": {"intervals": [{"every": "1h", "offset": "5m"}, "90s"]},
    "an interval in seconds": {"intervals": 45},
    "a delay after the end of a run": {"intervals": {"every": "10m", "anchor": "completion"}},
    "a rule": {"rrules": "DTSTART:20270101T090000Z\nRRULE:FREQ=WEEKLY;BYDAY=MO,WE"},
    "a rule in a zone": {
        "rrules": ["DTSTART;TZID=Europe/Berlin:20270101T090000\nRRULE:FREQ=MONTHLY;BYMONTHDAY=-1"],
        "timezone": "Europe/Berlin",
    },
    "times": {"times": ["2027-06-01T12:00:00Z", "2028-06-01T12:00:00+02:00", "2029-01-01T00:00:00"]},
    "every source": {
        "cron": "0 9 * * *",
        "calendars": {"hour": "12"},
        "intervals": "6h",
        "rrules": "DTSTART:20270101T000000Z\nRRULE:FREQ=DAILY",
        "times": "2027-06-01T12:00:00Z",
    },
    "no tick": {"cron": []},
    "no tick in a zone": {"cron": [], "timezone": "Europe/Berlin"},
    "exclusions": {
        "cron": "0 * * * *",
        "timezone": "Europe/Berlin",
        "exclude": {
            "calendars": [{"day_of_week": "SAT,SUN"}],
            "dates": ["2027-12-25"],
            "windows": [
                {"from": "2027-07-01", "to": "2027-07-14", "note": "summer"},
                {"from": "2027-08-01T00:00:00Z", "to": "2027-08-01T06:00:00Z"},
            ],
            "holidays": [{"country": "DE", "subdivision": "BE", "first_year": 2027, "last_year": 2028}],
        },
    },
    "a named calendar": {"cron": "0 9 * * *", "exclude": {"named": [CALENDAR]}},
    "a start and an end": {"cron": "@hourly", "start_at": "2027-03-01T00:00:00Z", "end_at": "2031-12-31"},
    "a local start": {"intervals": "1d", "start_at": "2027-03-01T08:00:00", "timezone": "Europe/Berlin"},
    "jitter": {"cron": "@hourly", "jitter_ms": 30_000, "jitter_mode": "delay", "jitter_seed": "a"},
    **{f"jitter {mode}": {"cron": "@hourly", "jitter_ms": 1, "jitter_mode": mode} for mode in JITTER_MODES},
    **{f"dialect {dialect}": {"cron": "0 9 * * *", "dialect": dialect} for dialect in DIALECTS if dialect != "quartz"},
    "dialect quartz": {"cron": "0 0 9 ? * MON", "dialect": "quartz"},
    **{f"gap {rule}": {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "dst_gap": rule} for rule in DST_GAPS},
    **{
        f"overlap {rule}": {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "dst_overlap": rule}
        for rule in DST_OVERLAPS
    },
    **{
        f"profile {name}": {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "dst_profile": name}
        for name in DST_PROFILES
    },
}
"""The spec of each document."""

ACTIONS: dict[str, Document] = {
    "a function": {"function": "tasks:report"},
    "a method": {"function": "shop.tasks:Reports.daily", "queue": "reports", "user_id": "u-17"},
    "a workflow": {"workflow_id": WORKFLOW_ID},
    "a version of a workflow": {"workflow_id": WORKFLOW_ID, "workflow_version": 1},
    "a command": {"command": "backup"},
    "a URL": {"http": {"url": "https://a.example/run"}},
    "a whole HTTP request": {
        "http": {
            "url": "https://a.example/run?day=1",
            "method": "PUT",
            "headers": {"Authorization": "Bearer 12345678", "X-Empty": ""},
            "body": {"n": [1, None, 2.5], "é": "ü"},
            "secret": "reports",
            "expect": [204, "3xx"],
            "timeout_ms": 500,
            "cancel_url": "https://a.example/cancel",
        }
    },
    "an HTTP body that is null": {"http": {"url": "https://a.example", "body": None, "expect": "2xx"}},
    "a Celery task": {"celery": {"task": "shop.close_day", "args": ["berlin", 1], "kwargs": {"dry": True}}},
    "a Celery task in a queue": {"celery": {"task": "shop.close_day", "queue": "fast", "done": "reported"}},
    "a Temporal workflow": {"temporal": {"workflow": "Report", "task_queue": "reports", "args": [1], "id": "as_is"}},
    "a Temporal workflow with timeouts": {
        "temporal": {
            "workflow": "Report",
            "task_queue": "reports",
            "workflow_id": "report",
            "memo": {"a": 1},
            "search_attributes": {"City": {"type": "Keyword", "value": "Berlin"}},
            "execution_timeout_ms": 60_000,
            "done": "taken",
        }
    },
    "a NATS subject": {"nats": {"subject": "jobs.report", "done": "reported"}},
    "a Redis stream": {"redis": {"stream": "jobs"}},
    "a RabbitMQ queue": {"rabbitmq": {"queue": "jobs"}},
    "a RabbitMQ exchange": {"rabbitmq": {"exchange": "jobs", "routing_key": ""}},
    "a PostgreSQL table": {"postgres": {"table": "app.jobs", "columns": {"key": "$key", "body": {"n": 1}}}},
    "a PostgreSQL function": {"postgres": {"function": "app.enqueue", "args": ["$payload"]}},
}
"""The action of each document."""

FIELDS: dict[str, Document] = {
    **{f"overlap_policy {policy}": {"overlap_policy": policy.value} for policy in Overlap},
    **{f"catchup_policy {policy}": {"catchup_policy": policy.value} for policy in CatchUp},
    **{f"on_resume {choice}": {"on_resume": choice.value} for choice in OnResume},
    **{f"on_worker_lost {choice}": {"on_worker_lost": choice.value} for choice in OnWorkerLost},
    **{f"buffer_keep {keep}": {"overlap_policy": "buffer_one", "buffer_keep": keep.value} for keep in Keep},
    "short names": {"overlap": "buffer_all", "catchup": "all"},
    "a window in text": {"catchup_window": "1h"},
    "a window in seconds": {"catchup_window": 90},
    "no catch-up": {"catchup_policy": "fire_immediately", "catchup_window": 0},
    "no window": {"catchup_window": None},
    "numbers": {
        "max_concurrent": 3,
        "max_attempts": 5,
        "retry_delay_ms": 250,
        "max_execution_ms": 60_000,
        "min_interval_ms": 1_000,
    },
    "flags": {"pause_on_failure": True, "shadow": True, "notify": False},
    "adaptive": {"adaptive": True, "max_interval_ms": 7_200_000, "min_interval_ms": 60_000, "failure_backoff": False},
    "a payload": {"payload": {"n": [1, None, 2.5], "text": "ü\n"}},
    "a payload that is a list": {"payload": []},
    "a payload that is false": {"payload": False},
    "a payload that is a number": {"payload": 12345678901234567890},
    "a payload that is null": {"payload": None},
    "about": {"description": "Every morning.\nüß", "labels": {"team": "a", "b/c": "d=e"}},
    "empty fields": {"description": "", "labels": {}, "memo": {}, "search_attributes": {}, "exclude": {}},
    "memo": {"memo": {"owner": {"name": "ann"}, "list": [1, 2]}},
    "search attributes": {
        "search_attributes": {
            "City": {"type": "Keyword", "value": "Berlin"},
            "Text": {"type": "Text", "value": "a b"},
            "Count": {"type": "Int", "value": 5},
            "Ratio": {"type": "Double", "value": 0.5},
            "Open": {"type": "Bool", "value": True},
            "Since": {"type": "Datetime", "value": "2027-01-01T00:00:00+00:00"},
            "Tags": {"type": "KeywordList", "value": ["a", "b"]},
        }
    },
    "paused": {"paused": True, "note": "until the migration is done"},
    "paused without a note": {"paused": True},
    "a note without a pause": {"note": "moved from the old host"},
    "remaining actions": {"remaining_actions": 3},
    "no remaining actions": {"remaining_actions": 0},
}
"""The other fields of each document."""

DOCUMENTS: dict[str, Document] = {
    **{name: {**RUN, **spec} for name, spec in SOURCES.items()},
    **{name: {**DAILY, **action} for name, action in ACTIONS.items()},
    **{name: {**DAILY, **RUN, **fields} for name, fields in FIELDS.items()},
}
"""All documents by name."""
