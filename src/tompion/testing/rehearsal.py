"""A rehearsal: a real engine on a store in memory, with a virtual clock that the test moves.

Functions are called at the same virtual times as in production. A week takes milliseconds, because nothing waits.
``asyncio.sleep`` in functions takes no time either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from math import isfinite
from types import TracebackType
from typing import Any, Self

from tompion.config.settings import DAY_MS, Settings
from tompion.contract.stubs import OperationStub, schedule_stubs
from tompion.contract.sync_methods import SyncMethods
from tompion.encoding.instant import When, datetime_s
from tompion.engine.engine import Engine
from tompion.engine.telemetry.events import EngineEvents, Event
from tompion.errors import InvalidField, TompionError
from tompion.executors.base import Executor, RunContext
from tompion.executors.function import FunctionExecutor, call_safely
from tompion.model.schedule import Run
from tompion.operations.instants import epoch_ms
from tompion.operations.runner import OperationRunner
from tompion.runtime.clock import pause
from tompion.sdk.app import AsyncTompion, Tompion
from tompion.sdk.parts import declarations_of
from tompion.spec.duration import parse_duration
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.virtual_loop import VirtualLoop

PAGE_SIZE = 1_000
SETTLE_ROUNDS = 200
"""Rounds of the event loop after time has passed, so that due work completes."""


class Rehearsal(SyncMethods):
    """All operations as methods, on a store in memory with virtual time.

    >>> with Rehearsal(app, at="2026-03-27T00:00:00Z") as rehearsal:
    ...     rehearsal.advance("7d")
    ...     assert len(rehearsal.all_runs("tasks.report")) == 5

    ``app`` declares the schedules and is never opened. ``at`` is the start time. ``executors`` replace those that
    workflows name, so that no network is used.
    """

    def __init__(
        self,
        app: AsyncTompion | Tompion | None = None,
        *,
        at: When = "2026-01-01T00:00:00Z",
        settings: Settings | None = None,
        executors: Mapping[str, Executor] | None = None,
    ) -> None:
        start_s = epoch_ms("at", at) / 1000
        self._namespace = "default" if app is None else app.namespace
        self._declarations = None if app is None else declarations_of(app)
        self._settings = settings or Settings(
            tick_ms=DAY_MS, heartbeat_ms=DAY_MS, lock_ttl_ms=3 * DAY_MS, sweep_ms=DAY_MS, settle_gather_ms=0
        )
        self._executors = dict(executors or {})
        self._loop = VirtualLoop()
        self._clock = _LoopClock(start_s, self._loop)
        self._engine: Engine | None = None
        self._store: SqliteStore | None = None
        self.events: list[Event] = []

    @property
    def now(self) -> datetime:
        """Return the virtual time."""
        return datetime_s(self._clock.now())

    def advance(self, duration: str | float | timedelta) -> None:
        """Let virtual time pass, with everything that is due in it."""
        seconds = _seconds(duration)
        self._parts()
        self._loop.run_until_complete(_pass_time(seconds))

    def outage(self, duration: str | float | timedelta) -> None:
        """Let virtual time pass without an engine, as if every process were down."""
        seconds = _seconds(duration)
        self._parts()
        self._loop.run_until_complete(_pass_time(0))
        self._loop.pass_time(seconds)

    def advance_to(self, instant: When) -> None:
        """Let virtual time pass until an instant."""
        self.advance(epoch_ms("instant", instant) / 1000 - self._clock.now())

    def all_runs(self, schedule_id: str) -> list[Run]:
        """Return every run of a schedule, the oldest first."""
        runs: list[Run] = []
        before: str | None = None
        while True:
            page = self.runs.list(schedule_id, limit=PAGE_SIZE, before=before)
            runs += page.items
            before = page.next_page
            if before is None:
                return runs[::-1]

    def __enter__(self) -> Self:
        """Open the store, create the declared schedules, and start the engine."""
        if self._engine is not None:
            raise TompionError("the rehearsal has already started")
        self._store = SqliteStore(clock=self._clock, inline=True)
        executor = _InlineExecutor(self._settings.max_threads, self._settings.max_result_bytes)
        if self._declarations is not None:
            for path, function in self._declarations.functions().items():
                executor.register(path, function)
            for declaration in self._declarations.declared.values():
                self._run_operation(schedule_stubs.declare, (declaration.schedule_id,), declaration.fields, writes=True)
        queues = frozenset({"default", *(self._declarations.queues() if self._declarations else ())})
        self._engine = Engine(
            self._store,
            {"function": executor, **self._executors},
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
        """Stop the engine and close the store."""
        engine, store = self._parts()
        self._engine = self._store = None
        self._loop.run_until_complete(engine.stop(0))
        self._loop.close()
        store.close()

    def _parts(self) -> tuple[Engine, SqliteStore]:
        if self._engine is None or self._store is None:
            raise TompionError("the rehearsal has not started: use it inside 'with'")
        return self._engine, self._store

    def _run_operation(self, operation: OperationStub[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        if self._store is None:
            raise TompionError("the rehearsal has not started: use it inside 'with'")
        future = OperationRunner(self._store, self._settings).send(
            lambda context: operation(context, *args, **kwargs), namespace=self._namespace, actor="local", writes=writes
        )
        return future.result()


def _seconds(duration: str | float | timedelta) -> float:
    if isinstance(duration, timedelta):
        seconds = duration.total_seconds()
    elif isinstance(duration, str):
        seconds = float(parse_duration(duration, field="duration"))
    else:
        seconds = float(duration)
    if seconds < 0:
        raise InvalidField("duration", "time cannot go back; start another rehearsal")
    if not isfinite(seconds):
        raise InvalidField("duration", f"{seconds} is not a finite duration")
    return seconds


async def _pass_time(seconds: float) -> None:
    """Let time pass, then complete the work that is due at its end."""
    await pause(seconds)
    for _ in range(SETTLE_ROUNDS):
        await pause(0)


class _LoopClock:
    """Clock of a virtual loop, from a start time."""

    def __init__(self, start_s: float, loop: VirtualLoop) -> None:
        self._start_s = start_s
        self._loop = loop

    def now(self) -> float:
        return self._start_s + self._loop.time()


class _InlineExecutor(FunctionExecutor):
    """Calls synchronous functions in the event loop, so that virtual time stands still while they run."""

    async def _in_thread(self, call: Callable[[], Any], launch: RunContext) -> tuple[Any, BaseException | None]:
        return call_safely(call)
