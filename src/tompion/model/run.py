"""Runs: the durable record of what became of a tick, a trigger or a backfill time.

::

    PLANNED ──► BUFFERED ──► ENQUEUED ──► STARTED ──► SUCCESS
       │            │          ▲  │          │        FAILED
       │            │          └──┴──────────┤        CANCELLED
       └────────────┴──► SKIPPED             │        TERMINATED
                         CANCELLED           └──►     TIMED_OUT

PLANNED waits for its fire time, BUFFERED for the run before it, ENQUEUED belongs to a launcher (or to whoever claims
it first), STARTED is known to be executing.  A run goes back to ENQUEUED when it is tried again.  The states on the
right are final: nothing leaves them.
"""

from __future__ import annotations

from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple, TypeAlias

DEFAULT_NAMESPACE = "default"


class RunState(StrEnum):
    """Where a run stands."""

    PLANNED = "PLANNED"
    BUFFERED = "BUFFERED"
    ENQUEUED = "ENQUEUED"
    STARTED = "STARTED"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    CANCELLED = "CANCELLED"
    TERMINATED = "TERMINATED"
    TIMED_OUT = "TIMED_OUT"


WAITING = frozenset({RunState.PLANNED, RunState.BUFFERED})
IN_FLIGHT = frozenset({RunState.ENQUEUED, RunState.STARTED})
OPEN = WAITING | IN_FLIGHT
FINAL = frozenset(RunState) - OPEN

_ENDINGS = frozenset({RunState.SUCCESS, RunState.FAILED, RunState.CANCELLED, RunState.TERMINATED, RunState.TIMED_OUT})
FAILURES = frozenset({RunState.FAILED, RunState.TIMED_OUT})
"""What may be tried again."""
TRANSITIONS: dict[RunState, frozenset[RunState]] = {
    RunState.PLANNED: frozenset({RunState.BUFFERED, RunState.ENQUEUED, RunState.SKIPPED, RunState.CANCELLED}),
    RunState.BUFFERED: frozenset({RunState.ENQUEUED, RunState.SKIPPED, RunState.CANCELLED}),
    RunState.ENQUEUED: frozenset({RunState.ENQUEUED, RunState.STARTED}) | _ENDINGS,
    RunState.STARTED: frozenset({RunState.ENQUEUED, RunState.STARTED}) | _ENDINGS,
    **{state: frozenset() for state in FINAL},
}


class RunSource(StrEnum):
    """Why a run exists."""

    SCHEDULE = "schedule"
    TRIGGER = "trigger"
    BACKFILL = "backfill"
    HINT = "hint"
    LAUNCH = "launch"


AUTOMATIC_ORIGINS = frozenset({RunSource.SCHEDULE, RunSource.HINT})
"""The sources of runs that nobody asked for one by one: pause, limits and skips are about these."""


class Reason(StrEnum):
    """Why a run did not simply start, or ended as it did."""

    OVERLAP = "overlap"
    BUFFER_FULL = "buffer_full"
    SUPERSEDED = "superseded"
    MIN_INTERVAL = "min_interval"
    LIMIT_REACHED = "limit_reached"
    SKIP_REQUESTED = "skip_requested"
    SHADOW = "shadow"
    DELETED = "deleted"
    TARGET_PAUSED = "target_paused"
    RETRY = "retry"
    LAUNCH_FAILED = "launch_failed"
    WORKER_LOST = "worker_lost"
    ZOMBIE = "zombie"
    CANCEL_REQUESTED = "cancel_requested"
    CATCH_UP = "catch_up"
    MISSED = "missed"
    COALESCED = "coalesced"
    OUTSIDE_WINDOW = "outside_window"
    RESUMED = "resumed"
    EDITED = "edited"


MISSED = frozenset({Reason.MISSED, Reason.COALESCED, Reason.OUTSIDE_WINDOW})
"""Why ticks were dropped that nobody was there for; other spans were passed over on purpose, or skipped (OVERLAP)."""


class RunId(NamedTuple):
    """What makes a run unique: its schedule, its nominal time, and its origin.

    ``origin`` is 0 for a tick of the schedule; a trigger or a backfill has a number of its own.
    """

    schedule_key: int
    nominal_s: int
    origin: int = 0

    def __str__(self) -> str:
        """Return the id as it is shown and sent."""
        return f"{self.schedule_key}-{self.nominal_s}-{self.origin}"


def lost_text(pickups: int) -> str:
    """Return what is said of a run whose worker was lost, for the last time."""
    times = "once" if pickups == 1 else f"{pickups} times"
    return f"its worker was lost, {times}; it may be the cause"


class RunRow(NamedTuple):
    """One row of the ledger.

    ``due_ms`` is when somebody must look at it: the fire time of a planned run, or since when a run in flight has been
    anybody's.  One that is held has none: the lease of its ``owner`` is enough.  ``queued_ms`` is since when it waits.
    ``pickups`` counts the workers that were lost while they held it.  One that is STARTED without an owner is executed
    elsewhere: ``report`` is what was said there about its end, until an engine has written it down.
    """

    schedule_key: int
    nominal_s: int
    origin: int
    source: str
    state: str
    reason: str | None
    version: int
    attempt: int
    failures: int
    fire_ms: int
    due_ms: int | None
    owner: int | None
    decided_ms: int
    local_s: int | None
    dst_adjustment: str | None
    overlap: str | None
    payload: str | None
    request_id: str | None
    started_ms: int | None
    finished_ms: int | None
    cancel_requested: bool
    error: str | None
    result: str | None
    execution_id: str | None
    queued_ms: int | None = None
    pickups: int = 0
    progress: str | None = None
    report: str | None = None

    @property
    def id(self) -> RunId:
        """Return what makes the run unique."""
        return RunId(self.schedule_key, self.nominal_s, self.origin)


StartRow: TypeAlias = tuple[int, int, int, int, int, int, int | None]
START_COLUMNS = ("schedule_key", "nominal_s", "version", "fire_ms", "owner", "decided_ms", "local_s")
"""A tick that simply starts, on time and leased to whoever decides it: what such runs do not have in common.

There are many of these: a plain tuple is quicker to make and to bind, and nothing for the garbage collector to visit.
"""


FinishRow: TypeAlias = tuple[int, int, int, int, int | None, int]
FINISH_COLUMNS = ("schedule_key", "nominal_s", "origin", "fence", "started_ms", "finished_ms")
"""A run that simply succeeds, with nothing to say: a guarded write, as :class:`RunChange` is."""


class RunChange(NamedTuple):
    """A guarded write: what becomes of a run if it is still as its owner last saw it.

    ``fence`` is the attempt that the writer holds; a row with another attempt, or in a final state, is not touched.
    """

    schedule_key: int
    nominal_s: int
    origin: int
    fence: int
    state: str
    reason: str | None
    attempt: int
    failures: int
    due_ms: int | None
    owner: int | None
    started_ms: int | None
    finished_ms: int | None
    error: str | None
    result: str | None
    execution_id: str | None

    @property
    def id(self) -> RunId:
        """Return which run it is about."""
        return RunId(self.schedule_key, self.nominal_s, self.origin)


def idempotency_key(  # noqa: PLR0913 - what the key is made of
    namespace: str,
    schedule_id: str,
    source: str,
    nominal_s: int,
    origin: int = 0,
    request_id: str | None = None,
) -> str:
    """Return the key that every launch of a run carries: the same for ever, whatever the version or the attempt."""
    subject = schedule_id if namespace == DEFAULT_NAMESPACE else f"{namespace}/{schedule_id}"
    if source == RunSource.TRIGGER:
        subject = f"{subject}:trigger:{request_id}"
    elif source == RunSource.LAUNCH:
        return str(request_id)  # whoever keeps time elsewhere has a key already
    elif source == RunSource.BACKFILL:
        subject = f"{subject}:backfill:{origin}:{nominal_s}"
    else:
        subject = f"{subject}:{nominal_s}"
    return sha256(subject.encode()).hexdigest()
