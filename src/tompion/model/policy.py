"""How a schedule behaves besides when it ticks: overlap, catch-up, retries, limits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Overlap(StrEnum):
    """What becomes of a tick while as many runs as allowed are in flight."""

    SKIP = "skip"
    ALLOW = "allow"
    QUEUE = "queue"
    BUFFER_ONE = "buffer_one"
    CANCEL_OTHER = "cancel_other"
    TERMINATE_OTHER = "terminate_other"


class CatchUp(StrEnum):
    """What becomes of ticks that nobody could decide in time."""

    NONE = "none"
    COALESCE = "coalesce"
    FIRE_IMMEDIATELY = "fire_immediately"
    SPREAD = "spread"


class OnResume(StrEnum):
    """What becomes of the ticks of a pause: the catch-up policy, nothing, or one run."""

    POLICY = "policy"
    SKIP = "skip"
    FIRE_ONCE = "fire_once"


class OnWorkerLost(StrEnum):
    """What becomes of a run whose worker was lost while it held it."""

    RELAUNCH = "relaunch"
    FAIL = "fail"


class Keep(StrEnum):
    """Which of two ticks ``buffer_one`` keeps waiting."""

    LATEST = "latest"
    FIRST = "first"


OVERLAP_ALIASES = {"allow_all": Overlap.ALLOW, "buffer_all": Overlap.QUEUE}
WORKER = "worker "
"""How the execution id of a run begins that a worker has taken over a network."""
REMOTE_EXECUTION_MS = 60_000
"""How long a run that is executed elsewhere may take, unless its schedule says otherwise."""
CATCHUP_ALIASES = {"all": CatchUp.FIRE_IMMEDIATELY}


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules that the planner reads; equal policies share one object."""

    overlap_policy: Overlap = Overlap.SKIP
    max_concurrent: int = 1
    buffer_keep: Keep = Keep.LATEST
    catchup_policy: CatchUp = CatchUp.NONE
    catchup_window_s: int | None = None
    on_resume: OnResume = OnResume.POLICY
    max_attempts: int = 1
    retry_delay_ms: int = 1_000
    max_execution_ms: int | None = None
    pause_on_failure: bool = False
    min_interval_ms: int = 0
    shadow: bool = False
    on_worker_lost: OnWorkerLost = OnWorkerLost.RELAUNCH
    adaptive: bool = False
    max_interval_ms: int | None = None
    failure_backoff: bool = True
    notify: bool = True

    def gives_up(self, pickups: int, most: int) -> bool:
        """Return whether a run has failed because workers were lost while they held it."""
        return pickups > 0 and (pickups >= most or self.on_worker_lost is OnWorkerLost.FAIL)

    def limit_elsewhere_ms(self, execution_id: str | None) -> int | None:
        """Return how long a run may take that is executed elsewhere; a worker that is heard of has no limit."""
        if self.max_execution_ms is None and (execution_id or "").startswith(WORKER):
            return None
        return self.max_execution_ms or REMOTE_EXECUTION_MS
