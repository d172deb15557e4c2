"""What schedules refer to: named calendars, and pausing a workflow or a queue by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tompion.errors import InvalidField, LimitExceeded, NotFound, display
from tompion.model.page import Page
from tompion.model.rows import CalendarRow
from tompion.model.spec import NamedCalendar, SpecDocument
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import idempotent
from tompion.operations.paging import DEFAULT_PAGE, page_limit, page_name
from tompion.operations.schedules.crud import new_version
from tompion.operations.schedules.repository import (
    AuditEntry,
    audit_other,
    compile_definition,
    newest_calendars,
    open_schedule,
    save,
)
from tompion.operations.validation import check_name, check_version
from tompion.plan import edit
from tompion.plan.stored_definition import calendar_text, compact, stored_calendar
from tompion.spec.compiler import compile_spec
from tompion.spec.document import read_spec
from tompion.spec.icalendar import MAX_EVENTS


@idempotent(NamedCalendar)
def put_calendar(
    context: OperationContext, calendar: NamedCalendar | Mapping[str, Any], *, request_id: str | None = None
) -> NamedCalendar:
    """Store a named calendar; every schedule that excludes it is planned anew, as a new version."""
    given = _calendar(context, calendar)
    context.transaction.name_lock("calendar", context.namespace, given.name)
    newest = context.transaction.calendar_get(context.namespace, given.name)
    number = 1 if newest is None else newest.version + 1
    stored = replace(given, version=number)
    if newest is not None and stored_calendar(newest.document) == replace(given, version=newest.version):
        return stored_calendar(newest.document)
    text = calendar_text(stored)
    context.transaction.calendar_insert(CalendarRow(context.namespace, given.name, number, text, context.now_ms))
    note = AuditEntry("put_calendar", request_id, _before(number), {"calendar": given.name, "version": number})
    audit_other(context, note, number)
    _replan(context, given.name, request_id)
    return stored


def get_calendar(context: OperationContext, name: str, *, version: int | None = None) -> NamedCalendar:
    """Return a named calendar, the newest version by default."""
    check_name("name", name, context.settings)
    row = context.transaction.calendar_get(context.namespace, name, check_version(version))
    if row is None:
        raise NotFound(f"there is no calendar {name!r}")
    return stored_calendar(row.document)


def list_calendars(
    context: OperationContext, *, limit: int = DEFAULT_PAGE, after: str | None = None
) -> Page[NamedCalendar]:
    """Return the newest version of each named calendar, by name."""
    limit = page_limit(context, limit)
    rows = context.transaction.calendar_list(context.namespace, page_name(after), limit + 1)
    items = tuple(stored_calendar(row.document) for row in rows[:limit])
    return Page(items, rows[limit - 1].name if len(rows) > limit else None)


def _before(number: int) -> dict[str, int] | None:
    """What the audit says of the version before one."""
    return None if number == 1 else {"version": number - 1}


def _replan(context: OperationContext, name: str, request_id: str | None) -> None:
    """A new version of every schedule that excludes the calendar: its coming ticks may be others."""
    most = context.settings.max_schedules_per_calendar
    keys = context.transaction.calendar_list_users(context.namespace, name, most + 1)
    if len(keys) > most:
        raise LimitExceeded(f"more than max_schedules_per_calendar ({most}) schedules exclude {name!r}")
    rows = context.transaction.schedule_list_by_key(keys)
    for key in sorted(rows):
        if rows[key].state == "closed":
            continue
        opened = open_schedule(context, rows[key].schedule_id)
        row = opened.row._replace(version=opened.row.version + 1)
        used = newest_calendars(context, opened.definition)
        version = new_version(context, row, opened.definition, used)
        compiled = compile_definition(row, version, opened.definition, used)
        edited = edit.replace_version(opened.state, opened.compiled, compiled, context.now_ms)
        version = version._replace(after_s=edited.state.cursor_s)
        context.transaction.version_end(key, opened.version.version, edited.state.cursor_s)
        context.transaction.version_insert(version)
        changed = opened._replace(row=row, state=edited.state, version=version, compiled=compiled)
        save(context, changed, AuditEntry("calendar", request_id, None, {"calendar": name}), edited.dropped_ranges)


def _calendar(context: OperationContext, calendar: NamedCalendar | Mapping[str, Any]) -> NamedCalendar:
    if isinstance(calendar, Mapping):
        try:
            calendar = stored_calendar(compact({"dates": [], "windows": [], **calendar}))
        except (TypeError, ValueError) as error:
            raise InvalidField("calendar", f"cannot be read: {error}") from None
    if not isinstance(calendar, NamedCalendar):
        raise InvalidField("calendar", f"{display(calendar)} is not a calendar")
    if not all(isinstance(date, str) for date in calendar.dates):
        raise InvalidField("calendar.dates", f"{display(calendar.dates)}; expected dates such as 2026-12-25")
    check_name("name", calendar.name, context.settings)
    for field, given in (("dates", calendar.dates), ("windows", calendar.windows)):
        if len(given) > MAX_EVENTS:
            raise InvalidField(f"calendar.{field}", f"{len(given)} of them, more than {MAX_EVENTS}")
    probe = read_spec({"cron": "0 0 * * *", "exclude": {"named": [calendar.name]}})
    assert isinstance(probe, SpecDocument)
    compile_spec(probe, calendars=calendar)  # refuses dates and windows that cannot be read
    return calendar
