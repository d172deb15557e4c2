"""Read operations of the Temporal-compatible API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from tompion.encoding.instant import datetime_ms, datetime_s
from tompion.errors import NotFound, StoreError
from tompion.model.rows import ScheduleRow
from tompion.model.run import RunRow, RunSource
from tompion.model.schedule import Run, Schedule, ScheduleStatus
from tompion.model.spec import SpecDocument
from tompion.operations.context import OperationContext
from tompion.operations.paging import page_limit, page_name
from tompion.operations.schedules.crud import schedule_filter
from tompion.operations.schedules.repository import LoadedSchedule, load, load_by_id, placeholder, schedule_view_of
from tompion.operations.views import run_view
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.upcoming import upcoming_ticks
from tompion.spec.calendar.ranges import ranges_of
from tompion.spec.compiler import zone_of
from tompion.spec.datetime_text import last_instant, read_moment

MAX_FUTURE = 10
MAX_RECENT = 10
MAX_RUNS_READ = 2_000
"""The maximum number of latest ticks, and of latest requested runs, among which started runs are searched."""
MAX_TIMES = 1_000
MAX_COUNTED = 1 << 31
Predicate = Callable[[Schedule], bool]


@dataclass(frozen=True, slots=True)
class TemporalView:
    """A schedule with its runs and ticks. ``left_out`` names the parts of its spec that ``spec`` cannot express.

    The ``fire_at`` of ``recent`` runs is the time that each run was meant for. That of a backfill or a trigger is in
    the past.
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
    """Return everything about a schedule that is not deleted. Raises :class:`~tompion.errors.NotFound`."""
    loaded = load_open_schedule(context, schedule_id)
    return _view(context, loaded, schedule_view_of(context, loaded, check_target=False))


def temporal_views(
    context: OperationContext,
    *,
    limit: int,
    max_read: int,
    after: str | None = None,
    predicate: Predicate | None = None,
) -> tuple[list[TemporalView], str | None]:
    """Return the next schedules that match a predicate, by id, and the id after which there may be more.

    At most ``max_read`` schedules are read.
    """
    views: list[TemporalView] = []
    last_id = None
    for loaded, more in _load_page(context, max_read, after):
        if len(views) == limit:
            return views, last_id
        schedule = schedule_view_of(context, loaded, check_target=False)
        if predicate is None or predicate(schedule):
            views.append(_view(context, loaded, schedule))
        last_id = schedule.schedule_id if more else None
    return views, last_id


def count_schedules(context: OperationContext) -> int:
    """Return the number of schedules."""
    rows = context.transaction.schedule_count_by_status(context.namespace, MAX_COUNTED)
    return sum(number for state, number, _, _ in rows if state != ScheduleStatus.CLOSED)


def count_matching_views(
    context: OperationContext, *, max_read: int, after: str | None, predicate: Predicate
) -> tuple[int, str | None]:
    """Return how many of the next schedules match a predicate, and the id after which there are more."""
    count, last_id = 0, None
    for loaded, more in _load_page(context, max_read, after):
        count += predicate(schedule_view_of(context, loaded, check_target=False))
        last_id = loaded.row.schedule_id if more else None
    return count, last_id


def _load_page(context: OperationContext, max_read: int, after: str | None) -> Iterator[tuple[LoadedSchedule, bool]]:
    """Yield the next schedules, and whether there are more after each. A damaged one must not hide the others."""
    max_read = page_limit(context, max_read)
    everything = schedule_filter(None, None, None, None, None)
    rows = context.transaction.schedule_list(context.namespace, page_name(after), max_read + 1, everything)
    keys = [row.schedule_key for row in rows[:max_read]]
    states, versions = context.transaction.state_get(keys), context.transaction.version_list_current(keys)
    for number, row in enumerate(rows[:max_read], 1):
        state = states.get(row.schedule_key)
        try:
            loaded = load(context, row, state, versions.get(row.schedule_key))
        except StoreError as error:
            loaded = placeholder(context, row, state, error)
        yield loaded, number < len(rows)


def matching_times(context: OperationContext, schedule_id: str, start_ms: int, end_ms: int) -> list[datetime]:
    """Return the fire times of a schedule's ticks after one instant up to another, at most a thousand."""
    return list(islice(_launches(load_open_schedule(context, schedule_id), start_ms, end_ms), MAX_TIMES))


def _launches(loaded: LoadedSchedule, start_ms: int, end_ms: int) -> Iterator[datetime]:
    compiled = loaded.compiled
    tick = None if compiled.is_sequential else compiled.ticks.next_epoch(start_ms // 1000)
    while tick is not None and (fire_ms := compiled.fire_ms(tick)) <= end_ms:
        yield datetime_ms(fire_ms)
        tick = compiled.ticks.next_epoch(tick)


def load_open_schedule(context: OperationContext, schedule_id: str) -> LoadedSchedule:
    """Return a schedule that is not deleted, without a lock."""
    loaded = load_by_id(context, schedule_id)
    if loaded.row.state == ScheduleStatus.CLOSED:
        raise NotFound(f"there is no schedule {schedule_id!r} in namespace {context.namespace!r}")
    return loaded


def _view(context: OperationContext, loaded: LoadedSchedule, schedule: Schedule) -> TemporalView:
    """Return a schedule with its runs and ticks."""
    row, state, compiled = loaded.row, loaded.state, loaded.compiled
    ranged = ranges_of(compiled.spec)
    running = context.transaction.run_list_in_flight([(row.schedule_key, state.in_flight)]) if state.in_flight else []
    ticks = islice(
        upcoming_ticks(state, compiled, context.now_ms), MAX_FUTURE if state.remaining is None else state.remaining
    )
    return TemporalView(
        schedule=schedule,
        spec=ranged.spec,
        left_out=ranged.left,
        document=_document(context, row, loaded),
        running=tuple(run_view(run, row) for run in running),
        recent=tuple(
            run_view(run._replace(fire_ms=_intended_ms(run, compiled)), row) for run in _latest_started(context, row)
        ),
        future=tuple(datetime_ms(compiled.fire_ms(tick)) for tick in islice(ticks, MAX_FUTURE)),
        starts_at=None if compiled.start_s is None else datetime_s(compiled.start_s),
        ends_at=_end_of(compiled.spec),
    )


def _intended_ms(run: RunRow, compiled: CompiledSchedule) -> int:
    """Return the time that a run was meant for.

    For a backfill or a trigger, it is the fire time of the requested tick.
    """
    if run.source == RunSource.BACKFILL:
        return compiled.fire_ms(run.nominal_s)
    is_for_another_time = run.source == RunSource.TRIGGER and run.nominal_s != run.fire_ms // 1000
    return run.nominal_s * 1000 if is_for_another_time else run.fire_ms


def _end_of(spec: SpecDocument) -> datetime | None:
    if spec.end_at is None:
        return None
    return datetime_s(last_instant(read_moment(spec.end_at, field="end_at"), zone_of(spec)))


def _latest_started(context: OperationContext, row: ScheduleRow) -> list[RunRow]:
    """Return the latest started runs in the order of their starts.

    A queued run counts, because it is about to start.
    """
    started = context.transaction.run_list_started(row.schedule_key, MAX_RECENT, MAX_RUNS_READ)
    return sorted(started, key=lambda run: (run.started_ms or run.decided_ms, run.id))[-MAX_RECENT:]


def _document(context: OperationContext, row: ScheduleRow, loaded: LoadedSchedule) -> Any:
    action = loaded.compiled.action
    if action.executor is not None:
        return {"executor": action.executor, "options": action.options}
    if action.workflow_id is None:
        return None
    workflow = context.transaction.workflow_get(row.namespace, action.workflow_id, action.workflow_version)
    return None if workflow is None else json.loads(workflow.document)
