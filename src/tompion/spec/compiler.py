"""Compiles spec documents to ticks, with a cache that lets equal specs share one compiled form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from tompion.errors import InvalidSpec, display
from tompion.model.spec import CalendarDocument, IntervalDocument, NamedCalendar, SpecDocument
from tompion.spec.calendar.cron import CronRule, parse_cron
from tompion.spec.calendar.days import FIRST_YEAR, HORIZON, LAST_YEAR
from tompion.spec.calendar.structured import calendar_rule
from tompion.spec.calendar.times import times_modulo
from tompion.spec.calendar.wall_clock import (
    NOTHING_EXCLUDED,
    AllowedWall,
    Exclusions,
    WallClock,
    every_second_without,
    wall_without,
)
from tompion.spec.datetime_text import first_instant, last_instant, read_moment
from tompion.spec.exclude import Calendars, compile_exclusions
from tompion.spec.interval import AllowedTicks, FixedDelayTicks, InstantTicks, IntervalTicks, ListedWall
from tompion.spec.rrule.compiler import parse_rrule
from tompion.spec.rrule.times import rrule_without
from tompion.spec.ticks import Ticks
from tompion.spec.union import BoundedTicks, UnionTicks
from tompion.spec.zone.dst import VIXIE, DstPolicy, dst_policy
from tompion.spec.zone.tables import Zone, load_zone
from tompion.spec.zone.zoned import WallSource, wall_source

HASHED = re.compile(r"(?:^|[\s,+])[Hh](?=$|[\s,/(])")
"""A separate ``H``, not the one in THU or MARCH, because a spec that depends on the id cannot be shared."""

INTERNED_SPECS = 16_384
"""Number of compiled specs that are cached. A million schedules usually share a few thousand."""

_RANGE = f"{FIRST_YEAR} to {LAST_YEAR}"


def compile_spec(
    spec: SpecDocument | str,
    timezone: str | None = None,
    *,
    schedule_id: str = "",
    calendars: NamedCalendar | Iterable[NamedCalendar] | Mapping[str, NamedCalendar] = (),
) -> Ticks:
    """Return the ticks of a spec, or of a single cron string in a time zone.

    ``H`` hashes ``schedule_id``. ``calendars`` are the named calendars that the spec may exclude. Equal arguments share
    one result.
    """
    if not isinstance(schedule_id, str):
        raise InvalidSpec(f"{display(schedule_id)} is not text", field="schedule_id", expected="the schedule's id")
    if isinstance(spec, str):
        return _compile_text(spec, timezone, schedule_id if schedule_id and HASHED.search(spec) else "")
    if not isinstance(spec, SpecDocument):
        raise InvalidSpec(f"{display(spec)} is not a spec", expected="a Spec or a cron string")
    if timezone is not None:
        raise InvalidSpec("the timezone is set twice", field="timezone", hint="a Spec has its own timezone")
    named = tuple(calendar for calendar in calendars_by_name(calendars) if calendar.name in spec.exclude.named)
    return _compile_document(spec, schedule_id if depends_on_schedule_id(spec) else "", named)


def calendars_by_name(
    calendars: NamedCalendar | Iterable[NamedCalendar] | Mapping[str, NamedCalendar],
) -> tuple[NamedCalendar, ...]:
    """Return calendars that were passed one by one, as a list or by name."""
    if isinstance(calendars, NamedCalendar):
        return (calendars,)
    return tuple(calendars.values() if isinstance(calendars, Mapping) else calendars)


def compile_sources(
    spec: SpecDocument, *, schedule_id: str = "", calendars: Iterable[NamedCalendar] = ()
) -> tuple[list[tuple[str, Ticks]], BoundedTicks]:
    """Return each source of a spec with its path, and all of them within the spec's bounds."""
    compiler = _Compiler(spec, schedule_id, {calendar.name: calendar for calendar in calendars})
    sources = compiler.sources()
    return sources, compiler.with_bounds(UnionTicks(tuple(source for _path, source in sources)))


def next_many(compiled: Sequence[Ticks], after: int | Sequence[int]) -> list[int | None]:
    """Return the next tick of many compiled specs at once, each after one instant or after its own.

    Equal specs with the same instant are computed once.
    """
    if isinstance(after, int):
        ticks_by_spec = {ticks: ticks.next_epoch(after) for ticks in set(compiled)}
        return list(map(ticks_by_spec.__getitem__, compiled))
    pairs = list(zip(compiled, after, strict=True))
    next_ticks = {pair: pair[0].next_epoch(pair[1]) for pair in set(pairs)}
    return list(map(next_ticks.__getitem__, pairs))


def depends_on_schedule_id(spec: SpecDocument) -> bool:
    """Return whether an ``H`` makes the ticks depend on the schedule's id."""
    texts = list(spec.cron)
    for calendar in (*spec.calendars, *spec.exclude.calendars):
        texts += _calendar_texts(calendar)
    return any(map(HASHED.search, texts))


def cron_rules(spec: SpecDocument) -> Iterator[tuple[str, CronRule | IntervalDocument]]:
    """Yield the parsed cron strings of a spec with their paths, which have an index if there are several."""
    for index, text in enumerate(spec.cron):
        path = f"cron[{index}]" if len(spec.cron) > 1 else "cron"
        try:
            yield path, parse_cron(text, spec.dialect)
        except InvalidSpec as error:
            error.field = path + (error.field or "").removeprefix("cron")
            raise


def zone_of(spec: SpecDocument) -> Zone:
    """Return the zone of a spec: its own, or the one that all of its cron strings name."""
    if spec.timezone is not None:
        return load_zone(spec.timezone)
    zones = {rule.zone for _path, rule in cron_rules(spec) if isinstance(rule, CronRule)}
    return load_zone(zones.pop()) if len(zones) == 1 else load_zone(None)


def compile_cron_rule(
    rule: CronRule, zone: Zone, policy: DstPolicy, schedule_id: str = "", excluded: Exclusions = NOTHING_EXCLUDED
) -> WallSource:
    """Return the ticks of one parsed cron string or calendar."""
    wildcard = rule.wildcard
    clock = wall_without(rule.clock.times_for(schedule_id), rule.dates.days_for(schedule_id), wildcard, excluded)
    return wall_source(clock, zone, policy.rule_for(wildcard))


@lru_cache(maxsize=INTERNED_SPECS)
def _compile_text(text: str, timezone: str | None, schedule_id: str) -> Ticks:
    rule = parse_cron(text)
    if isinstance(rule, IntervalDocument):
        return IntervalTicks(rule.every_s, rule.offset_s, load_zone(timezone))
    return compile_cron_rule(rule, _cron_zone(rule, timezone, "cron"), VIXIE, schedule_id)


@lru_cache(maxsize=INTERNED_SPECS)
def _compile_document(spec: SpecDocument, schedule_id: str, calendars: tuple[NamedCalendar, ...]) -> Ticks:
    return _Compiler(spec, schedule_id, {calendar.name: calendar for calendar in calendars}).ticks()


class _Compiler:
    """Compiles one document."""

    def __init__(self, spec: SpecDocument, schedule_id: str, calendars: Calendars) -> None:
        self._spec = spec
        self._schedule_id = schedule_id
        self._zone = zone_of(spec)
        self._policy = dst_policy(spec.dst_profile, spec.dst_gap, spec.dst_overlap, spec.dialect)
        self._excluded, self._windows = compile_exclusions(
            spec.exclude, self._zone, spec.dialect, schedule_id, calendars
        )

    def ticks(self) -> Ticks:
        sources = tuple(source for _path, source in self.sources())
        inner = sources[0] if len(sources) == 1 else UnionTicks(sources)
        bounded = self.with_bounds(inner)
        return inner if bounded.unbounded else bounded

    def sources(self) -> list[tuple[str, Ticks]]:
        spec = self._spec
        sources: list[tuple[str, Ticks]] = []
        sources += [(path, self._cron(path, rule)) for path, rule in cron_rules(spec)]
        for index, calendar in enumerate(spec.calendars):
            path = f"calendars[{index}]"
            sources.append((path, self._calendar(path, calendar)))
        for index, interval in enumerate(spec.intervals):
            sources.append((f"intervals[{index}]", self._interval(interval)))
        for index, text in enumerate(spec.rrules):
            path = f"rrules[{index}]"
            sources.append((path, self._rrule(path, text)))
        return sources + [("times", source) for source in self._times()]

    def with_bounds(self, inner: Ticks) -> BoundedTicks:
        spec = self._spec
        start, end = 0, HORIZON
        if spec.start_at is not None:
            start = first_instant(read_moment(spec.start_at, field="start_at"), self._zone)
            if start >= HORIZON:
                raise InvalidSpec(
                    f"{spec.start_at} is after the last year of the range", field="start_at", expected=_RANGE
                )
        if spec.end_at is not None:
            end = last_instant(read_moment(spec.end_at, field="end_at"), self._zone)
            if end < 0:
                raise InvalidSpec(
                    f"{spec.end_at} is before the first year of the range", field="end_at", expected=_RANGE
                )
        if end < start:
            raise InvalidSpec(f"{spec.end_at} is before start_at {spec.start_at}", field="end_at")
        return BoundedTicks(inner, start, end, self._windows)

    def _cron(self, path: str, rule: CronRule | IntervalDocument) -> Ticks:
        if isinstance(rule, IntervalDocument):
            return self._interval(rule)
        zone = _cron_zone(rule, self._spec.timezone, path)
        return compile_cron_rule(rule, zone, self._policy, self._schedule_id, self._excluded)

    def _calendar(self, path: str, calendar: CalendarDocument) -> Ticks:
        try:
            rule = calendar_rule(calendar, self._spec.dialect)
        except InvalidSpec as error:
            raise error.located(field=path) from None
        return compile_cron_rule(rule, self._zone, self._policy, self._schedule_id, self._excluded)

    def _interval(self, interval: IntervalDocument) -> Ticks:
        if interval.anchor == "completion":
            return self._without_excluded(FixedDelayTicks(interval.every_s, self._zone))
        return self._without_excluded(IntervalTicks(interval.every_s, interval.offset_s, self._zone))

    def _rrule(self, path: str, text: str) -> Ticks:
        """Compile a recurrence rule."""
        zone, start = self._zone, None
        if self._spec.start_at is not None:
            instant = first_instant(read_moment(self._spec.start_at, field="start_at"), zone)
            start = instant + zone.offset_at(instant)
        try:
            rule = parse_rrule(text, start=start, to_local=lambda epoch: epoch + zone.offset_at(epoch))
        except InvalidSpec as error:
            raise error.located(text=text) from None
        if rule.timezone is not None and load_zone(rule.timezone) is not zone:
            raise InvalidSpec(
                f"DTSTART is in {rule.timezone}, the spec in {zone.name}",
                field=path,
                hint=f"set timezone={rule.timezone!r}",
            )
        return WallSource(rrule_without(rule, self._excluded), zone, self._policy.rule_for(rule.wildcard))

    def _times(self) -> list[Ticks]:
        """Compile one-shot times: instants and wall times separately."""
        moments = [read_moment(text, field=f"times[{index}]") for index, text in enumerate(self._spec.times)]
        instants = tuple(moment.seconds for moment in moments if moment.kind == "instant")
        locals_ = tuple(moment.seconds for moment in moments if moment.kind != "instant")
        sources: list[Ticks] = []
        if instants:
            sources.append(self._without_excluded(InstantTicks(instants, self._zone)))
        if locals_:
            clock: WallClock = ListedWall(locals_)
            if any(self._excluded):
                clock = AllowedWall(clock, every_second_without(self._excluded), times_modulo(0, 1))
            sources.append(WallSource(clock, self._zone, self._policy.fixed))
        return sources

    def _without_excluded(self, ticks: Ticks) -> Ticks:
        if not any(self._excluded):
            return ticks
        return AllowedTicks(ticks, every_second_without(self._excluded), self._zone)


def _cron_zone(rule: CronRule, timezone: str | None, path: str) -> Zone:
    """Return the zone of a cron string. Its prefix and the spec's timezone must not differ."""
    if rule.zone is None:
        return load_zone(timezone)
    zone = load_zone(rule.zone)
    if timezone is not None and load_zone(timezone) is not zone:
        raise InvalidSpec(
            f"the prefix is {rule.zone}, but timezone is {timezone}", field=path, hint="set the zone in one place"
        )
    return zone


def _calendar_texts(calendar: CalendarDocument) -> list[str]:
    names = ("second", "minute", "hour", "day_of_month", "month", "day_of_week")
    return [value for name in names if isinstance(value := getattr(calendar, name), str)]
