"""How many fires are to come, and when many of them come at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Load:
    """How many fires fall into a stretch of time."""

    start: datetime
    fires: int


@dataclass(frozen=True, slots=True)
class Sharer:
    """A schedule that shares its spec with others, and its conflict token."""

    schedule_id: str
    token: int


@dataclass(frozen=True, slots=True)
class Kin:
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
class Herd:
    """A stretch in which far more fires than in the others, the schedules that make it so, and what to do about it."""

    start: datetime
    fires: int
    kin: tuple[Kin, ...]
    advice: str


@dataclass(frozen=True, slots=True)
class Forecast:
    """How many fires are to come in equal stretches of time.

    Of so many schedules as were ``looked_at`` every fire is counted, of the ``others`` only the next one.  Those that
    were looked at stand for others if ``one_in`` is more than one: of so many schedules the spec of one was read.
    ``capped`` says that there are more than were counted at all.
    """

    stretches: tuple[Load, ...]
    herds: tuple[Herd, ...]
    looked_at: int
    others: int
    one_in: int
    capped: bool
