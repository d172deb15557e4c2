"""A schedule in the shape of the specification, for deployers that register schedules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tompion.model.policy import CatchUp, Overlap


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
