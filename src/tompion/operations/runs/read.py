"""Read runs, dropped ranges, and the description of one schedule."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from tompion.encoding.instant import datetime_s
from tompion.errors import InvalidField, NotFound, display
from tompion.model.page import Page
from tompion.model.rows import ScheduleRow
from tompion.model.run import IN_FLIGHT, OPEN, RunId, RunRow, RunSource, RunState
from tompion.model.schedule import Description, DroppedTicks, Run
from tompion.model.schedule_state import ScheduleState
from tompion.operations.context import OperationContext
from tompion.operations.paging import DEFAULT_PAGE, page_limit, page_number
from tompion.operations.schedules.repository import UNREADABLE, find, load_by_id, schedule_view_of
from tompion.operations.views import backfill_view, dropped_view, outlook_view, parse_json, run_view
from tompion.plan import edit
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.decide import decide
from tompion.plan.due_ticks import DueLimits
from tompion.plan.pause import resume_state
from tompion.plan.release import release_queue
from tompion.plan.stored_definition import stored_definition
from tompion.plan.upcoming import upcoming_ticks
from tompion.store.base import FAR_S

SOURCES = tuple(RunSource)
MAX_RECENT = 10
MAX_NEXT_TICKS = 10
MAX_RUNS_READ = 50_000
"""The maximum number of runs that are read for one page of the runs of all schedules."""
MAX_WOULD_RUN = 100
MAX_ROWS_READ = 10_000
"""The maximum number of paused ticks that a description decides."""
MAX_PASSES = 20
"""The maximum number of passes over them."""


def runs(  # noqa: PLR0913 - what a list can be about
    context: OperationContext,
    schedule_id: str,
    *,
    status: str | None = None,
    source: str | None = None,
    limit: int = DEFAULT_PAGE,
    before: str | None = None,
) -> Page[Run]:
    """Return the runs of a schedule, the newest first."""
    _check_status(status)
    if source is not None and source not in SOURCES:
        raise InvalidField("source", f"{display(source)}; expected one of {', '.join(SOURCES)}")
    row, limit = find(context, schedule_id), page_limit(context, limit)
    start = (FAR_S, 0)
    if before is not None:
        nominal, _, origin = str(before).partition("-")
        start = (page_number("before", nominal, 0), page_number("before", origin, 0))
    rows = context.transaction.run_list_page(row.schedule_key, start, limit + 1, status, source)
    more = f"{rows[limit - 1].nominal_s}-{rows[limit - 1].origin}" if len(rows) > limit else None
    return Page(tuple(run_view(run, row) for run in rows[:limit]), more)


def recent_runs(
    context: OperationContext, *, status: str | None = None, limit: int = DEFAULT_PAGE, before: str | None = None
) -> Page[Run]:
    """Return the runs of all schedules in the order of their decisions, the newest first.

    A page may be short or empty and still have a next page, because the number of runs read for each page is limited. A
    list has no results, because they may be long. Read one run for its result.
    """
    _check_status(status)
    limit = page_limit(context, limit)
    transaction = context.transaction
    end_number = transaction.run_last_number() + 1 if before is None else page_number("before", before, 0)
    min_number = max(1, end_number - MAX_RUNS_READ)
    rows = transaction.run_list_recent(context.namespace, end_number, min_number, limit + 1, status)
    names = transaction.schedule_list_by_key(row.schedule_key for _, row in rows[:limit])
    items = tuple(replace(run_view(row, names[row.schedule_key]), result=None) for _, row in rows[:limit])
    next_end = rows[limit - 1][0] if len(rows) > limit else min_number
    return Page(items, str(next_end) if next_end > 1 else None)


def _check_status(status: str | None) -> None:
    if status is not None and status not in list(RunState):
        raise InvalidField("status", f"{display(status)}; expected one of {', '.join(RunState)}")


def get_run(context: OperationContext, run_id: str) -> Run:
    """Return one run with its payload."""
    row, schedule = find_run(context, run_id)
    return replace(run_view(row, schedule), payload=_payload_of(context, row))


def _payload_of(context: OperationContext, row: RunRow) -> object:
    """Return the payload of a run: its own, or that of its version. The payload of a damaged version is unknown."""
    if row.payload is not None:
        return parse_json(row.payload)
    version = context.transaction.version_get(row.schedule_key, row.version)
    try:
        return None if version is None else stored_definition(version).payload
    except UNREADABLE:
        return None


def find_run(context: OperationContext, run_id: str) -> tuple[RunRow, ScheduleRow]:
    """Return a run of this namespace and its schedule. Raises :class:`~tompion.errors.NotFound`."""
    wanted = _read_run_id(run_id)
    row = None if wanted is None else context.transaction.run_get(wanted)
    schedule = (
        None if row is None else context.transaction.schedule_list_by_key([row.schedule_key]).get(row.schedule_key)
    )
    if row is None or schedule is None or schedule.namespace != context.namespace:
        raise NotFound(f"there is no run {display(run_id)}")
    return row, schedule


def _read_run_id(run_id: object) -> RunId | None:
    parts = str(run_id).split("-")
    return RunId(*map(int, parts)) if len(parts) == 3 and all(map(_is_number, parts)) else None


def _open_runs(context: OperationContext, state: ScheduleState) -> list[RunRow]:
    """Return the open runs of a schedule, the oldest first."""
    remaining, key = context.settings.max_page, state.schedule_key
    running = context.transaction.run_list_in_flight([(key, min(state.in_flight, remaining))])
    return sorted([*running, *context.transaction.run_list_waiting(key, remaining)], key=lambda run: run.id)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 18


def dropped_ranges(
    context: OperationContext, schedule_id: str, *, limit: int = DEFAULT_PAGE
) -> tuple[DroppedTicks, ...]:
    """Return the dropped ranges of a schedule with their reasons, the newest first."""
    row = find(context, schedule_id)
    rows = context.transaction.dropped_range_list(row.schedule_key, 0, FAR_S, page_limit(context, limit))
    return tuple(dropped_view(dropped_range) for dropped_range in rows)


def describe(context: OperationContext, schedule_id: str) -> Description:
    """Return everything about one schedule: its state, its runs, its next ticks, and the runs of a resume."""
    transaction = context.transaction
    loaded = load_by_id(context, schedule_id)
    row, state, compiled = loaded.row, loaded.state, loaded.compiled
    key = row.schedule_key
    open_runs = _open_runs(context, state)
    would_run = _would_run_on_resume(context, state, compiled) if state.paused else []
    return Description(
        schedule=schedule_view_of(context, loaded),
        recent=tuple(run_view(run, row) for run in transaction.run_list_page(key, (FAR_S, 0), MAX_RECENT)),
        running=tuple(run_view(run, row) for run in open_runs if run.state in IN_FLIGHT),
        waiting=tuple(run_view(run, row) for run in open_runs if run.state not in IN_FLIGHT),
        next_ticks=tuple(
            datetime_s(tick) for tick in islice(upcoming_ticks(state, compiled, context.now_ms), MAX_NEXT_TICKS)
        ),
        skipped_ticks=tuple(datetime_s(tick) for tick in sorted(edit.skips_of(state))),
        would_run_on_resume=tuple(datetime_s(tick) for tick in would_run[:MAX_WOULD_RUN]),
        would_run_count=len(would_run),
        backfills=tuple(
            backfill_view(backfill, schedule_id) for backfill in transaction.backfill_list(key, MAX_RECENT)
        ),
        dropped_ranges=tuple(
            dropped_view(dropped_range) for dropped_range in transaction.dropped_range_list(key, 0, FAR_S, MAX_RECENT)
        ),
        outlook=None if compiled.allowed_seconds is None else outlook_view(row, state, compiled, context.now_ms),
    )


def _would_run_on_resume(context: OperationContext, state: ScheduleState, compiled: CompiledSchedule) -> list[int]:
    """Return the ticks of a pause that a resume would start or let wait, as the planner decides if no run ended."""
    settings, now_ms = context.settings, context.now_ms
    limits = DueLimits(
        grace_ms=settings.misfire_grace_ms,
        max_catchup=MAX_ROWS_READ,
        max_spread=MAX_ROWS_READ,
        max_dropped_range_ticks=MAX_ROWS_READ,
        lookahead_ms=settings.lookahead_ms,
    )
    decision_context = context.decision_contexts(limits).of(compiled)
    remaining = MAX_ROWS_READ if state.remaining is None else min(MAX_ROWS_READ, state.remaining)
    state = resume_state(state, compiled, now_ms, compiled.policy.on_resume)
    if state.waiting:
        waiting = context.transaction.run_list_buffered([state.schedule_key], settings.max_page)
        state = release_queue(state, compiled, [(row, decision_context) for row in waiting]).state
    decided: list[RunRow] = []
    for _ in range(MAX_PASSES):
        decision, state, _ = decide(state, compiled, decision_context, MAX_ROWS_READ)
        decided += decision.runs
        if len(decided) >= MAX_ROWS_READ or state.next_fire_ms is None or state.next_fire_ms > now_ms:
            break
    return [run.nominal_s for run in decided if run.state in OPEN][:remaining]
