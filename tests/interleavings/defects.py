"""Planted defects that no serial order shows. An order of one of its pairs must detect each.

The serial orders run with the defect in place too, so that only an interleaving can detect it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.interleavings.search import Databases, Report, explore
from tests.support.planting import Defect, Patches, planted
from tompion.model.backfill import BackfillRow
from tompion.model.rows import ScheduleRow
from tompion.model.schedule_state import ScheduleState
from tompion.operations.context import OperationContext
from tompion.operations.schedules import repository
from tompion.store.postgres.driver import PostgresTransaction
from tompion.store.postgres.prepared import load_statements

MAX_ORDERS = 150
"""Number of orders of each pair before a defect counts as not detected."""


class InterleavingDefect(NamedTuple):
    """A planted defect, and the pairs that detect it."""

    name: str
    plant: Callable[[Patches], None]
    pairs: tuple[tuple[str, str], ...]


INTERLEAVING_DEFECTS: list[InterleavingDefect] = []


def interleaving_defect(*pairs: tuple[str, str]) -> Callable[[Callable[[Patches], None]], Callable[[Patches], None]]:
    """Add a defect and its pairs to the list."""

    def add(plant: Callable[[Patches], None]) -> Callable[[Patches], None]:
        INTERLEAVING_DEFECTS.append(InterleavingDefect(plant.__name__, plant, pairs))
        return plant

    return add


@interleaving_defect(("fire", "pause"), ("fire", "fire"))
def a_claim_locks_nothing(patches: Patches) -> None:
    """A due schedule fires as it was read, although another transaction has paused or fired it since."""
    _remove(patches, "state_claim_due", b"FOR UPDATE SKIP LOCKED")


@interleaving_defect(("pause", "trigger"), ("settle", "trigger"))
def a_state_is_read_without_a_lock(patches: Patches) -> None:
    """Two transactions change the same schedule state, and the later write undoes the earlier one."""
    _remove(patches, "state_lock", b"FOR UPDATE")
    _remove(patches, "state_lock_by_id", b"FOR UPDATE")


@interleaving_defect(("pause", "skip"), ("settle", "update"))
def a_state_is_read_before_its_lock(patches: Patches) -> None:
    """The schedule state is locked, but the transaction uses the row that it read before the lock."""
    rows = PostgresTransaction.rows

    def early(self: PostgresTransaction, name: str, params: Any) -> list[tuple[Any, ...]]:
        if name not in ("state_lock", "state_lock_by_id"):
            return rows(self, name, params)
        row = None if name == "state_lock" else self.schedule_get(params["namespace"], params["schedule_id"])
        keys = params if name == "state_lock" else {"keys": [] if row is None else [row.schedule_key]}
        states = rows(self, "state_get", keys)
        rows(self, name, params)
        return states

    patches.set(PostgresTransaction, "rows", early)


@interleaving_defect(("update", "pause"))
def a_token_is_compared_before_the_lock(patches: Patches) -> None:
    """The token is read before the schedule state is locked, so that two users change the same version."""
    lock = repository.lock_schedule

    def early(context: OperationContext, schedule_id: str) -> tuple[ScheduleRow, ScheduleState | None] | None:
        row = context.transaction.schedule_get(context.namespace, schedule_id)
        locked = lock(context, schedule_id)
        return None if row is None or locked is None else (row, locked[1])

    patches.set(repository, "lock_schedule", early)


@interleaving_defect(("backfill", "backfill"), ("delete", "backfill"))
def a_backfill_is_not_read_again(patches: Patches) -> None:
    """The progress of a backfill is read before its schedule is locked, so that two instances run the same ticks."""
    due = PostgresTransaction.backfill_list_due

    def remembering(self: PostgresTransaction, now_ms: int, limit: int) -> list[BackfillRow]:
        rows = due(self, now_ms, limit)
        vars(self)["seen"] = {row.backfill_id: row for row in rows}
        return rows

    patches.set(PostgresTransaction, "backfill_list_due", remembering)
    patches.set(PostgresTransaction, "backfill_get", lambda self, backfill_id: vars(self)["seen"].get(backfill_id))


@interleaving_defect(("rescue", "rescue"))
def a_run_is_claimed_without_a_lock(patches: Patches) -> None:
    """Two instances read the same run without a worker, and both claim it."""
    _remove(patches, "run_claim", b"FOR UPDATE OF r SKIP LOCKED")
    _remove(
        patches, "run_claim", b"AND due_ms <= %(now_ms)s AND state IN ('ENQUEUED', 'STARTED')\nRETURNING", b"RETURNING"
    )


@interleaving_defect(("fire", "rescue"))
def a_lease_expires_during_a_fire(patches: Patches) -> None:
    """Another instance can end the lease of an instance that fires, so that its new runs have no owner."""
    statement = load_statements()["lease_share"]
    _replace_statement(patches, "lease_share", statement.text.replace(b"pg_advisory_xact_lock_shared", b"int8pl"))


def _remove(patches: Patches, name: str, old: bytes, new: bytes = b"") -> None:
    text = load_statements()[name].text
    assert old in text, f"{name} has no {old!r}"
    _replace_statement(patches, name, text.replace(old, new))


def _replace_statement(patches: Patches, name: str, text: bytes) -> None:
    statements = load_statements()
    before = statements[name]
    patches.later(lambda: statements.__setitem__(name, before))
    statements[name] = before._replace(text=text)


def detect(defect: InterleavingDefect, databases: Databases, seed: int = 1) -> Report | None:
    """Return the report of the first pair whose orders detect a defect."""
    with planted(Defect(defect.name, defect.plant)):
        reports = (explore(pair, databases, MAX_ORDERS, seed, stop_early=True) for pair in defect.pairs)
        return next((report for report in reports if report.anomalies), None)
