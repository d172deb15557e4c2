"""Adaptive schedules under a real engine in virtual time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.unit.engine.kit import World
from tests.unit.engine.test_cost import Meter
from tompion.executors.base import Completed
from tompion.model.run import RunState
from tompion.operations.schedules.hints import hint as adaptive_hint
from tompion.runtime.clock import pause

LATE_S = 0.1
"""Within which an engine starts what is due: it sleeps no longer than it must."""


def starts(world: World, seconds: float, hints: dict[float, dict[str, Any]] | None = None) -> list[float]:
    """Run an engine for so long, with hints at some moments; return when runs began, all in seconds after 08:00:30."""
    world.engine()

    async def story() -> None:
        await world.engines[0].start()
        passed = 0.0
        for moment, given in sorted((hints or {}).items()):
            await pause(moment - passed)
            passed = moment
            world.ask(adaptive_hint, "report", **given)
        await pause(seconds - passed)

    world.run(story)
    return world.launched_at()


def test_an_interval_whose_runs_take_longer(world: World) -> None:
    world.create(cron=[], intervals="1m", adaptive=True)
    world.plan = lambda _: (90.0, Completed())
    assert starts(world, 400) == pytest.approx([30, 180, 330], abs=LATE_S)


def test_a_cron_whose_run_takes_longer(world: World) -> None:
    world.create(cron="*/5 * * * *", adaptive=True)
    first = [True]
    world.plan = lambda _: (600.0 if first and first.pop() else 1.0, Completed())
    assert starts(world, 1_500) == pytest.approx([270, 870, 1_170, 1_470], abs=LATE_S)


def test_failures_back_off(world: World) -> None:
    world.create(cron=[], intervals="1m", adaptive=True)
    world.plan = lambda _: (0.0, Completed(RunState.FAILED, error="no luck"))
    assert starts(world, 1_000) == pytest.approx([30, 150, 390, 870], abs=LATE_S)


def test_a_hint_wakes_the_engine(world: World) -> None:
    world.create(cron="0 * * * *", adaptive=True)
    hints: dict[float, dict[str, Any]] = {
        100: {"at": world.clock.now() + 100},
        200: {"interval_ms": 5_000, "ttl_ms": 12_000},
    }
    assert starts(world, 300, hints) == pytest.approx([100, 200, 205, 210], abs=LATE_S)


def cost(monkeypatch: pytest.MonkeyPatch, **hint: Any) -> Counter[str]:
    """What a minute costs in which an adaptive schedule runs."""
    world = World()
    world.create(cron=[], intervals="1m", adaptive=True)
    if hint:
        world.ask(adaptive_hint, "report", **hint)
    engine = world.engine()
    counts: Counter[str] = Counter()

    async def story() -> None:
        await engine.start()
        await pause(62.5)
        with monkeypatch.context() as patching:
            meter = Meter(patching)
            await pause(60)
            counts.update(meter.counts)

    world.run(story)
    assert len(world.launched_at()) == 2
    world.store.close()
    world.loop.close()
    return counts


def test_hints_cost_no_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who reads a dial has read its hints."""
    assert cost(monkeypatch, at=1_800_003_600) == cost(monkeypatch)
