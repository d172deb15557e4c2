"""What callers may do."""

from __future__ import annotations

from enum import IntEnum


class Role(IntEnum):
    """What somebody may do; whoever may do more may do the lesser things, too."""

    PUBLIC = 0
    """Nothing that needs a role: health, and reports, which carry a token of their own."""
    READER = 1
    """Look at everything."""
    OPERATOR = 2
    """Pause, resume, trigger, skip, backfill, cancel; execute runs."""
    EDITOR = 3
    """Create, change and delete schedules, workflows and calendars."""
    ADMIN = 4
    """Manage keys, and see the configuration."""
