"""The mutable state of schedules.

The state is the narrow row that every tick updates. Firing, settling, backfilling and each control operation lock it,
so that everything that must be decided together is decided under its lock.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias


class ScheduleState(NamedTuple):
    """The mutable state of one schedule.

    All ticks up to ``cursor_s`` have been decided. ``next_fire_ms`` is when the engine must handle the schedule again,
    ``None`` for never (paused, closed, exhausted). ``carry`` is how the ticks up to ``carry_until_s`` are caught up
    instead of by policy (after a resume). ``skips`` has the nominal times to skip, separated by commas.
    ``last_end_ms`` is the end of the last failed run, or of the last run of an adaptive schedule. Only adaptive
    schedules have ``hints`` (:mod:`tompion.model.hint`). ``zone_tables`` is the number of the time zone
    tables with which the next tick was planned (:mod:`tompion.plan.zone_tables`).
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
    zone_tables: int = 0


StateTuple: TypeAlias = tuple[Any, ...]
"""A state as the store returned it. It becomes a :class:`ScheduleState` only if needed."""

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
"""Columns of the state that a tick that starts on time changes."""


SuccessCountRow: TypeAlias = tuple[int, int, int]
SUCCESS_COUNT_COLUMNS = ("schedule_key", "in_flight", "successes")
"""Columns of the state that plain successes change. They also reset its failures."""


class DroppedRange(NamedTuple):
    """Ticks of a schedule after ``after_s`` up to ``until_s`` that were dropped together."""

    schedule_key: int
    after_s: int
    until_s: int
    ticks: int
    reason: str
    version: int
    decided_ms: int
