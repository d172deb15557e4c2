"""The change feed: runs and definitions that have changed since the last poll, in all namespaces.

The ledger and the audit number their rows, but a transaction that takes a number early may commit late. Each poll
reads the last few numbers again and remembers what it has returned of them. It also remembers open runs, because a
consumer wants to see them end.

A consumer has read something before its first poll, and would miss changes in between. So the first poll returns recent
changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from tompion.encoding.instant import datetime_ms
from tompion.model.insight import ScheduleEdit, Update
from tompion.model.rows import AuditRow
from tompion.model.run import OPEN, RunRow
from tompion.operations.context import OperationContext
from tompion.operations.views import run_view

REREAD_ROWS = 500
"""The number of last row numbers that each poll reads again."""
MAX_OPEN_RUNS_BACK = 100_000
"""How many run numbers back the first poll searches for open runs."""
RECENT_MS = 10_000
"""The maximum age of a change that the first poll returns."""
MAX_ROWS = 2_000
"""The maximum number of rows per poll. A consumer further behind must start again."""


class FeedPosition(NamedTuple):
    """The position of a consumer: the last numbers, and the content of the last runs and of open runs."""

    run: int
    edit: int
    runs: Mapping[int, int]
    edits: frozenset[int]


class FeedPage(NamedTuple):
    """The changes of one poll. ``behind`` means that there were too many to return."""

    updates: tuple[tuple[str, Update], ...]
    seen: FeedPosition
    behind: bool = False


def poll_changes(context: OperationContext, seen: FeedPosition | None = None) -> FeedPage:
    """Return the changes since the last poll, each with its namespace. The first poll returns recent changes."""
    transaction = context.transaction
    if seen is None:
        last = transaction.run_last_number()
        seen = FeedPosition(last, transaction.audit_last_number(), {}, frozenset())
        runs, edits = _read(context, seen)
        since_ms = context.now_ms - RECENT_MS
        updates = _updates(
            context,
            [row for row in runs.values() if _changed_ms(row) >= since_ms],
            [row for row in edits if row.at_ms >= since_ms],
        )
        runs |= dict(transaction.run_list_open_after(last - MAX_OPEN_RUNS_BACK, MAX_ROWS))
        return FeedPage(updates, _after(seen, runs, edits))
    runs, edits = _read(context, seen)
    if len(runs) > MAX_ROWS or len(edits) > MAX_ROWS:
        return FeedPage((), poll_changes(context).seen, behind=True)
    changed = [row for number, row in runs.items() if seen.runs.get(number) != hash(row)]
    updates = _updates(context, changed, [row for row in edits if row.audit_number not in seen.edits])
    return FeedPage(updates, _after(seen, runs, edits))


def _updates(context: OperationContext, runs: list[RunRow], edits: list[AuditRow]) -> tuple[tuple[str, Update], ...]:
    names = context.transaction.schedule_list_by_key(row.schedule_key for row in runs)
    return (
        *(
            (names[row.schedule_key].namespace, replace(run_view(row, names[row.schedule_key]), result=None))
            for row in runs
            if row.schedule_key in names
        ),
        *((row.namespace, _edited(row)) for row in edits),
    )


def _changed_ms(row: RunRow) -> int:
    return max(row.decided_ms, row.queued_ms or 0, row.started_ms or 0, row.finished_ms or 0)


def _read(context: OperationContext, seen: FeedPosition) -> tuple[dict[int, RunRow], list[AuditRow]]:
    transaction = context.transaction
    runs = dict(transaction.run_list_after(seen.run - REREAD_ROWS, MAX_ROWS + REREAD_ROWS + 1))
    older = [number for number in seen.runs if number <= seen.run - REREAD_ROWS]
    if older:
        runs |= dict(transaction.run_list_by_number(older))
    return runs, transaction.audit_list_after(seen.edit - REREAD_ROWS, MAX_ROWS + REREAD_ROWS + 1)


def _after(seen: FeedPosition, runs: Mapping[int, RunRow], edits: list[AuditRow]) -> FeedPosition:
    last = max([seen.run, *runs])
    last_edit = max([seen.edit, *(row.audit_number for row in edits)])
    return FeedPosition(
        last,
        last_edit,
        {number: hash(row) for number, row in runs.items() if number > last - REREAD_ROWS or row.state in OPEN},
        frozenset(row.audit_number for row in edits if row.audit_number > last_edit - REREAD_ROWS),
    )


def _edited(row: AuditRow) -> ScheduleEdit:
    return ScheduleEdit(row.namespace, row.schedule_id, row.operation, row.actor, row.token, datetime_ms(row.at_ms))
