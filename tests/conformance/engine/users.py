"""A database with a table of the user beside the schedules, and engines whose runs are rows of that table."""

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


class HookedStore(Store):
    """PostgreSQL with hooks before and after the commit of a transaction that executes calls."""

    is_out_of_process = True

    def __init__(self, store: Store) -> None:
        self._store = store
        self.before_commit: Callable[[], None] = lambda: None
        self.after_commit: Callable[[], None] = lambda: None

    def write(self, work: Work[T]) -> Future[T]:
        """Run work, and call the hooks if it executes calls."""
        call_counts: list[int] = []

        def hooked(transaction: Transaction) -> T:
            execute = transaction.execute_calls

            def counted(calls: Sequence[SqlCall], timeout_ms: int) -> SqlResults:
                call_counts.append(len(calls))
                return execute(calls, timeout_ms)

            transaction.execute_calls = counted  # type: ignore[method-assign]  # a wrapper with a counter
            answer = work(transaction)
            if call_counts:
                self.before_commit()
            return answer

        answer: Future[T] = Future()
        self._store.write(hooked).add_done_callback(
            lambda done: self._answer(done, answer, has_calls=bool(call_counts))
        )
        return answer

    def _answer(self, done: Future[T], answer: Future[T], *, has_calls: bool) -> None:
        try:
            result = done.result()
            if has_calls:
                self.after_commit()
        except Exception as error:  # noqa: BLE001 - every error is passed to the waiting caller
            answer.set_exception(error)
        else:
            answer.set_result(result)

    def read(self, work: Work[T]) -> Future[T]:
        """Run work that only reads."""
        return self._store.read(work)

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Subscribe to the notifications of the store."""
        return self._store.subscribe(wake)

    def close(self) -> None:
        """Do nothing. The test closes the real store."""


def fail_once(problem: str) -> Callable[[], None]:
    """Return a hook that fails the first time."""
    errors = [problem]

    def fail() -> None:
        if errors:
            raise StoreUnavailable(errors.pop())

    return fail


class Scene:
    """A store, a table of the user in the same database, and the events of the engines."""

    def __init__(self, url: str, store: PostgresStore, clock: ManualClock) -> None:
        self.url = url
        self.store = store
        self.clock = clock
        self.events: list[Event] = []
        self._event_arrived = asyncio.Event()

    def sql(self, text: str, *values: Any) -> list[Any]:
        """Execute SQL as the user."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(text.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def call(self, operation: Callable[..., Any], *args: Any, **fields: Any) -> Any:
        """Run an operation in a transaction, and return its result."""
        work = self.store.write(lambda t: operation(OperationContext(t, Settings()), *args, **fields))
        return work.result(SECONDS)

    def workflow(self, name: str = "flow", options: Any = None, **document: Any) -> None:
        """Store a workflow of the executor."""
        fields = {"executor": "postgres", "options": options or OPTIONS, **document}
        self.call(workflows.put_workflow, name, fields)

    def schedule(self, name: str = "report", **fields: Any) -> None:
        """Create a schedule with a tick shortly after the start of the test."""
        self.call(crud.create, name, **{"cron": "1 8 * * *", "workflow_id": "flow", **fields})

    def jobs(self) -> list[tuple[str, int]]:
        """Return key and attempt of the user's rows."""
        return self.sql("SELECT key, attempt FROM jobs ORDER BY id")

    def runs(self) -> list[tuple[str, str | None, int]]:
        """Return state, reason and attempt of the runs."""
        return self.sql("SELECT state, reason, attempt FROM schedule_runs ORDER BY run_number")

    def errors(self) -> list[str]:
        """Return the errors of the runs."""
        return [row[0] for row in self.sql("SELECT error FROM schedule_runs ORDER BY run_number")]

    def is_consistent(self, *names: str) -> bool:
        """Return whether the ledgers and the counters of the schedules pass the verification."""
        return all(self.call(verify, name).ok for name in names or ("report",))

    @asynccontextmanager
    async def engine(
        self,
        store: Store | None = None,
        configured: dict[str, Any] | None = None,
        settings: Settings = SETTINGS,
        **others: Executor,
    ) -> AsyncIterator[Engine]:
        """Run an engine within the context."""
        environment = ExecutorEnv(public_url="https://tompion.example")
        executors: dict[str, Executor] = {"postgres": PostgresExecutor(configured or DECLARED, environment), **others}
        events = EngineEvents(self._listen)
        engine = Engine(store or self.store, executors, clock=self.clock, settings=settings, events=events)
        await engine.start()
        try:
            yield engine
        finally:
            await engine.stop(0)

    def _listen(self, event: Event) -> None:
        self.events.append(event)
        self._event_arrived.set()

    async def wait_for_events(self, kind: str, number: int = 1) -> list[Event]:
        """Wait for a number of events of one kind, and return them."""
        async with asyncio.timeout(SECONDS):
            while len(events := [event for event in self.events if event.kind == kind]) < number:
                self._event_arrived.clear()
                await self._event_arrived.wait()
        return events
