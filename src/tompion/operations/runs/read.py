"""Reading the ledger: runs, spans, and everything about one schedule."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from tompion.errors import InvalidField, NotFound, display
from tompion.model.page import Page
from tompion.model.rows import ScheduleRow
from tompion.model.run import IN_FLIGHT, OPEN, RunId, RunRow, RunSource, RunState
from tompion.model.schedule import Description, DroppedTicks, Run
from tompion.model.schedule_state import ScheduleState
from tompion.operations.context import OperationContext
from tompion.operations.paging import DEFAULT_PAGE, page_limit, page_number
from tompion.operations.schedules.repository import UNREADABLE, find, load_by_id, schedule_view_of
from tompion.operations.views import at_s, backfill_view, dropped_view, loaded_json, outlook_view, run_view
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
RECENT = 10
NEXT_TICKS = 10
LOOKED_AT = 50_000
"""How many runs are looked at for one page of the runs of all schedules."""
WOULD_RUN = 100
MAX_ROWS_READ, MAX_PASSES = 10_000, 20
"""How many held-up ticks a description judges, and how many passes it takes to find them."""


def runs(  # noqa: PLR0913 - what a list can be about
    context: OperationContext,
    schedule_id: str,
    *,
    state: str | None = None,
    source: str | None = None,
    limit: int = DEFAULT_PAGE,
    before: str | None = None,
) -> Page[Run]:
    """Return the runs of a schedule, the newest first."""
    _check_state(state)
    if source is not None and source not in SOURCES:
        raise InvalidField("source", f"{display(source)}; expected one of {', '.join(SOURCES)}")
    row, limit = find(context, schedule_id), page_limit(context, limit)
    start = (FAR_S, 0)
    if before is not None:
        nominal, _, origin = str(before).partition("-")
        start = (page_number("before", nominal, 0), page_number("before", origin, 0))
    found = context.transaction.run_list_page(row.schedule_key, start, limit + 1, state, source)
    more = f"{found[limit - 1].nominal_s}-{found[limit - 1].origin}" if len(found) > limit else None
    return Page(tuple(run_view(run, row) for run in found[:limit]), more)


def recent_runs(
    context: OperationContext, *, state: str | None = None, limit: int = DEFAULT_PAGE, before: str | None = None
) -> Page[Run]:
    """Return the runs of all schedules, in the order in which they were decided, the newest first.

    A page may hold fewer than asked for, or none, and be followed by others: so many runs are looked at for each.  A
    list shows no results, because they may be long: ``get_run`` does.
    """
    _check_state(state)
    limit = page_limit(context, limit)
    transaction = context.transaction
    start = transaction.run_last_number() + 1 if before is None else page_number("before", before, 0)
    least = max(1, start - LOOKED_AT)
    found = transaction.run_list_recent(context.namespace, start, least, limit + 1, state)
    names = transaction.schedule_list_by_key(row.schedule_key for _, row in found[:limit])
    items = tuple(replace(run_view(row, names[row.schedule_key]), result=None) for _, row in found[:limit])
    more = found[limit - 1][0] if len(found) > limit else least
    return Page(items, str(more) if more > 1 else None)


def _check_state(state: str | None) -> None:
    if state is not None and state not in list(RunState):
        raise InvalidField("state", f"{display(state)}; expected one of {', '.join(RunState)}")


def run(context: OperationContext, run_id: str) -> Run:
    """Return one run, with what it was given."""
    row, schedule = found_run(context, run_id)
    return replace(run_view(row, schedule), payload=_payload_of(context, row))


def _payload_of(context: OperationContext, row: RunRow) -> object:
    """What a run was given: its own payload, or that of its version; nobody knows that of a damaged one."""
    if row.payload is not None:
        return loaded_json(row.payload)
    version = context.transaction.version_get(row.schedule_key, row.version)
    try:
        return None if version is None else stored_definition(version).payload
    except UNREADABLE:
        return None


def found_run(context: OperationContext, run_id: str) -> tuple[RunRow, ScheduleRow]:
    """Return a run of this namespace, and its schedule; raises :class:`~tompion.errors.NotFound`."""
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
    """The runs that are not over, the oldest first."""
    most, key = context.settings.max_page, state.schedule_key
    running = context.transaction.run_list_in_flight([(key, min(state.in_flight, most))])
    return sorted([*running, *context.transaction.run_list_waiting(key, most)], key=lambda run: run.id)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 18


def dropped_ranges(
    context: OperationContext, schedule_id: str, *, limit: int = DEFAULT_PAGE
) -> tuple[DroppedTicks, ...]:
    """Return which ticks were dropped together, and why, the newest first."""
    row = find(context, schedule_id)
    found = context.transaction.dropped_range_list(row.schedule_key, 0, FAR_S, page_limit(context, limit))
    return tuple(dropped_view(dropped_range) for dropped_range in found)


def describe(context: OperationContext, schedule_id: str) -> Description:
    """Return everything about one schedule: its state, its runs, what comes next, what would run on resume."""
    transaction = context.transaction
    opened = load_by_id(context, schedule_id)
    row, state, compiled = opened.row, opened.state, opened.compiled
    key = row.schedule_key
    open_runs = _open_runs(context, state)
    held_up = _would_run(context, state, compiled) if state.paused else []
    return Description(
        schedule=schedule_view_of(context, opened),
        recent=tuple(run_view(run, row) for run in transaction.run_list_page(key, (FAR_S, 0), RECENT)),
        running=tuple(run_view(run, row) for run in open_runs if run.state in IN_FLIGHT),
        waiting=tuple(run_view(run, row) for run in open_runs if run.state not in IN_FLIGHT),
        next_ticks=tuple(at_s(tick) for tick in islice(upcoming_ticks(state, compiled, context.now_ms), NEXT_TICKS)),
        skipped_ticks=tuple(at_s(tick) for tick in sorted(edit.skips_of(state))),
        would_run_on_resume=tuple(at_s(tick) for tick in held_up[:WOULD_RUN]),
        would_run_count=len(held_up),
        backfills=tuple(backfill_view(each, schedule_id) for each in transaction.backfill_list(key, RECENT)),
        dropped_ranges=tuple(
            dropped_view(dropped_range) for dropped_range in transaction.dropped_range_list(key, 0, FAR_S, RECENT)
        ),
        outlook=None if compiled.allowed_seconds is None else outlook_view(row, state, compiled, context.now_ms),
    )


def _would_run(context: OperationContext, state: ScheduleState, compiled: CompiledSchedule) -> list[int]:
    """The ticks of a pause that a resume would start, or let wait: as the planner would decide, if no run ended."""
    settings, now_ms = context.settings, context.now_ms
    limits = DueLimits(
        grace_ms=settings.misfire_grace_ms,
        max_catchup=MAX_ROWS_READ,
        max_spread=MAX_ROWS_READ,
        max_dropped_range_ticks=MAX_ROWS_READ,
        lookahead_ms=settings.lookahead_ms,
    )
    decision_context = context.decision_contexts(limits).of(compiled)
    most = MAX_ROWS_READ if state.remaining is None else min(MAX_ROWS_READ, state.remaining)
    state = resume_state(state, compiled, now_ms, compiled.policy.on_resume)
    if state.waiting:
        waiting = context.transaction.run_list_buffered([state.schedule_key], settings.max_page)
        state = release_queue(state, compiled, [(row, decision_context) for row in waiting]).state
    judged: list[RunRow] = []
    for _ in range(MAX_PASSES):
        decision, state, _ = decide(state, compiled, decision_context, MAX_ROWS_READ)
        judged += decision.runs
        if len(judged) >= MAX_ROWS_READ or state.next_fire_ms is None or state.next_fire_ms > now_ms:
            break
    return [run.nominal_s for run in judged if run.state in OPEN][:most]
