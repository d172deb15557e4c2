"""The contract of a store.

A store runs *work*, a function of a :class:`Transaction`, inside one transaction, on a thread of its own, and answers
with a future: asynchronous callers await it, synchronous ones ask for its result, a simulation gets it at once.  Work
may be called again after a failure, so it must not have effects elsewhere; nothing is launched, and nobody is called,
between begin and commit.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeVar

from tompion.errors import StoreError
from tompion.model.decision_writes import DecisionWrites, WriteResult
from tompion.model.rows import CalendarRow, DefinitionRow
from tompion.model.run import Reason, RunRow, RunState
from tompion.model.sql_call import Answers, SqlCall
from tompion.plan.counters import (
    fast_advances_without_duplicates,
    without_duplicates,
    without_superseded,
    without_unheld,
)
from tompion.store.driver_transaction import Params
from tompion.store.tables.api_keys import ApiKeyTable
from tompion.store.tables.audit import AuditTable
from tompion.store.tables.backfills import BackfillTable
from tompion.store.tables.calendars import CalendarTable
from tompion.store.tables.dropped_ranges import DroppedRangeTable
from tompion.store.tables.instances import InstanceTable
from tompion.store.tables.notifications import NotificationTable
from tompion.store.tables.requests import RequestTable
from tompion.store.tables.runs import RunTable
from tompion.store.tables.schedule_state import ScheduleStateTable
from tompion.store.tables.schedules import ScheduleTable
from tompion.store.tables.search_attributes import SearchAttributeTable
from tompion.store.tables.versions import VersionTable
from tompion.store.tables.workflows import WorkflowTable

__all__ = ["FAR_S", "Params", "Store", "Transaction", "Work"]

T = TypeVar("T")
FAR_S = 1 << 40
"""Later than any nominal time: where a list that is read backwards begins."""


class Transaction(
    ScheduleTable,
    VersionTable,
    ScheduleStateTable,
    RunTable,
    DroppedRangeTable,
    BackfillTable,
    CalendarTable,
    WorkflowTable,
    AuditTable,
    RequestTable,
    InstanceTable,
    ApiKeyTable,
    NotificationTable,
    SearchAttributeTable,
):
    """One transaction: the statements, and the one order in which the rows of a decision are written.

    ``can_call`` says that users' tables and functions are where ours are, so that a call can be part of it.
    """

    can_call = False

    def enter(self, namespace: str) -> None:
        """See and change nothing but one namespace from now on, where the database can see to that.

        This is a second wall: every statement names the namespace that it is about by itself.
        """

    def call(self, calls: Sequence[SqlCall], timeout_ms: int) -> Answers:
        """Carry out calls, each within a time limit, as part of this transaction.

        One that fails has no effect, says why, and spoils nothing.  There may be time for some of them only: then the
        answers are those of the first.
        """
        raise StoreError("this store has no place for users' tables and functions; use postgresql://…")

    def run_list_all_in_flight(self) -> list[RunRow]:
        """Return everything in flight, as of one moment."""
        return self.run_list_in_flight(self.state_list_in_flight())

    def calendars_of(self, row: DefinitionRow) -> list[CalendarRow]:
        """Return the named calendars of a version, each as it was when the version was written.

        Raises :class:`~tompion.errors.StoreError` if one is gone: nobody knows any more which days it excluded.
        """
        if row.calendars == "{}":
            return []
        found = []
        for name, version in json.loads(row.calendars).items():
            calendar = self.calendar_get(row.namespace, name, version)
            if calendar is None:
                raise StoreError(f"version {version} of its calendar {name!r} is missing")
            found.append(calendar)
        return found

    def record(self, record: DecisionWrites) -> WriteResult:
        """Write what was decided about locked schedules: who gives way first, then the ledger, then the dials."""
        states = record.states
        superseded: list[RunRow] = []
        given_up: list[RunRow] = []
        if record.supersede:
            superseded = self.run_supersede(record.supersede, record.now_ms)
            states = without_superseded(states, superseded)
        if record.cancel:
            given_up = self.run_give_up_unheld(record.cancel, Reason.SUPERSEDED, record.now_ms)
            self.backfill_wake({run.schedule_key for run in given_up if run.origin}, record.now_ms)
            states = without_unheld(states, given_up, record.now_ms)
        to_end = [
            *self.run_terminate_in_flight(record.terminate, record.now_ms),
            *self.run_cancel_in_flight(record.cancel),
        ]
        duplicates = self.run_insert(record.runs)
        if any(run.owner is None and run.state == RunState.ENQUEUED for run in record.runs):
            self.notify()  # whoever serves its queue is somebody else
        if duplicates:
            states = without_duplicates(states, record.runs, duplicates)
        started_before = self.run_insert_fast(record.starts)
        steps = fast_advances_without_duplicates(record.steps, started_before) if started_before else record.steps
        self.dropped_range_insert(record.dropped_ranges)
        self.state_update(states)
        self.state_advance_fast(steps)
        return WriteResult(duplicates | started_before, to_end, superseded, given_up)


Work = Callable[[Transaction], T]


class Store(ABC):
    """A place to keep schedules and runs.

    ``works_beside`` says that transactions are another process's work: while they run, this one can do its own.
    """

    works_beside = False

    @abstractmethod
    def write(self, work: Work[T]) -> Future[T]:
        """Run work in a transaction and commit; if it raises, nothing was written."""

    @abstractmethod
    def read(self, work: Work[T]) -> Future[T]:
        """Run work that writes nothing."""

    @abstractmethod
    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call ``wake`` (from any thread) when something has become due; return how to stop that."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything."""
