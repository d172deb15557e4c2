"""Dials: where each schedule stands.

The dial is the narrow row that every tick changes, and the row that everybody locks: firing, settling, backfilling
and each control operation.  Whatever must be decided together is decided while holding it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias


class ScheduleState(NamedTuple):
    """Where a schedule stands.

    All ticks up to ``cursor_s`` have been decided.  ``next_fire_ms`` is when the engine must look at the schedule
    again, ``None`` for never (paused, closed, exhausted).  ``carry`` is how the ticks up to ``carry_until_s`` are to
    be caught up instead of by policy (after a resume).  ``skips`` holds the nominal times that are to be skipped,
    separated by commas.  ``last_end_ms`` and ``hints`` are an adaptive schedule's: when its last run ended, and what
    people suggest (:mod:`tompion.model.hint`).
    """

    schedule_key: int
    version: int
    cursor_s: int
    next_nominal_s: int | None
    next_fire_ms: int | None
    paused: bool
    pause_until_ms: int | None
    closed: bool
    in_flight: int
    waiting: int
    remaining: int | None
    last_start_ms: int | None
    failures: int
    carry: str | None
    carry_until_s: int | None
    skips: str | None
    starts: int
    successes: int
    failed: int
    skipped: int
    missed: int
    last_end_ms: int | None = None
    hints: str | None = None


StateTuple: TypeAlias = tuple[Any, ...]
"""A dial as the store read it, not yet a :class:`ScheduleState`: most are done with after one look."""

FastAdvanceRow: TypeAlias = tuple[int, int, int | None, int | None, int, int, int]
FAST_ADVANCE_COLUMNS = (
    "schedule_key",
    "cursor_s",
    "next_nominal_s",
    "next_fire_ms",
    "in_flight",
    "last_start_ms",
    "starts",
)
"""What a tick that simply starts changes of a dial."""


SuccessCountRow: TypeAlias = tuple[int, int, int]
SUCCESS_COUNT_COLUMNS = ("schedule_key", "in_flight", "successes")
"""What runs that simply succeed change of a dial, besides that it has no failures any more."""


class DroppedRange(NamedTuple):
    """Ticks that were dropped together: all of one schedule after ``after_s`` up to ``until_s``."""

    schedule_key: int
    after_s: int
    until_s: int
    ticks: int
    reason: str
    version: int
    decided_ms: int
