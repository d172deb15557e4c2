"""Upcoming ticks of all schedules together."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import islice, takewhile
from typing import TypeAlias

from tompion.encoding.instant import datetime_ms, datetime_s
from tompion.errors import InvalidField, StoreError, display
from tompion.model.insight import CalendarFeed, Upcoming, UpcomingTick
from tompion.model.rows import ScheduleRow, VersionRow
from tompion.model.schedule_state import ScheduleState
from tompion.operations.context import OperationContext
from tompion.operations.paging import page_limit
from tompion.operations.schedules.repository import find, load
from tompion.plan.upcoming import upcoming_ticks

HOUR_S = 3_600
MAX_SECONDS = 400 * 24 * HOUR_S
MAX_SCHEDULES = 1_000
"""The maximum number of schedules that are read: those that fire first."""
MIN_SHARE = 5
"""The minimum number of ticks of each schedule in a calendar feed."""
FireTuple: TypeAlias = tuple[int, str, int]
"""The fire time of a tick in milliseconds, the id of its schedule, and the tick."""


def upcoming(
    context: OperationContext, *, schedule_id: str | None = None, seconds: int = HOUR_S, limit: int = 100
) -> Upcoming:
    """Return the ticks that fire in the next ``seconds``, of one schedule or of all, the earliest first.

    The result has every tick up to its ``complete_until``. Later ones may be omitted.
    """
    limit = page_limit(context, limit)
    until_ms = _until(context, seconds)
    rows, complete_ms = _first_to_fire(context, schedule_id, until_ms)
    fires = list(islice(heapq.merge(*_ticks_by_schedule(context, rows, complete_ms)), limit + 1))
    if len(fires) > limit:
        first_omitted_ms = fires[limit][0]
        complete_ms = min(complete_ms, first_omitted_ms - 1)
    return Upcoming(tuple(map(_view, fires[:limit])), datetime_ms(complete_ms))


def upcoming_feed(context: OperationContext, *, schedule_id: str | None, seconds: int, limit: int) -> CalendarFeed:
    """Return about ``limit`` upcoming ticks with an equal share for each schedule."""
    until_ms = _until(context, seconds)
    rows, complete_ms = _first_to_fire(context, schedule_id, until_ms)
    share = max(MIN_SHARE, limit // max(1, len(rows)))
    firsts = [list(islice(ticks, share + 1)) for ticks in _ticks_by_schedule(context, rows, until_ms)]
    truncated = frozenset(ticks[0][1] for ticks in firsts if len(ticks) > share)
    fires = heapq.merge(*(ticks[:share] for ticks in firsts))
    return CalendarFeed(tuple(map(_view, fires)), truncated, complete_ms < until_ms)


def _until(context: OperationContext, seconds: int) -> int:
    if type(seconds) is not int or not 1 <= seconds <= MAX_SECONDS:
        raise InvalidField("seconds", f"{display(seconds)}; expected a whole number from 1 to {MAX_SECONDS}")
    return context.now_ms + seconds * 1000


def _ticks_by_schedule(context: OperationContext, rows: list[ScheduleRow], until_ms: int) -> list[Iterator[FireTuple]]:
    """Return the upcoming ticks of each schedule."""
    keys = [row.schedule_key for row in rows]
    states, versions = context.transaction.state_get(keys), context.transaction.version_list_current(keys)
    return [
        _ticks_of(context, row, states.get(row.schedule_key), versions.get(row.schedule_key), until_ms) for row in rows
    ]


def _view(fire: FireTuple) -> UpcomingTick:
    fire_ms, name, tick = fire
    return UpcomingTick(name, datetime_s(tick), datetime_ms(fire_ms))


def _first_to_fire(context: OperationContext, schedule_id: str | None, until_ms: int) -> tuple[list[ScheduleRow], int]:
    """Return the schedules that fire first, and the time up to which no other schedule fires."""
    transaction = context.transaction
    if schedule_id is not None:
        return [find(context, schedule_id)], until_ms
    upcoming_states = transaction.state_list_upcoming_in_namespace(context.namespace, until_ms, MAX_SCHEDULES + 1)
    if len(upcoming_states) > MAX_SCHEDULES:
        first_omitted_ms = upcoming_states[MAX_SCHEDULES][1]
        until_ms = first_omitted_ms - 1
    rows = transaction.schedule_list_by_key(key for key, _ in upcoming_states[:MAX_SCHEDULES])
    return list(rows.values()), until_ms


def _ticks_of(
    context: OperationContext, row: ScheduleRow, state: ScheduleState | None, version: VersionRow | None, until_ms: int
) -> Iterator[FireTuple]:
    """Return the ticks of a schedule that will fire.

    A paused schedule has none, and those of a damaged one are unknown.
    """
    try:
        loaded = load(context, row, state, version)
    except StoreError:
        return iter(())
    if loaded.state.paused:
        return iter(())
    compiled, name = loaded.compiled, row.schedule_id
    fires = (
        (compiled.fire_ms(tick) if compiled.allowed_seconds is None else tick * 1000, name, tick)
        for tick in upcoming_ticks(loaded.state, compiled, context.now_ms)
    )
    return takewhile(lambda fire: fire[0] <= until_ms, fires)
