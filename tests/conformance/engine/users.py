"""A database with something of a user's beside the schedules, and engines whose runs go there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import psycopg

from tests.conformance.engine.kit import SECONDS
from tompion.config.settings import Settings
from tompion.engine.engine import Engine
from tompion.engine.telemetry.events import EngineEvents, Event
from tompion.errors import StoreUnavailable
from tompion.executors.base import Executor
from tompion.executors.options import ExecutorEnv
from tompion.executors.postgres import PostgresExecutor
from tompion.model.sql_call import SqlCall, SqlResults
from tompion.operations.context import OperationContext
from tompion.operations.resources import workflows
from tompion.operations.schedules import crud
from tompion.operations.verify.schedule import verify
from tompion.store.base import Store, Transaction, Work
from tompion.store.postgres.driver import PostgresStore
from tompion.testing.clock import ManualClock

T = TypeVar("T")
JOBS = "CREATE TABLE jobs (id bigint GENERATED ALWAYS AS IDENTITY, key text, attempt integer, body jsonb)"
OPTIONS = {"table": "jobs", "columns": {"key": "$key", "attempt": "$attempt", "body": "$payload"}}
DECLARED: dict[str, Any] = {"tables": ["jobs"]}
SETTINGS = Settings(tick_ms=50)


class Tapped(Store):
    """PostgreSQL; somebody may look, or act, in a transaction that has made calls, and once it has been committed."""

    is_out_of_process = True

    def __init__(self, store: Store) -> None:
        """Begin with nobody who does."""
        self._store = store
        self.before_commit: Callable[[], None] = lambda: None
        self.after_commit: Callable[[], None] = lambda: None

    def write(self, work: Work[T]) -> Future[T]:
        """Run work, and let somebody look if it makes calls."""
        made: list[int] = []

        def tapped(transaction: Transaction) -> T:
            call = transaction.execute_calls

            def noticed(calls: Sequence[SqlCall], timeout_ms: int) -> SqlResults:
                made.append(len(calls))
                return call(calls, timeout_ms)

            transaction.execute_calls = noticed  # type: ignore[method-assign]  # the same, and says so
            answer = work(transaction)
            if made:
                self.before_commit()
            return answer

        answer: Future[T] = Future()
        self._store.write(tapped).add_done_callback(lambda done: self._answer(done, answer, made=bool(made)))
        return answer

    def _answer(self, done: Future[T], answer: Future[T], *, made: bool) -> None:
        try:
            found = done.result()
            if made:
                self.after_commit()
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever waits is told
            answer.set_exception(error)
        else:
            answer.set_result(found)

    def read(self, work: Work[T]) -> Future[T]:
        """Look."""
        return self._store.read(work)

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Pass on notices."""
        return self._store.subscribe(wake)

    def close(self) -> None:
        """Leave the real store to whoever opened it."""


def once(problem: str) -> Callable[[], None]:
    """Return something that fails, the first time."""
    left = [problem]

    def fail() -> None:
        if left:
            raise StoreUnavailable(left.pop())

    return fail


class Scene:
    """A store, a user's table in the same database, and what engines tell."""

    def __init__(self, url: str, store: PostgresStore, clock: ManualClock) -> None:
        self.url = url
        self.store = store
        self.clock = clock
        self.events: list[Event] = []
        self._told = asyncio.Event()

    def sql(self, text: str, *values: Any) -> list[Any]:
        """Do something in the user's name."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(text.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def ask(self, operation: Callable[..., Any], *args: Any, **given: Any) -> Any:
        """Ask for an operation."""
        work = self.store.write(lambda t: operation(OperationContext(t, Settings()), *args, **given))
        return work.result(SECONDS)

    def workflow(self, name: str = "flow", options: Any = None, **document: Any) -> None:
        """Store a workflow of the executor."""
        given = {"executor": "postgres", "options": options or OPTIONS, **document}
        self.ask(workflows.put_workflow, name, given)

    def schedule(self, name: str = "report", **given: Any) -> None:
        """Make a schedule that ticks a little after the beginning."""
        self.ask(crud.create, name, **{"cron": "1 8 * * *", "workflow_id": "flow", **given})

    def jobs(self) -> list[tuple[str, int]]:
        """Return the user's rows: key and attempt."""
        return self.sql("SELECT key, attempt FROM jobs ORDER BY id")

    def runs(self) -> list[tuple[str, str | None, int]]:
        """Return our rows: state, reason and attempt."""
        return self.sql("SELECT state, reason, attempt FROM schedule_runs ORDER BY run_number")

    def errors(self) -> list[str]:
        """Return what our rows say went wrong."""
        return [found[0] for found in self.sql("SELECT error FROM schedule_runs ORDER BY run_number")]

    def is_whole(self, *names: str) -> bool:
        """Return whether the ledgers of schedules, and what they count as in flight, are as they must be."""
        return all(self.ask(verify, name).ok for name in names or ("report",))

    @asynccontextmanager
    async def engine(
        self,
        store: Store | None = None,
        configured: dict[str, Any] | None = None,
        settings: Settings = SETTINGS,
        **others: Executor,
    ) -> AsyncIterator[Engine]:
        """Run an engine for a while."""
        site = ExecutorEnv(public_url="https://tompion.example")
        executors: dict[str, Executor] = {"postgres": PostgresExecutor(configured or DECLARED, site), **others}
        events = EngineEvents(self._listen)
        engine = Engine(store or self.store, executors, clock=self.clock, settings=settings, events=events)
        await engine.start()
        try:
            yield engine
        finally:
            await engine.stop(0)

    def _listen(self, event: Event) -> None:
        self.events.append(event)
        self._told.set()

    async def told(self, kind: str, number: int = 1) -> list[Event]:
        """Wait for so many events of a kind."""
        async with asyncio.timeout(SECONDS):
            while len(found := [event for event in self.events if event.kind == kind]) < number:
                self._told.clear()
                await self._told.wait()
        return found
