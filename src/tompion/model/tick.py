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


@dataclass(frozen=True, slots=True)
class ClockChange:
    """A moment at which the clocks of a zone are changed, and what becomes of the ticks around it.

    ``before`` and ``after`` are what the clocks show at that moment, by the old offset and by the new one.  ``ticks``
    are those in the hours that the change disturbs, ``text`` says in words what happens to them.
    """

    at: datetime
    before: datetime
    after: datetime
    ticks: tuple[Tick, ...]
    text: str
