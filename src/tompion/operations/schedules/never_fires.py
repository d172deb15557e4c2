"""Rejects new schedules that would never fire, naming the field that causes it."""

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
    """Raise if a new schedule has no upcoming tick.

    A schedule never catches up on the time before its creation, so past ticks never run. A schedule without any source
    of ticks is accepted: it runs when it is triggered.
    """
    is_waiting_for_run = (
        compiled.is_sequential and state.in_flight > 0
    )  # of the deleted schedule: a tick follows its end
    if (
        state.next_nominal_s is not None
        or is_waiting_for_run
        or not any(getattr(compiled.spec, name) for name in SOURCES)
    ):
        return
    spec = compiled.spec
    for field, looser, problem in _looser_specs(spec):
        if compile_spec(looser, schedule_id=compiled.schedule_id).next_epoch(state.cursor_s) is not None:
            raise InvalidField(field, f"{problem}; it would never run")
    sources = [name for name in SOURCES if getattr(spec, name)]
    field = sources[0] if len(sources) == 1 else "spec"
    raise InvalidField(field, "there is no tick from now on; it would never run")


def _looser_specs(spec: SpecDocument) -> Iterator[tuple[str, SpecDocument, str]]:
    """Yield each field that can remove all ticks, the spec without it and the ones before it, and the problem."""
    looser = replace(spec, exclude=ExcludeDocument())
    yield "exclude", looser, "leaves no tick from now on"
    looser = replace(looser, end_at=None)
    yield "end_at", looser, f"there is no tick from now on up to {spec.end_at}"
    if not spec.rrules:  # a rule may begin there, and would tick at other times without it
        yield "start_at", replace(looser, start_at=None), f"there is no tick from {spec.start_at} on"
