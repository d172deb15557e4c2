"""The proof that a ledger is whole, or what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that does not add up: ``missing``, ``twice``, ``invented``, ``early``, ``miscounted``, ``counter``."""

    kind: str
    at: datetime | None
    text: str


@dataclass(frozen=True, slots=True)
class Verification:
    """What was checked of one schedule, and what was found."""

    schedule_id: str
    after: datetime
    until: datetime
    ticks: int
    runs: int
    dropped: int
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether every tick is accounted for exactly once."""
        return not self.problems
