"""What a door in the manner of another system shows of a schedule, gathered in one transaction.

Its spec is in ranges there, its actions are the runs that were started, and its future is when they will be launched,
jitter included.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from tompion.errors import NotFound, StoreError
from tompion.model.rows import ScheduleRow
from tompion.model.run import RunRow, RunSource
from tompion.model.schedule import Run, Schedule, ScheduleStatus
from tompion.model.spec import SpecDocument
from tompion.operations.context import OperationContext
from tompion.operations.paging import page_limit, page_name
from tompion.operations.schedules.crud import schedule_filter
from tompion.operations.schedules.repository import LoadedSchedule, load, load_by_id, placeholder, schedule_view_of
from tompion.operations.views import at_s, datetime_ms, run_view
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.upcoming import upcoming_ticks
from tompion.spec.calendar.ranges import ranges_of
from tompion.spec.compiler import zone_of
from tompion.spec.datetime_text import last_instant, read_moment

FUTURE = 10
RECENT = 10
LOOKED_AT = 2_000
"""Among how many of the latest ticks, and of what was asked for, the latest started ones are looked for."""
MAX_TIMES = 1_000
MAX_COUNTED = 1 << 31
Test = Callable[[Schedule], bool]


@dataclass(frozen=True, slots=True)
class TemporalView:
    """A schedule, and what is known around it; ``left_out`` names the parts of its spec that ``spec`` cannot say.

    The ``fire_at`` of ``recent`` runs is when each was to be launched: a backfill's or a trigger's is in the past.
    """

    schedule: Schedule
    spec: SpecDocument
    left_out: tuple[str, ...]
    document: Any
    running: tuple[Run, ...]
    recent: tuple[Run, ...]
    future: tuple[datetime, ...]
    starts_at: datetime | None
    ends_at: datetime | None


def temporal_view(context: OperationContext, schedule_id: str) -> TemporalView:
    """Return everything about a schedule that is not deleted.  Raises :class:`~tompion.errors.NotFound`."""
    opened = opened_for_reading(context, schedule_id)
    return _gathered(context, opened, schedule_view_of(context, opened))


def temporal_views(
    context: OperationContext, *, limit: int, look_at: int, after: str | None = None, test: Test | None = None
) -> tuple[list[TemporalView], str | None]:
    """Return the next schedules in the order of their ids that a test lets pass, and after which there may be more.

    So many are looked at, and no more; only what passes is gathered.
    """
    found: list[TemporalView] = []
    seen = None
    for opened, more in _opened_page(context, look_at, after):
        if len(found) == limit:
            return found, seen
        schedule = schedule_view_of(context, opened)
        if test is None or test(schedule):
            found.append(_gathered(context, opened, schedule))
        seen = schedule.schedule_id if more else None
    return found, seen


def count_schedules(context: OperationContext) -> int:
    """Return how many schedules there are."""
    found = context.transaction.schedule_count_by_status(context.namespace, MAX_COUNTED)
    return sum(number for state, number, _, _ in found if state != ScheduleStatus.CLOSED)


def count_matching_views(
    context: OperationContext, *, look_at: int, after: str | None, test: Test
) -> tuple[int, str | None]:
    """Return how many of the next schedules a test lets pass, and after which there are more."""
    count, seen = 0, None
    for opened, more in _opened_page(context, look_at, after):
        count += test(schedule_view_of(context, opened))
        seen = opened.row.schedule_id if more else None
    return count, seen


def _opened_page(context: OperationContext, look_at: int, after: str | None) -> Iterator[tuple[LoadedSchedule, bool]]:
    """The next schedules, and whether there are more after each; one that is damaged must not hide the others."""
    look_at = page_limit(context, look_at)
    everything = schedule_filter(None, None, None, None, None)
    rows = context.transaction.schedule_list(context.namespace, page_name(after), look_at + 1, everything)
    keys = [row.schedule_key for row in rows[:look_at]]
    states, versions = context.transaction.state_get(keys), context.transaction.version_list_current(keys)
    for number, row in enumerate(rows[:look_at], 1):
        state = states.get(row.schedule_key)
        try:
            opened = load(context, row, state, versions.get(row.schedule_key))
        except StoreError as error:
            opened = placeholder(context, row, state, error)
        yield opened, number < len(rows)


def matching_times(context: OperationContext, schedule_id: str, start_ms: int, end_ms: int) -> list[datetime]:
    """Return when a schedule would be launched for its ticks after one instant, up to another; at most a thousand."""
    return list(islice(_launches(opened_for_reading(context, schedule_id), start_ms, end_ms), MAX_TIMES))


def _launches(opened: LoadedSchedule, start_ms: int, end_ms: int) -> Iterator[datetime]:
    compiled = opened.compiled
    tick = None if compiled.is_sequential else compiled.ticks.next_epoch(start_ms // 1000)
    while tick is not None and (fire_ms := compiled.fire_ms(tick)) <= end_ms:
        yield datetime_ms(fire_ms)
        tick = compiled.ticks.next_epoch(tick)


def opened_for_reading(context: OperationContext, schedule_id: str) -> LoadedSchedule:
    """Return a schedule that is not deleted, and that nobody has locked."""
    opened = load_by_id(context, schedule_id)
    if opened.row.state == ScheduleStatus.CLOSED:
        raise NotFound(f"there is no schedule {schedule_id!r} in namespace {context.namespace!r}")
    return opened


def _gathered(context: OperationContext, opened: LoadedSchedule, schedule: Schedule) -> TemporalView:
    row, state, compiled = opened.row, opened.state, opened.compiled
    ranged = ranges_of(compiled.spec)
    running = context.transaction.run_list_in_flight([(row.schedule_key, state.in_flight)]) if state.in_flight else []
    ahead = islice(
        upcoming_ticks(state, compiled, context.now_ms), FUTURE if state.remaining is None else state.remaining
    )
    return TemporalView(
        schedule=schedule,
        spec=ranged.spec,
        left_out=ranged.left,
        document=_document(context, row, opened),
        running=tuple(run_view(run, row) for run in running),
        recent=tuple(run_view(run._replace(fire_ms=_meant_ms(run, compiled)), row) for run in _started(context, row)),
        future=tuple(datetime_ms(compiled.fire_ms(tick)) for tick in islice(ahead, FUTURE)),
        starts_at=None if compiled.start_s is None else at_s(compiled.start_s),
        ends_at=_end_of(compiled.spec),
    )


def _meant_ms(run: RunRow, compiled: CompiledSchedule) -> int:
    """When a run was to be launched; of a time that somebody asked for, when it would have been."""
    if run.source == RunSource.BACKFILL:
        return compiled.fire_ms(run.nominal_s)
    asked_for_another = run.source == RunSource.TRIGGER and run.nominal_s != run.fire_ms // 1000
    return run.nominal_s * 1000 if asked_for_another else run.fire_ms


def _end_of(spec: SpecDocument) -> datetime | None:
    if spec.end_at is None:
        return None
    return at_s(last_instant(read_moment(spec.end_at, field="end_at"), zone_of(spec)))


def _started(context: OperationContext, row: ScheduleRow) -> list[RunRow]:
    """The latest runs that were started, in the order in which they were; one that is queued is about to be."""
    started = context.transaction.run_list_started(row.schedule_key, RECENT, LOOKED_AT)
    return sorted(started, key=lambda run: (run.started_ms or run.decided_ms, run.id))[-RECENT:]


def _document(context: OperationContext, row: ScheduleRow, opened: LoadedSchedule) -> Any:
    action = opened.compiled.action
    if action.workflow_id is None:
        return None
    found = context.transaction.workflow_get(row.namespace, action.workflow_id, action.workflow_version)
    return None if found is None else json.loads(found.document)
