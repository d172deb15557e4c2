"""Runs: the durable record of each tick, trigger and backfill time.

::

    PLANNED ──► BUFFERED ──► ENQUEUED ──► STARTED ──► SUCCESS
       │            │          ▲  │          │        FAILED
       │            │          └──┴──────────┤        CANCELLED
       └────────────┴──► SKIPPED             │        TERMINATED
                         CANCELLED           └──►     TIMED_OUT

PLANNED waits for its fire time. BUFFERED waits for an earlier run. ENQUEUED belongs to an instance, or to the first one
that claims it. STARTED is executing. A retry, or a launch that did not reach its target, goes back to ENQUEUED. The
states on the right are final.
"""

from __future__ import annotations

from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple, TypeAlias

DEFAULT_NAMESPACE = "default"


class RunState(StrEnum):
    """The state of a run."""

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
"""States after which a run may be retried."""
TRANSITIONS: dict[RunState, frozenset[RunState]] = {
    RunState.PLANNED: frozenset({RunState.BUFFERED, RunState.ENQUEUED, RunState.SKIPPED, RunState.CANCELLED}),
    RunState.BUFFERED: frozenset({RunState.ENQUEUED, RunState.SKIPPED, RunState.CANCELLED}),
    RunState.ENQUEUED: frozenset({RunState.ENQUEUED, RunState.STARTED}) | _ENDINGS,
    RunState.STARTED: frozenset({RunState.ENQUEUED, RunState.STARTED}) | _ENDINGS,
    **{state: frozenset() for state in FINAL},
}


class RunSource(StrEnum):
    """The origin of a run."""

    SCHEDULE = "schedule"
    TRIGGER = "trigger"
    BACKFILL = "backfill"
    HINT = "hint"
    LAUNCH = "launch"


AUTOMATIC_SOURCES = frozenset({RunSource.SCHEDULE, RunSource.HINT})
"""Sources of runs that were not requested individually. Pause, limits and skips apply to these."""


class Reason(StrEnum):
    """The reason why a run did not start on time, or how it ended."""

    OVERLAP = "overlap"
    BUFFER_FULL = "buffer_full"
    SUPERSEDED = "superseded"
    MIN_INTERVAL = "min_interval"
    LIMIT_REACHED = "limit_reached"
    SKIP_REQUESTED = "skip_requested"
    SHADOW = "shadow"
    DELETED = "deleted"
    TARGET_PAUSED = "target_paused"
    TARGET_UNREACHABLE = "target_unreachable"
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
"""Reasons of ticks that were dropped because no engine was running. Other reasons are policies and edits."""


class RunId(NamedTuple):
    """The identity of a run: schedule, nominal time and origin.

    ``origin`` is 0 for a tick. A trigger or a backfill has a unique number.
    """

    schedule_key: int
    nominal_s: int
    origin: int = 0

    def __str__(self) -> str:
        """Return the id in its public form."""
        return f"{self.schedule_key}-{self.nominal_s}-{self.origin}"


def worker_lost_message(pickups: int) -> str:
    """Return the error of a run that failed because its workers were lost."""
    times = "once" if pickups == 1 else f"{pickups} times"
    return f"its worker was lost {times} while executing it. The run itself may be the cause"


SUSPECT_PICKUPS = 2
"""A run that has lost this many workers may be the cause. A worker executes such suspects one at a time."""


class RunRow(NamedTuple):
    """One row of the ledger.

    ``due_ms`` is the time at which an engine must handle the run: the fire time of a planned run, or the time since
    which a run in flight can be claimed. A run that an instance holds has none, because the lease of its ``owner``
    covers it. ``queued_ms`` is the time since which it waits. ``pickups`` counts workers that were lost while they held
    it. A STARTED run without an owner is executed outside of the engine. ``report`` is its reported outcome until an
    engine settles it.
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
        """Return the identity of the run."""
        return RunId(self.schedule_key, self.nominal_s, self.origin)


StartRow: TypeAlias = tuple[int, int, int, int, int, int, int | None]
START_COLUMNS = ("schedule_key", "nominal_s", "version", "fire_ms", "owner", "decided_ms", "local_s")
"""Columns of a tick that starts on time and is leased to the instance that decides it.

A plain tuple is faster to build and to bind than a row, and the garbage collector does not track it.
"""


FinishRow: TypeAlias = tuple[int, int, int, int, int | None, int]
FINISH_COLUMNS = ("schedule_key", "nominal_s", "origin", "fence", "started_ms", "finished_ms")
"""Columns of a run that succeeds without a result. A guarded write, like :class:`RunChange`."""


class RunChange(NamedTuple):
    """A guarded write: it applies only if the run is unchanged since its owner last saw it.

    ``fence`` is the attempt that the writer holds. A row with another attempt, or in a final state, is not changed.
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
        """Return the identity of the changed run."""
        return RunId(self.schedule_key, self.nominal_s, self.origin)


def idempotency_key(  # noqa: PLR0913 - the parts of the key
    namespace: str,
    schedule_id: str,
    source: str,
    nominal_s: int,
    origin: int = 0,
    request_id: str | None = None,
) -> str:
    """Return the key that every launch of a run carries. It never changes, whatever the version or the attempt."""
    subject = schedule_id if namespace == DEFAULT_NAMESPACE else f"{namespace}/{schedule_id}"
    if source == RunSource.TRIGGER:
        subject = f"{subject}:trigger:{request_id}"
    elif source == RunSource.LAUNCH:
        return str(request_id)  # an external scheduler brings its own key
    elif source == RunSource.BACKFILL:
        subject = f"{subject}:backfill:{origin}:{nominal_s}"
    else:
        subject = f"{subject}:{nominal_s}"
    return sha256(subject.encode()).hexdigest()
