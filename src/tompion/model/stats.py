"""Figures about a namespace."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Tally:
    """How many schedules there are, and what they are doing; ``capped`` says that there are more than were counted."""

    active: int
    paused: int
    closed: int
    degraded: int
    in_flight: int
    waiting: int
    capped: bool


@dataclass(frozen=True, slots=True)
class Stretch:
    """What was decided in a stretch of time, and how late runs started, in milliseconds.

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
    late_most_ms: int | None


@dataclass(frozen=True, slots=True)
class Stats:
    """Figures about a namespace; before ``complete_since`` more has happened than was looked at."""

    schedules: Tally
    stretches: tuple[Stretch, ...]
    complete_since: datetime
