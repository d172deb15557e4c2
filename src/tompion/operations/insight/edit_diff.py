"""The upcoming ticks that an edit would add, remove or keep."""

from __future__ import annotations

import heapq
from itertools import islice
from typing import Any

from tompion.encoding.instant import datetime_s
from tompion.errors import InvalidField, LimitExceeded, display
from tompion.model.insight import EditDiff, TickChange
from tompion.operations.context import OperationContext
from tompion.operations.schedules.repository import calendar_of, load_by_id, newest_calendar
from tompion.operations.schedules.schedule_document import parse_schedule
from tompion.plan.compiled_schedule import compile_schedule
from tompion.plan.upcoming import upcoming_ticks
from tompion.spec.compiler import zone_of
from tompion.spec.occurrence import local_datetime

MAX_TICKS = 500


def diff(context: OperationContext, /, schedule_id: str, *, count: int = 20, **fields: Any) -> EditDiff:
    """Return which upcoming ticks an edit would keep, remove and add. Nothing is written.

    ``fields`` is a whole definition, as in an update. The result has the first ``count`` ticks of before and after
    together. A pause is ignored.
    """
    if type(count) is not int or count < 1:
        raise InvalidField("count", f"{display(count)}; expected a whole number from 1 to {MAX_TICKS}")
    if count > MAX_TICKS:
        raise LimitExceeded(f"count is {count}; at most {MAX_TICKS} ticks are compared at once")
    loaded = load_by_id(context, schedule_id)
    definition = parse_schedule(fields, context.settings).definition
    calendars = tuple(calendar_of(newest_calendar(context, name)) for name in definition.spec.exclude.named)
    edited = compile_schedule(
        *loaded.compiled[:4], definition.spec, definition.policy, definition.action, calendars=calendars
    )
    before = ((tick, 0) for tick in upcoming_ticks(loaded.state, loaded.compiled, context.now_ms))
    after = ((tick, 1) for tick in upcoming_ticks(loaded.state, edited, context.now_ms))
    sides_by_tick: dict[int, set[int]] = {}
    complete_s = None
    for tick, side in islice(heapq.merge(before, after), 2 * count + 1):
        if tick not in sides_by_tick and len(sides_by_tick) == count:
            complete_s = tick - 1
            break
        sides_by_tick.setdefault(tick, set()).add(side)
    zone = zone_of(definition.spec)
    ticks = tuple(
        TickChange(datetime_s(tick), local_datetime(tick, zone), _change(sides))
        for tick, sides in sides_by_tick.items()
    )
    changes = [tick.change for tick in ticks]
    return EditDiff(
        ticks,
        changes.count("unchanged"),
        changes.count("removed"),
        changes.count("added"),
        None if complete_s is None else datetime_s(complete_s),
    )


def _change(sides: set[int]) -> Any:
    return "unchanged" if len(sides) == 2 else "added" if 1 in sides else "removed"
