"""The document of a schedule as JSON Schema: what a PUT takes, and what a GET shows as its definition.

It says more than types do, for people and tools that read it.  What is right is decided by the operations, which name
the field and the way out: nothing is refused because of this schema.
"""

from __future__ import annotations

from typing import Any

from tompion.model.policy import CatchUp, Keep, OnResume, OnWorkerLost, Overlap
from tompion.model.spec import DIALECTS, DST_GAPS, DST_OVERLAPS, DST_PROFILES, JITTER_MODES

Schema = dict[str, Any]


def _text(about: str, *examples: str) -> Schema:
    return {"type": "string", "description": about, **({"examples": list(examples)} if examples else {})}


def _number(about: str, least: int = 0) -> Schema:
    return {"type": "integer", "minimum": least, "description": about}


def _choice(about: str, *choices: str) -> Schema:
    return {"type": "string", "enum": list(choices), "description": about}


def _maybe(schema: Schema) -> Schema:
    return {
        **schema,
        "type": [schema["type"], "null"],
        **({"enum": [*schema["enum"], None]} if "enum" in schema else {}),
    }


def _one_or_many(about: str, of: Schema, *examples: Any) -> Schema:
    return {"description": about, "anyOf": [of, {"type": "array", "items": of}], "examples": list(examples)}


_DURATION: Schema = {"type": ["string", "integer"], "description": "A duration such as 15m, or seconds."}
_INTERVAL: Schema = {
    "anyOf": [
        {"type": ["string", "integer"]},
        {
            "type": "object",
            "properties": {
                "every": _DURATION,
                "offset": _DURATION,
                "anchor": _choice("From the epoch, or from the end of the run before.", "epoch", "completion"),
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
    "exclude": {"type": "object", "description": "What is taken away: calendars, dates, windows, holidays, named."},
    "timezone": _maybe(_text("IANA name; null is UTC.", "Europe/Berlin")),
    "start_at": _maybe(_text("No tick before it.", "2026-01-01T00:00:00Z")),
    "end_at": _maybe(_text("No tick after it.", "2026-12-31T23:59:59Z")),
    "jitter_ms": _number("The most that a fire time differs from its tick."),
    "jitter_mode": _choice("Before and after, only after, or after as Temporal does.", *JITTER_MODES),
    "jitter_seed": _maybe(_text("What the jitter is a hash of, instead of the schedule's id.")),
    "dst_gap": _maybe(_choice("What becomes of wall times that do not exist.", *DST_GAPS)),
    "dst_overlap": _choice("Which of two equal wall times counts.", *DST_OVERLAPS),
    "dst_profile": _maybe(_choice("A whole set of rules for clock changes.", *DST_PROFILES)),
    "dialect": _choice("How cron expressions are read.", *DIALECTS),
}
OTHER_FIELDS: dict[str, Schema] = {
    "spec": {
        "type": "object",
        "description": "When it runs, as an object of its own; its fields may stand in the document itself instead.",
        "properties": SPEC_FIELDS,
        "additionalProperties": False,
    },
    "function": _maybe(_text("What to run, by its import path.", "tasks:report")),
    "workflow_id": _maybe(_text("What to run: a stored workflow.", "nightly-etl")),
    "workflow_version": {"type": ["integer", "null"], "minimum": 1, "description": "Null is the newest."},
    "queue": _text("Who runs it: processes that serve this queue.", "default"),
    "user_id": _maybe(_text("On whose behalf.", "u-17")),
    "overlap_policy": _choice("While the run before goes on.", *Overlap, "allow_all", "buffer_all"),
    "max_concurrent": _number("The most runs at a time.", 1),
    "buffer_keep": _choice("Which tick buffer_one keeps.", *Keep),
    "catchup_policy": _choice("What becomes of missed ticks.", *CatchUp, "all"),
    "catchup_window": {
        "type": ["string", "integer", "null"],
        "description": "Older missed ticks are dropped; null keeps all.",
    },
    "on_resume": _choice("What becomes of the ticks of a pause.", *OnResume),
    "on_worker_lost": _choice("What becomes of a run whose worker was lost.", *OnWorkerLost),
    "max_attempts": _number("How often a failed run is tried in all.", 1),
    "retry_delay_ms": _number("The pause before the second attempt; it doubles."),
    "max_execution_ms": {"type": ["integer", "null"], "minimum": 1, "description": "How long a run may take."},
    "pause_on_failure": {"type": "boolean", "description": "Pause the schedule after a run that failed for good."},
    "min_interval_ms": _number("The least time between two automatic starts."),
    "adaptive": {"type": "boolean", "description": "Let hints, failures and bounds move its runs."},
    "max_interval_ms": {
        "type": ["integer", "null"],
        "minimum": 1_000,
        "description": "The most time between two runs of an adaptive schedule.",
    },
    "failure_backoff": {"type": "boolean", "description": "Whether failures stretch an adaptive interval."},
    "notify": {"type": "boolean", "description": "Whether anybody is notified of what goes wrong with it."},
    "shadow": {"type": "boolean", "description": "Record what would be started, and start nothing."},
    "payload": {"description": "Any JSON; each run is given it."},
    "description": _text("For people."),
    "labels": {"type": "object", "additionalProperties": {"type": "string"}, "description": "To find it by."},
    "memo": {"type": ["object", "null"], "description": "Anything that is worth knowing; lists show it."},
    "search_attributes": {
        "type": ["object", "null"],
        "additionalProperties": {"type": "object"},
        "description": "Typed values to find it by over Temporal's API, each with its type and its value.",
    },
}
STATE_FIELDS: dict[str, Schema] = {
    "remaining_actions": {
        "type": ["integer", "null"],
        "minimum": 0,
        "description": "How many automatic starts are left.",
    },
    "paused": {"type": "boolean", "description": "Whether it begins paused, or is paused from now on."},
    "note": {"type": ["string", "null"], "description": "Why it is as it is; a pause or a resume brings its own."},
}
SCHEDULE_DOCUMENT: Schema = {
    "type": "object",
    "description": "What a schedule is: when it runs, what it runs, and how it behaves.",
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
