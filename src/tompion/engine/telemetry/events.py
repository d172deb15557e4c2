"""What an engine tells its listener about runs; nobody listens to an engine inside another program, usually."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from tompion.model.metrics import Metrics

log = logging.getLogger("tompion.engine")


class Event(NamedTuple):
    """Something that happened to a run or an instance: a text for a person to read, and what it is made of.

    Nothing of a payload or a result is ever in it; ``error`` is one line.
    """

    kind: str
    schedule_id: str
    text: str
    nominal_s: int | None = None
    namespace: str | None = None
    run_id: str | None = None
    key: str | None = None
    source: str | None = None
    state: str | None = None
    reason: str | None = None
    attempt: int | None = None
    error: str | None = None
    ticks: int | None = None
    trace_id: str | None = None


class EngineEvents:
    """Counts what happens; tells a listener, if there is one."""

    def __init__(self, listener: Callable[[Event], None] | None = None, tally: Metrics | None = None) -> None:
        """Take who is to be told, and where to count."""
        self.tally = tally or Metrics()
        self.listener = listener

    @property
    def counts(self) -> Counter[str]:
        """Return the counters that have no labels."""
        return self.tally.counts

    def count(self, name: str, number: int = 1) -> None:
        """Add to a counter."""
        self.tally.count(name, number)

    def tell(self, kind: str, schedule_id: str, text: str, nominal_s: int | None = None) -> None:
        """Tell the listener about an event."""
        self.pass_on(Event(kind, schedule_id, text, nominal_s))

    def pass_on(self, event: Event) -> None:
        """Tell the listener about an event that is put together already."""
        if self.listener is None:
            return
        try:
            self.listener(event)
        except Exception:  # whoever only listens must not stop the engine
            log.exception("the listener has failed on %s of %s", event.kind, event.schedule_id)

    def warn(self, text: str) -> None:
        """Say that something is wrong with this instance."""
        log.warning(text)
        self.tell("warning", "", text)

    def unexpected(self, what: str, error: Exception) -> None:
        """Say that this program has made a mistake."""
        self.count("unexpected_errors")
        log.error("%s: %r", what, error, exc_info=error)
        self.tell("error", "", f"{what}: {type(error).__name__}: {error}")
