"""Looking at a spec before it is a schedule: what it means, when it will fire, what may not be meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

from tompion.errors import InvalidField, LimitExceeded, display
from tompion.model.spec import ClockChange, Finding, Tick
from tompion.operations.context import OperationContext
from tompion.operations.instants import When, epoch_s
from tompion.operations.schedules.definition import spec_of
from tompion.operations.schedules.repository import calendar_of, newest_calendar
from tompion.operations.validation import check_name
from tompion.spec.compiler import compile_spec, zone_of
from tompion.spec.explain.specs import explain
from tompion.spec.lint import lint
from tompion.spec.occurrence import occurrences
from tompion.spec.ticks import Ticks
from tompion.spec.zone.transitions import clock_changes

MAX_PREVIEW = 1_000
"""The most ticks that one preview returns."""
MAX_BOUNDS = 500
"""The most instants between which one preview counts."""
MAX_COUNTED = 100_000
"""The most ticks that one preview counts: two months of every minute."""
CHANGES = 2


@dataclass(frozen=True, slots=True)
class Preview:
    """A spec in plain English, its coming ticks, the linter's findings, and the next two changes of its clocks.

    ``counts`` has a number for each two neighbouring bounds that were asked about: the ticks from the first of them up
    to the second, without it; ``None`` is what was not counted, because so many came before.
    """

    explanation: str
    timezone: str
    ticks: tuple[Tick, ...]
    findings: tuple[Finding, ...]
    clock_changes: tuple[ClockChange, ...]
    counts: tuple[int | None, ...] = ()


def preview_for(
    context: OperationContext,
    /,
    schedule_id: str | None = None,
    *,
    after: When | None = None,
    count: int = 20,
    bounds: list[When] | None = None,
    **given: Any,
) -> Preview:
    """Return what a spec will do after an instant (now, if left out): its ticks, in plain English, and what is odd.

    ``given`` is the spec as a new schedule has it; calendars that it names are those of the store.  Nothing is written.
    Ticks between ``bounds``, the earliest first, are counted: those of a day where there are too many to be told.
    """
    name = "" if schedule_id is None else check_name("schedule_id", schedule_id, context.settings)
    spec = spec_of(given)
    since = context.now_ms // 1000 if after is None else epoch_s("after", after)
    calendars = tuple(calendar_of(newest_calendar(context, each)) for each in spec.exclude.named)
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
        clock_changes=tuple(islice(clock_changes(spec, ticks, since, name, calendars), CHANGES)),
        counts=_counted(ticks, edges),
    )


def _edges(bounds: list[When]) -> list[int]:
    if not isinstance(bounds, list):
        raise InvalidField("bounds", f"{display(bounds)}; expected a list of instants")
    edges = [epoch_s("bounds", each) for each in bounds]
    if len(edges) > MAX_BOUNDS:
        raise LimitExceeded(f"bounds has {len(edges)} instants; at most {MAX_BOUNDS} are counted between at once")
    if any(one >= other for one, other in pairwise(edges)):
        raise InvalidField("bounds", "expected instants that differ by a second or more, the earliest first")
    return edges


def _counted(ticks: Ticks, edges: Sequence[int]) -> tuple[int | None, ...]:
    """Return how many ticks fall between each two edges; what would take too long is not counted."""
    left, found = MAX_COUNTED, list[int | None]()
    for begin, end in pairwise(edges):
        counted, at = 0, ticks.next_epoch(begin - 1) if left >= 0 else None
        while at is not None and at < end and counted <= left:
            counted, at = counted + 1, ticks.next_epoch(at)
        left -= counted
        found.append(counted if left >= 0 else None)
    return tuple(found)
