"""An executor that does nothing but remember, for as long as it is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tompion.executors.base import Accepted, Completed, Executor, RunContext
from tompion.runtime.clock import pause


class Execution(NamedTuple):
    """One call."""

    at: float
    launch: RunContext


class RecordingExecutor(Executor):
    """Records every launch; ``plan`` says how long each takes and how it ends."""

    def __init__(
        self, now: Callable[[], float], plan: Callable[[RunContext], tuple[float, Completed | Accepted]]
    ) -> None:
        """Take a clock and what is to happen."""
        self._now = now
        self._plan = plan
        self.executions: list[Execution] = []

    async def run(self, dag: Any, meta: RunContext) -> Completed | Accepted:
        """Remember the launch, take some time, and end as planned."""
        self.executions.append(Execution(self._now(), meta))
        seconds, ended = self._plan(meta)
        if seconds > 0:
            await pause(seconds)
        return ended
