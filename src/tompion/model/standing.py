"""How a store stands at a moment, in numbers for those who watch."""

from __future__ import annotations

from dataclasses import dataclass

MOST_COUNTED = 10_000
"""Where counting ends: a larger number is shown as this one."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """Runs of a queue that nobody has taken yet, and for how long the oldest has waited."""

    queue: str
    runs: int
    oldest_s: float


@dataclass(frozen=True, slots=True)
class Standing:
    """What is due, waits, is paused, fires in UTC because its zone is gone; and how many instances live."""

    due: int
    waiting: int
    paused: int
    degraded: int
    instances: int
    queues: tuple[Backlog, ...]
