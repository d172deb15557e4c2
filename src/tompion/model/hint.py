"""Hints: what somebody suggests to an adaptive schedule for a while.

There are two kinds, and a schedule has at most one of each: run at this *interval* until the hint expires, or run
*once* at this time.  Both are kept on the dial, so that whoever decides under its lock sees them, and nobody else's
write can lose them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple


class HintRow(NamedTuple):
    """One hint as it is stored; it holds before ``expires_ms``.

    ``value`` is the interval of an interval hint, and the instant of a one-shot hint, both in milliseconds.
    """

    value: int
    expires_ms: int
    created_ms: int
    author: str
    reason: str | None


class HintRows(NamedTuple):
    """The hints of a schedule, of each kind the newest."""

    interval: HintRow | None = None
    once: HintRow | None = None

    def live_at(self, moment_ms: int) -> HintRows:
        """Return those that have not expired."""
        return HintRows(*(row if row is not None and row.expires_ms > moment_ms else None for row in self))

    def text(self) -> str | None:
        """Return the hints as they are stored."""
        return json.dumps(self, ensure_ascii=False, separators=(",", ":")) if any(self) else None


NO_HINTS = HintRows()


@lru_cache(maxsize=4_096)
def read_hints(text: str | None) -> HintRows:
    """Return the hints that a stored text holds.  Raises :class:`ValueError` or :class:`TypeError` if it makes none."""
    if text is None:
        return NO_HINTS
    rows = HintRows(*(None if row is None else HintRow(*row) for row in json.loads(text)))
    if any(type(number) is not int for row in rows if row is not None for number in row[:3]):
        raise ValueError(f"{text!r} has no numbers where they belong")
    return rows


@dataclass(frozen=True, slots=True)
class Hint:
    """A hint as users see it: either ``interval_ms`` or ``at`` is set."""

    interval_ms: int | None
    at: datetime | None
    expires_at: datetime
    created_at: datetime
    author: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class Outlook:
    """What an adaptive schedule does next, and why.

    ``next_run_at`` is what the governor wants, be the schedule paused or not; nothing is known of it while a run goes
    on.  ``source`` is ``schedule`` or ``hint``; ``bound`` is ``min`` or ``max`` if that interval moved the time.
    """

    schedule_id: str
    token: int
    hints: tuple[Hint, ...]
    next_run_at: datetime | None
    source: str | None
    bound: str | None
    consecutive_failures: int
    warning: str | None = None
