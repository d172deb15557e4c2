"""Mistakes that no serial order shows: each must be caught by an order of one of its pairs.

The serial orders are played with the mistake in place too, so whatever is caught is caught by an interleaving alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.interleavings.search import Report, Worlds, explore
from tests.support.planting import Defect, Patches, planted
from tompion.model.backfill import BackfillRow
from tompion.model.rows import ScheduleRow
from tompion.model.schedule_state import ScheduleState
from tompion.operations.context import OperationContext
from tompion.operations.schedules import repository
from tompion.store.postgres.driver import PostgresTransaction
from tompion.store.postgres.prepared import load_statements

MOST = 150
"""So many orders of each pair are tried before a mistake counts as missed."""


class Mistake(NamedTuple):
    """A mistake, how to make it, and the pairs that give it away."""

    name: str
    plant: Callable[[Patches], None]
    pairs: tuple[tuple[str, str], ...]


MISTAKES: list[Mistake] = []


def mistake(*pairs: tuple[str, str]) -> Callable[[Callable[[Patches], None]], Callable[[Patches], None]]:
    """Put a mistake on the list."""

    def put(plant: Callable[[Patches], None]) -> Callable[[Patches], None]:
        MISTAKES.append(Mistake(plant.__name__, plant, pairs))
        return plant

    return put


@mistake(("fire", "pause"), ("fire", "fire"))
def a_claim_locks_nothing(patches: Patches) -> None:
    """What is due is read, and fired as it was read, whoever has paused or fired it since."""
    _without(patches, "state_claim_due", b"FOR UPDATE SKIP LOCKED")


@mistake(("pause", "trigger"), ("settle", "trigger"))
def a_dial_is_read_without_a_lock(patches: Patches) -> None:
    """Two change the same dial, and the later write undoes the earlier."""
    _without(patches, "state_lock", b"FOR UPDATE")
    _without(patches, "state_lock_by_id", b"FOR UPDATE")


@mistake(("pause", "skip"), ("settle", "update"))
def a_dial_is_read_before_its_lock(patches: Patches) -> None:
    """The lock is taken, but what is worked with was read before it was."""
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


@mistake(("update", "pause"))
def a_token_is_compared_before_the_lock(patches: Patches) -> None:
    """A schedule's row is read once, before its dial is locked: two people change what both have read."""
    lock = repository.lock_schedule

    def early(context: OperationContext, schedule_id: str) -> tuple[ScheduleRow, ScheduleState | None] | None:
        row = context.transaction.schedule_get(context.namespace, schedule_id)
        locked = lock(context, schedule_id)
        return None if row is None or locked is None else (row, locked[1])

    patches.set(repository, "lock_schedule", early)


@mistake(("backfill", "backfill"), ("delete", "backfill"))
def a_backfill_is_not_read_again(patches: Patches) -> None:
    """What a backfill has still to do was read before its schedule was locked: two instances do it."""
    due = PostgresTransaction.backfill_list_due

    def remembering(self: PostgresTransaction, now_ms: int, limit: int) -> list[BackfillRow]:
        found = due(self, now_ms, limit)
        vars(self)["seen"] = {row.backfill_id: row for row in found}
        return found

    patches.set(PostgresTransaction, "backfill_list_due", remembering)
    patches.set(PostgresTransaction, "backfill_get", lambda self, backfill_id: vars(self)["seen"].get(backfill_id))


@mistake(("rescue", "rescue"))
def a_run_is_picked_without_a_lock(patches: Patches) -> None:
    """Two instances find the same run that nobody holds, and take it one after the other."""
    _without(patches, "run_claim", b"FOR UPDATE OF r SKIP LOCKED")
    _without(
        patches, "run_claim", b"AND due_ms <= %(now_ms)s AND state IN ('ENQUEUED', 'STARTED')\nRETURNING", b"RETURNING"
    )


@mistake(("fire", "rescue"))
def a_lease_is_taken_from_somebody_at_work(patches: Patches) -> None:
    """An instance that fires does not keep others from ending its lease: what it starts is held by nobody."""
    statement = load_statements()["lease_share"]
    _become(patches, "lease_share", statement.text.replace(b"pg_advisory_xact_lock_shared", b"int8pl"))


def _without(patches: Patches, name: str, old: bytes, new: bytes = b"") -> None:
    text = load_statements()[name].text
    assert old in text, f"{name} has no {old!r}"
    _become(patches, name, text.replace(old, new))


def _become(patches: Patches, name: str, text: bytes) -> None:
    statements = load_statements()
    before = statements[name]
    patches.later(lambda: statements.__setitem__(name, before))
    statements[name] = before._replace(text=text)


def caught(chosen: Mistake, worlds: Worlds, seed: int = 1) -> Report | None:
    """The first pair whose orders give a mistake away."""
    with planted(Defect(chosen.name, chosen.plant)):
        reports = (explore(pair, worlds, MOST, seed, enough=True) for pair in chosen.pairs)
        return next((report for report in reports if report.anomalies), None)
