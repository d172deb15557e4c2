"""A rehearsal: a real engine on a store in memory, at a time of your choice, which passes when you say so.

Functions are really called, at the very moments at which they would be; a week of them takes milliseconds, because
nobody waits.  ``asyncio.sleep`` in them takes no time either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from math import isfinite
from types import TracebackType
from typing import Any, Self

from tompion.config.settings import DAY_MS, Settings
from tompion.contract.methods import SyncMethods
from tompion.engine.engine import Engine
from tompion.engine.telemetry.events import EngineEvents, Event
from tompion.errors import InvalidField, TompionError
from tompion.executors.base import Executor, RunContext
from tompion.executors.function import FunctionExecutor, call_safely
from tompion.model.schedule import Run
from tompion.operations.instants import When, epoch_ms
from tompion.operations.runner import OperationRunner
from tompion.operations.schedules import declare
from tompion.runtime.clock import pause
from tompion.sdk.app import SyncTompion, Tompion
from tompion.spec.duration import parse_duration
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.virtual_loop import VirtualLoop

PAGE = 1_000
LAST_ROUNDS = 200
"""How often everybody gets a turn when time stands again."""


class Rehearsal(SyncMethods):
    """All operations, as methods, on a store of its own; and time, which stands until it is told to pass.

    >>> with Rehearsal(app, at="2026-03-27T00:00:00Z") as rehearsal:
    ...     rehearsal.advance("7d")
    ...     assert len(rehearsal.all_runs("tasks.report")) == 5
    """

    def __init__(
        self,
        app: Tompion | SyncTompion | None = None,
        *,
        at: When = "2026-01-01T00:00:00Z",
        settings: Settings | None = None,
        executors: Mapping[str, Executor] | None = None,
    ) -> None:
        """Take what declares schedules, if anything, and when to begin; ``app`` itself is never opened.

        ``executors`` stand for those that workflows name: whoever would be called over a network.
        """
        begin_s = epoch_ms("at", at) / 1000
        self._namespace = "default" if app is None else app.namespace
        self._declarations = None if app is None else app.declarations
        self._settings = settings or Settings(
            tick_ms=DAY_MS, heartbeat_ms=DAY_MS, lock_ttl_ms=3 * DAY_MS, sweep_ms=DAY_MS, settle_gather_ms=0
        )
        self._executors = dict(executors or {})
        self._loop = VirtualLoop()
        self._clock = _LoopClock(begin_s, self._loop)
        self._engine: Engine | None = None
        self._store: SqliteStore | None = None
        self.events: list[Event] = []

    @property
    def now(self) -> datetime:
        """Return what time it is."""
        return datetime.fromtimestamp(self._clock.now(), UTC)

    def advance(self, duration: str | float | timedelta) -> None:
        """Let time pass, and everything happen that is due meanwhile."""
        seconds = _seconds(duration)
        self._running()
        self._loop.run_until_complete(_passing(seconds))

    def outage(self, duration: str | float | timedelta) -> None:
        """Let time pass while nobody is there: as when every process is down, or the machine asleep."""
        seconds = _seconds(duration)
        self._running()
        self._loop.run_until_complete(_passing(0))
        self._loop.pass_time(seconds)

    def advance_to(self, moment: When) -> None:
        """Let time pass until an instant."""
        self.advance(epoch_ms("moment", moment) / 1000 - self._clock.now())

    def all_runs(self, schedule_id: str) -> list[Run]:
        """Return every run of a schedule, the oldest first."""
        found: list[Run] = []
        before: str | None = None
        while True:
            page = self.runs(schedule_id, limit=PAGE, before=before)
            found += page.items
            before = page.next_page
            if before is None:
                return found[::-1]

    def __enter__(self) -> Self:
        """Open the store, make the schedules that are declared, and start the engine."""
        if self._engine is not None:
            raise TompionError("this rehearsal is on already")
        self._store = SqliteStore(clock=self._clock, inline=True)
        calls = _Inline(self._settings.max_threads, self._settings.max_result_bytes)
        if self._declarations is not None:
            for path, function in self._declarations.functions().items():
                calls.register(path, function)
            for each in self._declarations.declared.values():
                self._run_operation(declare.declare, (each.schedule_id,), each.fields, writes=True)
        queues = frozenset({"default", *(self._declarations.queues() if self._declarations else ())})
        self._engine = Engine(
            self._store,
            {"function": calls, **self._executors},
            clock=self._clock,
            settings=self._settings,
            queues=queues,
            name="rehearsal",
            events=EngineEvents(self.events.append),
        )
        self._loop.run_until_complete(self._engine.start())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End whatever goes on, and forget everything."""
        engine, store = self._running()
        self._engine = self._store = None
        self._loop.run_until_complete(engine.stop(0))
        self._loop.close()
        store.close()

    def _running(self) -> tuple[Engine, SqliteStore]:
        if self._engine is None or self._store is None:
            raise TompionError("this rehearsal is not on: use it inside 'with'")
        return self._engine, self._store

    def _run_operation(self, operation: Callable[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        if self._store is None:
            raise TompionError("this rehearsal is not on: use it inside 'with'")
        sent = OperationRunner(self._store, self._settings).send(
            lambda session: operation(session, *args, **kwargs), namespace=self._namespace, actor="local", writes=writes
        )
        return sent.result()


def _seconds(duration: str | float | timedelta) -> float:
    if isinstance(duration, timedelta):
        seconds = duration.total_seconds()
    elif isinstance(duration, str):
        seconds = float(parse_duration(duration, field="duration"))
    else:
        seconds = float(duration)
    if seconds < 0:
        raise InvalidField("duration", "time does not go back; begin another rehearsal")
    if not isfinite(seconds):
        raise InvalidField("duration", f"{seconds} is no time that passes")
    return seconds


async def _passing(seconds: float) -> None:
    """Let time pass, and whatever is due in its last moment happen."""
    await pause(seconds)
    for _ in range(LAST_ROUNDS):
        await pause(0)


class _LoopClock:
    """Tells the time of a loop, from an instant on."""

    def __init__(self, begin_s: float, loop: VirtualLoop) -> None:
        self._begin_s = begin_s
        self._loop = loop

    def now(self) -> float:
        return self._begin_s + self._loop.time()


class _Inline(FunctionExecutor):
    """Calls synchronous functions where it is: time stands while they run, as it does for asynchronous ones."""

    async def _in_thread(self, call: Callable[[], Any], launch: RunContext) -> tuple[Any, BaseException | None]:
        return call_safely(call)
