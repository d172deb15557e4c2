"""Rows of the smaller tables, in the order of their columns."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class ScheduleRow(NamedTuple):
    """What a schedule is, apart from its definition and its dial."""

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
    """One version of a definition; it decides the ticks after ``after_s`` up to ``until_s``."""

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
    """What an engine needs to know of a version."""

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
    """A spec that fires soon: how many schedules have it, one of them, and when its next tick is."""

    spec: str
    calendars: str
    example: str
    schedules: int
    next_nominal_s: int
    next_fire_ms: int


class UnhealthyScheduleRow(NamedTuple):
    """A schedule with which something may be wrong, and what is known of that."""

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
    """Who changed what, and how it was before; the last three are its place in the :mod:`~tompion.model.audit`."""

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
    """The answer that a request id was given."""

    operation: str
    fingerprint: str
    answer: str


class InstanceRow(NamedTuple):
    """A process that runs an engine, or a worker that asks for runs and has no lease; ``queues`` is a list as JSON."""

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


class KeyRow(NamedTuple):
    """A key with which somebody may ask from outside, as far as it is kept."""

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
"""A run that an instance executes, with the fence it holds: schedule, nominal time, origin, attempt."""


class ScheduleFilter(NamedTuple):
    """Which schedules a list is about; ``None`` is any."""

    state: str | None = None
    workflow_id: str | None = None
    user_id: str | None = None
    label: str | None = None
    label_value: str | None = None
    text: str | None = None


class DueNow(NamedTuple):
    """Which kinds of work are due, and when the next is."""

    on_time: bool
    catch_up: bool
    planned: bool
    unleased: bool
    backfills: bool
    next_ms: int | None
