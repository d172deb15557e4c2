"""The JSON Schema of a schedule document: the body of a PUT, and the definition in a GET.

The schema is documentation. The operations validate documents, with errors that name the field and what to do.
"""

from __future__ import annotations

from typing import Any

from tompion.model.action_options import EXECUTOR_OPTIONS, HTTP_METHODS
from tompion.model.policy import CatchUp, Keep, OnResume, OnWorkerLost, Overlap
from tompion.model.spec import DIALECTS, DST_GAPS, DST_OVERLAPS, DST_PROFILES, JITTER_MODES

Schema = dict[str, Any]


def _text(description: str, *examples: str) -> Schema:
    return {"type": "string", "description": description, **({"examples": list(examples)} if examples else {})}


def _number(description: str, minimum: int = 0) -> Schema:
    return {"type": "integer", "minimum": minimum, "description": description}


def _milliseconds(description: str, minimum: int = 0) -> Schema:
    text = f"{description} Milliseconds, or text with a unit such as 30s."
    return {"type": ["integer", "string"], "minimum": minimum, "description": text, "examples": [30_000, "30s"]}


def _choice(description: str, *choices: str) -> Schema:
    return {"type": "string", "enum": list(choices), "description": description}


def _nullable(schema: Schema) -> Schema:
    return {
        **schema,
        "type": [*([kind] if isinstance(kind := schema["type"], str) else kind), "null"],
        **({"enum": [*schema["enum"], None]} if "enum" in schema else {}),
    }


def _one_or_many(description: str, item: Schema, *examples: Any) -> Schema:
    return {"description": description, "anyOf": [item, {"type": "array", "items": item}], "examples": list(examples)}


_DURATION: Schema = {"type": ["string", "integer"], "description": "A duration such as 15m, or a number of seconds."}
_INTERVAL: Schema = {
    "anyOf": [
        {"type": ["string", "integer"]},
        {
            "type": "object",
            "properties": {
                "every": _DURATION,
                "offset": _DURATION,
                "anchor": _choice(
                    "Counted from the epoch, or from the end of the previous run.", "epoch", "completion"
                ),
            },
            "required": ["every"],
            "additionalProperties": False,
        },
    ]
}

SPEC_FIELDS: dict[str, Schema] = {
    "cron": _one_or_many("Cron expressions.", {"type": "string"}, "0 9 * * MON-FRI", ["@daily", "0 12 1 * *"]),
    "calendars": _one_or_many("Structured calendars.", {"type": "object"}, {"hour": "9", "day_of_week": "MON-FRI"}),
    "intervals": _one_or_many("Intervals.", _INTERVAL, "15m", {"every": "1h", "offset": "5m"}),
    "rrules": _one_or_many("RFC 5545 rules.", {"type": "string"}, "FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=9"),
    "times": _one_or_many("Single times.", {"type": "string"}, "2027-01-01T00:00:00Z"),
    "exclude": {
        "type": "object",
        "description": "Excluded times: calendars, dates, windows, holidays, named calendars.",
    },
    "timezone": _nullable(_text("IANA time zone. null is UTC.", "Europe/Berlin")),
    "start_at": _nullable(_text("No ticks before this time.", "2026-01-01T00:00:00Z")),
    "end_at": _nullable(_text("No ticks after this time.", "2026-12-31T23:59:59Z")),
    "jitter_ms": _milliseconds("Maximum difference between a fire time and its tick."),
    "jitter_mode": _choice("Jitter before and after the tick, only after it, or as in Temporal.", *JITTER_MODES),
    "jitter_seed": _nullable(_text("Seed of the jitter. null is the id of the schedule.")),
    "dst_gap": _nullable(_choice("Handling of wall times that do not exist.", *DST_GAPS)),
    "dst_overlap": _choice("Handling of wall times that occur twice.", *DST_OVERLAPS),
    "dst_profile": _nullable(_choice("A set of rules for clock changes.", *DST_PROFILES)),
    "dialect": _choice("Dialect of the cron expressions.", *DIALECTS),
}
_OPTIONS: dict[str, Schema] = {
    "url": _text("The URL to call.", "https://example.org/run"),
    "method": _choice("The HTTP method, POST by default.", *HTTP_METHODS),
    "headers": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Additional headers."},
    "body": {"description": "The body of the request. Text is sent as it is, other values as JSON."},
    "secret": _text("Name of the configured secret that signs the request.", "reports"),
    "expect": _one_or_many(
        "Statuses that count as success, 2xx by default.", {"type": ["integer", "string"]}, 204, ["2xx", 404]
    ),
    "timeout_ms": _milliseconds("Time limit of the request.", 1),
    "cancel_url": _text("URL to call when a run that the target has accepted is cancelled."),
    "task": _text("Name of the Celery task.", "shop.close_day"),
    "args": {"type": "array", "description": "Positional arguments."},
    "kwargs": {"type": "object", "description": "Keyword arguments."},
    "queue": _text("Name of the queue at the target."),
    "done": _text("When the run counts as complete: followed, reported or taken."),
    "workflow": _text("Type of the Temporal workflow."),
    "task_queue": _text("Task queue of the Temporal workflow."),
    "workflow_id": _text("Prefix of the id of the Temporal workflow."),
    "id": _choice("Whether the nominal time is added to the id of the workflow.", "suffix", "as_is"),
    "memo": {"type": "object", "description": "Memo of the Temporal workflow."},
    "search_attributes": {"type": "object", "description": "Search attributes of the Temporal workflow."},
    "start": {"type": "object", "description": "Start request of the Temporal workflow, as protobuf JSON."},
    "execution_timeout_ms": _milliseconds("Execution timeout of the Temporal workflow.", 1),
    "run_timeout_ms": _milliseconds("Run timeout of the Temporal workflow.", 1),
    "task_timeout_ms": _milliseconds("Task timeout of the Temporal workflow.", 1),
    "subject": _text("Subject of the message.", "jobs.report"),
    "stream": _text("Name of the stream.", "jobs"),
    "exchange": _text("Name of the exchange."),
    "routing_key": _text("Routing key of the message."),
    "table": _text("Name of a declared table.", "app.jobs"),
    "columns": {"type": "object", "description": "Values by column."},
    "function": _text("Name of a declared SQL function.", "app.enqueue"),
}
_TARGETS = {
    "http": "Send an HTTP request.",
    "celery": "Send a Celery task.",
    "temporal": "Start a Temporal workflow.",
    "nats": "Publish a message to a JetStream stream.",
    "redis": "Add an entry to a Redis or Valkey stream.",
    "rabbitmq": "Publish a message to RabbitMQ.",
    "postgres": "Insert a row or call a function in the database of the store.",
}
EXECUTOR_FIELDS: dict[str, Schema] = {
    "command": _nullable(_text("Name of the configured command to run.", "backup")),
    **{
        executor: {
            "type": ["object", "null"],
            "description": description,
            "properties": {name: _OPTIONS[name] for name in EXECUTOR_OPTIONS[executor]},
            "additionalProperties": False,
        }
        for executor, description in _TARGETS.items()
    },
}
OTHER_FIELDS: dict[str, Schema] = {
    "spec": {
        "type": "object",
        "description": "When the schedule runs. These fields can also be members of the document itself.",
        "properties": SPEC_FIELDS,
        "additionalProperties": False,
    },
    "function": _nullable(_text("Import path of the function to run.", "tasks:report")),
    "workflow_id": _nullable(_text("Id of the stored workflow to run.", "nightly-etl")),
    **EXECUTOR_FIELDS,
    "workflow_version": {"type": ["integer", "null"], "minimum": 1, "description": "null is the newest version."},
    "queue": _text("Queue of the processes that execute the runs.", "default"),
    "user_id": _nullable(_text("User on whose behalf the runs are executed.", "u-17")),
    "overlap_policy": _choice("Handling of a tick while a run is active.", *Overlap, "allow_all", "buffer_all"),
    "max_concurrent": _number("Maximum number of concurrent runs.", 1),
    "buffer_keep": _choice("The tick that buffer_one keeps.", *Keep),
    "catchup_policy": _choice("Handling of missed ticks.", *CatchUp, "all"),
    "catchup_window": {
        "type": ["string", "integer", "null"],
        "description": "Missed ticks that are older are dropped. null is no limit.",
    },
    "on_resume": _choice("Handling of the ticks during a pause.", *OnResume),
    "on_worker_lost": _choice("Handling of a run whose worker was lost.", *OnWorkerLost),
    "max_attempts": _number("Maximum number of attempts of a run.", 1),
    "retry_delay_ms": _milliseconds("Delay before the second attempt. It doubles with each attempt."),
    "max_execution_ms": _nullable(_milliseconds("Time limit of a run.", 1)),
    "launch_deadline_ms": _nullable(
        _milliseconds(
            "How long a run waits for a target that cannot be reached. 0 is not at all. null is catchup_window, or the "
            "setting of the service."
        )
    ),
    "pause_on_failure": {"type": "boolean", "description": "Pause the schedule when a run has failed finally."},
    "min_interval_ms": _milliseconds("Minimum time between two automatic starts."),
    "adaptive": {"type": "boolean", "description": "Adapt the times of runs to hints, failures and bounds."},
    "max_interval_ms": _nullable(_milliseconds("Maximum time between two runs of an adaptive schedule.", 1_000)),
    "failure_backoff": {"type": "boolean", "description": "Lengthen an adaptive interval after failures."},
    "notify": {"type": "boolean", "description": "Send notifications about problems of this schedule."},
    "shadow": {"type": "boolean", "description": "Record the runs that would start, and start none."},
    "payload": {"description": "Any JSON value. Every run receives it."},
    "description": _text("A description for people."),
    "labels": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Labels for filters."},
    "memo": {"type": ["object", "null"], "description": "Additional information. Lists include it."},
    "search_attributes": {
        "type": ["object", "null"],
        "additionalProperties": {"type": "object"},
        "description": "Typed values for queries of the Temporal API, each with its type and its value.",
    },
}
STATE_FIELDS: dict[str, Schema] = {
    "remaining_actions": {
        "type": ["integer", "null"],
        "minimum": 0,
        "description": "Number of automatic starts that are left.",
    },
    "paused": {"type": "boolean", "description": "Whether the schedule is paused."},
    "note": {"type": ["string", "null"], "description": "A note about the state, such as the reason of a pause."},
}
SCHEDULE_DOCUMENT: Schema = {
    "type": "object",
    "description": "A schedule: when it runs, what it runs, and its policies.",
    "properties": {**OTHER_FIELDS, **SPEC_FIELDS, **STATE_FIELDS},
    "additionalProperties": False,
    "examples": [
        {
            "cron": "0 9 * * MON-FRI",
            "timezone": "Europe/Berlin",
            "function": "tasks:report",
            "overlap_policy": "skip",
            "catchup_policy": "coalesce",
        }
    ],
}
