"""Loading, locking, saving and auditing a schedule. Every operation that changes one goes through here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tompion.encoding.instant import datetime_ms, datetime_s
from tompion.errors import InvalidField, NotFound, ScheduleClosed, StoreError, TompionError
from tompion.model.decision_writes import DecisionWrites
from tompion.model.hint import read_hints
from tompion.model.rows import AuditRow, CalendarRow, ScheduleRow, VersionRow
from tompion.model.schedule import Definition, Schedule, ScheduleStatus
from tompion.model.schedule_state import DroppedRange, ScheduleState
from tompion.model.spec import NamedCalendar
from tompion.operations.context import OperationContext
from tompion.operations.schedules.conflict_token import check_conflict_token
from tompion.operations.schedules.target_check import target_warnings
from tompion.operations.validation import check_name
from tompion.operations.views import schedule_view
from tompion.plan import edit
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.stored_definition import (
    compact,
    compile_or_degrade,
    compiled_from_row,
    definition_row,
    stored_calendar,
    stored_definition,
)

NO_SCHEDULE = ""
"""The schedule id of audit entries about other objects: workflows, calendars, targets, keys, search attributes."""
UNREADABLE = (StoreError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""The errors that rows changed by hand may raise when they are read."""


class LoadedSchedule(NamedTuple):
    """A schedule with its state and the version in force, parsed and compiled."""

    row: ScheduleRow
    state: ScheduleState
    version: VersionRow
    definition: Definition
    compiled: CompiledSchedule


class AuditEntry(NamedTuple):
    """The part of an audit row that an operation chooses."""

    operation: str
    request_id: str | None = None
    before: Any = None
    after: Any = None


# --- reading ----------------------------------------------------------------------------------------------------------


def find(context: OperationContext, schedule_id: str) -> ScheduleRow:
    """Return a schedule's row. Raises :class:`~tompion.errors.NotFound`."""
    row = context.transaction.schedule_get(context.namespace, check_name("schedule_id", schedule_id, context.settings))
    if row is None:
        raise schedule_not_found(context, schedule_id)
    return row


def load_by_id(context: OperationContext, schedule_id: str) -> LoadedSchedule:
    """Return a schedule without locking it.

    Raises :class:`~tompion.errors.NotFound`, and :class:`~tompion.errors.StoreError` if it is damaged.
    """
    name = check_name("schedule_id", schedule_id, context.settings)
    parts = context.transaction.schedule_get_full(context.namespace, [name]).get(name)
    if parts is None:
        raise schedule_not_found(context, schedule_id)
    return load(context, *parts)


def load_many(context: OperationContext, ids: Sequence[str]) -> list[LoadedSchedule | TompionError]:
    """Return several schedules with one statement, each as :func:`load_by_id` does, or the error of that one."""
    names: list[str | TompionError] = []
    for schedule_id in ids:
        try:
            names.append(check_name("schedule_id", schedule_id, context.settings))
        except InvalidField as error:
            names.append(error)
    valid = [name for name in names if isinstance(name, str)]
    parts_by_name = context.transaction.schedule_get_full(context.namespace, valid)
    results: list[LoadedSchedule | TompionError] = []
    for name in names:
        try:
            if isinstance(name, TompionError):
                results.append(name)
            elif name in parts_by_name:
                results.append(load(context, *parts_by_name[name]))
            else:
                results.append(schedule_not_found(context, name))
        except StoreError as error:
            results.append(error)
    return results


def schedule_not_found(context: OperationContext, schedule_id: str) -> NotFound:
    """Return the error for an id that no schedule of the namespace has."""
    return NotFound(f"there is no schedule {schedule_id!r} in namespace {context.namespace!r}")


# --- locking ----------------------------------------------------------------------------------------------------------


def open_schedule(
    context: OperationContext,
    schedule_id: str,
    conflict_token: int | None = None,
    *,
    closed: bool = False,
    repair: bool = False,
) -> LoadedSchedule:
    """Lock a schedule and return it. Raises if it does not exist, the conflict token is stale, or it is closed.

    ``closed`` accepts a deleted schedule. A damaged schedule raises :class:`~tompion.errors.StoreError`, or is returned
    with placeholders if ``repair`` is set.
    """
    loaded = open_if_exists(context, schedule_id, conflict_token, closed=closed, repair=repair)
    if loaded is None:
        raise schedule_not_found(context, schedule_id)
    return loaded


def open_if_exists(
    context: OperationContext,
    schedule_id: str,
    conflict_token: int | None = None,
    *,
    closed: bool = False,
    repair: bool = False,
) -> LoadedSchedule | None:
    """Lock a schedule and return it as :func:`open_schedule` does, or ``None`` if it does not exist."""
    locked = lock_schedule(context, check_name("schedule_id", schedule_id, context.settings))
    if locked is None:
        return None
    row, state = locked
    check_conflict_token(row, conflict_token)
    if row.state == ScheduleStatus.CLOSED and not closed:
        raise ScheduleClosed(f"schedule {schedule_id!r} was deleted; create it again to use it")
    return load_or_placeholder(context, row, state) if repair else load(context, row, state)


def lock_schedule(context: OperationContext, schedule_id: str) -> tuple[ScheduleRow, ScheduleState | None] | None:
    """Lock a schedule's state and return its row and its state, or ``None`` if there is no such schedule.

    The row is read after the lock, so no other transaction changes it until this one ends. The state is ``None`` if the
    schedule is damaged.
    """
    transaction = context.transaction
    state = transaction.state_lock_by_id(context.namespace, schedule_id)
    row = transaction.schedule_get(context.namespace, schedule_id)
    if row is None:
        return None
    if state is None:
        # Either its state is missing, or it was purged and created again while this transaction waited for the lock.
        return None if transaction.state_lock([row.schedule_key]) else (row, None)
    return (row, state) if state.schedule_key == row.schedule_key else None


# --- loading ----------------------------------------------------------------------------------------------------------


def load(
    context: OperationContext, row: ScheduleRow, state: ScheduleState | None, version: VersionRow | None = None
) -> LoadedSchedule:
    """Return a schedule with the version in force, which is read unless the caller passes it.

    Raises :class:`~tompion.errors.StoreError` if the schedule is damaged.
    """
    if state is None:
        raise damaged(row, "its state row is missing")
    _check_state(row, state)
    version = version or context.transaction.version_get(row.schedule_key, row.version)
    if version is None:
        raise damaged(row, f"its version {row.version} is missing")
    try:
        definition = stored_definition(version)
        compiled = compile_version(context, row, version)
    except UNREADABLE as error:
        raise damaged(row, f"its version {row.version} cannot be read ({one_line(error)})") from error
    return LoadedSchedule(row=row, state=state, version=version, definition=definition, compiled=compiled)


def _check_state(row: ScheduleRow, state: ScheduleState) -> None:
    """Raise if a state has values that cannot be parsed or displayed."""
    try:
        edit.skips_of(state)
        for hint in read_hints(state.hints):
            datetime_ms(0 if hint is None else max(hint.value, hint.expires_ms))
        for seconds in (state.cursor_s, state.next_nominal_s or 0):
            datetime_s(seconds)
        for milliseconds in (state.next_fire_ms or 0, state.pause_until_ms or 0):
            datetime_ms(milliseconds)
    except UNREADABLE as error:
        raise damaged(row, f"its state row cannot be read ({one_line(error)})") from error


def load_or_placeholder(context: OperationContext, row: ScheduleRow, state: ScheduleState | None) -> LoadedSchedule:
    """Return a schedule, or a placeholder with the reason in ``degraded`` if it is damaged."""
    try:
        return load(context, row, state)
    except StoreError as error:
        return placeholder(context, row, state, error)


def placeholder(
    context: OperationContext, row: ScheduleRow, state: ScheduleState | None, error: StoreError
) -> LoadedSchedule:
    """Return a damaged schedule with a definition without ticks. An unreadable state is replaced by a new one."""
    version = VersionRow(
        schedule_key=row.schedule_key,
        version=row.version,
        spec="{}",
        policy="{}",
        action="{}",
        payload=None,
        about="{}",
        calendars="{}",
        after_s=0,
        until_s=None,
        author="",
        created_ms=0,
    )
    compiled = compile_version(context, row, version)._replace(degraded=str(error))
    new_state = edit.new_state(compiled, context.now_ms, paused=row.state == "paused")
    return LoadedSchedule(
        row=row,
        state=new_state if state is None else _without_next_tick(row, state, compiled, new_state),
        version=version,
        definition=stored_definition(version),
        compiled=compiled,
    )


def _without_next_tick(
    row: ScheduleRow, state: ScheduleState, compiled: CompiledSchedule, replacement: ScheduleState
) -> ScheduleState:
    """Return a damaged schedule's state without its next tick, or the replacement if the state cannot be read."""
    try:
        _check_state(row, state)
    except StoreError:
        return replacement
    return edit.advance_to_next(state, compiled, state.cursor_s)


def damaged(row: ScheduleRow, problem: str) -> StoreError:
    """Return the error for rows that were changed by hand."""
    return StoreError(
        f"schedule {row.schedule_id!r} is damaged: {problem}; `tompion verify` lists the problems, "
        "and a delete with purge=True removes it"
    )


def one_line(error: Exception) -> str:
    """Return an error's message on one line, or its class if it has no message."""
    return " ".join(str(error).split()) or type(error).__name__


# --- compiling --------------------------------------------------------------------------------------------------------


def compile_version(context: OperationContext, row: ScheduleRow, version: VersionRow) -> CompiledSchedule:
    """Return one stored version of a schedule, compiled."""
    definition = definition_row(row.namespace, row.schedule_id, version)
    calendars = context.transaction.calendar_list_for_version(definition)
    return compiled_from_row(definition, tuple(calendar_of(calendar) for calendar in calendars))


def compile_definition(
    row: ScheduleRow, version: VersionRow, definition: Definition, calendars: Sequence[CalendarRow]
) -> CompiledSchedule:
    """Return a definition compiled, without parsing the texts of its version again."""
    return compile_or_degrade(
        schedule_key=row.schedule_key,
        version=version.version,
        namespace=row.namespace,
        schedule_id=row.schedule_id,
        spec=definition.spec,
        policy=definition.policy,
        action=definition.action,
        payload=version.payload,
        calendars=tuple(calendar_of(calendar) for calendar in calendars),
    )


def newest_calendars(context: OperationContext, definition: Definition) -> list[CalendarRow]:
    """Return the newest version of each calendar that a definition excludes."""
    return [newest_calendar(context, name) for name in definition.spec.exclude.named]


def newest_calendar(context: OperationContext, name: str) -> CalendarRow:
    """Return the newest version of a calendar that a spec names."""
    row = context.transaction.calendar_get(context.namespace, name)
    if row is None:
        raise InvalidField("exclude.named", f"there is no calendar {name!r}; create it first")
    return row


def calendar_of(row: CalendarRow) -> NamedCalendar:
    """Return the named calendar that a row holds. Raises :class:`~tompion.errors.StoreError` if it is damaged."""
    try:
        return stored_calendar(row.document)
    except UNREADABLE as error:
        problem = f"version {row.version} of calendar {row.name!r} cannot be read ({one_line(error)})"
        raise StoreError(problem) from error


# --- writing ----------------------------------------------------------------------------------------------------------


def save(
    context: OperationContext,
    loaded: LoadedSchedule,
    entry: AuditEntry,
    dropped_ranges: list[DroppedRange] | None = None,
) -> Schedule:
    """Write a changed schedule with the next token, audit it, and wake the engines."""
    transaction, now_ms = context.transaction, context.now_ms
    row = loaded.row._replace(token=loaded.row.token + 1, updated_ms=now_ms, zones=_planned_zones(loaded))
    transaction.schedule_update(row)
    state = edit.due_now_if_waiting(loaded.state, now_ms)  # the change may let waiting runs start
    transaction.write_decisions(
        DecisionWrites(
            now_ms=now_ms,
            states=[state],
            runs=[],
            dropped_ranges=dropped_ranges or [],
            supersede=[],
            cancel=[],
            terminate=[],
        )
    )
    audit(context, row, entry)
    transaction.notify()
    return schedule_view_of(context, loaded._replace(row=row))


def _planned_zones(loaded: LoadedSchedule) -> str:
    """Return the zone tables of the next tick. They are this process's only if it has planned the tick."""
    compiled = loaded.compiled
    return compiled.zones if loaded.state.zone_tables == compiled.zone_tables else loaded.row.zones


def schedule_view_of(context: OperationContext, loaded: LoadedSchedule, *, check_target: bool = True) -> Schedule:
    """Return the public view of a schedule, with warnings about its target unless ``check_target`` is false."""
    return schedule_view(
        loaded.row,
        loaded.state,
        loaded.definition,
        loaded.compiled,
        context.now_ms,
        exhausted=_is_exhausted(context, loaded.row, loaded.state),
        warnings=target_warnings(context, loaded.definition.action) if check_target else (),
    )


def _is_exhausted(context: OperationContext, row: ScheduleRow, state: ScheduleState) -> bool:
    """Return whether a schedule has no next tick, and no run that is planned, waits or is in flight."""
    if row.state != ScheduleStatus.ACTIVE or state.next_fire_ms is not None or state.in_flight or state.waiting:
        return False
    return not context.transaction.run_list_waiting(row.schedule_key, 1)  # the state does not count planned runs


def audit(context: OperationContext, row: ScheduleRow, entry: AuditEntry) -> None:
    """Record a change of a schedule in the audit."""
    _audit(context, row.schedule_id, row.token, row.version, entry)


def audit_other(context: OperationContext, entry: AuditEntry, version: int = 0) -> None:
    """Record a change of an object that is not a schedule in the audit. ``entry.after`` names it."""
    _audit(context, NO_SCHEDULE, 0, version, entry)


def _audit(context: OperationContext, schedule_id: str, token: int, version: int, entry: AuditEntry) -> None:
    """Insert an entry into the audit."""
    context.transaction.audit_insert(
        AuditRow(
            audit_number=0,
            at_ms=context.now_ms,
            namespace=context.namespace,
            schedule_id=schedule_id,
            actor=context.actor,
            operation=entry.operation,
            token=token,
            version=version,
            request_id=entry.request_id,
            before=None if entry.before is None else compact(entry.before),
            after=None if entry.after is None else compact(entry.after),
        )
    )
