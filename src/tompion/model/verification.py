"""The proof that a ledger is whole, or what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that does not add up.

    About ticks: ``missing``, ``twice``, ``invented``, ``early``, ``beyond`` (the cursor), ``miscounted``.  About what
    they are judged by: ``version`` (gone, or unreadable), ``gap`` and ``overlap`` (between versions), ``state``,
    ``counter``, ``unreadable``.
    """

    kind: str
    at: datetime | None
    text: str


@dataclass(frozen=True, slots=True)
class Verification:
    """What was checked of one schedule, and what was found.

    ``unchecked`` counts the versions whose ticks cannot be computed anew: with a fixed delay, or if the schedule was
    adaptive, they follow the ends of runs, and some were decided with time zone data that are others now.
    """

    schedule_id: str
    after: datetime
    until: datetime
    ticks: int
    runs: int
    dropped: int
    problems: tuple[Violation, ...]
    unchecked: int = 0

    @property
    def ok(self) -> bool:
        """Whether every tick is accounted for exactly once."""
        return not self.problems
