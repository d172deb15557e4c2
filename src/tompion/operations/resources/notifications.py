"""Notifications: messages that were delivered or are to be delivered, and the state of their delivery."""

from __future__ import annotations

import json

from tompion.encoding.instant import datetime_ms
from tompion.errors import InvalidField, display
from tompion.model.notification import Notification, NotificationRow, NotificationState
from tompion.model.page import Page
from tompion.operations.context import OperationContext
from tompion.operations.paging import DEFAULT_PAGE, NEWEST, page_limit, page_number
from tompion.operations.validation import check_name


def list_notifications(
    context: OperationContext,
    *,
    status: str | None = None,
    schedule_id: str | None = None,
    limit: int = DEFAULT_PAGE,
    before: str | None = None,
) -> Page[Notification]:
    """Return the notifications of a namespace, the newest first, optionally of one status or schedule."""
    if status is not None and status not in list(NotificationState):
        raise InvalidField("status", f"{display(status)}; expected one of {', '.join(NotificationState)}")
    if schedule_id is not None:
        check_name("schedule_id", schedule_id, context.settings)
    limit = page_limit(context, limit)
    start = page_number("before", before, NEWEST)
    rows = context.transaction.notification_list(context.namespace, start, limit + 1, status, schedule_id)
    items = tuple(_view(row) for row, _ in rows[:limit])
    return Page(items, str(rows[limit - 1][1]) if len(rows) > limit else None)


def _view(row: NotificationRow) -> Notification:
    """Return a notification as the API shows it."""
    return Notification(
        notification_id=row.notification_id,
        rule_name=row.rule_name,
        topic=row.topic,
        schedule_id=row.schedule_id,
        status=row.state,
        attempts=row.attempts,
        next_try_at=None if row.due_ms is None else datetime_ms(row.due_ms),
        created_at=datetime_ms(row.created_ms),
        finished_at=None if row.finished_ms is None else datetime_ms(row.finished_ms),
        last_error=row.last_error,
        summary_id=row.summary_id,
        data=json.loads(row.about),
    )
