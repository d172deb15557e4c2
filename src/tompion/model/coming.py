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
class Almanac:
    """The coming ticks for a calendar: of every schedule its first ones, so that no busy one hides the others.

    ``cut`` are the schedules that have more than these within the same time; ``left_out`` says that there are schedules
    of which nothing is here.
    """

    ticks: tuple[ComingTick, ...]
    cut: frozenset[str] = frozenset()
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class Coming:
    """The coming ticks of all schedules, in their order.

    Up to ``complete_until`` nothing is left out; after it there may be more than were asked for.
    """

    ticks: tuple[ComingTick, ...]
    complete_until: datetime
