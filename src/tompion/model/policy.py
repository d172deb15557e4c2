"""Policies of a schedule: overlap, catch-up, retries, limits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Overlap(StrEnum):
    """Decides a tick while the maximum number of runs is in flight."""

    SKIP = "skip"
    ALLOW = "allow"
    QUEUE = "queue"
    BUFFER_ONE = "buffer_one"
    CANCEL_OTHER = "cancel_other"
    TERMINATE_OTHER = "terminate_other"


class CatchUp(StrEnum):
    """Decides ticks that no engine decided in time."""

    NONE = "none"
    COALESCE = "coalesce"
    FIRE_IMMEDIATELY = "fire_immediately"
    SPREAD = "spread"


class OnResume(StrEnum):
    """Decides the ticks during a pause: by the catch-up policy, not at all, or with one run."""

    POLICY = "policy"
    SKIP = "skip"
    FIRE_ONCE = "fire_once"


class OnWorkerLost(StrEnum):
    """Decides a run whose worker was lost while executing it."""

    RELAUNCH = "relaunch"
    FAIL = "fail"


class LaunchErrors(StrEnum):
    """Decides a launch that did not reach its target."""

    WAIT = "wait"
    FAIL = "fail"


class Keep(StrEnum):
    """The tick that ``buffer_one`` keeps waiting."""

    LATEST = "latest"
    FIRST = "first"


OVERLAP_ALIASES = {"allow_all": Overlap.ALLOW, "buffer_all": Overlap.QUEUE}
WORKER_PREFIX = "worker "
"""Prefix of the execution id of a run on a remote worker."""
DEFAULT_REMOTE_LIMIT_MS = 60_000
"""Default time limit of a run that is executed outside of the engine."""
CATCHUP_ALIASES = {"all": CatchUp.FIRE_IMMEDIATELY}


@dataclass(frozen=True, slots=True)
class Policy:
    """The policies that the planner reads. Equal policies share one object."""

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
    launch_deadline_ms: int | None = None

    def is_abandoned(self, pickups: int, max_pickups: int) -> bool:
        """Return whether a run has failed because too many workers were lost while executing it."""
        return pickups > 0 and (pickups >= max_pickups or self.on_worker_lost is OnWorkerLost.FAIL)

    def launch_wait_ms(self, default_ms: int) -> int:
        """Return how long a run waits for a target that cannot be reached. 0 means that it does not wait."""
        if self.launch_deadline_ms is not None:
            return self.launch_deadline_ms
        return default_ms if self.catchup_window_s is None else self.catchup_window_s * 1000

    def remote_limit_ms(self, execution_id: str | None) -> int | None:
        """Return the time limit of a run outside of the engine. A worker that sends heartbeats has none."""
        if self.max_execution_ms is None and (execution_id or "").startswith(WORKER_PREFIX):
            return None
        return self.max_execution_ms or DEFAULT_REMOTE_LIMIT_MS
