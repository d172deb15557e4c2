"""The roles of callers."""

from __future__ import annotations

from enum import IntEnum


class Role(IntEnum):
    """The role that a caller has in a namespace. Each role includes the lower ones."""

    PUBLIC = 0
    """No role: health checks, and run callbacks, which carry a token of their own."""
    READER = 1
    """Read everything."""
    OPERATOR = 2
    """Pause, resume, trigger, skip, backfill, cancel, and execute runs."""
    EDITOR = 3
    """Create, change and delete schedules, workflows and calendars."""
    ADMIN = 4
    """Manage API keys, and read the configuration."""
