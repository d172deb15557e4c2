"""The fields of a schedule as Python callers write them, with their types.

A type checker rejects an unknown field, a wrong type and an unknown value of an enumeration. The service checks the
same again, and also what types cannot express.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Literal, Required, TypedDict

from tompion.model.policy import CatchUp, Keep, OnResume, OnWorkerLost, Overlap
from tompion.model.run import RunState
from tompion.model.schedule import ScheduleStatus
from tompion.model.spec import (
    CalendarDocument,
    Dialect,
    DstGap,
    DstOverlap,
    DstProfile,
    ExcludeDocument,
    IntervalDocument,
    JitterMode,
    SpecDocument,
)

Milliseconds = int | str | timedelta
"""A duration in a field that ends with ``_ms``: milliseconds, a text with a unit such as ``"30s"``, or a timedelta."""

OverlapPolicy = (
    Overlap
    | Literal["skip", "allow", "queue", "buffer_one", "cancel_other", "terminate_other", "allow_all", "buffer_all"]
)
CatchupPolicy = CatchUp | Literal["none", "coalesce", "fire_immediately", "spread", "all"]
ResumePolicy = OnResume | Literal["policy", "skip", "fire_once"]
WorkerLostPolicy = OnWorkerLost | Literal["relaunch", "fail"]
BufferKeep = Keep | Literal["latest", "first"]
RoleName = Literal["reader", "operator", "editor", "admin"]
StatusOfSchedule = ScheduleStatus | Literal["active", "paused", "exhausted", "closed"]
StatusOfRun = (
    RunState
    | Literal[
        "PLANNED",
        "BUFFERED",
        "ENQUEUED",
        "STARTED",
        "SUCCESS",
        "FAILED",
        "SKIPPED",
        "CANCELLED",
        "TERMINATED",
        "TIMED_OUT",
    ]
)
SourceOfRun = Literal["schedule", "trigger", "backfill", "hint", "launch"]
BackfillFilter = Literal["all", "missing", "failed"]
ReportEvent = Literal[
    "started", "heartbeat", "progress", "succeeded", "failed", "cancelled", "timed_out", "launch_failed"
]
HttpMethod = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]


class HttpAction(TypedDict, total=False):
    """The request that each run sends. See ``docs/reference/executors.md``."""

    url: Required[str]
    method: HttpMethod
    headers: Mapping[str, str]
    body: Any
    secret: str
    expect: int | str | Sequence[int | str]
    timeout_ms: Milliseconds
    cancel_url: str


class CeleryAction(TypedDict, total=False):
    """The Celery task that each run sends."""

    task: Required[str]
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    queue: str
    done: Literal["followed", "reported", "taken"]


class TemporalAction(TypedDict, total=False):
    """The Temporal workflow that each run starts."""

    workflow: Required[str]
    task_queue: Required[str]
    workflow_id: str
    id: Literal["suffix", "as_is"]
    args: Sequence[Any]
    memo: Mapping[str, Any]
    search_attributes: Mapping[str, Any]
    done: Literal["followed", "taken"]
    start: Mapping[str, Any]
    execution_timeout_ms: Milliseconds
    run_timeout_ms: Milliseconds
    task_timeout_ms: Milliseconds


class NatsAction(TypedDict, total=False):
    """The NATS subject that each run publishes to."""

    subject: Required[str]
    done: Literal["taken", "reported"]


class RedisAction(TypedDict, total=False):
    """The Redis stream that each run adds an entry to."""

    stream: Required[str]
    done: Literal["taken", "reported"]


class RabbitmqAction(TypedDict, total=False):
    """The RabbitMQ queue or exchange that each run publishes to."""

    queue: str
    exchange: str
    routing_key: str
    done: Literal["taken", "reported"]


class PostgresAction(TypedDict, total=False):
    """The PostgreSQL table or function that each run writes to, in the transaction of its tick."""

    table: str
    columns: Mapping[str, Any]
    function: str
    args: Sequence[Any]
    done: Literal["taken", "reported"]


class SpecFields(TypedDict, total=False):
    """The fields that decide the ticks of a schedule. See ``docs/reference/spec.md``."""

    cron: str | Sequence[str]
    calendars: Mapping[str, Any] | CalendarDocument | Sequence[Mapping[str, Any] | CalendarDocument]
    intervals: (
        str
        | int
        | timedelta
        | IntervalDocument
        | Mapping[str, Any]
        | Sequence[str | int | timedelta | IntervalDocument | Mapping[str, Any]]
    )
    rrules: str | Sequence[str]
    times: str | date | Sequence[str | date]
    exclude: Mapping[str, Any] | ExcludeDocument | None
    timezone: str | None
    start_at: str | date | None
    end_at: str | date | None
    jitter_ms: Milliseconds
    jitter_mode: JitterMode
    jitter_seed: str | None
    dst_gap: DstGap | None
    dst_overlap: DstOverlap
    dst_profile: DstProfile | None
    dialect: Dialect
    spec: SpecDocument | Mapping[str, Any]
    cron_expr: str | Sequence[str]


class ScheduleFields(SpecFields, total=False):
    """The fields of a schedule that a caller can write. See ``docs/reference/schedule.md``."""

    function: str | None
    command: str | None
    http: HttpAction | None
    celery: CeleryAction | None
    temporal: TemporalAction | None
    nats: NatsAction | None
    redis: RedisAction | None
    rabbitmq: RabbitmqAction | None
    postgres: PostgresAction | None
    workflow_id: str | None
    workflow_version: int | None
    queue: str
    user_id: str | None
    overlap_policy: OverlapPolicy
    max_concurrent: int
    buffer_keep: BufferKeep
    catchup_policy: CatchupPolicy
    catchup_window: int | str | timedelta | None
    on_resume: ResumePolicy
    max_attempts: int
    retry_delay_ms: Milliseconds
    max_execution_ms: Milliseconds | None
    launch_deadline_ms: Milliseconds | None
    pause_on_failure: bool
    min_interval_ms: Milliseconds
    max_interval_ms: Milliseconds | None
    adaptive: bool
    failure_backoff: bool
    on_worker_lost: WorkerLostPolicy
    shadow: bool
    notify: bool
    payload: Any
    description: str | None
    labels: Mapping[str, str] | None
    memo: Mapping[str, Any] | None
    search_attributes: Mapping[str, Any] | None
    remaining_actions: int | None
    paused: bool
    note: str | None
    overlap: OverlapPolicy
    catchup: CatchupPolicy
    version: int | None
