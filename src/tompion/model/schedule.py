"""Schedules and runs: what users write, and what they get back."""

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
    """The target of a run: a function by its import path, a stored workflow by its id, or an executor with options."""

    function: str | None = None
    workflow_id: str | None = None
    workflow_version: int | None = None
    queue: str = "default"
    user_id: str | None = None
    executor: str | None = None
    options: Any = None

    @property
    def target_field(self) -> str | None:
        """Return the field of a schedule that names this target, such as ``function`` or ``http``."""
        if self.function is not None:
            return "function"
        return self.executor if self.workflow_id is None else "workflow_id"

    @property
    def target(self) -> Any:
        """Return the value of that field."""
        if self.executor == "command":
            return self.options["command"]
        return self.options if self.executor is not None else self.function or self.workflow_id


@dataclass(frozen=True, slots=True)
class Definition:
    """One version of a schedule: everything that users define."""

    spec: SpecDocument
    action: Action
    policy: Policy = field(default_factory=Policy)
    payload: Any = None
    description: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    memo: Any = None
    search_attributes: Any = None


class ScheduleStatus(StrEnum):
    """The status of a schedule. A schedule whose rows cannot be read is listed as damaged and does not fire."""

    ACTIVE = "active"
    PAUSED = "paused"
    EXHAUSTED = "exhausted"
    CLOSED = "closed"
    DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class Counters:
    """Numbers of ticks by outcome since the schedule was created."""

    starts: int = 0
    successes: int = 0
    failures: int = 0
    skipped: int = 0
    missed: int = 0


@dataclass(frozen=True, slots=True)
class Schedule:
    """The current state of a schedule.

    The answer to a write has ``warnings`` about targets that only a worker can check.
    """

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
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """The current state of a run. Only ``get_run`` returns its ``payload``."""

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
    """An audit entry: actor, operation, time, and the values before and after."""

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
    """One version of the definition of a schedule, and the ticks that it decided."""

    version: int
    definition: Definition
    author: str
    created_at: datetime
    decides_after: datetime
    decides_until: datetime | None


@dataclass(frozen=True, slots=True)
class Backfill:
    """A range of past ticks that is run again.

    ``total`` is the number of ticks to run, ``done`` the number so far. ``undecided`` ticks of the range are left out,
    because the schedule itself has not decided them yet.
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
    """Everything about one schedule.

    ``skipped_ticks`` are upcoming ticks that were requested to be skipped. They are not among ``next_ticks``.
    ``outlook`` is set if the schedule is adaptive.
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
    """A stored workflow document, which is passed to an executor."""

    namespace: str
    workflow_id: str
    version: int
    document: Any
    paused: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class BulkRefusal:
    """A schedule that could not be changed, and the reason."""

    schedule_id: str
    code: str
    problem: str


@dataclass(frozen=True, slots=True)
class BulkResult:
    """Result of a change to many schedules, or of its dry run.

    ``unchanged`` schedules match, but need no change. ``next_page`` is the token to continue with, because one request
    changes a limited number of schedules. ``run_ids`` are the runs of a trigger, in the order of ``schedule_ids``.
    """

    schedule_ids: tuple[str, ...]
    unchanged: int
    refused: tuple[BulkRefusal, ...]
    dry_run: bool
    next_page: str | None
    run_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScheduleCount:
    """The number of schedules that match a filter, and the number of all that are not deleted.

    If ``capped`` is true, counting stopped early, and both numbers are lower bounds.
    """

    matching: int
    total: int
    capped: bool
