"""A clock that stands still until it is told to move."""

from __future__ import annotations

import threading


class ManualClock:
    """A clock for tests; any thread may read or move it."""

    def __init__(self, now: float) -> None:
        """Begin at an instant, in seconds since the Unix epoch."""
        self._lock = threading.Lock()
        self._now = now

    def now(self) -> float:
        """Return the current instant."""
        with self._lock:
            return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        with self._lock:
            self._now += seconds

    def set(self, now: float) -> None:
        """Jump to an instant, back too."""
        with self._lock:
            self._now = now
