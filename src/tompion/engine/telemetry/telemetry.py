"""The one call that records a committed step in all sinks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tompion.engine.context import EngineContext
from tompion.engine.steps.result import StepResult
from tompion.engine.telemetry.run_events import RunEvents
from tompion.engine.telemetry.step_metrics import StepMetrics
from tompion.runtime.clock import Clock


class Telemetry:
    """Records committed steps in three sinks: metrics, run events and, if configured, traces."""

    def __init__(self, context: EngineContext, clock: Clock) -> None:
        self._sinks: list[Callable[[StepResult], None]] = [
            StepMetrics(context, clock).record,
            RunEvents(context).record,
        ]
        if context.tracing is not None:
            self._sinks.append(partial(context.tracing.record, context.schedules))

    def record(self, result: StepResult) -> None:
        """Record one step, and after it the transactional runs of the same transaction."""
        for record in self._sinks:
            record(result)
        for inline in result.inline:
            self.record(inline)
