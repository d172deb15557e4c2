"""A store, a clock that is moved by hand, people who ask and workers whose steps are called one by one."""

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
"""After which a test gives up waiting."""
FUNCTION = "tasks:work"
TABLES = (
    "schedules", "schedule_versions", "schedule_state", "schedule_runs", "dropped_ranges", "backfills", "calendars",
    "calendar_uses", "workflows", "paused_targets", "audit", "audit_heads", "requests", "instances",
)  # fmt: skip


def at(text: str) -> float:
    """The instant of a time of the day: ``08:01``, ``08:01:02.5``."""
    hours, minutes, *seconds = text.split(":")
    return DAY + int(hours) * 3600 + int(minutes) * 60 + float(seconds[0] if seconds else 0)


def when(text: str) -> datetime:
    """The same as a datetime."""
    return datetime.fromtimestamp(at(text), UTC)


def shown(moment: datetime) -> str:
    """A datetime as a time of the day, with seconds only where there are some."""
    return moment.strftime("%H:%M:%S" if moment.second else "%H:%M")


class Bench:
    """A store, its clock, and what people ask of it."""

    def __init__(self, store: Store, clock: ManualClock, settings: Settings | None = None) -> None:
        self.store = store
        self.clock = clock
        self.settings = settings or Settings()
        self.damaged = False

    # --- people ---------------------------------------------------------------------------------------------------

    def write(self, work: Callable[[Transaction], T]) -> T:
        return self.store.write(work).result(SECONDS)

    def read(self, work: Callable[[Transaction], T]) -> T:
        return self.store.read(work).result(SECONDS)

    def session(self, transaction: Transaction, namespace: str = "default", actor: str = "ann") -> OperationContext:
        return OperationContext(transaction, self.settings, namespace, actor)

    def ask(
        self, operation: Callable[..., T], *args: Any, namespace: str = "default", actor: str = "ann", **given: Any
    ) -> T:
        """Send an operation in a transaction of its own."""
        return self.write(lambda t: operation(self.session(t, namespace, actor), *args, **given))

    def create(self, schedule_id: str = "report", **given: Any) -> Schedule:
        """A schedule that ticks every minute, unless said otherwise."""
        spec = {} if {"intervals", "times", "spec", "rrules", "calendars"} & given.keys() else {"cron": "* * * * *"}
        action = {} if "workflow_id" in given else {"function": FUNCTION}
        return self.ask(crud.create, schedule_id, **{**spec, **action, **given})

    def pause(self, schedule_id: str = "report", **given: Any) -> Schedule:
        return self.ask(control.pause, schedule_id, **given)

    def resume(self, schedule_id: str = "report", **given: Any) -> Schedule:
        return self.ask(control.resume, schedule_id, **given)

    def trigger(self, schedule_id: str = "report", **given: Any) -> Run:
        return self.ask(control.trigger, schedule_id, **given)

    def backfill(self, first: str, last: str, schedule_id: str = "report", **given: Any) -> Backfill:
        return self.ask(backfills.backfill, schedule_id, when(first), when(last), **given)[0]

    def get(self, schedule_id: str = "report", **given: Any) -> Schedule:
        return self.ask(crud.get, schedule_id, **given)

    # --- time -----------------------------------------------------------------------------------------------------

    def go(self, text: str) -> None:
        """Let it be this time of the day."""
        self.clock.set(at(text))

    # --- looking --------------------------------------------------------------------------------------------------

    def runs(self, schedule_id: str = "report", source: str | None = None) -> list[Run]:
        """All runs, the oldest first."""
        return list(reversed(self.ask(read.runs, schedule_id, limit=1_000, source=source).items))

    def outcomes(self, schedule_id: str = "report", source: str | None = "schedule") -> list[str]:
        """What became of each tick, the oldest first: ``08:01 SKIPPED overlap``."""
        return [
            f"{shown(run.scheduled_for)} {run.state}" + (f" {run.reason}" if run.reason else "")
            for run in self.runs(schedule_id, source)
        ]

    def dropped_ranges(self, schedule_id: str = "report") -> list[str]:
        """What was dropped together, the oldest first: ``08:05 5 missed`` says that five ended at 08:05."""
        found: tuple[DroppedTicks, ...] = self.ask(read.dropped_ranges, schedule_id)
        return [
            f"{shown(dropped_range.until)} {dropped_range.ticks} {dropped_range.reason}"
            for dropped_range in reversed(found)
        ]

    def state(self, schedule_id: str = "report", namespace: str = "default") -> ScheduleState:
        def look(transaction: Transaction) -> ScheduleState:
            row = transaction.schedule_get(namespace, schedule_id)
            assert row is not None
            return transaction.state_get([row.schedule_key])[row.schedule_key]

        return self.read(look)

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of every table."""

        def look(transaction: Transaction) -> dict[str, list[tuple[Any, ...]]]:
            return {table: sorted(self._execute(transaction, f"SELECT * FROM {table}"), key=repr) for table in TABLES}

        return self.write(look)

    def execute(self, statement: str) -> None:
        """Change something behind everybody's back."""
        self.damaged = True
        self.write(lambda t: self._execute(t, statement))

    @staticmethod
    def _execute(transaction: Any, statement: str) -> list[tuple[Any, ...]]:
        channel = getattr(transaction, "_connection", None) or transaction._cursor
        found = channel.execute(statement)
        return list(found.fetchall()) if found.description else []

    def prove(self) -> None:
        """Every tick of every schedule is accounted for exactly once."""

        def check(transaction: Transaction) -> list[Any]:
            names = self._execute(transaction, "SELECT namespace, schedule_id FROM schedules")
            return [verify(self.session(transaction, namespace), name).problems for namespace, name in names]

        problems = [problem for found in self.write(check) for problem in found]
        assert not problems

    def worker(self, *queues: str, settings: Settings | None = None) -> Worker:
        return Worker(self, queues or ("default",), settings or self.settings)


class Worker:
    """One instance whose steps are called by hand; what it launches, it remembers."""

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

    # --- the steps ------------------------------------------------------------------------------------------------

    def on_time(self, limit: int = 100) -> StepResult:
        return self._do(lambda t: self.firing.on_time(t, limit))

    def catch_up(self, budget: int = 1_000, limit: int = 100) -> StepResult:
        return self._do(lambda t: self.firing.catch_up(t, limit, budget))

    def planned(self, limit: int = 100) -> StepResult:
        return self._do(lambda t: self.releasing.due(t, limit))

    def rescue(self, limit: int = 100) -> StepResult:
        return self._do(lambda t: self.rescuing.claim(t, limit))

    def adopt(self) -> StepResult:
        """Take whatever is ours by the ledger, as if nothing were known of it."""
        return self._do(lambda t: self.rescuing.adopt(t, self.rescuing.unknown(t, [])))

    def backfill(self, limit: int = 100) -> StepResult:
        return self._do(lambda t: self.backfilling.due(t, limit))

    def tick(self) -> list[str]:
        """Everything that is due, as an engine does it; return what was launched."""
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
        """Write how a run ended: the oldest that this worker has launched, unless said otherwise."""
        row = row or self.take()
        outcome = Outcome(*row.id, row.attempt, state, failures=row.failures)._replace(**other)
        settled = self.bench.write(lambda t: self.settling.settle(t, [outcome]))
        self.launched += settled.launches
        return settled

    def take(self) -> RunRow:
        """The oldest run that this worker executes; it is its caller's from now on."""
        return self.launched.pop(0)[0]

    def beat(self) -> bool:
        """Prolong the lease; return whether it is still there."""
        lease_ms = int(self.bench.clock.now() * 1000) + self.context.settings.lock_ttl_ms
        return self.bench.write(lambda t: t.lease_renew(self.context.number, t.now_ms(), 0, lease_ms))

    def sweep(self) -> None:
        """Clean up as an engine does."""
        outcomes = self.bench.read(self.sweeping.zombies)
        if outcomes:
            self.bench.write(lambda t: self.settling.settle(t, outcomes))
        self.bench.write(self.sweeping.expire)

    def launch(self, index: int = -1) -> RunContext:
        """What the executor is told about a run that this worker has launched."""
        row, compiled = self.launched[index]
        payload = row.payload if row.payload is not None else compiled.payload
        return RunContext(row, compiled.namespace, compiled.schedule_id, compiled.action, payload)

    def _do(self, step: Callable[[Transaction], StepResult]) -> StepResult:
        fired = self.bench.write(step)
        self.launched += fired.launches
        self.to_end += fired.to_end
        outcomes = [_discarded(row) for row, _ in fired.discarded]
        if outcomes:
            self.launched += self.bench.write(lambda t: self.settling.settle(t, outcomes)).launches
        return fired


def _discarded(row: RunRow) -> Outcome:
    reason = Reason.CANCEL_REQUESTED if row.cancel_requested else Reason.DELETED
    return Outcome(*row.id, row.attempt, RunState.CANCELLED, reason, row.failures)


def held_of(row: RunRow) -> HeldRun:
    """A run as its owner holds it."""
    return (*row.id, row.attempt)


def _moment(row: RunRow) -> datetime:
    return datetime.fromtimestamp(row.nominal_s, UTC)


@contextmanager
def open_transaction(store: Store, work: Callable[[Transaction], object]) -> Iterator[None]:
    """A transaction that has done its work and commits at the end of the block."""
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
