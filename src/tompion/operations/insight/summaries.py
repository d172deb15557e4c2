"""Schedules at a glance: what a list of them shows beside what is stored of each.

It is apart from the list itself, because it costs a look at the ledger for each schedule, and a sentence to be made up:
whoever pages through all of them does not want to pay for that.
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

AT_ONCE = 200
OUTCOMES = 12


def summaries(context: OperationContext, schedule_ids: list[str]) -> tuple[ScheduleSummary, ...]:
    """Return what schedules mean, and what became of their newest ticks; ids that are none are left out."""
    if not isinstance(schedule_ids, list | tuple):
        raise InvalidField("schedule_ids", "expected a list of ids")
    if len(schedule_ids) > AT_ONCE:
        raise LimitExceeded(f"schedule_ids: {len(schedule_ids)}; at most {AT_ONCE} at once")
    names = [check_name("schedule_ids", each, context.settings) for each in schedule_ids]
    transaction = context.transaction
    found = [row for name in names if (row := transaction.schedule_get(context.namespace, name)) is not None]
    keys = [row.schedule_key for row in found]
    states, versions = transaction.state_get(keys), transaction.version_list_current(keys)
    paused = transaction.target_list_paused()
    shown = []
    for row in found:
        try:
            opened = load(context, row, states.get(row.schedule_key), versions.get(row.schedule_key))
        except StoreError as error:
            shown.append(ScheduleSummary(row.schedule_id, str(error), "UTC", False, ()))
            continue
        shown.append(_glance(context, opened, is_target_paused(opened.compiled, paused)))
    return tuple(shown)


def _glance(context: OperationContext, opened: LoadedSchedule, target_paused: bool) -> ScheduleSummary:
    spec, row = opened.definition.spec, opened.row
    zone = zone_of(opened.compiled.spec).name  # UTC, if its own is not known any more
    newest = context.transaction.run_list_page(row.schedule_key, (FAR_S, 0), OUTCOMES)
    return ScheduleSummary(
        row.schedule_id, explain(spec), zone, target_paused, tuple(_outcome(run, row) for run in newest)
    )


def _outcome(run: RunRow, schedule: ScheduleRow) -> RecentOutcome:
    view = run_view(run, schedule)
    return RecentOutcome(view.run_id, view.state, view.reason, view.scheduled_for, view.started_at, view.finished_at)
