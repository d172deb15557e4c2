"""Instances that have claimed more runs than they can handle, and how they recover."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.unit.engine.harness import EngineHarness
from tests.unit.engine.test_slow_store import SlowStore
from tompion.config.settings import Settings
from tompion.engine.limits import AdaptiveConcurrencyLimit
from tompion.executors.base import Completed
from tompion.operations.runs import read
from tompion.operations.schedules import control
from tompion.runtime.clock import pause
from tompion.store.tables import run_claims

BACKLOG = 200
SETTINGS = Settings(tick_ms=200, lock_ttl_ms=2_000, heartbeat_ms=600, sweep_ms=1_000, max_pickups=1_000, max_threads=10)
COST_S = 0.05
"""How much longer everything takes an instance for each run that it executes."""
TURN_S = 0.5
AT_A_TIME = 20
"""So many of the runs that an instance holds are executed at a time; the others wait for their turn."""


class OverloadedStore(SlowStore):
    """The store of an instance on a small machine: the more runs are active, the longer each call takes."""

    def __init__(self, harness: EngineHarness) -> None:
        super().__init__(harness)
        self.engine = harness.engine(SETTINGS, store=self)

    @property
    def seconds(self) -> float:
        return 0.001 + len(self.engine.launcher.active) * COST_S

    @seconds.setter
    def seconds(self, _: float) -> None:
        """Return the duration of a call, which grows with the active runs."""


def with_backlog(harness: EngineHarness) -> None:
    """Create a backlog that no engine can finish under one lease."""
    harness.create(cron="0 0 1 1 *", overlap_policy="allow")
    for number in range(BACKLOG):
        harness.call(control.trigger, "report", request_id=f"trigger-{number}")
    harness.plan = lambda _: (TURN_S, Completed())
    harness.executor.max_active = AT_A_TIME


def outcomes(harness: EngineHarness) -> Counter[str]:
    return Counter(run.status for run in harness.call(read.runs, "report", limit=1_000).items)


def run_engines(harness: EngineHarness, seconds: float) -> list[OverloadedStore]:
    stores = [OverloadedStore(harness), OverloadedStore(harness)]

    async def scenario() -> None:
        for store in stores:
            await store.engine.start()
        await pause(seconds)

    harness.run(scenario)
    return stores


def test_instance_claims_less_after_losing_its_lease_with_many_runs(harness: EngineHarness) -> None:
    """Regression: two workers on an overloaded machine claimed a backlog from each other without end.

    Each claimed everything, was too busy to renew its lease, and lost everything to the other: 58,000 launches, of
    which 2,200 counted.
    """
    with_backlog(harness)
    run_engines(harness, 60)
    assert outcomes(harness) == {"SUCCESS": BACKLOG}
    assert len(harness.executor.executions) < 8 * BACKLOG


def test_backlog_is_never_finished_without_the_limit(harness: EngineHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AdaptiveConcurrencyLimit, "on_lease_lost", lambda self, held: None)
    monkeypatch.setattr(
        run_claims, "SUSPECT_PICKUPS", 1_000
    )  # executing runs one at a time would finish the backlog, too
    with_backlog(harness)
    run_engines(harness, 60)
    assert outcomes(harness) == {"ENQUEUED": BACKLOG}


def test_limit_grows_back_to_the_maximum(harness: EngineHarness) -> None:
    with_backlog(harness)
    stores = run_engines(harness, 60)
    assert [store.engine.context.concurrency.limit for store in stores] == [SETTINGS.max_active_launches] * 2


def after_beats(concurrency: AdaptiveConcurrencyLimit, beats: int) -> int:
    for _ in range(beats):
        concurrency.on_lease_renewed()
    return concurrency.limit


def test_limit_shrinks_to_a_quarter_and_grows_by_half_with_each_heartbeat() -> None:
    concurrency = AdaptiveConcurrencyLimit(8, 1_000)
    concurrency.on_lease_lost(8)
    assert concurrency.limit == 1_000, "so few can always be executed: it was not that"
    concurrency.on_lease_lost(200)
    assert concurrency.limit == 50
    concurrency.on_lease_lost(300)  # more than the current limit: runs that it held before
    assert concurrency.limit == 12
    assert [after_beats(concurrency, 1) for _ in range(3)] == [18, 27, 41]
    for _ in range(20):
        concurrency.on_lease_lost(9)
    assert concurrency.limit == 8
    assert after_beats(concurrency, 30) == 1_000
    assert AdaptiveConcurrencyLimit(32, 5).limit == 5
