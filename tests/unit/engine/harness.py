"""A real engine in virtual time, on SQLite, with a recording executor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from tompion.config.settings import Settings
from tompion.engine.engine import Engine
from tompion.engine.telemetry.events import EngineEvents, Event
from tompion.executors.base import Completed, Executor, RunContext
from tompion.operations.context import OperationContext
from tompion.operations.runs import read
from tompion.operations.schedules import crud
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.executor import RecordingExecutor
from tompion.testing.virtual_loop import VirtualLoop

BEGIN = 1_800_000_030.0  # 2027-01-15T08:00:30Z
FUNCTION = "tasks:work"


class LoopClock:
    """The host's clock: the time of the event loop, and an error that a test sets."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self.off = 0.0

    def now(self) -> float:
        return BEGIN + self._loop.time() + self.off


class EngineHarness:
    """A store, its engines, and the runs that they executed."""

    def __init__(self) -> None:
        self.loop = VirtualLoop()
        self.clock = LoopClock(self.loop)
        self.store = SqliteStore(clock=self.clock, inline=True)
        self.plan: Callable[[RunContext], tuple[float, Completed]] = lambda _: (0.0, Completed())
        self.executor = RecordingExecutor(self.clock.now, self._planned)
        self.executors: dict[str, Executor] = {"function": self.executor}
        self.events: list[Event] = []
        self.engines: list[Engine] = []

    def _planned(self, launch: RunContext) -> tuple[float, Completed]:
        return self.plan(launch)

    def engine(self, settings: Settings | None = None, **other: Any) -> Engine:
        engine = Engine(
            other.pop("store", self.store),
            self.executors,
            clock=other.pop("clock", self.clock),
            settings=settings,
            events=EngineEvents(self.events.append),
            **other,
        )
        self.engines.append(engine)
        return engine

    def call(self, operation: Callable[..., Any], *args: Any, **fields: Any) -> Any:
        return self.store.write(lambda t: operation(OperationContext(t, Settings()), *args, **fields)).result()

    def create(self, schedule_id: str = "report", **fields: Any) -> Any:
        return self.call(crud.create, schedule_id, **{"cron": "* * * * *", "function": FUNCTION, **fields})

    def run(self, scenario: Callable[[], Awaitable[None]]) -> None:
        async def run_and_stop() -> None:
            try:
                await scenario()
            finally:
                for engine in self.engines:
                    await engine.stop(0)

        self.loop.run_until_complete(run_and_stop())

    def states(self, schedule_id: str = "report") -> list[str]:
        runs = reversed(self.call(read.runs, schedule_id, limit=1_000).items)
        return [f"{run.run_at:%H:%M} {run.status}" + (f" {run.reason}" if run.reason else "") for run in runs]

    def launched_at(self) -> list[float]:
        return [execution.at - BEGIN for execution in self.executor.executions]


async def kill(engine: Engine) -> None:
    """End an engine without releasing its lease, which expires by itself."""
    engine.signals.stopping.set()
    for task in list(engine.supervisor.tasks):
        task.cancel()
    await engine.launcher.abandon()
