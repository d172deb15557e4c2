"""Create, read, replace, patch, list and delete schedules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from secrets import token_hex
from typing import Any

from tompion.errors import AlreadyExists, InvalidField, LimitExceeded, StoreError, TompionError, display
from tompion.model.backfill import CANCELLED
from tompion.model.bulk import ScheduleCount
from tompion.model.page import Page
from tompion.model.rows import ScheduleFilter, ScheduleRow, VersionRow
from tompion.model.run import Reason, RunState
from tompion.model.schedule import Definition, Schedule, ScheduleStatus
from tompion.model.schedule_state import DroppedRange, ScheduleState
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import idempotent
from tompion.operations.paging import DEFAULT_PAGE, MAX_FILTER_CHARS, page_limit, page_name
from tompion.operations.schedules.never_fires import reject_never_firing
from tompion.operations.schedules.repository import (
    AuditEntry,
    LoadedSchedule,
    audit,
    compile_definition,
    load,
    load_by_id,
    load_many,
    newest_calendars,
    open_if_exists,
    open_schedule,
    placeholder,
    save,
    schedule_view_of,
)
from tompion.operations.schedules.schedule_document import ScheduleInput, parse_schedule
from tompion.operations.schedules.target_check import check_target
from tompion.operations.schedules.version_rows import (
    audit_document,
    is_same_version,
    listed_action,
    new_version,
    with_description,
)
from tompion.operations.validation import UNSET, check_flag, check_name, check_text
from tompion.plan import edit
from tompion.plan.counters import without_deleted
from tompion.plan.pause import pause_schedule, resume_schedule

MAX_COUNTED = 200_000
"""The maximum number of schedules that a count looks at."""

MAX_PURGED = 10_000
"""The maximum number of runs and dropped ranges that one statement of a purge removes."""

MAX_BACKFILLS = 1_000
"""The maximum number of unfinished backfills that a delete cancels. The setting ``max_backfills`` is lower."""

STORED_STATUSES = tuple(status for status in ScheduleStatus if status is not ScheduleStatus.DAMAGED)
"""The statuses that a list can filter by. That a schedule is damaged turns out only when it is read."""


@idempotent(Schedule)
def create(
    context: OperationContext, /, schedule_id: str | None = None, *, request_id: str | None = None, **fields: Any
) -> Schedule:
    """Create a schedule. Raises :class:`~tompion.errors.AlreadyExists` if the id is taken."""
    name = f"s-{token_hex(8)}" if schedule_id is None else check_name("schedule_id", schedule_id, context.settings)
    deleted = reserve_id(context, name)
    schedule_input = parse_schedule(fields, context.settings)
    check_target(context, schedule_input.definition.action)
    return create_definition(context, name, deleted, schedule_input, AuditEntry("create", request_id))


@idempotent(Schedule)
def upsert(
    context: OperationContext,
    /,
    schedule_id: str,
    *,
    conflict_token: int | None = None,
    request_id: str | None = None,
    **fields: Any,
) -> Schedule:
    """Create a schedule or replace its definition. Pause, cursor and counters change only if a field names them.

    With a token it replaces the definition of an existing schedule only, as ``update`` does.
    """
    if schedule_id is None:
        raise InvalidField("schedule_id", "required; use create for a generated id")
    if conflict_token is not None:
        loaded = open_schedule(context, schedule_id, conflict_token)
        entry = AuditEntry("update", request_id)
        return _replace_checked(context, loaded, parse_schedule(fields, context.settings), entry)
    check_name("schedule_id", schedule_id, context.settings)
    schedule_input = parse_schedule(fields, context.settings)
    context.transaction.name_lock("schedule", context.namespace, schedule_id)
    existing = open_if_exists(context, schedule_id, closed=True)
    entry = AuditEntry("upsert", request_id)
    if existing is not None:
        return _replace_checked(context, existing, schedule_input, entry)
    check_target(context, schedule_input.definition.action)
    return insert_definition(context, schedule_id, schedule_input, entry)


@idempotent(Schedule)
def update(
    context: OperationContext,
    /,
    schedule_id: str,
    *,
    conflict_token: int | None = None,
    request_id: str | None = None,
    **fields: Any,
) -> Schedule:
    """Replace the definition of an existing schedule."""
    loaded = open_schedule(context, schedule_id, conflict_token)
    schedule_input = parse_schedule(fields, context.settings)
    return _replace_checked(context, loaded, schedule_input, AuditEntry("update", request_id))


@idempotent(Schedule)
def patch(
    context: OperationContext,
    /,
    schedule_id: str,
    *,
    conflict_token: int | None = None,
    request_id: str | None = None,
    **fields: Any,
) -> Schedule:
    """Change some fields of a schedule and keep the others. Without a field, nothing changes."""
    loaded = open_schedule(context, schedule_id, conflict_token)
    if not fields:
        return schedule_view_of(context, loaded)
    schedule_input = parse_schedule(fields, context.settings, loaded.definition)
    return _replace_checked(context, loaded, schedule_input, AuditEntry("patch", request_id))


def _replace_checked(
    context: OperationContext, loaded: LoadedSchedule, schedule_input: ScheduleInput, entry: AuditEntry
) -> Schedule:
    """Write a new definition after a check of its target."""
    check_target(context, schedule_input.definition.action, loaded.definition.action)
    return replace_definition(context, loaded, schedule_input, entry)


def get(context: OperationContext, schedule_id: str) -> Schedule:
    """Return a schedule."""
    return schedule_view_of(context, load_by_id(context, schedule_id))


def get_each(context: OperationContext, ids: Sequence[str]) -> list[Schedule | TompionError]:
    """Return several schedules, each as :func:`get` does, or the error that it would raise."""
    return [
        schedule_view_of(context, result) if isinstance(result, LoadedSchedule) else result
        for result in load_many(context, ids)
    ]


# --- lists ------------------------------------------------------------------------------------------------------------


def list_schedules(  # noqa: PLR0913 - the filters of a list
    context: OperationContext,
    *,
    status: str | None = None,
    workflow_id: str | None = None,
    user_id: str | None = None,
    label: str | None = None,
    text: str | None = None,
    limit: int = DEFAULT_PAGE,
    after: str | None = None,
) -> Page[Schedule]:
    """Return schedules in the order of their ids. Deleted ones are listed only with ``status="closed"``.

    A damaged schedule has the status ``damaged``, and ``degraded`` has the reason. A list has no payloads and no
    warnings, and of the options of an executor only those that identify the target, because the others may hold
    secrets. Use ``get`` for the whole definition.
    """
    filters = schedule_filter(status, workflow_id, user_id, label, text)
    limit = page_limit(context, limit)
    rows = context.transaction.schedule_list(context.namespace, page_name(after), limit + 1, filters)
    page = rows[:limit]
    keys = [row.schedule_key for row in page]
    states, versions = context.transaction.state_get(keys), context.transaction.version_list_current(keys)
    items = (_list_item(context, row, states.get(row.schedule_key), versions.get(row.schedule_key)) for row in page)
    return Page(tuple(map(_without_secrets, items)), page[-1].schedule_id if len(rows) > limit else None)


def count_schedules(  # noqa: PLR0913 - the filters of a list
    context: OperationContext,
    *,
    status: str | None = None,
    workflow_id: str | None = None,
    user_id: str | None = None,
    label: str | None = None,
    text: str | None = None,
) -> ScheduleCount:
    """Return how many schedules match the filters of a list, and how many there are."""
    filters = schedule_filter(status, workflow_id, user_id, label, text)
    total = context.transaction.schedule_count_matching(context.namespace, ScheduleFilter(), MAX_COUNTED + 1)
    matching = total
    if any(filters):
        matching = context.transaction.schedule_count_matching(context.namespace, filters, MAX_COUNTED + 1)
    return ScheduleCount(min(matching, MAX_COUNTED), min(total, MAX_COUNTED), max(matching, total) > MAX_COUNTED)


def schedule_filter(
    status: str | None, workflow_id: str | None, user_id: str | None, label: str | None, text: str | None
) -> ScheduleFilter:
    """Return the checked filters of a list. Raises :class:`~tompion.errors.InvalidField`."""
    if status is not None and status not in STORED_STATUSES:
        raise InvalidField("status", f"{display(status)}; expected one of {', '.join(STORED_STATUSES)}")
    for field, value in (("workflow_id", workflow_id), ("user_id", user_id), ("label", label), ("text", text)):
        if value is not None:
            check_text(field, value, MAX_FILTER_CHARS)
    label_name, equals, label_value = (label or "").partition("=")
    if label is not None and (not label_name or not equals):
        raise InvalidField("label", f"{display(label)}; expected name=value")
    return ScheduleFilter(
        state=status,
        workflow_id=workflow_id,
        user_id=user_id,
        label=label_name or None,
        label_value=label_value if label else None,
        text=text,
    )


def _without_secrets(schedule: Schedule) -> Schedule:
    definition = schedule.definition
    return replace(schedule, definition=replace(definition, payload=None, action=listed_action(definition.action)))


def _list_item(
    context: OperationContext, row: ScheduleRow, state: ScheduleState | None, version: VersionRow | None
) -> Schedule:
    """Return the view of a schedule. A damaged one must not hide the others."""
    try:
        return schedule_view_of(context, load(context, row, state, version), check_target=False)
    except StoreError as error:
        damaged = schedule_view_of(context, placeholder(context, row, state, error), check_target=False)
        return replace(damaged, status=ScheduleStatus.DAMAGED)


# --- delete -----------------------------------------------------------------------------------------------------------


@idempotent(Schedule)
def delete(
    context: OperationContext,
    schedule_id: str,
    *,
    purge: bool = False,
    conflict_token: int | None = None,
    request_id: str | None = None,
) -> Schedule:
    """Close a schedule: no tick and no retry starts any more. Runs that execute may finish.

    Its history stays until its retention ends. With ``purge`` it is removed.
    """
    loaded = open_schedule(context, schedule_id, conflict_token, closed=check_flag("purge", purge), repair=purge)
    close_result = edit.close_state(loaded.state, loaded.compiled, context.now_ms)
    state = _end_open_work(context, loaded.row, close_result.state)
    row = loaded.row._replace(state="closed", purge=purge)
    entry = AuditEntry("purge" if purge else "delete", request_id, {"status": loaded.row.state}, {"status": "closed"})
    view = save(context, loaded._replace(row=row, state=state), entry, close_result.dropped_ranges)
    if purge and _is_purgeable(state, context.now_ms):
        # The sweep removes the rest of a longer history.
        context.transaction.schedule_purge(row.schedule_key, MAX_PURGED)
    return view


def _end_open_work(context: OperationContext, row: ScheduleRow, state: ScheduleState) -> ScheduleState:
    """End the version, the backfills and all runs that do not execute. Return the state with the new counters."""
    transaction, now_ms, key = context.transaction, context.now_ms, row.schedule_key
    dropped = transaction.run_drop_waiting(key, Reason.DELETED, now_ms)
    cancelled = transaction.run_give_up_unheld([(key, state.in_flight)], Reason.DELETED, now_ms)
    context.counted["runs_skipped", Reason.DELETED] += dropped
    context.counted["runs_finished", RunState.CANCELLED] += len(cancelled)
    transaction.version_end(key, row.version, state.cursor_s)
    for backfill in transaction.backfill_list(key, MAX_BACKFILLS, unfinished=True):
        transaction.backfill_update(backfill._replace(state=CANCELLED, next_ms=None, finished_ms=now_ms))
    return without_deleted(state, dropped=dropped, cancelled=len(cancelled))


def _is_purgeable(state: ScheduleState, now_ms: int) -> bool:
    """Return whether no run of a closed schedule executes, and no tick of it could be decided again."""
    return not state.in_flight and state.cursor_s <= edit.cursor_before(now_ms)


# --- writing definitions ----------------------------------------------------------------------------------------------


def reserve_id(context: OperationContext, schedule_id: str) -> ScheduleRow | None:
    """Lock an id for a new schedule and return the deleted schedule that had it, if any.

    Raises :class:`~tompion.errors.AlreadyExists` if a schedule has the id.
    """
    context.transaction.name_lock("schedule", context.namespace, schedule_id)
    row = context.transaction.schedule_get(context.namespace, schedule_id)
    if row is not None and row.state != ScheduleStatus.CLOSED:
        raise AlreadyExists(f"schedule {schedule_id!r} exists already; update it, or put it")
    return row


def create_definition(  # noqa: PLR0913 - the definition, its place, and how to record it
    context: OperationContext,
    schedule_id: str,
    deleted: ScheduleRow | None,
    schedule_input: ScheduleInput,
    entry: AuditEntry,
    *,
    may_never_fire: bool = False,
) -> Schedule:
    """Write a schedule under an id that :func:`reserve_id` has locked."""
    loaded = None if deleted is None else open_if_exists(context, schedule_id, closed=True)
    if loaded is None:
        return insert_definition(context, schedule_id, schedule_input, entry, may_never_fire=may_never_fire)
    return replace_definition(context, loaded, schedule_input, entry, may_never_fire=may_never_fire)


def insert_definition(
    context: OperationContext,
    schedule_id: str,
    schedule_input: ScheduleInput,
    entry: AuditEntry,
    *,
    may_never_fire: bool = False,
) -> Schedule:
    """Insert a new schedule. One that would never fire is rejected unless ``may_never_fire`` is set."""
    transaction, now_ms = context.transaction, context.now_ms
    _check_quota(context)
    definition = schedule_input.definition
    row = with_description(_new_row(context, schedule_id), definition)
    calendars = newest_calendars(context, definition)
    version = new_version(context, row, definition, calendars, edit.cursor_before(now_ms))
    compiled = compile_definition(row, version, definition, calendars)
    remaining = None if schedule_input.remaining is UNSET else schedule_input.remaining
    state = edit.new_state(compiled, now_ms, remaining=remaining)
    note = None if schedule_input.note is UNSET else schedule_input.note
    row = row._replace(pause_note=note, zones=compiled.zones)
    if schedule_input.paused is True:
        row, state = pause_schedule(row, state, paused_by=context.actor, note=note, now_ms=now_ms)
    if not may_never_fire:
        reject_never_firing(compiled, state)
    key = transaction.schedule_insert(row)
    context.created.add(Schedule)
    loaded = LoadedSchedule(
        row=row._replace(schedule_key=key),
        state=state._replace(schedule_key=key),
        version=version._replace(schedule_key=key),
        definition=definition,
        compiled=compiled._replace(schedule_key=key),
    )
    transaction.version_insert(loaded.version)
    transaction.state_insert(loaded.state)
    if calendars:
        transaction.calendar_use_replace(key, context.namespace, definition.spec.exclude.named)
    audit(context, loaded.row, entry._replace(after=audit_document(definition, version)))
    transaction.notify()
    return schedule_view_of(context, loaded)


def _new_row(context: OperationContext, schedule_id: str) -> ScheduleRow:
    """Return the row of a new active schedule. The store chooses its key."""
    return ScheduleRow(
        schedule_key=0,
        namespace=context.namespace,
        schedule_id=schedule_id,
        token=1,
        version=1,
        state="active",
        workflow_id=None,
        user_id=None,
        labels="{}",
        description="",
        paused_by=None,
        pause_note=None,
        paused_ms=None,
        purge=False,
        zones="",
        created_ms=context.now_ms,
        updated_ms=context.now_ms,
    )


def _check_quota(context: OperationContext) -> None:
    """Enforce ``max_schedules_per_namespace``. The lock makes concurrent creators wait for each other."""
    max_schedules = context.settings.max_schedules_per_namespace
    if not max_schedules:
        return
    context.transaction.name_lock("quota", context.namespace, "schedules")
    if context.transaction.schedule_count_open(context.namespace, max_schedules) >= max_schedules:
        raise LimitExceeded(
            f"the namespace has max_schedules_per_namespace ({max_schedules}) schedules; delete some first"
        )


def replace_definition(
    context: OperationContext,
    loaded: LoadedSchedule,
    schedule_input: ScheduleInput,
    entry: AuditEntry,
    *,
    may_never_fire: bool = False,
) -> Schedule:
    """Write a new definition of a schedule that exists or was deleted. The same definition changes nothing."""
    transaction, now_ms = context.transaction, context.now_ms
    was_closed = loaded.row.state == ScheduleStatus.CLOSED
    if was_closed and loaded.row.purge and _is_purgeable(loaded.state, now_ms):
        # Parts of its history may be purged already. The new schedule starts without the rest.
        while transaction.schedule_purge(loaded.row.schedule_key, MAX_PURGED) == MAX_PURGED:
            pass
        return insert_definition(context, loaded.row.schedule_id, schedule_input, entry, may_never_fire=may_never_fire)
    if was_closed:
        _check_quota(context)
        context.created.add(Schedule)
    definition = schedule_input.definition
    before = None if was_closed else audit_document(loaded.definition, loaded.version)
    changed, dropped_ranges = _with_version(context, loaded, definition)
    if was_closed:
        changed = _reopen(changed, may_never_fire=may_never_fire)
    if schedule_input.remaining not in (UNSET, changed.state.remaining):  # the same number must not move the next fire
        edited = edit.set_remaining(changed.state, changed.compiled, schedule_input.remaining, now_ms)
        changed, dropped_ranges = changed._replace(state=edited.state), dropped_ranges + edited.dropped_ranges
    changed = _with_pause(context, changed, schedule_input)
    is_unchanged = (changed.row, changed.state, changed.version) == (loaded.row, loaded.state, loaded.version)
    if is_unchanged and entry.operation != "restore":  # a restore is always audited
        return schedule_view_of(context, loaded)
    entry = entry._replace(before=before, after=audit_document(definition, changed.version))
    return save(context, changed, entry, dropped_ranges)


def _with_version(
    context: OperationContext, loaded: LoadedSchedule, definition: Definition
) -> tuple[LoadedSchedule, list[DroppedRange]]:
    """Write a new version if the definition differs, and return the schedule under it with the ticks it drops."""
    transaction = context.transaction
    row = with_description(loaded.row, definition)._replace(purge=False)
    calendars = newest_calendars(context, definition)
    version = new_version(context, row._replace(version=row.version + 1), definition, calendars)
    if loaded.row.state != ScheduleStatus.CLOSED and is_same_version(version, loaded.version):
        return loaded._replace(row=row), []
    row = row._replace(version=version.version)
    compiled = compile_definition(row, version, definition, calendars)
    edited = edit.replace_version(loaded.state, loaded.compiled, compiled, context.now_ms)
    version = version._replace(after_s=edited.state.cursor_s)
    transaction.version_end(row.schedule_key, loaded.version.version, edited.state.cursor_s)
    transaction.version_insert(version)
    transaction.calendar_use_replace(row.schedule_key, context.namespace, definition.spec.exclude.named)
    changed = LoadedSchedule(row=row, state=edited.state, version=version, definition=definition, compiled=compiled)
    return changed, edited.dropped_ranges


def _reopen(loaded: LoadedSchedule, *, may_never_fire: bool) -> LoadedSchedule:
    """Return a deleted schedule that is created again. It stays paused if it was paused when it was deleted."""
    row = loaded.row._replace(state="paused" if loaded.state.paused else "active")
    state = loaded.state._replace(closed=False, remaining=None)
    state = edit.advance_to_next(state, loaded.compiled, state.cursor_s)
    if not may_never_fire:
        reject_never_firing(loaded.compiled, state)
    return loaded._replace(row=row, state=state)


def _with_pause(context: OperationContext, loaded: LoadedSchedule, schedule_input: ScheduleInput) -> LoadedSchedule:
    """Return a schedule paused or resumed as the fields ``paused`` and ``note`` of its document request."""
    row, state, compiled, now_ms = loaded.row, loaded.state, loaded.compiled, context.now_ms
    if schedule_input.paused is True and not state.paused:
        row, state = pause_schedule(row, state, paused_by=context.actor, note=row.pause_note, now_ms=now_ms)
    elif schedule_input.paused is False and state.paused:
        context.transaction.run_unhold_planned([row.schedule_key], now_ms)
        row, state = resume_schedule(row, state, compiled, on_resume=compiled.policy.on_resume, now_ms=now_ms)
    if schedule_input.note is not UNSET:
        row = row._replace(pause_note=schedule_input.note)
    return loaded._replace(row=row, state=state)
