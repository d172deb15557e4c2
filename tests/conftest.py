"""Settings that every test shares."""

from __future__ import annotations

from hypothesis import settings

# No deadline: a shared machine may stall any single example, and speed is measured by bench/, not here.
# The blob makes a failing example reproducible from the log of another machine.
settings.register_profile("foliot", deadline=None, print_blob=True)
settings.load_profile("foliot")
