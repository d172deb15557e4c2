"""What somebody should look at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

ConcernKind = Literal[
    "no_engine",
    "skewed_clock",
    "clock_set_back",
    "unserved_queue",
    "failing",
    "stuck",
    "degraded",
    "missed",
    "buffer",
    "forgotten_pause",
]
Urgency = Literal["high", "medium", "low"]


@dataclass(frozen=True, slots=True)
class Concern:
    """One thing that somebody should look at: what kind it is, what it is about, and what is the matter.

    ``schedule_id`` is there if it is about a schedule; ``subject`` is what it is about in any case.
    """

    kind: ConcernKind
    urgency: Urgency
    subject: str
    schedule_id: str | None
    text: str
    count: int
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Attention:
    """What somebody should look at, the most urgent first; ``more`` says that there is more of it than is listed."""

    concerns: tuple[Concern, ...]
    more: bool
