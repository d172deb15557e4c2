"""Looking at a spec before it is a schedule: what it means, when it will fire, what may not be meant."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

from foliot.errors import InvalidField, LimitExceeded, shown
from foliot.model.finding import Finding
from foliot.model.tick import ClockChange, Tick
from foliot.operations.drafting import check_name, spec_of
from foliot.operations.editing import calendar_of, newest_calendar
from foliot.operations.moments import When, epoch_s
from foliot.operations.session import Session
from foliot.spec.changes import clock_changes
from foliot.spec.compiled import compile_spec, zone_of
from foliot.spec.explain import explain
from foliot.spec.lint import lint
from foliot.spec.occurrence import occurrences

MAX_PREVIEW = 1_000
"""The most ticks that one preview returns."""
CHANGES = 2


@dataclass(frozen=True, slots=True)
class Preview:
    """A spec in plain English, its coming ticks, the linter's findings, and the next two changes of its clocks."""

    explanation: str
    timezone: str
    ticks: tuple[Tick, ...]
    findings: tuple[Finding, ...]
    clock_changes: tuple[ClockChange, ...]


def preview_for(
    session: Session, /, schedule_id: str | None = None, *, after: When | None = None, count: int = 20, **given: Any
) -> Preview:
    """Return what a spec will do after an instant (now, if left out): its ticks, in plain English, and what is odd.

    ``given`` is the spec as a new schedule has it; calendars that it names are those of the store.  Nothing is written.
    """
    name = "" if schedule_id is None else check_name("schedule_id", schedule_id, session.settings)
    spec = spec_of(given)
    since = session.now_ms // 1000 if after is None else epoch_s("after", after)
    calendars = tuple(calendar_of(newest_calendar(session, each)) for each in spec.exclude.named)
    if type(count) is not int or count < 1:
        raise InvalidField("count", f"{shown(count)}; expected a whole number from 1 to {MAX_PREVIEW}")
    if count > MAX_PREVIEW:
        raise LimitExceeded(f"count is {count}; at most {MAX_PREVIEW} ticks are previewed at once")
    ticks = compile_spec(spec, schedule_id=name, calendars=calendars)
    return Preview(
        explanation=explain(spec),
        timezone=zone_of(spec).name,
        ticks=tuple(islice(occurrences(spec, ticks, since, name), count)),
        findings=tuple(lint(spec, now=since, schedule_id=name, calendars=calendars)),
        clock_changes=tuple(islice(clock_changes(spec, ticks, since, name), CHANGES)),
    )
