"""What one transaction writes about a batch of schedules."""

from __future__ import annotations

from typing import NamedTuple

from foliot.model.dial import Dial, Span
from foliot.model.run import RunId, RunRow


class Record(NamedTuple):
    """New rows of the ledger, and the dials that go with them.

    ``supersede``, ``cancel`` and ``terminate`` are the schedules whose waiting runs give way, or whose runs in flight
    are asked or forced to end.
    """

    now_ms: int
    dials: list[Dial]
    runs: list[RunRow]
    spans: list[Span]
    supersede: list[int]
    cancel: list[int]
    terminate: list[int]


class Recorded(NamedTuple):
    """What writing it turned up: runs that were there already, and runs that must be told to end."""

    duplicates: set[RunId]
    to_end: list[RunRow]
