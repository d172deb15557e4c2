"""A real engine in virtual time: a process that stood still for longer than its lease."""

from __future__ import annotations

from tests.unit.engine.harness import EngineHarness
from tompion.config.settings import Settings
from tompion.runtime.clock import pause
from tompion.testing.faults import Fault, FaultyStore, InjectedFault

SETTINGS = Settings(tick_ms=500, lock_ttl_ms=20_000, heartbeat_ms=7_000, audit_seal_ms=86_400_000)
FREEZE_S = 60.0
DUE_S = 30.0
"""The harness begins half a minute before the tick."""


class FrozenWorker:
    """An engine whose process stands still right after it has claimed the run of the tick."""

    def __init__(self, harness: EngineHarness) -> None:
        self._harness = harness
        self._has_frozen = False
        store = FaultyStore(harness.store, self._fault, lambda: None)
        self.engine = harness.engine(SETTINGS, store=store)

    def _fault(self, kind: str) -> InjectedFault:
        if kind == "write" and not self._has_frozen and self._harness.loop.time() >= DUE_S:
            self._has_frozen = True
            return InjectedFault(Fault.FREEZE, FREEZE_S)
        return InjectedFault(Fault.NONE)


def launches(harness: EngineHarness) -> list[tuple[float, int]]:
    """Return the second and the attempt of each launch."""
    times = harness.launched_at()
    attempts = [execution.launch.attempt for execution in harness.executor.executions]
    return [(round(at, 1), attempt) for at, attempt in zip(times, attempts, strict=True)]


def test_resumed_worker_launches_nothing_that_another_has_taken_over(harness: EngineHarness) -> None:
    """Regression: it launched attempt 1 after another worker had begun attempt 2."""
    harness.create(cron="1 8 * * *")

    async def scenario() -> None:
        frozen = FrozenWorker(harness)
        await frozen.engine.start()
        await pause(DUE_S + 1)
        await harness.engine(SETTINGS).start()
        await pause(FREEZE_S * 2)
        assert frozen.engine.events.counts["launches_withheld"] == 1

    harness.run(scenario)
    assert [attempt for _at, attempt in launches(harness)] == [2]
    assert harness.states() == ["08:01 SUCCESS"]


def test_resumed_worker_launches_its_run_once_after_it_has_renewed_its_lease(harness: EngineHarness) -> None:
    """No other worker has taken the run over, so it is still its own."""
    harness.create(cron="1 8 * * *")

    async def scenario() -> None:
        frozen = FrozenWorker(harness)
        await frozen.engine.start()
        await pause(DUE_S + FREEZE_S + 5)

    harness.run(scenario)
    assert [attempt for _at, attempt in launches(harness)] == [2]
    assert DUE_S + FREEZE_S <= launches(harness)[0][0] < DUE_S + FREEZE_S + 1
    assert harness.states() == ["08:01 SUCCESS"]
