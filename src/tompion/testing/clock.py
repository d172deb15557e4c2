"""A clock that only moves when a test moves it."""

from __future__ import annotations

import threading


class ManualClock:
    """A thread-safe clock for tests, in seconds since the Unix epoch."""

    def __init__(self, now: float) -> None:
        self._lock = threading.Lock()
        self._now = now

    def now(self) -> float:
        """Return the current instant."""
        with self._lock:
            return self._now

    def advance(self, seconds: float) -> None:
        """Move the clock forward."""
        with self._lock:
            self._now += seconds

    def set(self, now: float) -> None:
        """Set the clock, forward or back."""
        with self._lock:
            self._now = now
