"""A definition, compiled for the planner.

Many schedules share one spec and one policy. Both are interned, so a compiled schedule is a handful of references.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from tompion.model.policy import Policy
from tompion.model.schedule import Action
from tompion.model.spec import IntervalDocument, NamedCalendar, SpecDocument
from tompion.plan.zone_tables import tables_number, zones_text
from tompion.spec.compiler import compile_spec, cron_rules, zone_of
from tompion.spec.datetime_text import first_instant, read_moment
from tompion.spec.jitter import fire_ms_of
from tompion.spec.ticks import Ticks

MAX_CACHED_TICKS = 65_536
"""The number of cached results. Ten thousand schedules with one spec look up the same tick in the same second."""


class CompiledSchedule(NamedTuple):
    """One version of one schedule, compiled.

    A schedule ``is_sequential`` if each tick follows the end of the previous run: with a fixed delay, or if it is
    adaptive. ``allowed_seconds`` is set for adaptive schedules only: every second in which a run may start.
    ``interval_ms`` is the baseline of an adaptive schedule, or ``None`` if the baseline is a grid. A schedule
    ``has_fast_path`` if only overlap can keep a tick from starting. ``degraded`` is the reason why a schedule does not
    run as defined. ``zones`` names the time zone tables of its ticks, and ``zone_tables`` is their number.
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
    is_sequential: bool = False
    has_fast_path: bool = False
    allowed_seconds: Ticks | None = None
    interval_ms: int | None = None
    degraded: str | None = None
    zones: str = ""
    zone_tables: int = 0

    def next_after(self, cursor_s: int) -> int | None:
        """Return the first tick later than the cursor."""
        return next_tick(self.ticks, cursor_s)

    def fire_ms(self, nominal_s: int) -> int:
        """Return when a tick of the spec is launched."""
        if self.spec.jitter_ms <= 0:
            return nominal_s * 1000
        return fire_ms_of(self.spec, self.ticks, nominal_s, self.schedule_id, self.start_s)

    def wall_time(self, nominal_s: int) -> tuple[int | None, str | None]:
        """Return the nominal local time of a tick, in seconds, and how DST moved it."""
        return wall_time(self.ticks, nominal_s)

    def ticks_between(self, after_s: int, until_s: int, limit: int) -> int:
        """Return the number of ticks after one instant up to another, at most ``limit``."""
        return sum(1 for _ in islice(self.ticks.between_epochs(after_s + 1, until_s), limit))


@lru_cache(maxsize=MAX_CACHED_TICKS)
def next_tick(ticks: Ticks, after_s: int) -> int | None:
    """Return the first tick later than an instant."""
    return ticks.next_epoch(after_s)


@lru_cache(maxsize=MAX_CACHED_TICKS)
def wall_time(ticks: Ticks, nominal_s: int) -> tuple[int | None, str | None]:
    """Return the local time of a tick and how DST moved it, or ``None`` if it is not a tick of the spec."""
    trace = ticks.trace(nominal_s)
    return (None, None) if trace is None else (trace.local, trace.dst_adjustment or None)


@lru_cache(maxsize=16_384)
def start_instant(spec: SpecDocument) -> int | None:
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
    """Return one version of a schedule, compiled. Raises :class:`~tompion.errors.InvalidSpec`."""
    ticks = compile_spec(spec, schedule_id=schedule_id, calendars=calendars)
    zones = zones_text(spec, calendars)
    is_sequential = policy.adaptive or (bool(spec.intervals) and spec.intervals[0].anchor == "completion")
    return CompiledSchedule(
        schedule_key=schedule_key,
        version=version,
        namespace=namespace,
        schedule_id=schedule_id,
        spec=spec,
        ticks=ticks,
        policy=policy,
        action=action,
        payload=payload,
        start_s=start_instant(spec),
        is_sequential=is_sequential,
        has_fast_path=not (is_sequential or policy.shadow or policy.min_interval_ms),
        allowed_seconds=_allowed_seconds(spec, schedule_id, calendars) if policy.adaptive else None,
        interval_ms=_interval_ms(spec) if policy.adaptive else None,
        zones=zones,
        zone_tables=tables_number(zones),
    )


def _allowed_seconds(spec: SpecDocument, schedule_id: str, calendars: tuple[NamedCalendar, ...]) -> Ticks:
    """Return every second within the bounds of a spec that it does not exclude."""
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
    """Return the interval of a spec that has no other source, or ``None`` if it has a grid."""
    intervals = [
        *spec.intervals,
        *(rule for _, rule in cron_rules(spec) if isinstance(rule, IntervalDocument)),
    ]
    others = len(spec.cron) + len(spec.intervals) + len(spec.calendars) + len(spec.rrules) + len(spec.times) - 1
    return intervals[0].every_s * 1000 if intervals and not others else None
