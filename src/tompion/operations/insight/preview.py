"""A preview of a spec: its meaning, its next ticks, and findings of the linter."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, pairwise
from typing import Any

from tompion.encoding.instant import When
from tompion.errors import InvalidField, LimitExceeded, display
from tompion.model.spec import Preview
from tompion.operations.context import OperationContext
from tompion.operations.instants import epoch_s
from tompion.operations.schedules.repository import calendar_of, newest_calendar
from tompion.operations.schedules.schedule_document import spec_of
from tompion.operations.validation import check_name
from tompion.spec.compiler import compile_spec, zone_of
from tompion.spec.explain.specs import explain
from tompion.spec.lint import lint
from tompion.spec.occurrence import occurrences
from tompion.spec.ticks import Ticks
from tompion.spec.zone.transitions import clock_changes

MAX_PREVIEW = 1_000
"""The maximum number of ticks of one preview."""
MAX_BOUNDS = 500
"""The maximum number of instants between which one preview counts ticks."""
MAX_COUNTED = 100_000
"""The maximum number of ticks that one preview counts: two months of every minute."""
MAX_CLOCK_CHANGES = 2


def preview(
    context: OperationContext,
    /,
    schedule_id: str | None = None,
    *,
    after: When | None = None,
    count: int = 20,
    bounds: list[When] | None = None,
    **fields: Any,
) -> Preview:
    """Return the ticks of a spec after an instant (now by default), its meaning, and findings. Nothing is written.

    ``fields`` is the spec, as in a new schedule. Calendars that it names are those of the store. Ticks between
    ``bounds``, the earliest first, are only counted, for days with too many ticks to list.
    """
    name = "" if schedule_id is None else check_name("schedule_id", schedule_id, context.settings)
    spec = spec_of(fields)
    since = context.now_ms // 1000 if after is None else epoch_s("after", after)
    calendars = tuple(calendar_of(newest_calendar(context, name)) for name in spec.exclude.named)
    if type(count) is not int or count < 1:
        raise InvalidField("count", f"{display(count)}; expected a whole number from 1 to {MAX_PREVIEW}")
    if count > MAX_PREVIEW:
        raise LimitExceeded(f"count is {count}; at most {MAX_PREVIEW} ticks are previewed at once")
    edges = _edges([] if bounds is None else bounds)
    ticks = compile_spec(spec, schedule_id=name, calendars=calendars)
    return Preview(
        explanation=explain(spec),
        timezone=zone_of(spec).name,
        ticks=tuple(islice(occurrences(spec, ticks, since, name), count)),
        findings=tuple(lint(spec, now=since, schedule_id=name, calendars=calendars)),
        clock_changes=tuple(islice(clock_changes(spec, ticks, since, name, calendars), MAX_CLOCK_CHANGES)),
        counts=_count_between(ticks, edges),
    )


def _edges(bounds: list[When]) -> list[int]:
    if not isinstance(bounds, list):
        raise InvalidField("bounds", f"{display(bounds)}; expected a list of instants")
    edges = [epoch_s("bounds", bound) for bound in bounds]
    if len(edges) > MAX_BOUNDS:
        raise LimitExceeded(f"bounds has {len(edges)} instants; at most {MAX_BOUNDS} are counted between at once")
    if any(one >= other for one, other in pairwise(edges)):
        raise InvalidField("bounds", "expected instants that differ by a second or more, the earliest first")
    return edges


def _count_between(ticks: Ticks, edges: Sequence[int]) -> tuple[int | None, ...]:
    """Return the number of ticks between each two edges, or ``None`` where counting would take too long."""
    budget, counts = MAX_COUNTED, list[int | None]()
    for begin, end in pairwise(edges):
        counted, at = 0, ticks.next_epoch(begin - 1) if budget >= 0 else None
        while at is not None and at < end and counted <= budget:
            counted, at = counted + 1, ticks.next_epoch(at)
        budget -= counted
        counts.append(counted if budget >= 0 else None)
    return tuple(counts)
