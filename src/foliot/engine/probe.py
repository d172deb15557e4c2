"""What an instance has done: counters, and a listener for those who want to watch."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

log = logging.getLogger("foliot.engine")


class Event(NamedTuple):
    """Something that happened to a run or an instance, for a person to read."""

    kind: str
    schedule_id: str
    text: str
    nominal_s: int | None = None


class Probe:
    """Counts what happens; tells a listener, if there is one."""

    def __init__(self, listener: Callable[[Event], None] | None = None) -> None:
        """Take who is to be told."""
        self.counts: Counter[str] = Counter()
        self.listener = listener

    def count(self, name: str, number: int = 1) -> None:
        """Add to a counter."""
        if number:
            self.counts[name] += number

    def tell(self, kind: str, schedule_id: str, text: str, nominal_s: int | None = None) -> None:
        """Tell the listener about an event."""
        if self.listener is None:
            return
        try:
            self.listener(Event(kind, schedule_id, text, nominal_s))
        except Exception:  # whoever only listens must not stop the engine
            log.exception("the listener has failed on %s of %s", kind, schedule_id)

    def warn(self, text: str) -> None:
        """Say that something is wrong with this instance."""
        log.warning(text)
        self.tell("warning", "", text)

    def unexpected(self, what: str, error: Exception) -> None:
        """Say that this program has made a mistake."""
        self.count("unexpected_errors")
        log.error("%s: %r", what, error, exc_info=error)
        self.tell("error", "", f"{what}: {type(error).__name__}: {error}")
