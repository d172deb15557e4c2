"""Whether an engine works, and who is told, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tests.unit.engine.kit import BEGIN, LoopClock, World
from tompion.runtime.clock import pause
from tompion.testing.faults import Fault, FaultyStore, InjectedFault


class Monitor:
    """Remembers when it was told what."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.every_s = 10.0
        self.heard: list[tuple[float, list[str]]] = []

    async def ping(self, problems: Sequence[str]) -> None:
        self.heard.append((self.world.clock.now() - BEGIN, list(problems)))

    async def aclose(self) -> None:
        """Nothing is kept."""


def test_a_monitor_is_told_that_all_is_well(world: World) -> None:
    monitor = Monitor(world)

    async def story() -> None:
        await world.engine(pinger=monitor).start()
        await pause(35)

    world.run(story)
    assert [round(at) for at, _ in monitor.heard] == [0, 10, 20, 30]
    assert all(problems == [] for _, problems in monitor.heard)


def test_a_loop_that_is_stuck_is_noticed(world: World) -> None:
    monitor = Monitor(world)

    async def story() -> None:
        engine = world.engine(pinger=monitor)
        await engine.start()

        async def stuck() -> float | None:
            await pause(1e6)
            raise AssertionError

        engine.finder._pass = stuck  # type: ignore[method-assign]  # as if a statement never came back
        await pause(100)
        for task in list(engine.supervisor.tasks):
            task.cancel()

    world.run(story)
    well = [at for at, problems in monitor.heard if not problems]
    ill = [problems for at, problems in monitor.heard if problems]
    assert max(well) <= 31
    assert len(ill) >= 5
    assert "has not looked for work for" in ill[-1][0]


def test_a_store_that_is_gone_is_noticed_and_comes_back(world: World) -> None:
    monitor = Monitor(world)
    gone = asyncio.Event()
    store = FaultyStore(world.store, lambda _: InjectedFault(Fault.BUSY if gone.is_set() else Fault.NONE), lambda: None)

    async def story() -> None:
        engine = world.engine(store=store, pinger=monitor)
        await engine.start()
        await pause(15)
        gone.set()
        await pause(60)
        assert any("StoreUnavailable" in problem for problem in engine.health.problems())
        gone.clear()
        await pause(30)
        assert engine.health.problems() == []

    world.run(story)
    assert "the store does not answer" in monitor.heard[2][1][-1]
    assert monitor.heard[-1][1] == []


def test_a_clock_that_is_wrong_is_a_problem(world: World) -> None:
    wrong = LoopClock(world.loop)
    wrong.off = 3_600.0

    async def story() -> None:
        engine = world.engine(clock=wrong)
        assert engine.health.problems() == ["the engine has not started"]
        await engine.start()
        await pause(5)
        (problem,) = engine.health.problems()
        assert "by 3600000 ms" in problem

    world.run(story)
