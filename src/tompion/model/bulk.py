"""Results of operations on many schedules."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BulkRefusal:
    """A schedule that could not be changed, and the reason."""

    schedule_id: str
    code: str
    problem: str


@dataclass(frozen=True, slots=True)
class BulkResult:
    """Result of a change to many schedules, or of its dry run.

    ``unchanged`` schedules match, but need no change. ``next_page`` is the token to continue with, because one request
    changes a limited number of schedules. ``run_ids`` are the runs of a trigger, in the order of ``schedule_ids``.
    """

    schedule_ids: tuple[str, ...]
    unchanged: int
    refused: tuple[BulkRefusal, ...]
    dry_run: bool
    next_page: str | None
    run_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScheduleCount:
    """The number of schedules that match a filter, and the number of all that are not deleted.

    If ``capped`` is true, counting stopped early, and both numbers are lower bounds.
    """

    matching: int
    total: int
    capped: bool
