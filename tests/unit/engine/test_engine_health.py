"""Engine health and the health-check ping, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tests.unit.engine.harness import BEGIN, EngineHarness, LoopClock
from tompion.config.settings import Settings
from tompion.engine.steps.result import StepResult
from tompion.model.rows import DueNow
from tompion.runtime.clock import pause
from tompion.testing.faults import Fault, FaultyStore, InjectedFault


class Monitor:
    """Records the pings and their times."""

    def __init__(self, harness: EngineHarness) -> None:
        self.harness = harness
        self.every_s = 10.0
        self.heard: list[tuple[float, list[str]]] = []

    async def ping(self, problems: Sequence[str]) -> None:
        self.heard.append((self.harness.clock.now() - BEGIN, list(problems)))

    async def aclose(self) -> None:
        """Record that the pinger was closed."""


def test_monitor_receives_pings_without_problems(harness: EngineHarness) -> None:
    monitor = Monitor(harness)

    async def scenario() -> None:
        await harness.engine(pinger=monitor).start()
        await pause(35)

    harness.run(scenario)
    assert [round(at) for at, _ in monitor.heard] == [0, 10, 20, 30]
    assert all(problems == [] for _, problems in monitor.heard)


def test_hanging_loop_is_a_problem(harness: EngineHarness) -> None:
    monitor = Monitor(harness)

    async def scenario() -> None:
        engine = harness.engine(pinger=monitor)
        await engine.start()

        async def stuck() -> float | None:
            await pause(1e6)
            raise AssertionError

        engine.finder._run_pass = stuck  # type: ignore[method-assign]  # as if a statement never came back
        await pause(100)
        for task in list(engine.supervisor.tasks):
            task.cancel()

    harness.run(scenario)
    well = [at for at, problems in monitor.heard if not problems]
    ill = [problems for at, problems in monitor.heard if problems]
    assert max(well) <= 31
    assert len(ill) >= 5
    assert "has not looked for work for" in ill[-1][0]


def test_unavailable_store_is_a_problem_until_it_is_back(harness: EngineHarness) -> None:
    monitor = Monitor(harness)
    gone = asyncio.Event()
    store = FaultyStore(
        harness.store, lambda _: InjectedFault(Fault.BUSY if gone.is_set() else Fault.NONE), lambda: None
    )

    async def scenario() -> None:
        engine = harness.engine(store=store, pinger=monitor)
        await engine.start()
        await pause(15)
        gone.set()
        await pause(60)
        assert any("StoreUnavailable" in problem for problem in engine.health.problems())
        gone.clear()
        await pause(30)
        assert engine.health.problems() == []

    harness.run(scenario)
    assert "the store does not answer" in monitor.heard[2][1][-1]
    assert monitor.heard[-1][1] == []


def test_wrong_clock_is_a_problem(harness: EngineHarness) -> None:
    wrong = LoopClock(harness.loop)
    wrong.off = 3_600.0

    async def scenario() -> None:
        engine = harness.engine(clock=wrong)
        assert engine.health.problems() == ["the engine has not started"]
        await engine.start()
        await pause(5)
        (problem,) = engine.health.problems()
        assert "by 3600000 ms" in problem

    harness.run(scenario)


def test_engine_that_cannot_keep_up_is_a_problem(harness: EngineHarness) -> None:
    """Regression: ``/readyz`` was green while schedules missed more than a hundred ticks in a row."""
    harness.create(catchup_policy="fire_immediately")

    async def scenario() -> None:
        engine = harness.engine(Settings(overloaded_after_ms=20_000, tick_ms=1_000))
        await engine.start()

        async def too_slow(due: DueNow, limit: int) -> tuple[int, bool]:
            return 0, False

        engine.finder._run_lower_priority_steps = too_slow  # type: ignore[method-assign]  # it has no time for them
        engine.finder.fire_step.on_time = lambda transaction, limit: StepResult()  # type: ignore[method-assign]  # nor for these
        await pause(75)
        assert engine.health.problems() == []
        assert engine.events.metrics.gauges["overdue_seconds"]() > 10
        await pause(15)
        (problem,) = engine.health.problems()
        assert problem.startswith("the engine is overloaded: for ")

    harness.run(scenario)


def test_full_store_is_a_problem_at_once(harness: EngineHarness) -> None:
    """Regression: ``/readyz`` was green on a full disk for as long as it could be read."""
    harness.create()
    full = [False]

    def fault(kind: str) -> InjectedFault:
        return InjectedFault(Fault.DISK_FULL if full[0] and kind == "write" else Fault.NONE)

    async def scenario() -> None:
        engine = harness.engine(store=FaultyStore(harness.store, fault, lambda: None))
        await engine.start()
        await pause(10)
        full[0] = True
        await pause(21)
        (problem,) = engine.health.problems()
        assert problem.startswith("the engine cannot fire schedules: StoreUnavailable")
        full[0] = False
        await pause(5)
        assert engine.health.problems() == []

    harness.run(scenario)
