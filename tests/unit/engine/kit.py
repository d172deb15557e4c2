"""A real engine in virtual time, on SQLite, and what it executed."""

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
    """The host's clock: the loop's own time, and an error that a test sets."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self.off = 0.0

    def now(self) -> float:
        return BEGIN + self._loop.time() + self.off


class World:
    """A store, engines, and what they executed."""

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
        made = Engine(
            other.pop("store", self.store),
            self.executors,
            clock=other.pop("clock", self.clock),
            settings=settings,
            events=EngineEvents(self.events.append),
            **other,
        )
        self.engines.append(made)
        return made

    def ask(self, operation: Callable[..., Any], *args: Any, **given: Any) -> Any:
        return self.store.write(lambda t: operation(OperationContext(t, Settings()), *args, **given)).result()

    def create(self, schedule_id: str = "report", **given: Any) -> Any:
        return self.ask(crud.create, schedule_id, **{"cron": "* * * * *", "function": FUNCTION, **given})

    def run(self, story: Callable[[], Awaitable[None]]) -> None:
        async def told() -> None:
            try:
                await story()
            finally:
                for engine in self.engines:
                    await engine.stop(0)

        self.loop.run_until_complete(told())

    def states(self, schedule_id: str = "report") -> list[str]:
        found = reversed(self.ask(read.runs, schedule_id, limit=1_000).items)
        return [f"{run.scheduled_for:%H:%M} {run.state}" + (f" {run.reason}" if run.reason else "") for run in found]

    def launched_at(self) -> list[float]:
        return [each.at - BEGIN for each in self.executor.executions]


async def die(engine: Engine) -> None:
    """End an engine without a goodbye: its leases run out by themselves."""
    engine.signals.stopping.set()
    for task in list(engine.supervisor.tasks):
        task.cancel()
    await engine.launcher.abandon()
