"""Views across schedules: forecast, problems, upcoming ticks, edit diffs, summaries, changes, backlog, statistics."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tompion.model.policy import CatchUp, Overlap
from tompion.model.run import RunState
from tompion.model.schedule import Run, Schedule


@dataclass(frozen=True, slots=True)
class Load:
    """The number of fires in a time bucket."""

    start: datetime
    fires: int


@dataclass(frozen=True, slots=True)
class SameSpecSchedule:
    """A schedule with the same spec as others, and its conflict token."""

    schedule_id: str
    conflict_token: int


@dataclass(frozen=True, slots=True)
class SpecGroup:
    """Schedules with the same spec that fire together, one example, and ways to spread them.

    ``jitter_ms`` is a jitter that would spread them between two of their ticks. It is ``None`` if they have jitter
    already. ``hashed`` are their cron strings with ``H`` as the minute. It is ``None`` if that is not possible.
    """

    example: str
    explanation: str
    schedules: int
    jitter_ms: int | None
    hashed: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class LoadSpike:
    """A bucket with far more fires than the others, the schedules that cause it, and advice."""

    start: datetime
    fires: int
    groups: tuple[SpecGroup, ...]
    advice: str


@dataclass(frozen=True, slots=True)
class Forecast:
    """The number of fires in equal time buckets of the future.

    All fires of ``fully_counted`` schedules are counted, and only the next fire of ``next_fire_only`` schedules. If
    ``one_in`` is more than one, only one in that many schedules was read. ``capped`` is true if there are more
    schedules than were counted.
    """

    buckets: tuple[Load, ...]
    spikes: tuple[LoadSpike, ...]
    fully_counted: int
    next_fire_only: int
    one_in: int
    capped: bool


ProblemKind = Literal[
    "no_engine",
    "overloaded",
    "skewed_clock",
    "clock_set_back",
    "unserved_queue",
    "failing",
    "stuck",
    "degraded",
    "missed",
    "buffer",
    "forgotten_pause",
]


Urgency = Literal["high", "medium", "low"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that needs action: its kind, its subject, and a description.

    ``schedule_id`` is set if it is about a schedule. ``subject`` is always set.
    """

    kind: ProblemKind
    urgency: Urgency
    subject: str
    schedule_id: str | None
    text: str
    count: int
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Problems:
    """Things that need action, most urgent first. ``more`` is true if the list is incomplete."""

    problems: tuple[Problem, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class UpcomingTick:
    """A tick that will fire unless the schedule changes."""

    schedule_id: str
    run_at: datetime
    fire_at: datetime


@dataclass(frozen=True, slots=True)
class CalendarFeed:
    """Upcoming ticks for a calendar feed: the first ones of every schedule, so that no frequent one hides the others.

    ``truncated`` are the schedules with more ticks in the same time. ``omitted`` is true if some schedules are missing.
    """

    ticks: tuple[UpcomingTick, ...]
    truncated: frozenset[str] = frozenset()
    omitted: bool = False


@dataclass(frozen=True, slots=True)
class Upcoming:
    """Upcoming ticks of all schedules in order.

    The list is complete up to ``complete_until``. After it there may be more ticks than the limit allowed.
    """

    ticks: tuple[UpcomingTick, ...]
    complete_until: datetime


@dataclass(frozen=True, slots=True)
class TickChange:
    """An upcoming tick that an edit leaves ``unchanged``, or that is ``removed`` or ``added`` by it."""

    at: datetime
    local: datetime
    change: Literal["unchanged", "removed", "added"]


@dataclass(frozen=True, slots=True)
class EditDiff:
    """Upcoming ticks before and after an edit, complete up to ``complete_until``.

    ``complete_until`` is ``None`` if there are no further ticks.
    """

    ticks: tuple[TickChange, ...]
    unchanged: int
    removed: int
    added: int
    complete_until: datetime | None


@dataclass(frozen=True, slots=True)
class RecentOutcome:
    """Outcome of a tick, in short."""

    run_id: str
    status: RunState
    reason: str | None
    run_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class ScheduleSummary:
    """A schedule in a list: its explanation and the outcomes of its newest ticks.

    ``target_paused`` is true if its workflow or queue is paused.
    """

    schedule_id: str
    explanation: str
    timezone: str
    target_paused: bool
    outcomes: tuple[RecentOutcome, ...]


@dataclass(frozen=True, slots=True)
class ScheduleEdit:
    """A change made by a user, to a schedule or, if ``schedule_id`` is empty, to something else."""

    namespace: str
    schedule_id: str
    operation: str
    actor: str
    conflict_token: int
    at: datetime


Update = Run | ScheduleEdit
"""The current state of a run, or a change made by a user."""


MAX_COUNTED = 10_000
"""Counts stop here. A larger number is shown as this one."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """Unclaimed runs of a queue, and the age of the oldest."""

    queue: str
    runs: int
    oldest_s: float


@dataclass(frozen=True, slots=True)
class StoreBacklog:
    """Numbers of due schedules, waiting runs, paused and degraded schedules and live instances, and queue backlogs."""

    due: int
    waiting: int
    paused: int
    degraded: int
    instances: int
    queues: tuple[Backlog, ...]


@dataclass(frozen=True, slots=True)
class RunCounts:
    """Numbers of schedules by status and of their runs. ``capped`` is true if there are more than were counted."""

    active: int
    paused: int
    closed: int
    degraded: int
    in_flight: int
    waiting: int
    capped: bool


@dataclass(frozen=True, slots=True)
class StatsBucket:
    """Decisions in a time bucket, and how late runs started, in milliseconds.

    ``missed`` are ticks while no engine was running. ``skipped`` are skipped runs, and ticks dropped because of
    overlap. ``open`` runs have not ended.
    """

    start: datetime
    succeeded: int
    failed: int
    skipped: int
    ended: int
    open: int
    missed: int
    late_p50_ms: int | None
    late_p99_ms: int | None
    late_max_ms: int | None


@dataclass(frozen=True, slots=True)
class Stats:
    """Statistics of a namespace. Before ``complete_since`` they are incomplete."""

    schedules: RunCounts
    buckets: tuple[StatsBucket, ...]
    complete_since: datetime


@dataclass(frozen=True, slots=True)
class DeclareResult:
    """The result of a declaration: ``created``, ``updated`` or ``unchanged``, and the fields that drifted."""

    schedule: Schedule
    outcome: str
    drift: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScheduleAck:
    """The result of a write of a schedule."""

    schedule_id: str
    next_run_at: datetime | None


@dataclass(frozen=True, slots=True)
class ServiceSchedule:
    """A schedule as the service of the deployer stored it, and its next five fire times as ``preview``.

    ``cron_expr`` is ``None`` if the schedule has no cron expression, several of them, or other sources of ticks.
    """

    schedule_id: str
    workflow_id: str | None
    version: int | None
    user_id: str | None
    cron_expr: str | None
    timezone: str
    start_at: str | None
    end_at: str | None
    next_run_at: datetime | None
    paused: bool
    jitter_ms: int
    overlap_policy: Overlap
    catchup_policy: CatchUp
    updated_at: datetime
    preview: tuple[datetime, ...]
