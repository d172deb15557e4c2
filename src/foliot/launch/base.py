"""The contract of an executor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from foliot.model.run import RunState
from foliot.model.schedule import Action


def nobody_asks(waits: bool) -> None:
    """Take notice that a launch waits, or no longer does, where no deadline depends on it."""


class Launch(NamedTuple):
    """One attempt at a run, as its executor and the user's function see it.

    ``key`` is the same for every attempt: whoever must not act twice remembers it.  An executor that has no room yet
    calls ``waits(True)``, and ``waits(False)`` when the run really begins: ``max_execution_ms`` counts from then.  Both
    are called on the event loop that runs the executor.
    """

    key: str
    run_id: str
    namespace: str
    schedule_id: str
    source: str
    scheduled_for: datetime
    attempt: int
    payload: Any
    action: Action
    document: Any = None
    waits: Callable[[bool], None] = nobody_asks

    @property
    def user_id(self) -> str | None:
        """Return on whose behalf the run starts."""
        return self.action.user_id


@dataclass(frozen=True, slots=True)
class Ended:
    """How an attempt ended; ``result`` is JSON."""

    state: RunState = RunState.SUCCESS
    result: str | None = None
    error: str | None = None
    execution_id: str | None = None


class Executor(Protocol):
    """Something that executes runs."""

    async def run(self, launch: Launch) -> Ended:
        """Execute and say how it ended.  Raises :class:`~foliot.errors.LaunchError` if it could not even begin."""
        ...

    def close(self) -> None:
        """Let go of threads and connections."""
        ...
