"""Adaptive schedules under a real engine in virtual time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.unit.engine.harness import EngineHarness
from tests.unit.engine.test_outcome_cost import Meter
from tompion.executors.base import Completed
from tompion.model.run import RunState
from tompion.operations.schedules.hints import hint as adaptive_hint
from tompion.runtime.clock import pause

LATE_S = 0.1
"""Within which an engine starts what is due: it sleeps no longer than it must."""


def starts(harness: EngineHarness, seconds: float, hints: dict[float, dict[str, Any]] | None = None) -> list[float]:
    """Run an engine for some seconds, with hints at some moments. Return the starts in seconds after 08:00:30."""
    harness.engine()

    async def scenario() -> None:
        await harness.engines[0].start()
        passed = 0.0
        for moment, hint in sorted((hints or {}).items()):
            await pause(moment - passed)
            passed = moment
            harness.call(adaptive_hint, "report", **hint)
        await pause(seconds - passed)

    harness.run(scenario)
    return harness.launched_at()


def test_interval_schedule_waits_for_runs_that_take_longer(harness: EngineHarness) -> None:
    harness.create(cron=[], intervals="1m", adaptive=True)
    harness.plan = lambda _: (90.0, Completed())
    assert starts(harness, 400) == pytest.approx([30, 180, 330], abs=LATE_S)


def test_cron_schedule_waits_for_a_run_that_takes_longer(harness: EngineHarness) -> None:
    harness.create(cron="*/5 * * * *", adaptive=True)
    first = [True]
    harness.plan = lambda _: (600.0 if first and first.pop() else 1.0, Completed())
    assert starts(harness, 1_500) == pytest.approx([270, 870, 1_170, 1_470], abs=LATE_S)


def test_interval_grows_with_failures(harness: EngineHarness) -> None:
    harness.create(cron=[], intervals="1m", adaptive=True)
    harness.plan = lambda _: (0.0, Completed(RunState.FAILED, error="no luck"))
    assert starts(harness, 1_000) == pytest.approx([30, 150, 390, 870], abs=LATE_S)


def test_hint_wakes_the_engine(harness: EngineHarness) -> None:
    harness.create(cron="0 * * * *", adaptive=True)
    hints: dict[float, dict[str, Any]] = {
        100: {"at": harness.clock.now() + 100},
        200: {"interval_ms": 5_000, "ttl_ms": 12_000},
    }
    assert starts(harness, 300, hints) == pytest.approx([100, 200, 205, 210], abs=LATE_S)


def cost(monkeypatch: pytest.MonkeyPatch, **hint: Any) -> Counter[str]:
    """Return the statements of one minute in which an adaptive schedule runs."""
    harness = EngineHarness()
    harness.create(cron=[], intervals="1m", adaptive=True)
    if hint:
        harness.call(adaptive_hint, "report", **hint)
    engine = harness.engine()
    counts: Counter[str] = Counter()

    async def scenario() -> None:
        await engine.start()
        await pause(62.5)
        with monkeypatch.context() as patching:
            meter = Meter(patching)
            await pause(60)
            counts.update(meter.counts)

    harness.run(scenario)
    assert len(harness.launched_at()) == 2
    harness.store.close()
    harness.loop.close()
    return counts


def test_hints_cost_no_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hints are part of the schedule state, which is read anyway."""
    assert cost(monkeypatch, at=1_800_003_600) == cost(monkeypatch)
