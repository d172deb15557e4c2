"""Rows that one transaction writes about a batch of schedules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tompion.model.run import RunId, RunRow, StartRow
from tompion.model.schedule_state import DroppedRange, FastAdvanceRow, ScheduleState


class DecisionWrites(NamedTuple):
    """New rows of the ledger, and the schedule states that go with them.

    Most ticks start on time. ``starts`` are their runs and ``steps``, in the same order, the changes of their states.
    Both are narrow tuples. ``runs`` and ``states`` are for everything else. ``supersede`` lists schedules whose
    buffered runs are replaced, with an overlap policy (``None`` for ticks). ``cancel`` and ``terminate`` list schedules
    whose runs in flight are to be cancelled or terminated, with the number of these runs.
    """

    now_ms: int
    states: list[ScheduleState]
    runs: list[RunRow]
    dropped_ranges: list[DroppedRange]
    supersede: list[tuple[int, str | None]]
    cancel: list[tuple[int, int]]
    terminate: list[tuple[int, int]]
    starts: Sequence[StartRow] = ()
    steps: Sequence[FastAdvanceRow] = ()


class WriteResult(NamedTuple):
    """Runs that existed already, and runs that must be ended.

    ``superseded`` were replaced while they waited. ``given_up`` were in flight without a live owner and were cancelled.
    """

    duplicates: set[RunId]
    to_end: list[RunRow]
    superseded: Sequence[RunRow] = ()
    given_up: Sequence[RunRow] = ()
