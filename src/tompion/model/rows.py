"""Rows of the smaller tables, in the order of their columns."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class ScheduleRow(NamedTuple):
    """A schedule without its definition and its state."""

    schedule_key: int
    namespace: str
    schedule_id: str
    version: int
    token: int
    state: str
    workflow_id: str | None
    user_id: str | None
    labels: str
    description: str
    paused_by: str | None
    pause_note: str | None
    paused_ms: int | None
    purge: bool
    zones: str
    created_ms: int
    updated_ms: int


class VersionRow(NamedTuple):
    """One version of a definition. It decides the ticks after ``after_s`` up to ``until_s``."""

    schedule_key: int
    version: int
    spec: str
    policy: str
    action: str
    payload: str | None
    about: str
    calendars: str
    after_s: int
    until_s: int | None
    author: str
    created_ms: int


class DefinitionRow(NamedTuple):
    """A version in the form that an engine compiles."""

    schedule_key: int
    version: int
    namespace: str
    schedule_id: str
    spec: str
    policy: str
    action: str
    payload: str | None
    calendars: str


class SpecGroupRow(NamedTuple):
    """A spec that fires soon: the number of schedules with it, one of them, and its next tick."""

    spec: str
    calendars: str
    example: str
    schedules: int
    next_nominal_s: int
    next_fire_ms: int


class UnhealthyScheduleRow(NamedTuple):
    """A schedule that may have a problem, and the values that show it."""

    schedule_id: str
    degraded: int
    paused_by: str | None
    paused_ms: int | None
    pause_until_ms: int | None
    failures: int
    waiting: int
    in_flight: int
    last_start_ms: int | None
    last_end_ms: int | None


class CalendarRow(NamedTuple):
    """One version of a named calendar."""

    namespace: str
    name: str
    version: int
    document: str
    created_ms: int


class WorkflowRow(NamedTuple):
    """One version of a workflow document."""

    namespace: str
    workflow_id: str
    version: int
    document: str
    created_ms: int


class AuditRow(NamedTuple):
    """An audit entry. The last three fields are its place in the chain of :mod:`~tompion.model.audit_chain`."""

    audit_number: int
    at_ms: int
    namespace: str
    schedule_id: str
    actor: str
    operation: str
    token: int
    version: int
    request_id: str | None
    before: str | None
    after: str | None
    position: int | None = None
    previous: str | None = None
    digest: str | None = None


class RequestRow(NamedTuple):
    """The stored response to a request id."""

    operation: str
    fingerprint: str
    answer: str


class LeaseRow(NamedTuple):
    """A valid lease. ``is_locked`` is whether the session of the instance holds its lock on ``server_id``.

    SQLite has no sessions, and these columns are empty there.
    """

    instance_id: int
    name: str
    heartbeat_ms: int
    is_locked: bool | None
    server_id: int | None


class InstanceRow(NamedTuple):
    """An engine, or a remote worker, which has no lease. ``queues`` is a JSON list."""

    instance_id: int
    name: str
    release: str
    queues: str
    started_ms: int
    heartbeat_ms: int
    stopped_ms: int | None
    skew_ms: int
    lease_until_ms: int | None
    namespace: str | None = None
    tzdata: str = ""


class KeyRow(NamedTuple):
    """A stored API key, with a hash of its secret."""

    key_id: str
    namespace: str
    role: str
    name: str
    hash: str
    created_by: str
    created_ms: int
    expires_ms: int | None
    revoked_ms: int | None


HeldRun: TypeAlias = tuple[int, int, int, int]
"""A run that an instance executes, with its fence: schedule, nominal time, origin, attempt."""


class ScheduleFilter(NamedTuple):
    """Filter of a list of schedules. ``None`` matches everything."""

    state: str | None = None
    workflow_id: str | None = None
    user_id: str | None = None
    label: str | None = None
    label_value: str | None = None
    text: str | None = None


class DueNow(NamedTuple):
    """The kinds of work that are due, and the time of the next work."""

    on_time: bool
    catch_up: bool
    planned: bool
    unleased: bool
    backfills: bool
    next_ms: int | None
