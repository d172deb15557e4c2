"""The one way to change a schedule: lock its dial, check the token, edit, write, note who did it."""

from __future__ import annotations

from typing import Any, NamedTuple

from foliot.errors import FoliotError, InvalidField, NotFound, ScheduleClosed, StaleToken, StoreError
from foliot.model.dial import Dial, Span
from foliot.model.record import Record
from foliot.model.rows import AuditRow, DefinitionRow, ScheduleRow, VersionRow
from foliot.model.schedule import Schedule
from foliot.operations.drafting import check_name
from foliot.operations.session import Session
from foliot.operations.views import schedule_view
from foliot.plan.definition import compact, definition_row, rule_of, stored_calendar
from foliot.plan.rule import Rule

NO_SCHEDULE = ""
"""Under which id the audit keeps changes of workflows, calendars and targets."""


class Opened(NamedTuple):
    """A schedule whose dial this transaction has locked."""

    row: ScheduleRow
    dial: Dial
    version: VersionRow
    rule: Rule


def find(session: Session, schedule_id: str) -> ScheduleRow:
    """Return a schedule's row.  Raises :class:`~foliot.errors.NotFound`."""
    row = session.transaction.schedule_by_id(
        session.namespace, check_name("schedule_id", schedule_id, session.settings)
    )
    if row is None:
        raise NotFound(f"there is no schedule {schedule_id!r} in namespace {session.namespace!r}")
    return row


def open_schedule(session: Session, schedule_id: str, token: int | None = None, *, closed: bool = False) -> Opened:
    """Lock a schedule and return it as it is now; a stale token or a closed schedule changes nothing."""
    dials = session.transaction.lock_dials([find(session, schedule_id).schedule_key])
    row = find(session, schedule_id)  # once more: what was read before the lock may be out of date
    dial = dials.get(row.schedule_key)
    if dial is None:
        raise NotFound(f"there is no schedule {schedule_id!r} in namespace {session.namespace!r}")
    if token is not None and type(token) is not int:
        raise InvalidField("token", f"{token!r} is not a conflict token; pass the one that the schedule was read with")
    if token is not None and token != row.token:
        raise StaleToken(token, row.token)
    if row.state == "closed" and not closed:
        raise ScheduleClosed(f"schedule {schedule_id!r} was deleted; create it again to use it")
    version = current_version(session, row)
    return Opened(row, dial, version, rule_for(session, row, version))


def current_version(session: Session, row: ScheduleRow) -> VersionRow:
    """Return the version in force."""
    version = session.transaction.version_by_number(row.schedule_key, row.version)
    if version is None:
        raise damaged(row, f"its version {row.version} is missing")
    return version


def current_dial(session: Session, row: ScheduleRow) -> Dial:
    """Return where a schedule stands, without locking it."""
    dial = session.transaction.read_dials([row.schedule_key]).get(row.schedule_key)
    if dial is None:
        raise damaged(row, "its dial is missing")
    return dial


def damaged(row: ScheduleRow, what: str) -> StoreError:
    """Return the error for rows that somebody else has changed."""
    return StoreError(f"schedule {row.schedule_id!r} is damaged: {what}; `foliot verify` lists what is wrong")


def rule_for(session: Session, row: ScheduleRow, version: VersionRow) -> Rule:
    """Return the rule of one version of a schedule."""
    try:
        return _compiled(session, definition_row(row.namespace, row.schedule_id, version))
    except (LookupError, TypeError, ValueError) as error:
        if isinstance(error, FoliotError):
            raise
        raise damaged(row, f"its version {version.version} cannot be read ({type(error).__name__})") from error


def _compiled(session: Session, definition: DefinitionRow) -> Rule:
    calendars = session.transaction.calendars_of(definition)
    return rule_of(definition, tuple(stored_calendar(calendar.document) for calendar in calendars))


class Note(NamedTuple):
    """What the audit says about a change."""

    operation: str
    request_id: str | None = None
    before: Any = None
    after: Any = None


def save(session: Session, opened: Opened, note: Note, spans: list[Span] | None = None) -> Schedule:
    """Write a changed schedule, one token further on, and wake the engines."""
    transaction, now_ms = session.transaction, session.now_ms
    row = opened.row._replace(token=opened.row.token + 1, updated_ms=now_ms)
    transaction.save_schedule(row)
    transaction.record(Record(now_ms, [opened.dial], [], spans or [], [], [], []))
    audit(session, row, note)
    transaction.notify()
    return schedule_view(row, opened.dial, opened.version, opened.rule)


def audit(session: Session, row: ScheduleRow, note: Note) -> None:
    """Write who did what to a schedule."""
    _audit(session, row.schedule_id, row.token, row.version, note)


def audit_other(session: Session, note: Note, version: int = 0) -> None:
    """Write who did what to something that is not a schedule; ``note.after`` says what it is."""
    _audit(session, NO_SCHEDULE, 0, version, note)


def _audit(session: Session, schedule_id: str, token: int, version: int, note: Note) -> None:
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
