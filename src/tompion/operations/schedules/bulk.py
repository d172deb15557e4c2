"""Pause, resume and trigger many schedules at once.

One request is one transaction, which delays the ticks of the schedules that it changes. So it changes at most one page
of schedules, and its result has the next page.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from tompion.encoding.instant import When
from tompion.errors import InvalidField, TompionError, display
from tompion.model.bulk import BulkRefusal, BulkResult
from tompion.model.policy import OVERLAP_ALIASES, OnResume, Overlap
from tompion.model.rows import ScheduleFilter, ScheduleRow
from tompion.model.schedule import Run
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import idempotent
from tompion.operations.instants import epoch_ms
from tompion.operations.paging import page_limit, page_name
from tompion.operations.schedules.control import pause, resume, trigger_now
from tompion.operations.schedules.crud import schedule_filter
from tompion.operations.validation import UNSET, check_flag, check_name, check_note, choice

DEFAULT_LIMIT = 100
Change: TypeAlias = Callable[[str], object]


class _Selection(NamedTuple):
    """The schedules of a bulk request."""

    filters: ScheduleFilter
    schedule_ids: tuple[str, ...] | None
    limit: int
    after: str


@idempotent(BulkResult)
def pause_matching(  # noqa: PLR0913 - a selection and the parts of a pause
    context: OperationContext,
    *,
    schedule_ids: list[str] | None = None,
    status: str | None = None,
    workflow_id: str | None = None,
    user_id: str | None = None,
    label: str | None = None,
    text: str | None = None,
    everything: bool = False,
    note: str | None = None,
    until: When | None = None,
    paused_by: str | None = None,
    dry_run: bool = False,
    limit: int = DEFAULT_LIMIT,
    after: str | None = None,
    request_id: str | None = None,  # noqa: ARG001 - the decorator reads it
) -> BulkResult:
    """Pause the schedules that match. Those that are paused already do not change.

    They are chosen by the filters of a list or by ids. ``everything`` confirms that a request without a filter means
    all of them. With ``dry_run`` nothing changes.
    """
    selection = _select(
        context, schedule_ids, schedule_filter(status, workflow_id, user_id, label, text), everything, limit, after
    )
    if until is not None:
        epoch_ms("until", until)
    check_note(note)
    change = partial(pause, context, note=note, until=until, paused_by=paused_by)
    return _change_each(context, selection, change, dry_run, lambda row: row.state == "paused")


@idempotent(BulkResult)
def resume_matching(  # noqa: PLR0913 - a selection and the parts of a resume
    context: OperationContext,
    *,
    schedule_ids: list[str] | None = None,
    status: str | None = None,
    workflow_id: str | None = None,
    user_id: str | None = None,
    label: str | None = None,
    text: str | None = None,
    everything: bool = False,
    on_resume: str | None = None,
    dry_run: bool = False,
    limit: int = DEFAULT_LIMIT,
    after: str | None = None,
    request_id: str | None = None,  # noqa: ARG001 - the decorator reads it
) -> BulkResult:
    """Resume the paused schedules that match, chosen as in ``pause_matching``."""
    selection = _select(
        context, schedule_ids, schedule_filter(status, workflow_id, user_id, label, text), everything, limit, after
    )
    if on_resume is not None:
        choice("on_resume", on_resume, OnResume)
    change = partial(resume, context, on_resume=on_resume)
    return _change_each(context, selection, change, dry_run, lambda row: row.state != "paused")


@idempotent(BulkResult)
def trigger_matching(  # noqa: PLR0913 - a selection and the parts of a trigger
    context: OperationContext,
    *,
    schedule_ids: list[str] | None = None,
    status: str | None = None,
    workflow_id: str | None = None,
    user_id: str | None = None,
    label: str | None = None,
    text: str | None = None,
    everything: bool = False,
    overlap: str | None = None,
    payload: Any = UNSET,
    dry_run: bool = False,
    limit: int = DEFAULT_LIMIT,
    after: str | None = None,
    request_id: str | None = None,
) -> BulkResult:
    """Run the schedules that match now, once each, chosen as in ``pause_matching``."""
    selection = _select(
        context, schedule_ids, schedule_filter(status, workflow_id, user_id, label, text), everything, limit, after
    )
    if overlap is not None:
        choice("overlap", overlap, Overlap, OVERLAP_ALIASES)

    def change(schedule_id: str) -> object:
        return trigger_now(context, schedule_id, overlap, payload, request_id)

    return _change_each(context, selection, change, dry_run, lambda _: False)


def _select(  # noqa: PLR0913 - the parts of a selection
    context: OperationContext,
    schedule_ids: list[str] | None,
    filters: ScheduleFilter,
    everything: bool,
    limit: int,
    after: str | None,
) -> _Selection:
    """Return the checked selection of schedules: ids, or a filter and a page."""
    if not check_flag("everything", everything) and schedule_ids is None and not any(filters):
        raise InvalidField("everything", "send a filter or schedule_ids, or set this to true to change all schedules")
    if schedule_ids is None:
        return _Selection(filters, None, page_limit(context, limit), page_name(after))
    most = context.settings.max_page
    if type(schedule_ids) not in (list, tuple) or len(schedule_ids) > most:
        raise InvalidField("schedule_ids", f"expected a list of at most max_page ({most}) ids")
    if any(filters) or everything or after is not None:
        raise InvalidField("schedule_ids", "sent together with a filter or a page; send one of them")
    names = sorted({check_name("schedule_ids", schedule_id, context.settings) for schedule_id in schedule_ids})
    return _Selection(filters, tuple(names), len(names), "")


def _change_each(
    context: OperationContext,
    selection: _Selection,
    change: Change,
    dry_run: bool,
    is_unchanged: Callable[[ScheduleRow], bool],
) -> BulkResult:
    """Change the chosen schedules one after another. A refused schedule does not stop the others."""
    dry_run = check_flag("dry_run", dry_run)
    rows, refused = _find(context, selection)
    page = rows[: selection.limit]
    changed = []
    run_ids = []
    for row in page:
        if is_unchanged(row):
            continue
        try:
            result = None if dry_run else change(row.schedule_id)
            if isinstance(result, Run):
                run_ids.append(result.run_id)
            changed.append(row.schedule_id)
        except TompionError as error:
            if error.retryable:  # it concerns the transaction, not the schedule
                raise
            refused.append(BulkRefusal(row.schedule_id, error.code, str(error)))
    return BulkResult(
        schedule_ids=tuple(changed),
        unchanged=sum(map(is_unchanged, page)),
        refused=tuple(refused),
        dry_run=dry_run,
        next_page=page[-1].schedule_id if len(rows) > selection.limit else None,
        run_ids=tuple(run_ids),
    )


def _find(context: OperationContext, selection: _Selection) -> tuple[list[ScheduleRow], list[BulkRefusal]]:
    """Return the chosen schedules, or those of a page and one more, and the refusals of unknown ids."""
    transaction, namespace = context.transaction, context.namespace
    if selection.schedule_ids is None:
        return transaction.schedule_list(namespace, selection.after, selection.limit + 1, selection.filters), []
    rows = [(name, transaction.schedule_get(namespace, name)) for name in selection.schedule_ids]
    existing = [row for _, row in rows if row is not None]
    missing = [
        BulkRefusal(name, "not_found", f"there is no schedule {display(name)}") for name, row in rows if row is None
    ]
    return existing, missing
