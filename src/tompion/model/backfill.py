"""Backfills: ranges of the past that are run again."""

from __future__ import annotations

from typing import NamedTuple

RUNNING, DONE, CANCELLED = "RUNNING", "DONE", "CANCELLED"


class BackfillRow(NamedTuple):
    """One row of the table: all ticks after ``cursor_s`` up to ``last_s`` are still to be run.

    Those after ``last_s`` up to ``end_s``, so many as ``undecided`` says, were the schedule's own to decide when the
    backfill was asked for.
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
