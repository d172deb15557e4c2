"""How much each event matters, and from which level on it is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tompion.engine.probe import Event

DEBUG, INFO, WARNING, ERROR = "debug", "info", "warning", "error"
_NUMBERS = {DEBUG: 10, INFO: 20, WARNING: 30, ERROR: 40, "critical": 50}
_MATTERS = {"error": ERROR, "warning": WARNING, "paused": WARNING, "retried": WARNING, "missed": WARNING}
_FAILED = ("FAILED", "TIMED_OUT")


def level_of(event: Event) -> str:
    """Return how much an event matters: what was missed or has failed is a warning."""
    if event.kind == "ended" and event.text.startswith(_FAILED):
        return WARNING
    return _MATTERS.get(event.kind, INFO)


def number_of(level: str) -> int:
    """Return a level as a number: the more, the graver."""
    return _NUMBERS.get(level, _NUMBERS[INFO])
