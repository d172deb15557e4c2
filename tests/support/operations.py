"""A store with a manual clock, the operations of users, and workers whose steps are called one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Event
from typing import Any, TypeVar

from tompion.config.settings import Settings
from tompion.engine.context import EngineContext
from tompion.engine.steps.backfill import BackfillStep
from tompion.engine.steps.fire import FireStep
from tompion.engine.steps.planned import PlannedStep
from tompion.engine.steps.rescue import RescueStep
from tompion.engine.steps.result import StepResult
from tompion.engine.steps.settle import SettleStep
from tompion.engine.steps.sweep import SweepStep
from tompion.engine.telemetry.events import EngineEvents
from tompion.executors.base import RunContext
from tompion.model.rows import HeldRun
from tompion.model.run import Reason, RunRow, RunState
from tompion.model.schedule import Backfill, DroppedTicks, Run, Schedule
from tompion.model.schedule_state import ScheduleState
from tompion.operations.context import OperationContext
from tompion.operations.resources import workflows
from tompion.operations.runs import read
from tompion.operations.schedules import backfills, control, crud
from tompion.operations.verify.schedule import verify
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.outcome import Outcome
from tompion.store.base import Store, Transaction
from tompion.testing.clock import ManualClock

T = TypeVar("T")
DAY = 1_799_971_200  # 2027-01-15T00:00:00Z
BEGIN = DAY + 8 * 3600 + 30.0  # 08:00:30, between two minutes
SECONDS = 120
"""Timeout of every wait."""
FUNCTION = "tasks:work"
TABLES = (
    "schedules", "schedule_versions", "schedule_state", "schedule_runs", "dropped_ranges", "backfills", "calendars",
    "calendar_uses", "workflows", "paused_targets", "audit", "audit_heads", "requests", "instances",
)  # fmt: skip


def at(text: str) -> float:
    """Return the instant of a time of the day: ``08:01``, ``08:01:02.5``."""
    hours, minutes, *seconds = text.split(":")
    return DAY + int(hours) * 3600 + int(minutes) * 60 + float(seconds[0] if seconds else 0)


def when(text: str) -> datetime:
    """Return the instant of a time of the day as a datetime."""
    return datetime.fromtimestamp(at(text), UTC)


def shown(moment: datetime) -> str:
    """Return a datetime as a time of the day, without seconds if they are 0."""
    return moment.strftime("%H:%M:%S" if moment.second else "%H:%M")


class Bench:
    """A store, its clock, and the operations of users."""

    def __init__(self, store: Store, clock: ManualClock, settings: Settings | None = None) -> None:
        self.store = store
        self.clock = clock
        self.settings = settings or Settings()
        self.damaged = False

    # --- users ----------------------------------------------------------------------------------------------------

    def write(self, work: Callable[[Transaction], T]) -> T:
        return self.store.write(work).result(SECONDS)

    def read(self, work: Callable[[Transaction], T]) -> T:
        return self.store.read(work).result(SECONDS)

    def session(self, transaction: Transaction, namespace: str = "default", actor: str = "ann") -> OperationContext:
        return OperationContext(transaction, self.settings, namespace, actor)

    def ask(
        self, operation: Callable[..., T], *args: Any, namespace: str = "default", actor: str = "ann", **fields: Any
    ) -> T:
        """Perform an operation in a transaction of its own."""
        return self.write(lambda t: operation(self.session(t, namespace, actor), *args, **fields))

    def create(self, schedule_id: str = "report", **fields: Any) -> Schedule:
        """Create a schedule, by default with a tick every minute."""
        spec = {} if {"intervals", "times", "spec", "rrules", "calendars"} & fields.keys() else {"cron": "* * * * *"}
        action = {} if "workflow_id" in fields else {"function": FUNCTION}
        if fields.get("workflow_id") is not None:
            self.store_workflow(fields["workflow_id"])
        return self.ask(crud.create, schedule_id, **{**spec, **action, **fields})

    def store_workflow(self, workflow_id: str, versions: int = 1) -> None:
        """Store versions of a workflow."""
        for number in range(versions):
            self.ask(workflows.put_workflow, workflow_id, {"function": FUNCTION, "dag": number})

    def pause(self, schedule_id: str = "report", **fields: Any) -> Schedule:
        return self.ask(control.pause, schedule_id, **fields)

    def resume(self, schedule_id: str = "report", **fields: Any) -> Schedule:
        return self.ask(control.resume, schedule_id, **fields)

    def trigger(self, schedule_id: str = "report", **fields: Any) -> Run:
        return self.ask(control.trigger, schedule_id, **fields)

    def backfill(self, first: str, last: str, schedule_id: str = "report", **fields: Any) -> Backfill:
        return self.ask(backfills.backfill, schedule_id, when(first), when(last), **fields)[0]

    def get(self, schedule_id: str = "report", **fields: Any) -> Schedule:
        return self.ask(crud.get, schedule_id, **fields)

    # --- time -----------------------------------------------------------------------------------------------------

    def go(self, text: str) -> None:
        """Set the clock to a time of the day."""
        self.clock.set(at(text))

    # --- reads ----------------------------------------------------------------------------------------------------

    def runs(self, schedule_id: str = "report", source: str | None = None) -> list[Run]:
        """Return all runs, the oldest first."""
        return list(reversed(self.ask(read.runs, schedule_id, limit=1_000, source=source).items))

    def outcomes(self, schedule_id: str = "report", source: str | None = "schedule") -> list[str]:
        """Return the time, state and reason of each tick, the oldest first: ``08:01 SKIPPED overlap``."""
        return [
            f"{shown(run.run_at)} {run.status}" + (f" {run.reason}" if run.reason else "")
            for run in self.runs(schedule_id, source)
        ]

    def dropped_ranges(self, schedule_id: str = "report") -> list[str]:
        """Return the dropped ranges, the oldest first: ``08:05 5 missed`` for five ticks until 08:05."""
        ranges: tuple[DroppedTicks, ...] = self.ask(read.dropped_ranges, schedule_id)
        return [
            f"{shown(dropped_range.until)} {dropped_range.ticks} {dropped_range.reason}"
            for dropped_range in reversed(ranges)
        ]

    def state(self, schedule_id: str = "report", namespace: str = "default") -> ScheduleState:
        def look(transaction: Transaction) -> ScheduleState:
            row = transaction.schedule_get(namespace, schedule_id)
            assert row is not None
            return transaction.state_get([row.schedule_key])[row.schedule_key]

        return self.read(look)

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return every row of every table."""

        def look(transaction: Transaction) -> dict[str, list[tuple[Any, ...]]]:
            return {table: sorted(self._execute(transaction, f"SELECT * FROM {table}"), key=repr) for table in TABLES}

        return self.write(look)

    def execute(self, statement: str) -> None:
        """Change the database directly, without an operation."""
        self.damaged = True
        self.write(lambda t: self._execute(t, statement))

    @staticmethod
    def _execute(transaction: Any, statement: str) -> list[tuple[Any, ...]]:
        channel = getattr(transaction, "_connection", None) or transaction._cursor
        cursor = channel.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []

    def prove(self) -> None:
        """Assert that every tick of every schedule is accounted for exactly once."""

        def check(transaction: Transaction) -> list[Any]:
            names = self._execute(transaction, "SELECT namespace, schedule_id FROM schedules")
            return [verify(self.session(transaction, namespace), name).problems for namespace, name in names]

        problems = [problem for schedule_problems in self.write(check) for problem in schedule_problems]
        assert not problems

    def worker(self, *queues: str, settings: Settings | None = None) -> Worker:
        return Worker(self, queues or ("default",), settings or self.settings)


class Worker:
    """One instance whose steps a test calls one by one. It records its launches."""

    def __init__(self, bench: Bench, queues: tuple[str, ...], settings: Settings) -> None:
        self.bench = bench
        self.events = EngineEvents()
        self.context = EngineContext(settings, self.events, frozenset(queues))
        lease_ms = settings.lock_ttl_ms
        self.context.number = bench.write(lambda t: t.instance_insert("test", "", t.now_ms(), t.now_ms() + lease_ms))
        self.firing = FireStep(self.context)
        self.releasing = PlannedStep(self.context)
        self.rescuing = RescueStep(self.context)
        self.backfilling = BackfillStep(self.context)
        self.settling = SettleStep(self.context)
        self.sweeping = SweepStep(self.context)
        self.launched: list[tuple[RunRow, CompiledSchedule]] = []
        self.to_end: list[RunRow] = []

    # --- steps ----------------------------------------------------------------------------------------------------

    def on_time(self, limit: int = 100) -> StepResult:
        return self._do(lambda t: self.firing.on_time(t, limit))

    def catch_up(self, budget: int = 1_000, limit: int = 100) -> StepResult:
        return self._do(lambda t: self.firing.catch_up(t, limit, budget))

    def planned(self, limit: int = 100) -> StepResult:
        return self._do(lambda t: self.releasing.due(t, limit))

    def rescue(self, limit: int = 100) -> StepResult:
        return self._do(lambda t: self.rescuing.claim(t, limit))

    def adopt(self) -> StepResult:
        """Adopt every run that the ledger assigns to this instance."""
        return self._do(lambda t: self.rescuing.adopt(t, self.rescuing.unknown(t, [])))

    def backfill(self, limit: int = 100) -> StepResult:
        return self._do(lambda t: self.backfilling.due(t, limit))

    def tick(self) -> list[str]:
        """Do all due work as an engine does, and return the times of the launched runs."""
        self.beat()
        before = len(self.launched)
        while self.on_time().claimed:
            pass
        self.rescue()
        self.planned()
        while self.catch_up().runs:
            while self.on_time().claimed:
                pass
        return [shown(_moment(row)) for row, _ in self.launched[before:]]

    def settle(self, state: RunState = RunState.SUCCESS, row: RunRow | None = None, **other: Any) -> StepResult:
        """Write the outcome of a run, by default the oldest that this worker has launched."""
        row = row or self.take()
        outcome = Outcome(*row.id, row.attempt, state, failures=row.failures)._replace(**other)
        settled = self.bench.write(lambda t: self.settling.settle(t, [outcome]))
        self.launched += settled.launches
        return settled

    def take(self) -> RunRow:
        """Remove and return the oldest run that this worker executes."""
        return self.launched.pop(0)[0]

    def beat(self) -> bool:
        """Renew the lease, and return whether it was still valid."""
        lease_ms = int(self.bench.clock.now() * 1000) + self.context.settings.lock_ttl_ms
        return self.bench.write(lambda t: t.lease_renew(self.context.number, t.now_ms(), 0, lease_ms))

    def sweep(self) -> None:
        """Do the periodic cleanup of an engine."""
        outcomes = self.bench.read(self.sweeping.zombies)
        if outcomes:
            self.bench.write(lambda t: self.settling.settle(t, outcomes))
        self.bench.write(self.sweeping.expire)

    def launch(self, index: int = -1) -> RunContext:
        """Return the run context that the executor receives for a launched run."""
        row, compiled = self.launched[index]
        payload = row.payload if row.payload is not None else compiled.payload
        return RunContext(row, compiled.namespace, compiled.schedule_id, compiled.action, payload)

    def _do(self, step: Callable[[Transaction], StepResult]) -> StepResult:
        result = self.bench.write(step)
        self.launched += result.launches
        self.to_end += result.to_end
        outcomes = [_discarded(row) for row, _ in result.discarded]
        if outcomes:
            self.launched += self.bench.write(lambda t: self.settling.settle(t, outcomes)).launches
        return result


def _discarded(row: RunRow) -> Outcome:
    reason = Reason.CANCEL_REQUESTED if row.cancel_requested else Reason.DELETED
    return Outcome(*row.id, row.attempt, RunState.CANCELLED, reason, row.failures)


def held_of(row: RunRow) -> HeldRun:
    """Return the key and the fence of a run."""
    return (*row.id, row.attempt)


def _moment(row: RunRow) -> datetime:
    return datetime.fromtimestamp(row.nominal_s, UTC)


@contextmanager
def open_transaction(store: Store, work: Callable[[Transaction], object]) -> Iterator[None]:
    """Run a transaction that does its work at once and commits at the end of the block."""
    done, leave = Event(), Event()

    def held_open(transaction: Transaction) -> None:
        work(transaction)
        done.set()
        assert leave.wait(SECONDS)

    future = store.write(held_open)
    assert done.wait(SECONDS)
    try:
        yield
    finally:
        leave.set()
        future.result(SECONDS)
