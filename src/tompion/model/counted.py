"""How many schedules there are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Counted:
    """How many schedules match a filter, and how many there are that are not deleted.

    ``capped`` says that there are more than were looked at: then both are at least so many.
    """

    matching: int
    total: int
    capped: bool
