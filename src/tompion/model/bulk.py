"""Many schedules at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refused:
    """A schedule that could not be changed, and why."""

    schedule_id: str
    code: str
    problem: str


@dataclass(frozen=True, slots=True)
class Touched:
    """What a change to many schedules has done, or would do.

    ``unchanged`` schedules match, but are so already.  ``next_page`` is where to go on: one request changes
    only so many.
    """

    schedule_ids: tuple[str, ...]
    unchanged: int
    refused: tuple[Refused, ...]
    dry_run: bool
    next_page: str | None
