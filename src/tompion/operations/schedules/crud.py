"""Creating, reading, changing and deleting schedules, and their history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from secrets import token_hex
from typing import Any

from tompion.errors import AlreadyExists, InvalidField, LimitExceeded, NotFound, StoreError, TompionError, display
from tompion.model.codec import to_plain
from tompion.model.page import Page
from tompion.model.rows import ScheduleFilter, ScheduleRow, VersionRow
from tompion.model.run import Reason, RunState
from tompion.model.schedule import Definition, Schedule, ScheduleCount, ScheduleStatus
from tompion.model.schedule_state import DroppedRange, ScheduleState
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import idempotent
from tompion.operations.paging import DEFAULT_PAGE, MAX_FILTER_CHARS, page_limit, page_name
from tompion.operations.schedules.definition import ScheduleInput, parse_schedule
from tompion.operations.schedules.never_fires import refuse_silent
from tompion.operations.schedules.repository import (
    ANY_TOKEN,
    AuditEntry,
    LoadedSchedule,
    audit,
    compile_version,
    load,
    load_by_id,
    load_many,
    newest_calendar,
    open_schedule,
    placeholder,
    save,
    schedule_view_of,
)
from tompion.operations.validation import UNSET, check_flag, check_name, check_text
from tompion.plan import edit
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.counters import without_deleted
from tompion.plan.pause import pause_schedule, resume_schedule
from tompion.plan.stored_definition import action_text, compact, policy_text, spec_text, stored_definition, zones_text

MAX_COUNTED = 200_000
"""How many schedules are looked at to count those that match."""


PURGED_AT_ONCE = 10_000
"""How many runs and spans are forgotten in the transaction of whoever asks for it."""


STORED_STATES = tuple(state for state in ScheduleStatus if state is not ScheduleStatus.DAMAGED)
"""The states that a list can look for; that a schedule is damaged shows only when it is read."""


@idempotent(Schedule)
def create(
    context: OperationContext, /, schedule_id: str | None = None, *, request_id: str | None = None, **given: Any
) -> Schedule:
    """Create a schedule.  Raises :class:`~tompion.errors.AlreadyExists` if the id is taken."""
    chosen = f"s-{token_hex(8)}" if schedule_id is None else check_name("schedule_id", schedule_id, context.settings)
    context.transaction.name_lock("schedule", context.namespace, chosen)
    known = context.transaction.schedule_get(context.namespace, chosen)
    if known is not None and known.state != "closed":
        raise AlreadyExists(f"schedule {chosen!r} exists already; update it, or upsert")
    return write_definition(context, chosen, parse_schedule(given, context.settings), AuditEntry("create", request_id))


@idempotent(Schedule)
def upsert(
    context: OperationContext,
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
    check_name("schedule_id", schedule_id, context.settings)
    drafted = parse_schedule(given, context.settings)
    if token is not None and context.transaction.schedule_get(context.namespace, schedule_id) is None:
        told = "that was to be there" if token is ANY_TOKEN else f"that token {token} could be about"
        raise NotFound(f"there is no schedule {schedule_id!r} {told}")
    return write_definition(context, schedule_id, drafted, AuditEntry("upsert", request_id), token)


@idempotent(Schedule)
def update(
    context: OperationContext,
    /,
    schedule_id: str,
    *,
    token: int | None = None,
    request_id: str | None = None,
    **given: Any,
) -> Schedule:
    """Replace the definition of a schedule that exists."""
    opened = open_schedule(context, schedule_id, token)
    return replace_definition(
        context, opened, parse_schedule(given, context.settings), AuditEntry("update", request_id)
    )


@idempotent(Schedule)
def patch(
    context: OperationContext,
    /,
    schedule_id: str,
    *,
    token: int | None = None,
    request_id: str | None = None,
    **given: Any,
) -> Schedule:
    """Change some fields of a schedule and leave the others as they are; without a field, nothing changes."""
    opened = open_schedule(context, schedule_id, token)
    if not given:
        return schedule_view_of(context, opened)
    drafted = parse_schedule(given, context.settings, stored_definition(opened.version))
    return replace_definition(context, opened, drafted, AuditEntry("patch", request_id))


def get(context: OperationContext, schedule_id: str) -> Schedule:
    """Return a schedule as it is now."""
    return schedule_view_of(context, load_by_id(context, schedule_id))


def get_each(context: OperationContext, ids: Sequence[str]) -> list[Schedule | TompionError]:
    """Return several schedules as :func:`get` does; instead of one, what it would raise."""
    found = load_many(context, ids)
    return [schedule_view_of(context, each) if isinstance(each, LoadedSchedule) else each for each in found]


def list_schedules(  # noqa: PLR0913 - what a list can be about
    context: OperationContext,
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
    limit = page_limit(context, limit)
    rows = context.transaction.schedule_list(context.namespace, page_name(after), limit + 1, wanted)
    shown_rows = rows[:limit]
    keys = [row.schedule_key for row in shown_rows]
    states, versions = context.transaction.state_get(keys), context.transaction.version_list_current(keys)
    items = (_listed(context, row, states.get(row.schedule_key), versions.get(row.schedule_key)) for row in shown_rows)
    return Page(tuple(map(_without_payload, items)), shown_rows[-1].schedule_id if len(rows) > limit else None)


def count_schedules(  # noqa: PLR0913 - what a list can be about
    context: OperationContext,
    *,
    state: str | None = None,
    workflow_id: str | None = None,
    user_id: str | None = None,
    label: str | None = None,
    text: str | None = None,
) -> ScheduleCount:
    """Return how many schedules a list would show, and how many there are in all."""
    wanted = schedule_filter(state, workflow_id, user_id, label, text)
    total = context.transaction.schedule_count_matching(context.namespace, ScheduleFilter(), MAX_COUNTED + 1)
    matching = total
    if any(wanted):
        matching = context.transaction.schedule_count_matching(context.namespace, wanted, MAX_COUNTED + 1)
    return ScheduleCount(min(matching, MAX_COUNTED), min(total, MAX_COUNTED), max(matching, total) > MAX_COUNTED)


def schedule_filter(
    state: str | None, workflow_id: str | None, user_id: str | None, label: str | None, text: str | None
) -> ScheduleFilter:
    """Return what a list looks for.  Raises :class:`~tompion.errors.InvalidField`."""
    if state is not None and state not in STORED_STATES:
        raise InvalidField("state", f"{display(state)}; expected one of {', '.join(STORED_STATES)}")
    for field, given in (("workflow_id", workflow_id), ("user_id", user_id), ("label", label), ("text", text)):
        if given is not None:
            check_text(field, given, MAX_FILTER_CHARS)
    name, equals, value = (label or "").partition("=")
    if label is not None and (not name or not equals):
        raise InvalidField("label", f"{display(label)}; expected name=value")
    return ScheduleFilter(state, workflow_id, user_id, name or None, value if label else None, text)


def _without_payload(schedule: Schedule) -> Schedule:
    return replace(schedule, definition=replace(schedule.definition, payload=None))


def _listed(
    context: OperationContext, row: ScheduleRow, state: ScheduleState | None, version: VersionRow | None
) -> Schedule:
    """What a list shows of a schedule: one that is damaged must not hide the others."""
    try:
        return schedule_view_of(context, load(context, row, state, version))
    except StoreError as error:
        return replace(schedule_view_of(context, placeholder(context, row, state, error)), state=ScheduleStatus.DAMAGED)


@idempotent(Schedule)
def delete(
    context: OperationContext,
    schedule_id: str,
    *,
    purge: bool = False,
    token: int | None = None,
    request_id: str | None = None,
) -> Schedule:
    """Close a schedule: no more ticks, and no more tries.  What executes now may end.

    Its history stays until its retention ends, or goes with ``purge``.
    """
    opened = open_schedule(context, schedule_id, token, closed=check_flag("purge", purge), repair=purge)
    transaction, now_ms = context.transaction, context.now_ms
    key = opened.row.schedule_key
    closed = edit.close_state(opened.state, opened.compiled, now_ms)
    gone = transaction.run_drop_waiting(key, Reason.DELETED, now_ms)
    given_up = transaction.run_give_up_unheld([(key, closed.state.in_flight)], Reason.DELETED, now_ms)
    state = without_deleted(closed.state, dropped=gone, cancelled=len(given_up))
    context.counted["runs_skipped", Reason.DELETED] += gone
    context.counted["runs_finished", RunState.CANCELLED] += len(given_up)
    transaction.version_end(key, opened.row.version, state.cursor_s)
    for backfill in transaction.backfill_list(key, 1_000, unfinished=True):
        transaction.backfill_update(backfill._replace(state="CANCELLED", next_ms=None, finished_ms=now_ms))
    row = opened.row._replace(state="closed", purge=purge)
    note = AuditEntry("purge" if purge else "delete", request_id, {"state": opened.row.state}, {"state": "closed"})
    answer = save(context, opened._replace(row=row, state=state), note, closed.dropped_ranges)
    if purge and _may_go(state, now_ms):
        transaction.schedule_purge(key, PURGED_AT_ONCE)  # the rest of a longer history goes with the sweeps
    return answer


def _may_go(state: ScheduleState, now_ms: int) -> bool:
    """Whether nothing of a closed schedule executes, and it has no tick that could run once more."""
    return not state.in_flight and state.cursor_s <= edit.cursor_before(now_ms)


# --- the one way in -------------------------------------------------------------------------------------------------


def write_definition(  # noqa: PLR0913 - what is put where, and what is known of it
    context: OperationContext,
    schedule_id: str,
    drafted: ScheduleInput,
    note: AuditEntry,
    token: int | None = None,
    *,
    may_be_silent: bool = False,
) -> Schedule:
    """Write a definition, whether or not there is such a schedule; one that would never run is refused if new."""
    context.transaction.name_lock("schedule", context.namespace, schedule_id)
    known = context.transaction.schedule_get(context.namespace, schedule_id)
    if known is None:
        return insert_definition(context, schedule_id, drafted, note, may_be_silent=may_be_silent)
    try:
        opened = open_schedule(context, schedule_id, token, closed=True)
    except NotFound:  # a sweep has forgotten it, while we waited for its dial
        return insert_definition(context, schedule_id, drafted, note, may_be_silent=may_be_silent)
    return replace_definition(context, opened, drafted, note, may_be_silent=may_be_silent)


def insert_definition(
    context: OperationContext,
    schedule_id: str,
    drafted: ScheduleInput,
    note: AuditEntry,
    *,
    may_be_silent: bool = False,
) -> Schedule:
    """Write a schedule that is not there yet."""
    transaction, now_ms = context.transaction, context.now_ms
    _check_room(context)
    paused = drafted.paused is True
    row = ScheduleRow(
        0, context.namespace, schedule_id, 1, 1, "paused" if paused else "active", None, None, "{}", "",
        context.actor if paused else None, None if drafted.note is UNSET else drafted.note,
        now_ms if paused else None, False, "", now_ms, now_ms,
    )  # fmt: skip
    row = with_description(row, drafted.definition)
    version = new_version(context, row, drafted.definition, edit.cursor_before(now_ms))
    compile_version(context, row, version)  # refuses what cannot be compiled before anything is written
    row = row._replace(schedule_key=transaction.schedule_insert(row))
    version = version._replace(schedule_key=row.schedule_key)
    compiled = compile_version(context, row, version)
    remaining = None if drafted.remaining is UNSET else drafted.remaining
    state = edit.new_state(compiled, now_ms, remaining=remaining, paused=paused)
    if not may_be_silent:
        refuse_silent(compiled, state)
    transaction.version_insert(version)
    transaction.state_insert(state)
    if drafted.definition.spec.exclude.named:
        transaction.calendar_use_replace(row.schedule_key, context.namespace, drafted.definition.spec.exclude.named)
    audit(context, row, note._replace(after=_audited(drafted.definition, version)))
    transaction.notify()
    return schedule_view_of(context, LoadedSchedule(row, state, version, compiled))


def _check_room(context: OperationContext) -> None:
    """Raise if a namespace has as many schedules as it may; who makes another at the same time waits for the answer."""
    most = context.settings.max_schedules_per_namespace
    if not most:
        return
    context.transaction.name_lock("room", context.namespace, "schedules")
    if context.transaction.schedule_count_open(context.namespace, most) >= most:
        raise LimitExceeded(f"the namespace has max_schedules_per_namespace ({most}) schedules; delete some first")


def replace_definition(
    context: OperationContext,
    opened: LoadedSchedule,
    drafted: ScheduleInput,
    note: AuditEntry,
    *,
    may_be_silent: bool = False,
) -> Schedule:
    """Write another definition of a schedule that is there, or was."""
    transaction, now_ms = context.transaction, context.now_ms
    was_closed = opened.row.state == "closed"
    if was_closed and opened.row.purge and _may_go(opened.state, now_ms):
        # Some of its history may be gone already: what begins anew begins without the rest.
        while transaction.schedule_purge(opened.row.schedule_key, PURGED_AT_ONCE) == PURGED_AT_ONCE:
            pass
        return insert_definition(context, opened.row.schedule_id, drafted, note, may_be_silent=may_be_silent)
    if was_closed:
        _check_room(context)
    before = None if was_closed else _audited(stored_definition(opened.version), opened.version)
    row = with_description(opened.row, drafted.definition)._replace(purge=False)
    version, compiled, state = opened.version, opened.compiled, opened.state
    dropped_ranges: list[DroppedRange] = []
    candidate = new_version(context, row._replace(version=row.version + 1), drafted.definition, 0)
    if was_closed or not _same(candidate, version):
        row = row._replace(version=candidate.version)
        compiled = compile_version(context, row, candidate)
        edited = edit.replace_version(state, opened.compiled, compiled, now_ms)
        state, dropped_ranges = edited
        version = candidate._replace(after_s=state.cursor_s)
        transaction.version_end(row.schedule_key, opened.version.version, state.cursor_s)
        transaction.version_insert(version)
        transaction.calendar_use_replace(row.schedule_key, context.namespace, drafted.definition.spec.exclude.named)
    if was_closed:
        row = row._replace(state="paused" if state.paused else "active")  # a pause survives delete and create
        state = edit.advance_to_next(state._replace(closed=False, remaining=None), compiled, state.cursor_s)
        if not may_be_silent:
            refuse_silent(compiled, state)
    if drafted.remaining is not UNSET:
        edited = edit.set_remaining(state, compiled, drafted.remaining, now_ms)
        state, dropped_ranges = edited.state, dropped_ranges + edited.dropped_ranges
    row, state = _paused_as_named(context, row, state, compiled, drafted)
    if drafted.note is not UNSET:
        row = row._replace(pause_note=drafted.note)
    changed = LoadedSchedule(row, state, version, compiled)
    return save(
        context, changed, note._replace(before=before, after=_audited(drafted.definition, version)), dropped_ranges
    )


def _audited(definition: Definition, version: VersionRow) -> dict[str, Any]:
    """Return what the audit keeps of a definition: of a payload, which may hold secrets, only where it is."""
    payload = None if definition.payload is None else f"that of version {version.version}"
    kept: dict[str, Any] = to_plain(replace(definition, payload=payload))
    return kept


def _paused_as_named(
    context: OperationContext,
    row: ScheduleRow,
    state: ScheduleState,
    compiled: CompiledSchedule,
    drafted: ScheduleInput,
) -> tuple[ScheduleRow, ScheduleState]:
    """Pause or resume, if the document says so."""
    if drafted.paused is True and not state.paused:
        return pause_schedule(row, state, paused_by=context.actor, note=row.pause_note, now_ms=context.now_ms)
    if drafted.paused is False and state.paused:
        context.transaction.run_unhold_planned([row.schedule_key], context.now_ms)
        return resume_schedule(row, state, compiled, on_resume=compiled.policy.on_resume, now_ms=context.now_ms)
    return row, state


def with_description(row: ScheduleRow, definition: Definition) -> ScheduleRow:
    """Return the row with what lists look for."""
    return row._replace(
        workflow_id=definition.action.workflow_id,
        user_id=definition.action.user_id,
        labels=compact(dict(definition.labels)),
        description=definition.description,
        zones=zones_text(definition.spec),
    )


def new_version(context: OperationContext, row: ScheduleRow, definition: Definition, after_s: int) -> VersionRow:
    """Return a definition as a version, with the calendars it refers to as they are now."""
    calendars = {name: newest_calendar(context, name).version for name in definition.spec.exclude.named}
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
        author=context.actor,
        created_ms=context.now_ms,
    )


_CONTENT = ("spec", "policy", "action", "payload", "about", "calendars")


def _same(one: VersionRow, other: VersionRow) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in _CONTENT)
