"""The contract of an executor."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from foliot.model.run import RunState
from foliot.model.schedule import Action


class Launch(NamedTuple):
    """One attempt at a run, as its executor and the user's function see it.

    ``key`` is the same for every attempt: whoever must not act twice remembers it.
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

    @property
    def user_id(self) -> str | None:
        """Return on whose behalf the run starts."""
        return self.action.user_id


@dataclass(frozen=True, slots=True)
class Ended:
    """How an attempt ended."""

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
