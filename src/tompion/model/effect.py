"""What an edit would do to the ticks to come."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal


@dataclass(frozen=True, slots=True)
class AffectedTick:
    """A tick to come: one that ``stays``, one that ``goes`` away with the edit, or one that ``comes`` with it."""

    at: datetime
    local: datetime
    change: Literal["stays", "goes", "comes"]


@dataclass(frozen=True, slots=True)
class Effect:
    """The ticks to come, before and after an edit; up to ``complete_until`` none is left out.

    ``complete_until`` is ``None`` if there are no others at all.
    """

    ticks: tuple[AffectedTick, ...]
    staying: int
    going: int
    coming: int
    complete_until: datetime | None
