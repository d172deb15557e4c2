"""A schedule at a glance."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tompion.model.run import RunState


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a tick, in short."""

    run_id: str
    state: RunState
    reason: str | None
    scheduled_for: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class Glance:
    """What somebody wants to see of a schedule in a list: what it means, and what became of its newest ticks.

    ``target_paused`` says that its workflow or its queue is.
    """

    schedule_id: str
    explanation: str
    timezone: str
    target_paused: bool
    outcomes: tuple[Outcome, ...]
