"""Fixed delays (``anchor: completion``): the next run follows the end of the previous one, whatever ``tick_ms`` is."""

from __future__ import annotations

import pytest

from tests.unit.engine.harness import EngineHarness
from tompion.config.settings import Settings
from tompion.executors.base import Completed
from tompion.model.run import RunState
from tompion.operations.schedules.control import trigger
from tompion.runtime.clock import pause

DELAY = [{"every": "10s", "anchor": "completion"}]
SLOW_POLL = Settings(tick_ms=3_600_000)
"""The engine reads the store once an hour, unless a notification wakes it."""
LATE_S = 0.1


def starts(harness: EngineHarness, seconds: float, engines: int = 1) -> list[float]:
    """Run engines for some seconds. Return the starts in seconds after the creation of the schedule."""
    for _ in range(engines):
        harness.engine(SLOW_POLL)

    async def scenario() -> None:
        for engine in harness.engines:
            await engine.start()
        await pause(seconds)

    harness.run(scenario)
    return harness.launched_at()


@pytest.mark.parametrize("engines", [1, 2])
@pytest.mark.parametrize("state", [RunState.SUCCESS, RunState.FAILED])
def test_end_of_a_run_wakes_the_engine(harness: EngineHarness, state: RunState, engines: int) -> None:
    """Regression: the next run started only when the engine polled again, after ``tick_ms``."""
    harness.create(cron=[], intervals=DELAY)
    harness.plan = lambda _: (3.0, Completed(state, error=None if state is RunState.SUCCESS else "no luck"))
    assert starts(harness, 40, engines) == pytest.approx([0, 14, 28], abs=LATE_S)


def test_end_of_a_manual_run_wakes_the_engine(harness: EngineHarness) -> None:
    """The tick was skipped during the manual run, so the next one counts from there."""
    harness.create(cron=[], intervals=DELAY, overlap_policy="queue")
    harness.plan = lambda _: (3.0, Completed())
    engine = harness.engine(SLOW_POLL)

    async def scenario() -> None:
        harness.call(trigger, "report")
        await engine.start()
        await pause(35)

    harness.run(scenario)
    assert harness.launched_at() == pytest.approx([0, 3, 17, 31], abs=LATE_S)
