"""Hints: temporary suggestions to an adaptive schedule.

There are two kinds, and a schedule has at most one of each: run at this *interval* until the hint expires, or run
*once* at this time. Hints are part of the schedule state, so every decision under its lock sees them and no concurrent
write can lose them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple


class HintRow(NamedTuple):
    """One stored hint. It is valid before ``expires_ms``.

    ``value`` is the interval of an interval hint, or the instant of a one-shot hint, in milliseconds.
    """

    value: int
    expires_ms: int
    created_ms: int
    author: str
    reason: str | None


class HintRows(NamedTuple):
    """The newest hint of each kind of a schedule."""

    interval: HintRow | None = None
    once: HintRow | None = None

    def live_at(self, moment_ms: int) -> HintRows:
        """Return the hints that have not expired."""
        return HintRows(*(row if row is not None and row.expires_ms > moment_ms else None for row in self))

    def text(self) -> str | None:
        """Return the hints in stored form."""
        return json.dumps(self, ensure_ascii=False, separators=(",", ":")) if any(self) else None


NO_HINTS = HintRows()
CONFLICTING_HINTS = "an interval hint and a one-shot hint are live: the earlier one is used"
"""The warning for a schedule with a live hint of each kind."""


@lru_cache(maxsize=4_096)
def read_hints(text: str | None) -> HintRows:
    """Return the hints of a stored text. Raises :class:`ValueError` or :class:`TypeError` if it is invalid."""
    if text is None:
        return NO_HINTS
    rows = HintRows(*(None if row is None else HintRow._make(row) for row in json.loads(text)))
    if any(type(number) is not int for row in rows if row is not None for number in row[:3]):
        raise ValueError(f"{text!r} is not a list of hints: numbers are missing")
    return rows


@dataclass(frozen=True, slots=True)
class Hint:
    """A hint as users see it. Either ``interval_ms`` or ``at`` is set."""

    interval_ms: int | None
    at: datetime | None
    expires_at: datetime
    created_at: datetime
    author: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class Outlook:
    """The next run of an adaptive schedule, and the reason.

    ``next_run_at`` ignores a pause. It is unknown while a run is in flight. ``source`` is ``schedule`` or ``hint``.
    ``bound`` is ``min`` or ``max`` if that interval moved the time.
    """

    schedule_id: str
    conflict_token: int
    hints: tuple[Hint, ...]
    next_run_at: datetime | None
    source: str | None
    bound: str | None
    consecutive_failures: int
    warning: str | None = None
