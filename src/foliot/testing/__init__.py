"""What tests of code that uses Foliot need: a rehearsal, in which a week passes in milliseconds."""

from __future__ import annotations

from foliot.testing.clock import ManualClock
from foliot.testing.rehearsal import Rehearsal

__all__ = ["ManualClock", "Rehearsal"]
