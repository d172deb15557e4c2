"""How many fires are to come, and when many of them come at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tompion.model.run import RunState
from tompion.model.schedule import Run


@dataclass(frozen=True, slots=True)
class Load:
    """How many fires fall into a bucket of time."""

    start: datetime
    fires: int


@dataclass(frozen=True, slots=True)
class SameSpecSchedule:
    """A schedule that shares its spec with others, and its conflict token."""

    schedule_id: str
    token: int


@dataclass(frozen=True, slots=True)
class SpecGroup:
    """Schedules with one spec that fire together: how many there are, one of them, and what would part them.

    ``jitter_ms`` is the jitter that would spread them over the time between two of their ticks, as far as is useful;
    ``None`` if they have jitter already.  ``hashed`` are their cron strings with ``H`` instead of the minute; ``None``
    if they fire at other times as well, or at no minute that could be another.
    """

    example: str
    explanation: str
    schedules: int
    jitter_ms: int | None
    hashed: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class LoadSpike:
    """A bucket in which far more fires than in the others, the schedules that make it so, and what to do about it."""

    start: datetime
    fires: int
    groups: tuple[SpecGroup, ...]
    advice: str


@dataclass(frozen=True, slots=True)
class Forecast:
    """How many fires are to come in equal buckets of time.

    Of so many schedules as were ``fully_counted`` every fire is counted, of the ``next_fire_only`` only the next one.  Those that
    were looked at stand for others if ``one_in`` is more than one: of so many schedules the spec of one was read.
    ``capped`` says that there are more than were counted at all.
    """

    buckets: tuple[Load, ...]
    spikes: tuple[LoadSpike, ...]
    fully_counted: int
    next_fire_only: int
    one_in: int
    capped: bool


ProblemKind = Literal[
    "no_engine",
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
    """One thing that somebody should look at: what kind it is, what it is about, and what is the matter.

    ``schedule_id`` is there if it is about a schedule; ``subject`` is what it is about in any case.
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
    """What somebody should look at, the most urgent first; ``more`` says that there is more of it than is listed."""

    problems: tuple[Problem, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class UpcomingTick:
    """A tick that will fire, unless somebody or something changes that."""

    schedule_id: str
    scheduled_for: datetime
    fire_at: datetime


@dataclass(frozen=True, slots=True)
class Almanac:
    """The coming ticks for a calendar: of every schedule its first ones, so that no busy one hides the others.

    ``cut`` are the schedules that have more than these within the same time; ``left_out`` says that there are schedules
    of which nothing is here.
    """

    ticks: tuple[UpcomingTick, ...]
    cut: frozenset[str] = frozenset()
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class Upcoming:
    """The coming ticks of all schedules, in their order.

    Up to ``complete_until`` nothing is left out; after it there may be more than were asked for.
    """

    ticks: tuple[UpcomingTick, ...]
    complete_until: datetime


@dataclass(frozen=True, slots=True)
class TickChange:
    """A tick to come: ``unchanged`` by the edit, ``removed`` or ``added`` by it."""

    at: datetime
    local: datetime
    change: Literal["unchanged", "removed", "added"]


@dataclass(frozen=True, slots=True)
class EditDiff:
    """The ticks to come, before and after an edit; up to ``complete_until`` none is left out.

    ``complete_until`` is ``None`` if there are no others at all.
    """

    ticks: tuple[TickChange, ...]
    unchanged: int
    removed: int
    added: int
    complete_until: datetime | None


@dataclass(frozen=True, slots=True)
class RecentOutcome:
    """What became of a tick, in short."""

    run_id: str
    state: RunState
    reason: str | None
    scheduled_for: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class ScheduleSummary:
    """What somebody wants to see of a schedule in a list: what it means, and what became of its newest ticks.

    ``target_paused`` says that its workflow or its queue is.
    """

    schedule_id: str
    explanation: str
    timezone: str
    target_paused: bool
    outcomes: tuple[RecentOutcome, ...]


@dataclass(frozen=True, slots=True)
class ScheduleEdit:
    """Somebody has changed something: a schedule, or, where ``schedule_id`` is empty, something else."""

    namespace: str
    schedule_id: str
    operation: str
    actor: str
    token: int
    at: datetime


Update = Run | ScheduleEdit
"""A run as it is now, or a change that somebody has made."""


MAX_COUNTED = 10_000
"""Where counting ends: a larger number is shown as this one."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """Runs of a queue that nobody has taken yet, and for how long the oldest has waited."""

    queue: str
    runs: int
    oldest_s: float


@dataclass(frozen=True, slots=True)
class StoreBacklog:
    """What is due, waits, is paused, fires in UTC because its zone is gone; and how many instances live."""

    due: int
    waiting: int
    paused: int
    degraded: int
    instances: int
    queues: tuple[Backlog, ...]


@dataclass(frozen=True, slots=True)
class RunCounts:
    """How many schedules there are, and what they are doing; ``capped`` says that there are more than were counted."""

    active: int
    paused: int
    closed: int
    degraded: int
    in_flight: int
    waiting: int
    capped: bool


@dataclass(frozen=True, slots=True)
class StatsBucket:
    """What was decided in a bucket of time, and how late runs started, in milliseconds.

    ``missed`` are ticks that nobody was there for; ``skipped`` are runs, and ticks that others were in the way of;
    ``open`` runs are not over yet.
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
    """Figures about a namespace; before ``complete_since`` more has happened than was looked at."""

    schedules: RunCounts
    buckets: tuple[StatsBucket, ...]
    complete_since: datetime
