"""Tools for tests of code that uses Tompion: a rehearsal simulates a week in milliseconds."""

from __future__ import annotations

from tompion.testing.clock import ManualClock
from tompion.testing.rehearsal import Rehearsal

__all__ = ["ManualClock", "Rehearsal"]
