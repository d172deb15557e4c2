"""Creating, reading, changing and deleting schedules, and their history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from secrets import token_hex
from typing import Any

from tompion.errors import AlreadyExists, InvalidField, LimitExceeded, NotFound, StoreError, TompionError, shown
from tompion.model.codec import to_plain
from tompion.model.page import Page
from tompion.model.rows import ScheduleFilter, ScheduleRow, VersionRow
from tompion.model.run import Reason, RunState
from tompion.model.schedule import Definition, Schedule, ScheduleCount, ScheduleStatus
from tompion.model.schedule_state import DroppedRange, ScheduleState
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import once
from tompion.operations.paging import DEFAULT_PAGE, MAX_FILTER_CHARS, page_limit, page_name
from tompion.operations.schedules.definition import ScheduleInput, draft
from tompion.operations.schedules.never_fires import refuse_silent
from tompion.operations.schedules.repository import (
    ANY,
    AuditEntry,
    LoadedSchedule,
    audit,
    find_each,
    find_whole,
    loaded,
    newest_calendar,
    open_schedule,
    rule_for,
    save,
    stand_in,
    view_of,
)
from tompion.operations.validation import UNSET, check_flag, check_name, check_text
from tompion.plan import edit
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.stored_definition import action_text, compact, policy_text, spec_text, stored_definition, zones_text

MOST_COUNTED = 200_000
"""How many schedules are looked at to count those that match."""


PURGED_AT_ONCE = 10_000
"""How many runs and spans are forgotten in the transaction of whoever asks for it."""


STORED_STATES = tuple(state for state in ScheduleStatus if state is not ScheduleStatus.DAMAGED)
"""The states that a list can look for; that a schedule is damaged shows only when it is read."""


@once(Schedule)
def create(
    session: OperationContext, /, schedule_id: str | None = None, *, request_id: str | None = None, **given: Any
) -> Schedule:
    """Create a schedule.  Raises :class:`~tompion.errors.AlreadyExists` if the id is taken."""
    chosen = f"s-{token_hex(8)}" if schedule_id is None else check_name("schedule_id", schedule_id, session.settings)
    session.transaction.lock_name("schedule", session.namespace, chosen)
    known = session.transaction.schedule_by_id(session.namespace, chosen)
    if known is not None and known.state != "closed":
        raise AlreadyExists(f"schedule {chosen!r} exists already; update it, or upsert")
    return put_draft(session, chosen, draft(given, session.settings), AuditEntry("create", request_id))


@once(Schedule)
def upsert(
    session: OperationContext,
    /,
    schedule_id: str,
    *,
    token: int | None = None,
    request_id: str | None = None,
    **given: Any,
) -> Schedule:
    """Create a schedule, or replace its definition; pause, cursor and counters stay unless they are named."""
    if schedule_id is None:
        raise InvalidField("schedule_id", "upsert needs an id: without one there is nothing that it could replace")
    check_name("schedule_id", schedule_id, session.settings)
    drafted = draft(given, session.settings)
    if token is not None and session.transaction.schedule_by_id(session.namespace, schedule_id) is None:
        told = "that was to be there" if token is ANY else f"that token {token} could be about"
        raise NotFound(f"there is no schedule {schedule_id!r} {told}")
    return put_draft(session, schedule_id, drafted, AuditEntry("upsert", request_id), token)


@once(Schedule)
def update(
    session: OperationContext,
    /,
    schedule_id: str,
    *,
    token: int | None = None,
    request_id: str | None = None,
    **given: Any,
) -> Schedule:
    """Replace the definition of a schedule that exists."""
    opened = open_schedule(session, schedule_id, token)
    return replace_draft(session, opened, draft(given, session.settings), AuditEntry("update", request_id))


@once(Schedule)
def patch(
    session: OperationContext,
    /,
    schedule_id: str,
    *,
    token: int | None = None,
    request_id: str | None = None,
    **given: Any,
) -> Schedule:
    """Change some fields of a schedule and leave the others as they are; without a field, nothing changes."""
    opened = open_schedule(session, schedule_id, token)
    if not given:
        return view_of(session, opened)
    drafted = draft(given, session.settings, stored_definition(opened.version))
    return replace_draft(session, opened, drafted, AuditEntry("patch", request_id))


def get(session: OperationContext, schedule_id: str) -> Schedule:
    """Return a schedule as it is now."""
    return view_of(session, find_whole(session, schedule_id))


def get_each(session: OperationContext, ids: Sequence[str]) -> list[Schedule | TompionError]:
    """Return several schedules as :func:`get` does; instead of one, what it would raise."""
    found = find_each(session, ids)
    return [view_of(session, each) if isinstance(each, LoadedSchedule) else each for each in found]


def list_schedules(  # noqa: PLR0913 - what a list can be about
    session: OperationContext,
    *,
    state: str | None = None,
    workflow_id: str | None = None,
    user_id: str | None = None,
    label: str | None = None,
    text: str | None = None,
    limit: int = DEFAULT_PAGE,
    after: str | None = None,
) -> Page[Schedule]:
    """Return schedules in the order of their ids; deleted ones only if asked for by ``state="closed"``.

    One that is damaged is in the state ``damaged``, and ``degraded`` says why.  A list shows no payloads, because they
    may hold secrets: ``get`` does.
    """
    wanted = schedule_filter(state, workflow_id, user_id, label, text)
    limit = page_limit(session, limit)
    rows = session.transaction.schedules_page(session.namespace, page_name(after), limit + 1, wanted)
    shown_rows = rows[:limit]
    keys = [row.schedule_key for row in shown_rows]
    dials, versions = session.transaction.read_dials(keys), session.transaction.versions_in_force(keys)
    items = (_listed(session, row, dials.get(row.schedule_key), versions.get(row.schedule_key)) for row in shown_rows)
    return Page(tuple(map(_without_payload, items)), shown_rows[-1].schedule_id if len(rows) > limit else None)


def count_schedules(  # noqa: PLR0913 - what a list can be about
    session: OperationContext,
    *,
    state: str | None = None,
    workflow_id: str | None = None,
    user_id: str | None = None,
    label: str | None = None,
    text: str | None = None,
) -> ScheduleCount:
    """Return how many schedules a list would show, and how many there are in all."""
    wanted = schedule_filter(state, workflow_id, user_id, label, text)
    total = session.transaction.count_matching(session.namespace, ScheduleFilter(), MOST_COUNTED + 1)
    matching = total
    if any(wanted):
        matching = session.transaction.count_matching(session.namespace, wanted, MOST_COUNTED + 1)
    return ScheduleCount(min(matching, MOST_COUNTED), min(total, MOST_COUNTED), max(matching, total) > MOST_COUNTED)


def schedule_filter(
    state: str | None, workflow_id: str | None, user_id: str | None, label: str | None, text: str | None
) -> ScheduleFilter:
    """Return what a list looks for.  Raises :class:`~tompion.errors.InvalidField`."""
    if state is not None and state not in STORED_STATES:
        raise InvalidField("state", f"{shown(state)}; expected one of {', '.join(STORED_STATES)}")
    for field, given in (("workflow_id", workflow_id), ("user_id", user_id), ("label", label), ("text", text)):
        if given is not None:
            check_text(field, given, MAX_FILTER_CHARS)
    name, equals, value = (label or "").partition("=")
    if label is not None and (not name or not equals):
        raise InvalidField("label", f"{shown(label)}; expected name=value")
    return ScheduleFilter(state, workflow_id, user_id, name or None, value if label else None, text)


def _without_payload(schedule: Schedule) -> Schedule:
    return replace(schedule, definition=replace(schedule.definition, payload=None))


def _listed(
    session: OperationContext, row: ScheduleRow, dial: ScheduleState | None, version: VersionRow | None
) -> Schedule:
    """What a list shows of a schedule: one that is damaged must not hide the others."""
    try:
        return view_of(session, loaded(session, row, dial, version))
    except StoreError as error:
        return replace(view_of(session, stand_in(session, row, dial, error)), state=ScheduleStatus.DAMAGED)


@once(Schedule)
def delete(
    session: OperationContext,
    schedule_id: str,
    *,
    purge: bool = False,
    token: int | None = None,
    request_id: str | None = None,
) -> Schedule:
    """Close a schedule: no more ticks, and no more tries.  What executes now may end.

    Its history stays until its retention ends, or goes with ``purge``.
    """
    opened = open_schedule(session, schedule_id, token, closed=check_flag("purge", purge), repair=purge)
    transaction, now_ms = session.transaction, session.now_ms
    key = opened.row.schedule_key
    closed = edit.closed(opened.dial, opened.rule, now_ms)
    gone = transaction.drop_waiting(key, Reason.DELETED, now_ms)
    given_up = transaction.give_up_runs([(key, closed.dial.in_flight)], Reason.DELETED, now_ms)
    dial = closed.dial._replace(
        waiting=0, skipped=closed.dial.skipped + gone, in_flight=closed.dial.in_flight - len(given_up)
    )
    session.counted["runs_skipped", Reason.DELETED] += gone
    session.counted["runs_finished", RunState.CANCELLED] += len(given_up)
    transaction.end_version(key, opened.row.version, dial.cursor_s)
    for backfill in transaction.backfills_of(key, 1_000, unfinished=True):
        transaction.save_backfill(backfill._replace(state="CANCELLED", next_ms=None, finished_ms=now_ms))
    row = opened.row._replace(state="closed", purge=purge)
    note = AuditEntry("purge" if purge else "delete", request_id, {"state": opened.row.state}, {"state": "closed"})
    answer = save(session, opened._replace(row=row, dial=dial), note, closed.spans)
    if purge and _may_go(dial, now_ms):
        transaction.purge(key, PURGED_AT_ONCE)  # the rest of a longer history goes with the sweeps
    return answer


def _may_go(dial: ScheduleState, now_ms: int) -> bool:
    """Whether nothing of a closed schedule executes, and it has no tick that could run once more."""
    return not dial.in_flight and dial.cursor_s <= edit.before(now_ms)


# --- the one way in -------------------------------------------------------------------------------------------------


def put_draft(  # noqa: PLR0913 - what is put where, and what is known of it
    session: OperationContext,
    schedule_id: str,
    drafted: ScheduleInput,
    note: AuditEntry,
    token: int | None = None,
    *,
    may_be_silent: bool = False,
) -> Schedule:
    """Write a definition, whether or not there is such a schedule; one that would never run is refused if new."""
    session.transaction.lock_name("schedule", session.namespace, schedule_id)
    known = session.transaction.schedule_by_id(session.namespace, schedule_id)
    if known is None:
        return insert_draft(session, schedule_id, drafted, note, may_be_silent=may_be_silent)
    try:
        opened = open_schedule(session, schedule_id, token, closed=True)
    except NotFound:  # a sweep has forgotten it, while we waited for its dial
        return insert_draft(session, schedule_id, drafted, note, may_be_silent=may_be_silent)
    return replace_draft(session, opened, drafted, note, may_be_silent=may_be_silent)


def insert_draft(
    session: OperationContext,
    schedule_id: str,
    drafted: ScheduleInput,
    note: AuditEntry,
    *,
    may_be_silent: bool = False,
) -> Schedule:
    """Write a schedule that is not there yet."""
    transaction, now_ms = session.transaction, session.now_ms
    _check_room(session)
    paused = drafted.paused is True
    row = ScheduleRow(
        0, session.namespace, schedule_id, 1, 1, "paused" if paused else "active", None, None, "{}", "",
        session.actor if paused else None, None if drafted.note is UNSET else drafted.note,
        now_ms if paused else None, False, "", now_ms, now_ms,
    )  # fmt: skip
    row = described(row, drafted.definition)
    version = new_version(session, row, drafted.definition, edit.before(now_ms))
    rule_for(session, row, version)  # refuses what cannot be compiled before anything is written
    row = row._replace(schedule_key=transaction.insert_schedule(row))
    version = version._replace(schedule_key=row.schedule_key)
    rule = rule_for(session, row, version)
    remaining = None if drafted.remaining is UNSET else drafted.remaining
    dial = edit.created(rule, now_ms, remaining=remaining, paused=paused)
    if not may_be_silent:
        refuse_silent(rule, dial)
    transaction.insert_version(version)
    transaction.insert_dial(dial)
    if drafted.definition.spec.exclude.named:
        transaction.save_calendar_uses(row.schedule_key, session.namespace, drafted.definition.spec.exclude.named)
    audit(session, row, note._replace(after=_audited(drafted.definition, version)))
    transaction.notify()
    return view_of(session, LoadedSchedule(row, dial, version, rule))


def _check_room(session: OperationContext) -> None:
    """Raise if a namespace has as many schedules as it may; who makes another at the same time waits for the answer."""
    most = session.settings.max_schedules_per_namespace
    if not most:
        return
    session.transaction.lock_name("room", session.namespace, "schedules")
    if session.transaction.count_kept(session.namespace, most) >= most:
        raise LimitExceeded(f"the namespace has max_schedules_per_namespace ({most}) schedules; delete some first")


def replace_draft(
    session: OperationContext,
    opened: LoadedSchedule,
    drafted: ScheduleInput,
    note: AuditEntry,
    *,
    may_be_silent: bool = False,
) -> Schedule:
    """Write another definition of a schedule that is there, or was."""
    transaction, now_ms = session.transaction, session.now_ms
    was_closed = opened.row.state == "closed"
    if was_closed and opened.row.purge and _may_go(opened.dial, now_ms):
        # Some of its history may be gone already: what begins anew begins without the rest.
        while transaction.purge(opened.row.schedule_key, PURGED_AT_ONCE) == PURGED_AT_ONCE:
            pass
        return insert_draft(session, opened.row.schedule_id, drafted, note, may_be_silent=may_be_silent)
    if was_closed:
        _check_room(session)
    before = None if was_closed else _audited(stored_definition(opened.version), opened.version)
    row = described(opened.row, drafted.definition)._replace(purge=False)
    version, rule, dial = opened.version, opened.rule, opened.dial
    spans: list[DroppedRange] = []
    candidate = new_version(session, row._replace(version=row.version + 1), drafted.definition, 0)
    if was_closed or not _same(candidate, version):
        row = row._replace(version=candidate.version)
        rule = rule_for(session, row, candidate)
        edited = edit.replaced(dial, opened.rule, rule, now_ms)
        dial, spans = edited
        version = candidate._replace(after_s=dial.cursor_s)
        transaction.end_version(row.schedule_key, opened.version.version, dial.cursor_s)
        transaction.insert_version(version)
        transaction.save_calendar_uses(row.schedule_key, session.namespace, drafted.definition.spec.exclude.named)
    if was_closed:
        row = row._replace(state="paused" if dial.paused else "active")  # a pause survives delete and create
        dial = edit.aimed(dial._replace(closed=False, remaining=None), rule, dial.cursor_s)
        if not may_be_silent:
            refuse_silent(rule, dial)
    if drafted.remaining is not UNSET:
        edited = edit.limited(dial, rule, drafted.remaining, now_ms)
        dial, spans = edited.dial, spans + edited.spans
    row, dial = _paused_as_named(session, row, dial, rule, drafted)
    if drafted.note is not UNSET:
        row = row._replace(pause_note=drafted.note)
    changed = LoadedSchedule(row, dial, version, rule)
    return save(session, changed, note._replace(before=before, after=_audited(drafted.definition, version)), spans)


def _audited(definition: Definition, version: VersionRow) -> dict[str, Any]:
    """Return what the audit keeps of a definition: of a payload, which may hold secrets, only where it is."""
    payload = None if definition.payload is None else f"that of version {version.version}"
    kept: dict[str, Any] = to_plain(replace(definition, payload=payload))
    return kept


def _paused_as_named(
    session: OperationContext, row: ScheduleRow, dial: ScheduleState, rule: CompiledSchedule, drafted: ScheduleInput
) -> tuple[ScheduleRow, ScheduleState]:
    """Pause or resume, if the document says so."""
    if drafted.paused is True and not dial.paused:
        row = row._replace(state="paused", paused_by=session.actor, paused_ms=session.now_ms)
        return row, edit.paused(dial, None)
    if drafted.paused is False and dial.paused:
        row = row._replace(state="active", paused_by=None, pause_note=None, paused_ms=None)
        session.transaction.unhold_planned([row.schedule_key], session.now_ms)
        return row, edit.resumed(dial, rule, session.now_ms, rule.policy.on_resume)
    return row, dial


def described(row: ScheduleRow, definition: Definition) -> ScheduleRow:
    """Return the row with what lists look for."""
    return row._replace(
        workflow_id=definition.action.workflow_id,
        user_id=definition.action.user_id,
        labels=compact(dict(definition.labels)),
        description=definition.description,
        zones=zones_text(definition.spec),
    )


def new_version(session: OperationContext, row: ScheduleRow, definition: Definition, after_s: int) -> VersionRow:
    """Return a definition as a version, with the calendars it refers to as they are now."""
    calendars = {name: newest_calendar(session, name).version for name in definition.spec.exclude.named}
    about: dict[str, Any] = {"description": definition.description, "labels": dict(definition.labels)}
    stated = {"memo": definition.memo, "search_attributes": definition.search_attributes}
    about |= {name: value for name, value in stated.items() if value is not None}
    return VersionRow(
        schedule_key=row.schedule_key,
        version=row.version,
        spec=spec_text(definition.spec),
        policy=policy_text(definition.policy),
        action=action_text(definition.action),
        payload=None if definition.payload is None else compact(definition.payload),
        about=compact(about),
        calendars=compact(calendars),
        after_s=after_s,
        until_s=None,
        author=session.actor,
        created_ms=session.now_ms,
    )


_CONTENT = ("spec", "policy", "action", "payload", "about", "calendars")


def _same(one: VersionRow, other: VersionRow) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in _CONTENT)
