"""The contract of a store.

A store runs *work*, a function of a :class:`Transaction`, inside one transaction on a thread of its own, and returns a
future. Asynchronous callers await it, synchronous callers wait for its result, and a simulation gets it immediately.
Work may be called again after a failure, so it must have no effect outside of the transaction: it launches nothing and
calls no other service between begin and commit.
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
from tompion.model.sql_call import SqlCall, SqlResults
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
from tompion.store.tables.run_claims import RunClaimTable
from tompion.store.tables.schedule_state import ScheduleStateTable
from tompion.store.tables.schedules import ScheduleTable
from tompion.store.tables.search_attributes import SearchAttributeTable
from tompion.store.tables.versions import VersionTable
from tompion.store.tables.workflows import WorkflowTable

__all__ = ["FAR_S", "Params", "Store", "Transaction", "Work"]

T = TypeVar("T")
FAR_S = 1 << 40
"""Later than any nominal time. Lists that are read backwards begin here."""


class Transaction(
    ScheduleTable,
    VersionTable,
    ScheduleStateTable,
    RunClaimTable,
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
    """One transaction: the statements of all tables, and the order in which the rows of a decision are written.

    ``supports_calls`` is true if users' tables and functions are in the same database, so that calls can be part of it.
    """

    supports_calls = False

    def restrict_to(self, namespace: str) -> None:
        """Restrict the rest of the transaction to one namespace, if the database supports that.

        This is a second line of defence. Every statement also names its namespace.
        """

    def execute_calls(self, calls: Sequence[SqlCall], timeout_ms: int) -> SqlResults:
        """Execute calls as part of this transaction, each within a time limit.

        A call that fails has no effect, and its result has the error. If time runs out, only the results of the first
        calls are returned.
        """
        raise StoreError("this store cannot call users' tables and functions. Use a postgresql:// store")

    def run_list_all_in_flight(self) -> list[RunRow]:
        """Return all runs in flight, as of one moment."""
        return self.run_list_in_flight(self.state_list_in_flight())

    def calendar_list_for_version(self, row: DefinitionRow) -> list[CalendarRow]:
        """Return the named calendars of a version, each in the version that was current when it was written.

        Raises :class:`~tompion.errors.StoreError` if one is missing, because its excluded days are unknown.
        """
        if row.calendars == "{}":
            return []
        calendars = []
        for name, version in json.loads(row.calendars).items():
            calendar = self.calendar_get(row.namespace, name, version)
            if calendar is None:
                raise StoreError(f"version {version} of its calendar {name!r} is missing")
            calendars.append(calendar)
        return calendars

    def write_decisions(self, writes: DecisionWrites) -> WriteResult:
        """Write decisions about locked schedules: replaced runs first, then the ledger, then the states."""
        states = writes.states
        superseded: list[RunRow] = []
        given_up: list[RunRow] = []
        if writes.supersede:
            superseded = self.run_supersede(writes.supersede, writes.now_ms)
            states = without_superseded(states, superseded)
        if writes.cancel:
            given_up = self.run_give_up_unheld(writes.cancel, Reason.SUPERSEDED, writes.now_ms)
            self.backfill_wake({run.schedule_key for run in given_up if run.origin}, writes.now_ms)
            states = without_unheld(states, given_up, writes.now_ms)
        to_end = [
            *self.run_terminate_in_flight(writes.terminate, writes.now_ms),
            *self.run_cancel_in_flight(writes.cancel),
        ]
        duplicates = self.run_insert(writes.runs)
        if any(run.owner is None and run.state == RunState.ENQUEUED for run in writes.runs):
            self.notify()  # another instance serves the queue of such a run
        if duplicates:
            states = without_duplicates(states, writes.runs, duplicates)
        already_started = self.run_insert_fast(writes.starts)
        steps = fast_advances_without_duplicates(writes.steps, already_started) if already_started else writes.steps
        self.dropped_range_insert(writes.dropped_ranges)
        self.state_update(states)
        self.state_advance_fast(steps)
        return WriteResult(
            duplicates=duplicates | already_started, to_end=to_end, superseded=superseded, given_up=given_up
        )


Work = Callable[[Transaction], T]


class Store(ABC):
    """A place to keep schedules and runs.

    ``is_out_of_process`` is true if another process executes the transactions, so that this one can work meanwhile.
    """

    is_out_of_process = False

    @abstractmethod
    def write(self, work: Work[T]) -> Future[T]:
        """Run work in a transaction and commit. If the work raises, nothing is written."""

    @abstractmethod
    def read(self, work: Work[T]) -> Future[T]:
        """Run work that writes nothing."""

    @abstractmethod
    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call ``wake`` (from any thread) when something has become due. Return a function that unsubscribes."""

    @property
    def knows_presence(self) -> bool:
        """Return whether the store can show that a process has ended."""
        return False

    def hold_presence(self, instance_id: int) -> None:  # noqa: B027 - a store without locks does nothing
        """Hold a lock for an instance of this process. It ends with the process."""

    def drop_presence(self, instance_id: int) -> None:  # noqa: B027 - a store without locks does nothing
        """Release the lock of an instance."""

    def is_present(self, instance_id: int) -> bool:
        """Return whether other processes can see that the process of an instance is alive."""
        return True

    def find_absent(self, own_id: int) -> Future[dict[int, int]]:
        """Return the other instances with a valid lease whose process has ended, each with its last heartbeat.

        A process that is alive but slow is never one of them. One whose connection to the store was closed may be,
        until it has connected again.
        """
        future: Future[dict[int, int]] = Future()
        future.set_result({})
        return future

    @abstractmethod
    def close(self) -> None:
        """Release all threads and connections."""
