"""Schedules: what users write, what is stored, and what they see."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from tompion.model.hint import Outlook
from tompion.model.policy import Policy
from tompion.model.run import RunState
from tompion.model.spec import SpecDocument


@dataclass(frozen=True, slots=True)
class Action:
    """What a run starts: a function by its import path, or a stored workflow by its id."""

    function: str | None = None
    workflow_id: str | None = None
    workflow_version: int | None = None
    queue: str = "default"
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """One version of a schedule: everything that users decide about it."""

    spec: SpecDocument
    action: Action
    policy: Policy = field(default_factory=Policy)
    payload: Any = None
    description: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    memo: Any = None
    search_attributes: Any = None


class ScheduleStatus(StrEnum):
    """What a schedule is doing, in one word; one whose rows cannot be read does nothing, and a list shows it so."""

    ACTIVE = "active"
    PAUSED = "paused"
    EXHAUSTED = "exhausted"
    CLOSED = "closed"
    DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class Counters:
    """How many ticks became what, since the schedule was created."""

    starts: int = 0
    successes: int = 0
    failures: int = 0
    skipped: int = 0
    missed: int = 0


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule as it is now."""

    namespace: str
    schedule_id: str
    state: ScheduleStatus
    version: int
    token: int
    definition: Definition
    cursor: datetime
    next_run_at: datetime | None
    next_fire_at: datetime | None
    in_flight: int
    waiting: int
    remaining_actions: int | None
    consecutive_failures: int
    counters: Counters
    paused_by: str | None
    pause_note: str | None
    paused_at: datetime | None
    paused_until: datetime | None
    created_at: datetime
    updated_at: datetime
    degraded: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it is now; its ``payload`` is shown by ``get_run`` only."""

    run_id: str
    key: str
    namespace: str
    schedule_id: str
    source: str
    state: RunState
    reason: str | None
    scheduled_for: datetime
    local_time: datetime | None
    dst_adjustment: str | None
    fire_at: datetime
    decided_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    version: int
    attempt: int
    error: str | None
    result: Any
    execution_id: str | None
    progress: Any = None
    payload: Any = None


@dataclass(frozen=True, slots=True)
class DroppedTicks:
    """Ticks that were dropped together, as users see them."""

    after: datetime
    until: datetime
    ticks: int
    reason: str
    decided_at: datetime


@dataclass(frozen=True, slots=True)
class Change:
    """An audit row: who changed what, when, and how it was before."""

    at: datetime
    actor: str
    operation: str
    schedule_id: str
    token: int
    version: int
    request_id: str | None
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a schedule's definition, and the ticks it decided."""

    version: int
    definition: Definition
    author: str
    created_at: datetime
    decides_after: datetime
    decides_until: datetime | None


@dataclass(frozen=True, slots=True)
class Backfill:
    """A range of the past that is being run again.

    ``total`` is how many ticks were to be run when it was asked for, ``done`` how many it has run so far; ``undecided``
    ticks of the range are left out, because the schedule itself has still to decide them.
    """

    backfill_id: int
    schedule_id: str
    start: datetime
    end: datetime
    overlap: str
    only: str
    state: str
    total: int
    done: int
    cursor: datetime
    created_at: datetime
    finished_at: datetime | None
    undecided: int = 0


@dataclass(frozen=True, slots=True)
class Description:
    """Everything about one schedule on one page.

    ``skipped_ticks`` are those to come that somebody asked to skip; they are not among ``next_ticks``.  ``outlook`` is
    there if the schedule is adaptive.
    """

    schedule: Schedule
    recent: tuple[Run, ...]
    running: tuple[Run, ...]
    waiting: tuple[Run, ...]
    next_ticks: tuple[datetime, ...]
    skipped_ticks: tuple[datetime, ...]
    would_run_on_resume: tuple[datetime, ...]
    would_run_count: int
    backfills: tuple[Backfill, ...]
    dropped_ranges: tuple[DroppedTicks, ...]
    outlook: Outlook | None = None


@dataclass(frozen=True, slots=True)
class Workflow:
    """A stored workflow document, which an executor is given."""

    namespace: str
    workflow_id: str
    version: int
    document: Any
    paused: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class BulkRefusal:
    """A schedule that could not be changed, and why."""

    schedule_id: str
    code: str
    problem: str


@dataclass(frozen=True, slots=True)
class BulkResult:
    """What a change to many schedules has done, or would do.

    ``unchanged`` schedules match, but are so already.  ``next_page`` is where to go on: one request changes
    only so many.
    """

    schedule_ids: tuple[str, ...]
    unchanged: int
    refused: tuple[BulkRefusal, ...]
    dry_run: bool
    next_page: str | None


@dataclass(frozen=True, slots=True)
class ScheduleCount:
    """How many schedules match a filter, and how many there are that are not deleted.

    ``capped`` says that there are more than were looked at: then both are at least so many.
    """

    matching: int
    total: int
    capped: bool
