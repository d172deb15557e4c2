"""What has just changed, for whoever looks on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tompion.model.schedule import Run


@dataclass(frozen=True, slots=True)
class Edited:
    """Somebody has changed something: a schedule, or, where ``schedule_id`` is empty, something else."""

    namespace: str
    schedule_id: str
    operation: str
    actor: str
    token: int
    at: datetime


Update = Run | Edited
"""A run as it is now, or a change that somebody has made."""
