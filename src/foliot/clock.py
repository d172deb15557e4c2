"""The only place that reads the time.

Pure code takes ``now`` as an argument; whoever needs a clock takes a :class:`Clock`, so that tests can hand in one
that they move by hand.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What tells the time."""

    def now(self) -> float:
        """Return the current instant in seconds since the Unix epoch."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Return the current instant in seconds since the Unix epoch."""
        return time.time()
