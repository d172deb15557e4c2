"""What is to come, across all schedules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ComingTick:
    """A tick that will fire, unless somebody or something changes that."""

    schedule_id: str
    scheduled_for: datetime
    fire_at: datetime


@dataclass(frozen=True, slots=True)
class Coming:
    """The coming ticks of all schedules, in their order.

    Up to ``complete_until`` nothing is left out; after it there may be more than were asked for.
    """

    ticks: tuple[ComingTick, ...]
    complete_until: datetime
