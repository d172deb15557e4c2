"""The one way to change a schedule: lock its dial, check the token, edit, write, note who did it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tompion.errors import InvalidField, NotFound, ScheduleClosed, StaleToken, StoreError, TompionError
from tompion.model.decision_writes import DecisionWrites
from tompion.model.hint import read_hints
from tompion.model.rows import AuditRow, CalendarRow, ScheduleRow, VersionRow
from tompion.model.schedule import Schedule, ScheduleStatus
from tompion.model.schedule_state import DroppedRange, ScheduleState
from tompion.model.spec import NamedCalendar
from tompion.operations.context import OperationContext
from tompion.operations.validation import check_name
from tompion.operations.views import at_s, datetime_ms, schedule_view
from tompion.plan import edit
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.stored_definition import (
    compact,
    compiled_from_row,
    definition_row,
    stored_calendar,
    stored_definition,
)

NO_SCHEDULE = ""
"""Under which id the audit keeps changes of workflows, calendars and targets."""
UNREADABLE = (StoreError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What reading rows that nobody of us has written may raise."""


class LoadedSchedule(NamedTuple):
    """A schedule whose dial this transaction has locked."""

    row: ScheduleRow
    state: ScheduleState
    version: VersionRow
    compiled: CompiledSchedule


def find(context: OperationContext, schedule_id: str) -> ScheduleRow:
    """Return a schedule's row.  Raises :class:`~tompion.errors.NotFound`."""
    row = context.transaction.schedule_get(context.namespace, check_name("schedule_id", schedule_id, context.settings))
    if row is None:
        raise _missing(context, schedule_id)
    return row


def load_by_id(context: OperationContext, schedule_id: str) -> LoadedSchedule:
    """Return a schedule with its dial and the version in force, without locking it.

    Raises :class:`~tompion.errors.NotFound`, and :class:`~tompion.errors.StoreError` if it is damaged.
    """
    name = check_name("schedule_id", schedule_id, context.settings)
    found = context.transaction.schedule_get_full(context.namespace, [name]).get(name)
    if found is None:
        raise _missing(context, schedule_id)
    return load(context, *found)


def load_many(context: OperationContext, ids: Sequence[str]) -> list[LoadedSchedule | TompionError]:
    """Return several schedules as :func:`find_whole` does, with one statement; instead of one, what it would raise."""
    names: list[str | TompionError] = []
    for each in ids:
        try:
            names.append(check_name("schedule_id", each, context.settings))
        except InvalidField as error:
            names.append(error)
    found = context.transaction.schedule_get_full(context.namespace, [each for each in names if isinstance(each, str)])
    answers: list[LoadedSchedule | TompionError] = []
    for name in names:
        try:
            if isinstance(name, TompionError):
                answers.append(name)
            elif name in found:
                answers.append(load(context, *found[name]))
            else:
                answers.append(_missing(context, name))
        except StoreError as error:
            answers.append(error)
    return answers


def _missing(context: OperationContext, schedule_id: str) -> NotFound:
    return NotFound(f"there is no schedule {schedule_id!r} in namespace {context.namespace!r}")


class _AnyToken(int):
    """A token that no schedule has, and that fits every one."""


ANY_TOKEN = _AnyToken(-1)
"""What stands for a token where a schedule must exist, however often it has changed: ``If-Match: *``."""


def open_schedule(
    context: OperationContext, schedule_id: str, token: int | None = None, *, closed: bool = False, repair: bool = False
) -> LoadedSchedule:
    """Lock a schedule and return it as it is now; a stale token or a closed schedule changes nothing.

    One that is damaged raises :class:`~tompion.errors.StoreError`; with ``repair`` it is returned with stand-ins.
    """
    key = find(context, schedule_id).schedule_key
    state = context.transaction.state_lock([key]).get(key)
    row = find(context, schedule_id)  # once more: what was read before the lock may be out of date
    if row.schedule_key != key:
        raise _missing(context, schedule_id)
    if token is not None and token is not ANY_TOKEN and type(token) is not int:
        raise InvalidField("token", f"{token!r} is not a conflict token; pass the one that the schedule was read with")
    if token is not None and token is not ANY_TOKEN and token != row.token:
        raise StaleToken(token, row.token)
    if row.state == "closed" and not closed:
        raise ScheduleClosed(f"schedule {schedule_id!r} was deleted; create it again to use it")
    return load_or_placeholder(context, row, state) if repair else load(context, row, state)


def load(
    context: OperationContext, row: ScheduleRow, state: ScheduleState | None, version: VersionRow | None = None
) -> LoadedSchedule:
    """Return a schedule with the version in force, which is looked up unless it is given.

    Raises :class:`~tompion.errors.StoreError` if it is damaged.
    """
    if state is None:
        raise damaged(row, "its dial is missing")
    _check_dial(row, state)
    version = version or context.transaction.version_get(row.schedule_key, row.version)
    if version is None:
        raise damaged(row, f"its version {row.version} is missing")
    try:
        stored_definition(version)
        return LoadedSchedule(row, state, version, compile_version(context, row, version))
    except UNREADABLE as error:
        raise damaged(row, f"its version {row.version} cannot be read ({one_line(error)})") from error


def _check_dial(row: ScheduleRow, state: ScheduleState) -> None:
    """Raise if a dial holds what cannot be read, or cannot be shown."""
    try:
        edit.skips_of(state)
        for hint in read_hints(state.hints):
            datetime_ms(0 if hint is None else max(hint.value, hint.expires_ms))
        for seconds in (state.cursor_s, state.next_nominal_s or 0):
            at_s(seconds)
        for milliseconds in (state.next_fire_ms or 0, state.pause_until_ms or 0):
            datetime_ms(milliseconds)
    except UNREADABLE as error:
        raise damaged(row, f"its dial cannot be read ({one_line(error)})") from error


def load_or_placeholder(context: OperationContext, row: ScheduleRow, state: ScheduleState | None) -> LoadedSchedule:
    """Return a schedule as it is, or, if it is damaged, with stand-ins that say so."""
    try:
        return load(context, row, state)
    except StoreError as error:
        return placeholder(context, row, state, error)


def placeholder(
    context: OperationContext, row: ScheduleRow, state: ScheduleState | None, error: StoreError
) -> LoadedSchedule:
    """Return a schedule that is damaged, with a definition that has no ticks; a dial that is no use is made anew."""
    version = VersionRow(row.schedule_key, row.version, "{}", "{}", "{}", None, "{}", "{}", 0, None, "", 0)
    compiled = compile_version(context, row, version)._replace(degraded=str(error))
    fresh = edit.new_state(compiled, context.now_ms, paused=row.state == "paused")
    return LoadedSchedule(row, fresh if state is None else _silent(row, state, compiled, fresh), version, compiled)


def _silent(row: ScheduleRow, state: ScheduleState, compiled: CompiledSchedule, fresh: ScheduleState) -> ScheduleState:
    """A dial that has no next tick, because nobody knows it; ``fresh`` if it cannot even be read."""
    try:
        _check_dial(row, state)
    except StoreError:
        return fresh
    return edit.advance_to_next(state, compiled, state.cursor_s)


def damaged(row: ScheduleRow, what: str) -> StoreError:
    """Return the error for rows that somebody else has changed."""
    return StoreError(
        f"schedule {row.schedule_id!r} is damaged: {what}; `tompion verify` lists what is wrong, "
        "and a delete with purge=True removes it"
    )


def one_line(error: Exception) -> str:
    """Return what an error says, on one line, and never nothing."""
    return " ".join(str(error).split()) or type(error).__name__


def compile_version(context: OperationContext, row: ScheduleRow, version: VersionRow) -> CompiledSchedule:
    """Return the rule of one version of a schedule."""
    definition = definition_row(row.namespace, row.schedule_id, version)
    calendars = context.transaction.calendar_list_for_version(definition)
    return compiled_from_row(definition, tuple(calendar_of(calendar) for calendar in calendars))


def newest_calendar(context: OperationContext, name: str) -> CalendarRow:
    """Return the calendar that a spec names, as it is now."""
    found = context.transaction.calendar_get(context.namespace, name)
    if found is None:
        raise InvalidField("exclude.named", f"there is no calendar {name!r}; put it first")
    return found


def calendar_of(row: CalendarRow) -> NamedCalendar:
    """Return the named calendar that a row holds.  Raises :class:`~tompion.errors.StoreError` if it is damaged."""
    try:
        return stored_calendar(row.document)
    except UNREADABLE as error:
        problem = f"version {row.version} of calendar {row.name!r} cannot be read ({one_line(error)})"
        raise StoreError(problem) from error


class AuditEntry(NamedTuple):
    """What the audit says about a change."""

    operation: str
    request_id: str | None = None
    before: Any = None
    after: Any = None


def save(
    context: OperationContext,
    opened: LoadedSchedule,
    note: AuditEntry,
    dropped_ranges: list[DroppedRange] | None = None,
) -> Schedule:
    """Write a changed schedule, one token further on, and wake the engines."""
    transaction, now_ms = context.transaction, context.now_ms
    row = opened.row._replace(token=opened.row.token + 1, updated_ms=now_ms)
    transaction.schedule_update(row)
    state = edit.due_now_if_waiting(opened.state, now_ms)  # what waits may start, now that things are otherwise
    transaction.write_decisions(DecisionWrites(now_ms, [state], [], dropped_ranges or [], [], [], []))
    audit(context, row, note)
    transaction.notify()
    return schedule_view_of(context, opened._replace(row=row))


def schedule_view_of(context: OperationContext, opened: LoadedSchedule) -> Schedule:
    """Return a schedule as users see it at this moment."""
    return schedule_view(*opened, context.now_ms, exhausted=_is_exhausted(context, opened.row, opened.state))


def _is_exhausted(context: OperationContext, row: ScheduleRow, state: ScheduleState) -> bool:
    """Whether nothing of a schedule is to come, runs or waits: planned runs are in the ledger, not on the dial."""
    if row.state != ScheduleStatus.ACTIVE or state.next_fire_ms is not None or state.in_flight or state.waiting:
        return False
    return not context.transaction.run_list_waiting(row.schedule_key, 1)


def audit(context: OperationContext, row: ScheduleRow, note: AuditEntry) -> None:
    """Write who did what to a schedule."""
    _audit(context, row.schedule_id, row.token, row.version, note)


def audit_other(context: OperationContext, note: AuditEntry, version: int = 0) -> None:
    """Write who did what to something that is not a schedule; ``note.after`` says what it is."""
    _audit(context, NO_SCHEDULE, 0, version, note)


def _audit(context: OperationContext, schedule_id: str, token: int, version: int, note: AuditEntry) -> None:
    context.transaction.audit_insert(
        AuditRow(
            audit_number=0,
            at_ms=context.now_ms,
            namespace=context.namespace,
            schedule_id=schedule_id,
            actor=context.actor,
            operation=note.operation,
            token=token,
            version=version,
            request_id=note.request_id,
            before=None if note.before is None else compact(note.before),
            after=None if note.after is None else compact(note.after),
        )
    )
