"""Backfills: run past ticks again."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from tompion.encoding.instant import When, datetime_s
from tompion.errors import InvalidField, LimitExceeded, NotFound, display
from tompion.model.backfill import CANCELLED, PLANNED, RUNNING, BackfillRow
from tompion.model.policy import OVERLAP_ALIASES, Overlap
from tompion.model.rows import ScheduleRow
from tompion.model.schedule import Backfill
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import idempotent
from tompion.operations.instants import epoch_ms, epoch_s
from tompion.operations.paging import page_limit
from tompion.operations.schedules.control import MAX_NUMBER, _audit_request
from tompion.operations.schedules.repository import AuditEntry, LoadedSchedule, find, open_schedule
from tompion.operations.validation import check_flag, choice
from tompion.operations.views import backfill_view
from tompion.plan.backfill import ALL, BACKFILL_FILTERS, is_wanted, last_decided

MAX_DRY_RUN_TICKS = 100
"""The maximum number of ticks that a dry run lists of each range."""


@idempotent(tuple[Backfill, ...])
def backfill(  # noqa: PLR0913 - the parts of the request
    context: OperationContext,
    schedule_id: str,
    start: When | None = None,
    end: When | None = None,
    *,
    ranges: list[tuple[When, When]] | None = None,
    overlap: str = Overlap.QUEUE,
    only: str = ALL,
    dry_run: bool = False,
    request_id: str | None = None,
) -> tuple[Backfill, ...]:
    """Run past ticks again: from ``start`` to ``end``, both included, or of several ranges.

    With ``dry_run`` nothing starts. The answer has the number of ticks, and the first 100 ticks of each range.
    """
    loaded = open_schedule(context, schedule_id)
    overlap_policy = choice("overlap", overlap, Overlap, OVERLAP_ALIASES)
    if only not in BACKFILL_FILTERS:
        raise InvalidField("only", f"{display(only)}; expected one of {', '.join(BACKFILL_FILTERS)}")
    pairs = [(start, end)] if ranges is None else _pairs(ranges)
    rows = [_backfill_row(context, loaded, first, last, overlap_policy, only) for first, last in pairs]
    _check_backfills(context, loaded, rows)
    if check_flag("dry_run", dry_run):
        return tuple(_dry_run(context, loaded, row) for row in rows)
    rows = [row._replace(backfill_id=context.transaction.number_next()) for row in rows]
    for row in rows:
        context.transaction.backfill_insert(row)
    context.created.add(tuple[Backfill, ...])
    views = tuple(backfill_view(row, schedule_id) for row in rows)
    after = {"backfills": [row.backfill_id for row in rows], "ticks": sum(row.total for row in rows)}
    after["undecided"] = sum(row.undecided for row in rows)
    _audit_request(context, loaded, AuditEntry("backfill", request_id, None, after))
    context.transaction.notify()
    return views


@idempotent(Backfill)
def cancel_backfill(context: OperationContext, backfill_id: int, *, request_id: str | None = None) -> Backfill:
    """Stop a backfill. Runs that it has started continue."""
    row, schedule = _find_backfill(context, backfill_id)
    loaded = open_schedule(context, schedule.schedule_id, closed=True)
    row, _ = _find_backfill(context, backfill_id)  # read again under the lock
    if row.state == RUNNING:
        row = row._replace(state=CANCELLED, next_ms=None, finished_ms=context.now_ms)
        context.transaction.backfill_update(row)
        _audit_request(context, loaded, AuditEntry("cancel_backfill", request_id, None, {"backfill_id": backfill_id}))
    return backfill_view(row, schedule.schedule_id)


def get_backfill(context: OperationContext, backfill_id: int) -> Backfill:
    """Return one backfill and its progress."""
    row, schedule = _find_backfill(context, backfill_id)
    return backfill_view(row, schedule.schedule_id)


def _find_backfill(context: OperationContext, backfill_id: int) -> tuple[BackfillRow, ScheduleRow]:
    """Return a backfill of this namespace and its schedule. Raises :class:`~tompion.errors.NotFound`."""
    is_valid = type(backfill_id) is int and 0 < backfill_id < MAX_NUMBER
    row = context.transaction.backfill_get(backfill_id) if is_valid else None
    schedule = (
        None if row is None else context.transaction.schedule_list_by_key([row.schedule_key]).get(row.schedule_key)
    )
    if row is None or schedule is None or schedule.namespace != context.namespace:
        raise NotFound(f"there is no backfill {display(backfill_id)}")
    return row, schedule


def backfills(context: OperationContext, schedule_id: str, *, limit: int = 50) -> tuple[Backfill, ...]:
    """Return the backfills of a schedule and their progress, the newest first."""
    row = find(context, schedule_id)
    rows = context.transaction.backfill_list(row.schedule_key, page_limit(context, limit))
    return tuple(backfill_view(row, schedule_id) for row in rows)


def _pairs(ranges: object) -> list[tuple[When | None, When | None]]:
    if not isinstance(ranges, list | tuple) or not all(
        isinstance(pair, list | tuple) and len(pair) == 2 for pair in ranges
    ):
        raise InvalidField("ranges", f"{display(ranges)}; expected a list of pairs: start and end")
    return [(first, last) for first, last in ranges]


def _backfill_row(  # noqa: PLR0913 - the parts of the row
    context: OperationContext, loaded: LoadedSchedule, start: When | None, end: When | None, overlap: Overlap, only: str
) -> BackfillRow:
    """Return the row of a new backfill, with its number of ticks."""
    if start is None or end is None:
        raise InvalidField("start" if start is None else "end", "missing; a backfill needs start and end")
    first, last = -(-epoch_ms("start", start) // 1000), epoch_s("end", end)
    if last < first:
        raise InvalidField("end", f"{datetime_s(last).isoformat()} is before start {datetime_s(first).isoformat()}")
    if last * 1000 > context.now_ms:
        raise InvalidField("end", f"{datetime_s(last).isoformat()} is in the future; a backfill runs past ticks")
    if loaded.compiled.is_sequential:
        kind = "a fixed delay" if loaded.compiled.allowed_seconds is None else "an adaptive schedule"
        raise InvalidField("start", f"{kind} has no ticks in the past; trigger it instead")
    limit = context.settings.max_backfill_ticks
    ticks = loaded.compiled.ticks_between(first - 1, last, limit + 1)
    if ticks > limit:
        raise LimitExceeded(f"end: more than max_backfill_ticks ({limit}) ticks in that range; choose a shorter one")
    known_until = last_decided(loaded.state, only, last)
    undecided = loaded.compiled.ticks_between(max(known_until, first - 1), last, limit)
    if only != ALL:
        ticks = len(_wanted_ticks(context, loaded, first, known_until, only))
    now_ms = context.now_ms
    return BackfillRow(
        backfill_id=0,
        schedule_key=loaded.row.schedule_key,
        start_s=first,
        end_s=last,
        cursor_s=first - 1,
        overlap=overlap,
        only=only,
        version=loaded.row.version,
        state=RUNNING,
        total=ticks,
        done=0,
        next_ms=now_ms,
        created_ms=now_ms,
        finished_ms=None,
        last_s=known_until,
        undecided=undecided,
    )


def _wanted_ticks(context: OperationContext, loaded: LoadedSchedule, first: int, last: int, only: str) -> list[int]:
    ticks = list(loaded.compiled.ticks.between_epochs(first, last))
    states = context.transaction.run_list_tick_states(loaded.row.schedule_key, ticks)
    return [tick for tick in ticks if is_wanted(only, states.get(tick, ()))]


def _dry_run(context: OperationContext, loaded: LoadedSchedule, row: BackfillRow) -> Backfill:
    """Return a backfill that was not started, with its first ticks."""
    if row.only == ALL:
        ticks = list(islice(loaded.compiled.ticks.between_epochs(row.start_s, row.last_s), MAX_DRY_RUN_TICKS))
    else:
        ticks = _wanted_ticks(context, loaded, row.start_s, row.last_s, row.only)[:MAX_DRY_RUN_TICKS]
    view = backfill_view(row._replace(state=PLANNED), loaded.row.schedule_id)
    return replace(view, ticks=tuple(map(datetime_s, ticks)))


def _check_backfills(context: OperationContext, loaded: LoadedSchedule, rows: list[BackfillRow]) -> None:
    """Raise if backfills exceed the limits of a schedule."""
    if not rows:
        raise InvalidField("ranges", "empty; send at least one range")
    limit = context.settings.max_backfills
    running = len(context.transaction.backfill_list(loaded.row.schedule_key, limit + 1, unfinished=True))
    if running + len(rows) > limit:
        raise LimitExceeded(
            f"ranges: more than max_backfills ({limit}) at a time; wait until some have finished, or cancel some"
        )
    if sum(row.total for row in rows) > context.settings.max_backfill_ticks:
        raise LimitExceeded(
            f"ranges: more than max_backfill_ticks ({context.settings.max_backfill_ticks}) ticks; send fewer ranges"
        )
