"""Named calendars that specs can exclude."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any

from tompion.errors import InvalidField, LimitExceeded, NotFound, display
from tompion.model.page import Page
from tompion.model.rows import CalendarRow
from tompion.model.spec import NamedCalendar, SpecDocument, WindowDocument
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import idempotent
from tompion.operations.paging import DEFAULT_PAGE, page_limit, page_name
from tompion.operations.schedules.repository import (
    AuditEntry,
    audit_other,
    compile_definition,
    newest_calendars,
    open_schedule,
    save,
)
from tompion.operations.schedules.version_rows import new_version
from tompion.operations.validation import check_name, check_text, check_version
from tompion.plan import edit
from tompion.plan.stored_definition import calendar_text, compact, stored_calendar
from tompion.spec.compiler import compile_spec
from tompion.spec.document import read_spec
from tompion.spec.icalendar import MAX_EVENTS

MAX_WINDOW_CHARS = 10_000
"""The maximum length of each text of a window."""


@idempotent(NamedCalendar)
def put_calendar(
    context: OperationContext, calendar: NamedCalendar | Mapping[str, Any], *, request_id: str | None = None
) -> NamedCalendar:
    """Store a named calendar. Every schedule that excludes it gets a new version with the new ticks."""
    new = _read_calendar(context, calendar)
    context.transaction.name_lock("calendar", context.namespace, new.name)
    newest = context.transaction.calendar_get(context.namespace, new.name)
    number = 1 if newest is None else newest.version + 1
    stored = replace(new, version=number)
    if newest is not None and stored_calendar(newest.document) == replace(new, version=newest.version):
        return stored_calendar(newest.document)
    text = calendar_text(stored)
    row = CalendarRow(
        namespace=context.namespace, name=new.name, version=number, document=text, created_ms=context.now_ms
    )
    context.transaction.calendar_insert(row)
    if newest is None:
        context.created.add(NamedCalendar)
    note = AuditEntry("put_calendar", request_id, _previous_version(number), {"calendar": new.name, "version": number})
    audit_other(context, note, number)
    _replan(context, new.name, request_id)
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


def _previous_version(number: int) -> dict[str, int] | None:
    """Return the audit entry of the version before a number."""
    return None if number == 1 else {"version": number - 1}


def _replan(context: OperationContext, name: str, request_id: str | None) -> None:
    """Write a new version of every schedule that excludes the calendar, because its upcoming ticks may change."""
    max_schedules = context.settings.max_schedules_per_calendar
    keys = context.transaction.calendar_list_users(context.namespace, name, max_schedules + 1)
    if len(keys) > max_schedules:
        raise LimitExceeded(
            f"more than max_schedules_per_calendar ({max_schedules}) schedules exclude {name!r}; "
            "split it into several calendars"
        )
    rows = context.transaction.schedule_list_by_key(keys)
    for key in sorted(rows):
        if rows[key].state == "closed":
            continue
        loaded = open_schedule(context, rows[key].schedule_id)
        row = loaded.row._replace(version=loaded.row.version + 1)
        calendars = newest_calendars(context, loaded.definition)
        version = new_version(context, row, loaded.definition, calendars)
        compiled = compile_definition(row, version, loaded.definition, calendars)
        edited = edit.replace_version(loaded.state, loaded.compiled, compiled, context.now_ms)
        version = version._replace(after_s=edited.state.cursor_s)
        context.transaction.version_end(key, loaded.version.version, edited.state.cursor_s)
        context.transaction.version_insert(version)
        changed = loaded._replace(row=row, state=edited.state, version=version, compiled=compiled)
        save(context, changed, AuditEntry("calendar", request_id, None, {"calendar": name}), edited.dropped_ranges)


WINDOW_FIELDS = {"from": "begin", "to": "end", "begin": "begin", "end": "end", "note": "note"}
"""Fields of a window in a document. Specs call its ends ``from`` and ``to``."""
CALENDAR_FIELDS = tuple(field.name for field in fields(NamedCalendar))


def _parse_calendar(document: Mapping[str, Any]) -> NamedCalendar:
    for name in document:
        if name not in CALENDAR_FIELDS:
            raise InvalidField(f"calendar.{name}", f"there is no such field; expected {', '.join(CALENDAR_FIELDS)}")
    for name in ("dates", "windows"):
        if not isinstance(document.get(name, ()), list | tuple):
            raise InvalidField(f"calendar.{name}", f"{display(document[name])}; expected a list")
    windows = [_window(window, number) for number, window in enumerate(document.get("windows", ()))]
    try:
        return stored_calendar(compact({"dates": [], **document, "windows": windows}))
    except (TypeError, ValueError) as error:
        raise InvalidField("calendar", f"cannot be read: {error}") from None


def _window(window: Any, number: int) -> dict[str, Any]:
    """Return a window with the names of its fields in the model."""
    if isinstance(window, WindowDocument):
        return asdict(window)
    named: dict[str, Any] = {}
    if isinstance(window, Mapping):
        named = {WINDOW_FIELDS.get(str(name), str(name)): value for name, value in window.items()}
    if not {"begin", "end"} <= named.keys() <= set(WINDOW_FIELDS.values()):
        problem = f"{display(window)} is not a window; expected from, to and note"
        raise InvalidField(f"calendar.windows[{number}]", problem)
    return named


def _read_calendar(context: OperationContext, calendar: NamedCalendar | Mapping[str, Any]) -> NamedCalendar:
    """Return a checked calendar."""
    if isinstance(calendar, Mapping):
        # The service chooses the version. A calendar that was read and is sent back has one.
        calendar = _parse_calendar({name: value for name, value in calendar.items() if name != "version"})
    if not isinstance(calendar, NamedCalendar):
        raise InvalidField("calendar", f"{display(calendar)} is not a calendar")
    if not all(isinstance(date, str) for date in calendar.dates):
        raise InvalidField("calendar.dates", f"{display(calendar.dates)}; expected dates such as 2026-12-25")
    check_name("name", calendar.name, context.settings)
    if calendar.timezone is not None:
        check_text("calendar.timezone", calendar.timezone, context.settings.max_name_chars)
    for window in calendar.windows:
        for field, text in (("begin", window.begin), ("end", window.end), ("note", window.note)):
            check_text(f"calendar.windows.{field}", text, MAX_WINDOW_CHARS)
    for field, values in (("dates", calendar.dates), ("windows", calendar.windows)):
        if len(values) > MAX_EVENTS:
            raise InvalidField(f"calendar.{field}", f"{len(values)} entries; at most {MAX_EVENTS} are allowed")
    probe = read_spec({"cron": "0 0 * * *", "exclude": {"named": [calendar.name]}})
    assert isinstance(probe, SpecDocument)
    compile_spec(probe, calendars=calendar)  # raises if a date or a window cannot be read
    return calendar
