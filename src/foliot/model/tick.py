"""One tick, with everything a person wants to know about it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Tick:
    """A nominal time and where it comes from.

    ``at`` is the instant (UTC); ``local`` the same instant on the schedule's clock; ``wall`` the wall time that the
    rule names, which differs from ``local`` only where DST moved the tick; ``moved`` is ``""``, ``gap``,
    ``first_pass`` or ``second_pass``, ``reason`` the same in words; ``fire_at`` the instant after jitter.
    """

    at: datetime
    local: datetime
    wall: datetime
    moved: str
    reason: str
    fire_at: datetime
