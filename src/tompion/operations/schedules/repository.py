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
from tompion.operations.views import at_ms, at_s, schedule_view
from tompion.plan import edit
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.stored_definition import compact, definition_row, rule_of, stored_calendar, stored_definition

NO_SCHEDULE = ""
"""Under which id the audit keeps changes of workflows, calendars and targets."""
UNREADABLE = (StoreError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What reading rows that nobody of us has written may raise."""


class LoadedSchedule(NamedTuple):
    """A schedule whose dial this transaction has locked."""

    row: ScheduleRow
    dial: ScheduleState
    version: VersionRow
    rule: CompiledSchedule


def find(session: OperationContext, schedule_id: str) -> ScheduleRow:
    """Return a schedule's row.  Raises :class:`~tompion.errors.NotFound`."""
    row = session.transaction.schedule_by_id(
        session.namespace, check_name("schedule_id", schedule_id, session.settings)
    )
    if row is None:
        raise _missing(session, schedule_id)
    return row


def find_whole(session: OperationContext, schedule_id: str) -> LoadedSchedule:
    """Return a schedule with its dial and the version in force, without locking it.

    Raises :class:`~tompion.errors.NotFound`, and :class:`~tompion.errors.StoreError` if it is damaged.
    """
    name = check_name("schedule_id", schedule_id, session.settings)
    found = session.transaction.whole_schedules(session.namespace, [name]).get(name)
    if found is None:
        raise _missing(session, schedule_id)
    return loaded(session, *found)


def find_each(session: OperationContext, ids: Sequence[str]) -> list[LoadedSchedule | TompionError]:
    """Return several schedules as :func:`find_whole` does, with one statement; instead of one, what it would raise."""
    names: list[str | TompionError] = []
    for each in ids:
        try:
            names.append(check_name("schedule_id", each, session.settings))
        except InvalidField as error:
            names.append(error)
    found = session.transaction.whole_schedules(session.namespace, [each for each in names if isinstance(each, str)])
    answers: list[LoadedSchedule | TompionError] = []
    for name in names:
        try:
            if isinstance(name, TompionError):
                answers.append(name)
            elif name in found:
                answers.append(loaded(session, *found[name]))
            else:
                answers.append(_missing(session, name))
        except StoreError as error:
            answers.append(error)
    return answers


def _missing(session: OperationContext, schedule_id: str) -> NotFound:
    return NotFound(f"there is no schedule {schedule_id!r} in namespace {session.namespace!r}")


class _AnyToken(int):
    """A token that no schedule has, and that fits every one."""


ANY = _AnyToken(-1)
"""What stands for a token where a schedule must exist, however often it has changed: ``If-Match: *``."""


def open_schedule(
    session: OperationContext, schedule_id: str, token: int | None = None, *, closed: bool = False, repair: bool = False
) -> LoadedSchedule:
    """Lock a schedule and return it as it is now; a stale token or a closed schedule changes nothing.

    One that is damaged raises :class:`~tompion.errors.StoreError`; with ``repair`` it is returned with stand-ins.
    """
    key = find(session, schedule_id).schedule_key
    dial = session.transaction.lock_dials([key]).get(key)
    row = find(session, schedule_id)  # once more: what was read before the lock may be out of date
    if row.schedule_key != key:
        raise _missing(session, schedule_id)
    if token is not None and token is not ANY and type(token) is not int:
        raise InvalidField("token", f"{token!r} is not a conflict token; pass the one that the schedule was read with")
    if token is not None and token is not ANY and token != row.token:
        raise StaleToken(token, row.token)
    if row.state == "closed" and not closed:
        raise ScheduleClosed(f"schedule {schedule_id!r} was deleted; create it again to use it")
    return repaired(session, row, dial) if repair else loaded(session, row, dial)


def loaded(
    session: OperationContext, row: ScheduleRow, dial: ScheduleState | None, version: VersionRow | None = None
) -> LoadedSchedule:
    """Return a schedule with the version in force, which is looked up unless it is given.

    Raises :class:`~tompion.errors.StoreError` if it is damaged.
    """
    if dial is None:
        raise damaged(row, "its dial is missing")
    _check_dial(row, dial)
    version = version or session.transaction.version_by_number(row.schedule_key, row.version)
    if version is None:
        raise damaged(row, f"its version {row.version} is missing")
    try:
        stored_definition(version)
        return LoadedSchedule(row, dial, version, rule_for(session, row, version))
    except UNREADABLE as error:
        raise damaged(row, f"its version {row.version} cannot be read ({one_line(error)})") from error


def _check_dial(row: ScheduleRow, dial: ScheduleState) -> None:
    """Raise if a dial holds what cannot be read, or cannot be shown."""
    try:
        edit.skips_of(dial)
        for hint in read_hints(dial.hints):
            at_ms(0 if hint is None else max(hint.value, hint.expires_ms))
        for seconds in (dial.cursor_s, dial.next_nominal_s or 0):
            at_s(seconds)
        for milliseconds in (dial.next_fire_ms or 0, dial.pause_until_ms or 0):
            at_ms(milliseconds)
    except UNREADABLE as error:
        raise damaged(row, f"its dial cannot be read ({one_line(error)})") from error


def repaired(session: OperationContext, row: ScheduleRow, dial: ScheduleState | None) -> LoadedSchedule:
    """Return a schedule as it is, or, if it is damaged, with stand-ins that say so."""
    try:
        return loaded(session, row, dial)
    except StoreError as error:
        return stand_in(session, row, dial, error)


def stand_in(
    session: OperationContext, row: ScheduleRow, dial: ScheduleState | None, error: StoreError
) -> LoadedSchedule:
    """Return a schedule that is damaged, with a definition that has no ticks; a dial that is no use is made anew."""
    version = VersionRow(row.schedule_key, row.version, "{}", "{}", "{}", None, "{}", "{}", 0, None, "", 0)
    rule = rule_for(session, row, version)._replace(degraded=str(error))
    fresh = edit.created(rule, session.now_ms, paused=row.state == "paused")
    return LoadedSchedule(row, fresh if dial is None else _silent(row, dial, rule, fresh), version, rule)


def _silent(row: ScheduleRow, dial: ScheduleState, rule: CompiledSchedule, fresh: ScheduleState) -> ScheduleState:
    """A dial that has no next tick, because nobody knows it; ``fresh`` if it cannot even be read."""
    try:
        _check_dial(row, dial)
    except StoreError:
        return fresh
    return edit.aimed(dial, rule, dial.cursor_s)


def damaged(row: ScheduleRow, what: str) -> StoreError:
    """Return the error for rows that somebody else has changed."""
    return StoreError(
        f"schedule {row.schedule_id!r} is damaged: {what}; `tompion verify` lists what is wrong, "
        "and a delete with purge=True removes it"
    )


def one_line(error: Exception) -> str:
    """Return what an error says, on one line, and never nothing."""
    return " ".join(str(error).split()) or type(error).__name__


def rule_for(session: OperationContext, row: ScheduleRow, version: VersionRow) -> CompiledSchedule:
    """Return the rule of one version of a schedule."""
    definition = definition_row(row.namespace, row.schedule_id, version)
    calendars = session.transaction.calendars_of(definition)
    return rule_of(definition, tuple(calendar_of(calendar) for calendar in calendars))


def newest_calendar(session: OperationContext, name: str) -> CalendarRow:
    """Return the calendar that a spec names, as it is now."""
    found = session.transaction.calendar(session.namespace, name)
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
    session: OperationContext, opened: LoadedSchedule, note: AuditEntry, spans: list[DroppedRange] | None = None
) -> Schedule:
    """Write a changed schedule, one token further on, and wake the engines."""
    transaction, now_ms = session.transaction, session.now_ms
    row = opened.row._replace(token=opened.row.token + 1, updated_ms=now_ms)
    transaction.save_schedule(row)
    dial = edit.woken(opened.dial, now_ms)  # what waits may start, now that things are otherwise
    transaction.record(DecisionWrites(now_ms, [dial], [], spans or [], [], [], []))
    audit(session, row, note)
    transaction.notify()
    return view_of(session, opened._replace(row=row))


def view_of(session: OperationContext, opened: LoadedSchedule) -> Schedule:
    """Return a schedule as users see it at this moment."""
    return schedule_view(*opened, session.now_ms, exhausted=_is_exhausted(session, opened.row, opened.dial))


def _is_exhausted(session: OperationContext, row: ScheduleRow, dial: ScheduleState) -> bool:
    """Whether nothing of a schedule is to come, runs or waits: planned runs are in the ledger, not on the dial."""
    if row.state != ScheduleStatus.ACTIVE or dial.next_fire_ms is not None or dial.in_flight or dial.waiting:
        return False
    return not session.transaction.queued_of(row.schedule_key, 1)


def audit(session: OperationContext, row: ScheduleRow, note: AuditEntry) -> None:
    """Write who did what to a schedule."""
    _audit(session, row.schedule_id, row.token, row.version, note)


def audit_other(session: OperationContext, note: AuditEntry, version: int = 0) -> None:
    """Write who did what to something that is not a schedule; ``note.after`` says what it is."""
    _audit(session, NO_SCHEDULE, 0, version, note)


def _audit(session: OperationContext, schedule_id: str, token: int, version: int, note: AuditEntry) -> None:
    session.transaction.insert_audit(
        AuditRow(
            audit_number=0,
            at_ms=session.now_ms,
            namespace=session.namespace,
            schedule_id=schedule_id,
            actor=session.actor,
            operation=note.operation,
            token=token,
            version=version,
            request_id=note.request_id,
            before=None if note.before is None else compact(note.before),
            after=None if note.after is None else compact(note.after),
        )
    )
