"""Summaries of schedules: the meaning of the spec and the latest outcomes, for the rows of a list.

They are separate from the list itself, because each costs a query of the ledger and an explanation of the spec. A
client that pages through all schedules does not need them.
"""

from __future__ import annotations

from tompion.errors import InvalidField, LimitExceeded, StoreError
from tompion.model.insight import RecentOutcome, ScheduleSummary
from tompion.model.rows import ScheduleRow
from tompion.model.run import RunRow
from tompion.operations.context import OperationContext
from tompion.operations.schedules.repository import LoadedSchedule, load
from tompion.operations.validation import check_name
from tompion.operations.views import run_view
from tompion.plan.context import is_target_paused
from tompion.spec.compiler import zone_of
from tompion.spec.explain.specs import explain
from tompion.store.base import FAR_S

MAX_IDS = 200
MAX_OUTCOMES = 12


def summaries(context: OperationContext, schedule_ids: list[str]) -> tuple[ScheduleSummary, ...]:
    """Return summaries of schedules. Unknown ids are omitted."""
    if not isinstance(schedule_ids, list | tuple):
        raise InvalidField("schedule_ids", "expected a list of ids")
    if len(schedule_ids) > MAX_IDS:
        raise LimitExceeded(f"schedule_ids: {len(schedule_ids)}; at most {MAX_IDS} at once")
    names = [check_name("schedule_ids", schedule_id, context.settings) for schedule_id in schedule_ids]
    transaction = context.transaction
    rows = [row for name in names if (row := transaction.schedule_get(context.namespace, name)) is not None]
    keys = [row.schedule_key for row in rows]
    states, versions = transaction.state_get(keys), transaction.version_list_current(keys)
    paused = transaction.target_list_paused()
    results = []
    for row in rows:
        try:
            loaded = load(context, row, states.get(row.schedule_key), versions.get(row.schedule_key))
        except StoreError as error:
            results.append(ScheduleSummary(row.schedule_id, str(error), "UTC", False, ()))
            continue
        results.append(_summary(context, loaded, is_target_paused(loaded.compiled, paused)))
    return tuple(results)


def _summary(context: OperationContext, loaded: LoadedSchedule, target_paused: bool) -> ScheduleSummary:
    spec, row = loaded.definition.spec, loaded.row
    zone = zone_of(loaded.compiled.spec).name  # UTC, if its own is not known any more
    newest = context.transaction.run_list_page(row.schedule_key, (FAR_S, 0), MAX_OUTCOMES)
    return ScheduleSummary(
        row.schedule_id, explain(spec), zone, target_paused, tuple(_outcome(run, row) for run in newest)
    )


def _outcome(run: RunRow, schedule: ScheduleRow) -> RecentOutcome:
    view = run_view(run, schedule)
    return RecentOutcome(view.run_id, view.status, view.reason, view.run_at, view.started_at, view.finished_at)
