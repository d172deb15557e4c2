"""The history of schedules: audit entries and versions."""

from __future__ import annotations

from tompion.errors import NotFound, display
from tompion.model.page import Page
from tompion.model.schedule import Change, Schedule, Version
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import idempotent
from tompion.operations.paging import DEFAULT_PAGE, NEWEST, page_limit, page_number
from tompion.operations.schedules.crud import replace_definition
from tompion.operations.schedules.repository import (
    NO_SCHEDULE,
    AuditEntry,
    find,
    open_schedule,
)
from tompion.operations.schedules.schedule_document import ScheduleInput
from tompion.operations.validation import check_flag, check_name
from tompion.operations.views import change_view, version_view
from tompion.plan.stored_definition import stored_definition


def history(
    context: OperationContext,
    schedule_id: str | None = None,
    *,
    everything: bool = False,
    limit: int = DEFAULT_PAGE,
    before: str | None = None,
) -> Page[Change]:
    """Return the changes of a schedule, the newest first.

    Without an id, return the changes of objects that are not schedules, such as keys and workflows, or of all objects
    with ``everything``.
    """
    check_flag("everything", everything)
    if schedule_id is not None:
        check_name("schedule_id", schedule_id, context.settings)
    limit = page_limit(context, limit)
    start = page_number("before", before, NEWEST)
    selected_id: str | None
    if schedule_id is not None:
        selected_id = schedule_id
    elif everything:
        selected_id = None
    else:
        selected_id = NO_SCHEDULE
    rows = context.transaction.audit_list(context.namespace, selected_id, start, limit + 1)
    if not rows and before is None and schedule_id is not None:
        find(context, schedule_id)  # raises if there is no such schedule
    next_page = str(rows[limit - 1].audit_number) if len(rows) > limit else None
    return Page(tuple(change_view(row) for row in rows[:limit]), next_page)


def versions(context: OperationContext, schedule_id: str, *, limit: int = DEFAULT_PAGE) -> tuple[Version, ...]:
    """Return the versions of a schedule, the newest first."""
    row = find(context, schedule_id)
    rows = context.transaction.version_list(row.schedule_key, page_limit(context, limit))
    return tuple(version_view(version) for version in rows)


@idempotent(Schedule)
def restore(
    context: OperationContext,
    schedule_id: str,
    version: int,
    *,
    conflict_token: int | None = None,
    request_id: str | None = None,
) -> Schedule:
    """Write an old version as the newest."""
    loaded = open_schedule(context, schedule_id, conflict_token)
    is_valid = type(version) is int and 0 < version <= loaded.row.version
    old = context.transaction.version_get(loaded.row.schedule_key, version) if is_valid else None
    if old is None:
        raise NotFound(f"schedule {schedule_id!r} has no version {display(version)}")
    return replace_definition(context, loaded, ScheduleInput(stored_definition(old)), AuditEntry("restore", request_id))
