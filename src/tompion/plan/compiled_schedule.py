"""A definition, compiled: what the planner asks while it decides.

Many schedules share one spec and one policy, so both are interned: a rule is a handful of references.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from tompion.model.policy import Policy
from tompion.model.schedule import Action
from tompion.model.spec import IntervalDocument, NamedCalendar, SpecDocument
from tompion.spec.compiler import compile_spec, cron_rules, zone_of
from tompion.spec.datetime_text import first_instant, read_moment
from tompion.spec.jitter import fire_ms_of
from tompion.spec.ticks import Ticks

REMEMBERED_TICKS = 65_536
"""How many answers are kept: ten thousand schedules of one spec ask the same question in the same second."""


class CompiledSchedule(NamedTuple):
    """What one version of one schedule says; where it ``follows``, a tick comes only after the run before it.

    That is so with a fixed delay, and if the schedule is adaptive: then ``gate`` has every second in which it may run,
    and ``interval_ms`` is its baseline, unless that is a grid.  ``simple`` says that nothing but overlap can keep a
    tick of it from starting.
    """

    schedule_key: int
    version: int
    namespace: str
    schedule_id: str
    spec: SpecDocument
    ticks: Ticks
    policy: Policy
    action: Action
    payload: str | None
    start_s: int | None
    follows: bool = False
    simple: bool = False
    gate: Ticks | None = None
    interval_ms: int | None = None
    degraded: str | None = None

    def next_after(self, cursor_s: int) -> int | None:
        """Return the first tick later than the cursor."""
        return next_tick(self.ticks, cursor_s)

    def fire_ms(self, nominal_s: int) -> int:
        """Return when a tick of the spec is to be launched."""
        if self.spec.jitter_ms <= 0:
            return nominal_s * 1000
        return fire_ms_of(self.spec, self.ticks, nominal_s, self.schedule_id, self.start_s)

    def wall_time(self, nominal_s: int) -> tuple[int | None, str | None]:
        """Return the nominal local time of a tick, in seconds, and what DST did to it."""
        return wall_time(self.ticks, nominal_s)

    def ticks_between(self, after_s: int, until_s: int, limit: int) -> int:
        """Return how many ticks lie after one instant up to another, but no more than ``limit``."""
        return sum(1 for _ in islice(self.ticks.between_epochs(after_s + 1, until_s), limit))


@lru_cache(maxsize=REMEMBERED_TICKS)
def next_tick(ticks: Ticks, after_s: int) -> int | None:
    """Return the first tick later than an instant."""
    return ticks.next_epoch(after_s)


@lru_cache(maxsize=REMEMBERED_TICKS)
def wall_time(ticks: Ticks, nominal_s: int) -> tuple[int | None, str | None]:
    """Return the local time of a tick and what DST did to it, ``None`` if it is not a tick of the spec."""
    trace = ticks.trace(nominal_s)
    return (None, None) if trace is None else (trace.local, trace.dst_adjustment or None)


@lru_cache(maxsize=16_384)
def start_of(spec: SpecDocument) -> int | None:
    """Return the instant of ``start_at``."""
    if spec.start_at is None:
        return None
    return first_instant(read_moment(spec.start_at, field="start_at"), zone_of(spec))


def compile_schedule(  # noqa: PLR0913 - the parts of a version
    schedule_key: int,
    version: int,
    namespace: str,
    schedule_id: str,
    spec: SpecDocument,
    policy: Policy,
    action: Action,
    payload: str | None = None,
    calendars: tuple[NamedCalendar, ...] = (),
) -> CompiledSchedule:
    """Return the rule of one version of a schedule.  Raises :class:`~tompion.errors.InvalidSpec`."""
    ticks = compile_spec(spec, schedule_id=schedule_id, calendars=calendars)
    follows = policy.adaptive or (bool(spec.intervals) and spec.intervals[0].anchor == "completion")
    parts = (schedule_key, version, namespace, schedule_id, spec, ticks, policy, action, payload)
    simple = not (follows or policy.shadow or policy.min_interval_ms)
    governed = (_gate(spec, schedule_id, calendars), _interval_ms(spec)) if policy.adaptive else (None, None)
    return CompiledSchedule(*parts, start_of(spec), follows, simple, *governed)


def _gate(spec: SpecDocument, schedule_id: str, calendars: tuple[NamedCalendar, ...]) -> Ticks:
    """Every second within the bounds of a spec that it does not exclude."""
    every_second = SpecDocument(
        intervals=(IntervalDocument(1, anchor="completion"),),
        exclude=spec.exclude,
        timezone=zone_of(spec).name,
        start_at=spec.start_at,
        end_at=spec.end_at,
        dialect=spec.dialect,
    )
    return compile_spec(every_second, schedule_id=schedule_id, calendars=calendars)


def _interval_ms(spec: SpecDocument) -> int | None:
    """The interval of a spec that is nothing else, ``None`` if it has a grid."""
    intervals = [
        *spec.intervals,
        *(compiled for _, compiled in cron_rules(spec) if isinstance(compiled, IntervalDocument)),
    ]
    others = len(spec.cron) + len(spec.intervals) + len(spec.calendars) + len(spec.rrules) + len(spec.times) - 1
    return intervals[0].every_s * 1000 if intervals and not others else None
