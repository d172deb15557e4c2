"""What became of a schedule that was copied from another system."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Moved:
    """Whether a schedule is here now, how many of its coming times are the same, and what differs."""

    schedule_id: str
    made: bool
    same_times: int
    differs: tuple[str, ...]
