"""Results of verifying a ledger."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Violation:
    """An inconsistency.

    About ticks: ``missing``, ``twice``, ``invented``, ``early``, ``beyond`` (the cursor), ``miscounted``. About the
    data behind them: ``version`` (missing or unreadable), ``gap`` and ``overlap`` (between versions), ``state``,
    ``counter``, ``unreadable``.
    """

    kind: str
    at: datetime | None
    text: str


@dataclass(frozen=True, slots=True)
class Verification:
    """Result of verifying one schedule.

    ``unchecked`` counts the versions whose ticks cannot be recomputed: with a fixed delay or an adaptive policy they
    depend on the ends of runs, and some were decided with other time zone data.
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
        """True if every tick is accounted for exactly once."""
        return not self.problems
