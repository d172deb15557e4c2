"""What became of a schedule that was copied from another system."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ImportResult:
    """Whether a schedule is here now; how many of its coming times are the same; and what differs.

    ``possible`` is false if something keeps it from being copied; one that is over need not be.  ``same_times`` are
    those that both sides have, of the ``compared_times`` that were looked at.
    """

    schedule_id: str
    made: bool
    possible: bool
    same_times: int
    compared_times: int
    differs: tuple[str, ...]
