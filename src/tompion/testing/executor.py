"""An executor that records its runs and ends them as planned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tompion.executors.base import Accepted, Completed, Executor, RunContext
from tompion.runtime.clock import pause


class Execution(NamedTuple):
    """One recorded call."""

    at: float
    launch: RunContext


class RecordingExecutor(Executor):
    """Records every run. ``plan`` returns the duration and the outcome of a run."""

    def __init__(
        self, now: Callable[[], float], plan: Callable[[RunContext], tuple[float, Completed | Accepted]]
    ) -> None:
        self._now = now
        self._plan = plan
        self.executions: list[Execution] = []

    async def run(self, dag: Any, run_context: RunContext) -> Completed | Accepted:
        """Record the run, wait, and return the planned outcome."""
        self.executions.append(Execution(self._now(), run_context))
        seconds, outcome = self._plan(run_context)
        if seconds > 0:
            await pause(seconds)
        return outcome
