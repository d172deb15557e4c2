"""Schedules and runs: what users write, and what they get back."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from tompion.model.hint import Outlook
from tompion.model.policy import CatchUp, Keep, OnResume, OnWorkerLost, Overlap, Policy
from tompion.model.run import RunState
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


class DefinitionFields:
    """The fields of a definition as attributes of the schedule itself, as in its JSON document."""

    __slots__ = ()

    definition: Definition

    @property
    def cron(self) -> tuple[str, ...]:
        """Return the cron expressions."""
        return self.definition.spec.cron

    @property
    def calendars(self) -> tuple[CalendarDocument, ...]:
        """Return the structured calendars."""
        return self.definition.spec.calendars

    @property
    def intervals(self) -> tuple[IntervalDocument, ...]:
        """Return the intervals."""
        return self.definition.spec.intervals

    @property
    def rrules(self) -> tuple[str, ...]:
        """Return the RFC 5545 rules."""
        return self.definition.spec.rrules

    @property
    def times(self) -> tuple[str, ...]:
        """Return the single times."""
        return self.definition.spec.times

    @property
    def exclude(self) -> ExcludeDocument:
        """Return the excluded times."""
        return self.definition.spec.exclude

    @property
    def timezone(self) -> str:
        """Return the IANA time zone, ``UTC`` by default."""
        return self.definition.spec.timezone or "UTC"

    @property
    def start_at(self) -> str | None:
        """Return the time before which there are no ticks."""
        return self.definition.spec.start_at

    @property
    def end_at(self) -> str | None:
        """Return the time after which there are no ticks."""
        return self.definition.spec.end_at

    @property
    def jitter_ms(self) -> int:
        """Return the maximum difference between a fire time and its tick."""
        return self.definition.spec.jitter_ms

    @property
    def jitter_mode(self) -> JitterMode:
        """Return the mode of the jitter."""
        return self.definition.spec.jitter_mode

    @property
    def jitter_seed(self) -> str | None:
        """Return the seed of the jitter. ``None`` is the id of the schedule."""
        return self.definition.spec.jitter_seed

    @property
    def dst_gap(self) -> DstGap | None:
        """Return the handling of wall times that do not exist."""
        return self.definition.spec.dst_gap

    @property
    def dst_overlap(self) -> DstOverlap:
        """Return the handling of wall times that occur twice."""
        return self.definition.spec.dst_overlap

    @property
    def dst_profile(self) -> DstProfile | None:
        """Return the set of rules for clock changes."""
        return self.definition.spec.dst_profile

    @property
    def dialect(self) -> Dialect:
        """Return the dialect of the cron expressions."""
        return self.definition.spec.dialect

    @property
    def function(self) -> str | None:
        """Return the import path of the function to run."""
        return self.definition.action.function

    @property
    def workflow_id(self) -> str | None:
        """Return the id of the stored workflow to run."""
        return self.definition.action.workflow_id

    @property
    def workflow_version(self) -> int | None:
        """Return the version of the workflow. ``None`` is the newest."""
        return self.definition.action.workflow_version

    @property
    def queue(self) -> str:
        """Return the queue of the processes that execute the runs."""
        return self.definition.action.queue

    @property
    def user_id(self) -> str | None:
        """Return the user on whose behalf the runs are executed."""
        return self.definition.action.user_id

    @property
    def overlap_policy(self) -> Overlap:
        """Return the handling of a tick while a run is active."""
        return self.definition.policy.overlap_policy

    @property
    def max_concurrent(self) -> int:
        """Return the maximum number of concurrent runs."""
        return self.definition.policy.max_concurrent

    @property
    def buffer_keep(self) -> Keep:
        """Return the tick that ``buffer_one`` keeps."""
        return self.definition.policy.buffer_keep

    @property
    def catchup_policy(self) -> CatchUp:
        """Return the handling of missed ticks."""
        return self.definition.policy.catchup_policy

    @property
    def catchup_window(self) -> timedelta | None:
        """Return the age after which missed ticks are dropped. ``None`` is no limit."""
        return None if (seconds := self.definition.policy.catchup_window_s) is None else timedelta(seconds=seconds)

    @property
    def on_resume(self) -> OnResume:
        """Return the handling of the ticks during a pause."""
        return self.definition.policy.on_resume

    @property
    def on_worker_lost(self) -> OnWorkerLost:
        """Return the handling of a run whose worker was lost."""
        return self.definition.policy.on_worker_lost

    @property
    def max_attempts(self) -> int:
        """Return the maximum number of attempts of a run."""
        return self.definition.policy.max_attempts

    @property
    def retry_delay_ms(self) -> int:
        """Return the delay before the second attempt. It doubles with each attempt."""
        return self.definition.policy.retry_delay_ms

    @property
    def max_execution_ms(self) -> int | None:
        """Return the time limit of a run."""
        return self.definition.policy.max_execution_ms

    @property
    def launch_deadline_ms(self) -> int | None:
        """Return how long a run waits for a target that cannot be reached."""
        return self.definition.policy.launch_deadline_ms

    @property
    def pause_on_failure(self) -> bool:
        """Return whether a final failure pauses the schedule."""
        return self.definition.policy.pause_on_failure

    @property
    def min_interval_ms(self) -> int:
        """Return the minimum time between two automatic starts."""
        return self.definition.policy.min_interval_ms

    @property
    def adaptive(self) -> bool:
        """Return whether the times of runs adapt to hints, failures and bounds."""
        return self.definition.policy.adaptive

    @property
    def max_interval_ms(self) -> int | None:
        """Return the maximum time between two runs of an adaptive schedule."""
        return self.definition.policy.max_interval_ms

    @property
    def failure_backoff(self) -> bool:
        """Return whether failures lengthen an adaptive interval."""
        return self.definition.policy.failure_backoff

    @property
    def notify(self) -> bool:
        """Return whether notifications are sent about problems."""
        return self.definition.policy.notify

    @property
    def shadow(self) -> bool:
        """Return whether runs are recorded and none is started."""
        return self.definition.policy.shadow

    @property
    def payload(self) -> Any:
        """Return the JSON value that every run receives. A list has none."""
        return self.definition.payload

    @property
    def description(self) -> str:
        """Return the description for people."""
        return self.definition.description

    @property
    def labels(self) -> dict[str, str]:
        """Return the labels."""
        return dict(self.definition.labels)

    @property
    def memo(self) -> Any:
        """Return the additional information."""
        return self.definition.memo

    @property
    def search_attributes(self) -> Any:
        """Return the typed values for queries of the Temporal API."""
        return self.definition.search_attributes


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
class Schedule(DefinitionFields):
    """A schedule: its definition and its current state. The fields of ``definition`` are attributes too.

    ``warnings`` say that its target does not exist, or that only a worker can check it. A list has none.
    """

    namespace: str
    schedule_id: str
    status: ScheduleStatus
    paused: bool
    note: str | None
    definition_version: int
    conflict_token: int
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
    paused_at: datetime | None
    paused_until: datetime | None
    created_at: datetime
    updated_at: datetime
    degraded: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """The current state of a run. A list has no payloads."""

    run_id: str
    idempotency_key: str
    namespace: str
    schedule_id: str
    source: str
    status: RunState
    reason: str | None
    run_at: datetime
    local_time: datetime | None
    dst_adjustment: str | None
    fire_at: datetime
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    definition_version: int
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
    conflict_token: int
    definition_version: int
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
    because the schedule itself has not decided them yet. A dry run is ``PLANNED``, has no id, and the first ``ticks``.
    """

    backfill_id: int
    schedule_id: str
    start: datetime
    end: datetime
    overlap_policy: str
    only: str
    status: str
    total: int
    done: int
    cursor: datetime
    created_at: datetime
    finished_at: datetime | None
    undecided: int = 0
    ticks: tuple[datetime, ...] = ()


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
