"""What one transaction writes about a batch of schedules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tompion.model.run import RunId, RunRow, StartRow
from tompion.model.schedule_state import DroppedRange, FastAdvanceRow, ScheduleState


class DecisionWrites(NamedTuple):
    """New rows of the ledger, and the dials that go with them.

    Most ticks simply start: ``starts`` are their runs and ``steps``, in the same order, what becomes of their dials;
    both are narrow.  ``runs`` and ``dials`` are for everything else.  ``supersede`` are the schedules whose waiting
    runs give way, under their own policy or that of requests; ``cancel`` and ``terminate`` those whose runs in flight,
    so many, are asked or forced to end.
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
    """What writing it turned up: runs that were there already, and runs that must be told to end.

    ``superseded`` gave way while they waited, ``given_up`` are in flight no more although nobody held them.
    """

    duplicates: set[RunId]
    to_end: list[RunRow]
    superseded: Sequence[RunRow] = ()
    given_up: Sequence[RunRow] = ()
