"""What tests of code that uses Tompion need: a rehearsal, in which a week passes in milliseconds."""

from __future__ import annotations

from tompion.testing.clock import ManualClock
from tompion.testing.rehearsal import Rehearsal

__all__ = ["ManualClock", "Rehearsal"]
