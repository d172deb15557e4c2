"""New schedules that can never run: refused, naming what keeps them silent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tompion.errors import InvalidField
from tompion.model.schedule_state import ScheduleState
from tompion.model.spec import ExcludeDocument, SpecDocument
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.spec.compiler import compile_spec

SOURCES = ("cron", "calendars", "intervals", "rrules", "times")


def reject_never_firing(compiled: CompiledSchedule, state: ScheduleState) -> None:
    """Raise if a new schedule has no tick to come: whoever wrote it did not mean that.

    A schedule never catches up on time before its creation, so that what is over then is over for good.  One without
    any ticks is meant: it runs when it is asked to.
    """
    waits_for_run = compiled.is_sequential and state.in_flight > 0  # of an earlier life; its end is followed by a tick
    if state.next_nominal_s is not None or waits_for_run or not any(getattr(compiled.spec, name) for name in SOURCES):
        return
    spec = compiled.spec
    for field, looser, problem in _looser(spec):
        if compile_spec(looser, schedule_id=compiled.schedule_id).next_epoch(state.cursor_s) is not None:
            raise InvalidField(field, f"{problem}: it would never run")
    given = [name for name in SOURCES if getattr(spec, name)]
    field = given[0] if len(given) == 1 else "spec"
    raise InvalidField(field, "there is no tick from now on: it would never run")


def _looser(spec: SpecDocument) -> Iterator[tuple[str, SpecDocument, str]]:
    """What can take all ticks away, the spec without it and what was before it, and how to say that it does."""
    looser = replace(spec, exclude=ExcludeDocument())
    yield "exclude", looser, "leaves no tick from now on"
    looser = replace(looser, end_at=None)
    yield "end_at", looser, f"there is no tick from now on up to {spec.end_at}"
    if not spec.rrules:  # which may begin there, and be others without it
        yield "start_at", replace(looser, start_at=None), f"there is no tick from {spec.start_at} on"
