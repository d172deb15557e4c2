"""Pause, resume, trigger, skip, backfill: what people do to schedules that exist."""

from __future__ import annotations

from tompion.errors import InvalidField, LimitExceeded, NotFound, display
from tompion.model.backfill import CANCELLED, RUNNING, BackfillRow
from tompion.model.policy import OVERLAP_ALIASES, Overlap
from tompion.model.rows import ScheduleRow
from tompion.model.schedule import Backfill
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import idempotent
from tompion.operations.instants import When, epoch_ms, epoch_s
from tompion.operations.paging import page_limit
from tompion.operations.schedules.control import MAX_NUMBER, _audit_request
from tompion.operations.schedules.repository import AuditEntry, LoadedSchedule, find, open_schedule
from tompion.operations.validation import choice
from tompion.operations.views import at_s, backfill_view
from tompion.plan.backfill import ALL, BACKFILL_FILTERS, is_wanted, last_decided


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
    request_id: str | None = None,
) -> tuple[Backfill, ...]:
    """Run the ticks of the past again: from ``start`` to ``end``, both included, or of several ranges."""
    opened = open_schedule(context, schedule_id)
    chosen = choice("overlap", overlap, Overlap, OVERLAP_ALIASES)
    if only not in BACKFILL_FILTERS:
        raise InvalidField("only", f"{display(only)}; expected one of {', '.join(BACKFILL_FILTERS)}")
    asked = [(start, end)] if ranges is None else _pairs(ranges)
    rows = [_backfill_row(context, opened, first, last, chosen, only) for first, last in asked]
    _check_backfills(context, opened, rows)
    for row in rows:
        context.transaction.backfill_insert(row)
    views = tuple(backfill_view(row, schedule_id) for row in rows)
    after = {"backfills": [row.backfill_id for row in rows], "ticks": sum(row.total for row in rows)}
    after["undecided"] = sum(row.undecided for row in rows)
    _audit_request(context, opened, AuditEntry("backfill", request_id, None, after))
    context.transaction.notify()
    return views


@idempotent(Backfill)
def cancel_backfill(context: OperationContext, backfill_id: int, *, request_id: str | None = None) -> Backfill:
    """Stop a backfill where it is; what it has started goes on."""
    row, schedule = _found_backfill(context, backfill_id)
    opened = open_schedule(context, schedule.schedule_id, closed=True)
    row, _ = _found_backfill(context, backfill_id)  # once more, now that nobody else changes it
    if row.state == RUNNING:
        row = row._replace(state=CANCELLED, next_ms=None, finished_ms=context.now_ms)
        context.transaction.backfill_update(row)
        _audit_request(context, opened, AuditEntry("cancel_backfill", request_id, None, {"backfill_id": backfill_id}))
    return backfill_view(row, schedule.schedule_id)


def get_backfill(context: OperationContext, backfill_id: int) -> Backfill:
    """Return one backfill, and how far it is."""
    row, schedule = _found_backfill(context, backfill_id)
    return backfill_view(row, schedule.schedule_id)


def _found_backfill(context: OperationContext, backfill_id: int) -> tuple[BackfillRow, ScheduleRow]:
    """Return a backfill of this namespace, and its schedule; raises :class:`~tompion.errors.NotFound`."""
    known = type(backfill_id) is int and 0 < backfill_id < MAX_NUMBER
    row = context.transaction.backfill_get(backfill_id) if known else None
    schedule = (
        None if row is None else context.transaction.schedule_list_by_key([row.schedule_key]).get(row.schedule_key)
    )
    if row is None or schedule is None or schedule.namespace != context.namespace:
        raise NotFound(f"there is no backfill {display(backfill_id)}")
    return row, schedule


def backfills(context: OperationContext, schedule_id: str, *, limit: int = 50) -> tuple[Backfill, ...]:
    """Return the backfills of a schedule and how far they are, the newest first."""
    row = find(context, schedule_id)
    found = context.transaction.backfill_list(row.schedule_key, page_limit(context, limit))
    return tuple(backfill_view(each, schedule_id) for each in found)


def _pairs(ranges: object) -> list[tuple[When | None, When | None]]:
    if not isinstance(ranges, list | tuple) or not all(
        isinstance(each, list | tuple) and len(each) == 2 for each in ranges
    ):
        raise InvalidField("ranges", f"{display(ranges)}; expected a list of pairs: start and end")
    return [(first, last) for first, last in ranges]


def _backfill_row(  # noqa: PLR0913 - the parts of the row
    context: OperationContext, opened: LoadedSchedule, start: When | None, end: When | None, overlap: Overlap, only: str
) -> BackfillRow:
    if start is None or end is None:
        raise InvalidField("start" if start is None else "end", "a backfill needs both ends of its range")
    first, last = -(-epoch_ms("start", start) // 1000), epoch_s("end", end)
    if last < first:
        raise InvalidField("end", f"{at_s(last).isoformat()} is before start {at_s(first).isoformat()}")
    if last * 1000 > context.now_ms:
        raise InvalidField("end", f"{at_s(last).isoformat()} is still to come; a backfill is about the past")
    if opened.compiled.is_sequential:
        kind = "a fixed delay" if opened.compiled.allowed_seconds is None else "an adaptive schedule"
        raise InvalidField("start", f"{kind} has no ticks in the past; trigger it instead")
    most = context.settings.max_backfill_ticks
    ticks = opened.compiled.ticks_between(first - 1, last, most + 1)
    if ticks > most:
        raise LimitExceeded(f"end: more than max_backfill_ticks ({most}) ticks in that range; ask for a shorter one")
    known = last_decided(opened.state, only, last)
    undecided = opened.compiled.ticks_between(max(known, first - 1), last, most)
    if only != ALL:
        ticks = _count_wanted(context, opened, first, known, only)
    now_ms = context.now_ms
    return BackfillRow(
        context.transaction.number_next(), opened.row.schedule_key, first, last, first - 1, overlap, only,
        opened.row.version, RUNNING, ticks, 0, now_ms, now_ms, None, known, undecided,
    )  # fmt: skip


def _count_wanted(context: OperationContext, opened: LoadedSchedule, first: int, last: int, only: str) -> int:
    ticks = list(opened.compiled.ticks.between_epochs(first, last))
    states = context.transaction.run_list_tick_states(opened.row.schedule_key, ticks)
    return sum(is_wanted(only, states.get(tick, ())) for tick in ticks)


def _check_backfills(context: OperationContext, opened: LoadedSchedule, rows: list[BackfillRow]) -> None:
    if not rows:
        raise InvalidField("ranges", "give at least one range")
    most = context.settings.max_backfills
    running = len(context.transaction.backfill_list(opened.row.schedule_key, most + 1, unfinished=True))
    if running + len(rows) > most:
        raise LimitExceeded(f"ranges: more than max_backfills ({most}) at a time; wait for some to end")
    if sum(row.total for row in rows) > context.settings.max_backfill_ticks:
        raise LimitExceeded(f"ranges: more than max_backfill_ticks ({context.settings.max_backfill_ticks}) ticks")
