"""Backfills: ranges of past ticks that are run again."""

from __future__ import annotations

from typing import NamedTuple

RUNNING, DONE, CANCELLED = "RUNNING", "DONE", "CANCELLED"
PLANNED = "PLANNED"
"""The status of a dry run. It is never stored."""


class BackfillRow(NamedTuple):
    """One row of the table. The ticks after ``cursor_s`` up to ``last_s`` are still to be run.

    The schedule itself had not yet decided the ``undecided`` ticks after ``last_s`` up to ``end_s`` when the backfill
    was requested.
    """

    backfill_id: int
    schedule_key: int
    start_s: int
    end_s: int
    cursor_s: int
    overlap: str
    only: str
    version: int
    state: str
    total: int
    done: int
    next_ms: int | None
    created_ms: int
    finished_ms: int | None
    last_s: int
    undecided: int
