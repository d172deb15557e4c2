"""Result of importing a schedule from another system."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ImportResult:
    """Whether a schedule was created, how many of its upcoming times are equal on both sides, and what differs.

    ``possible`` is false if something prevents the import. A schedule that has ended need not be imported. Of the
    ``compared_times`` upcoming times, ``same_times`` are equal.
    """

    schedule_id: str
    created: bool
    possible: bool
    same_times: int
    compared_times: int
    differs: tuple[str, ...]
