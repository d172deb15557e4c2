"""Explains a spec in plain English.

:func:`explain` returns one sentence for a spec with one source, and a list for a union. Exclusions, bounds, jitter and
unusual DST rules follow, each on a line of its own. The text is derived from the parsed rules of the compiler, never
from the written text, so that two spellings of the same spec read the same.

The other modules describe times of day (``times``), days, months and years (``days``) and recurrence rules (``rrule``).
``words`` has helpers for lists, ordinals and durations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tompion.encoding.instant import wall_datetime
from tompion.errors import UnknownZone
from tompion.model.spec import (
    CalendarDocument,
    Dialect,
    HolidaysDocument,
    IntervalDocument,
    SpecDocument,
    WindowDocument,
)
from tompion.spec.calendar.cron import CronRule, parse_cron
from tompion.spec.calendar.days import DAY
from tompion.spec.calendar.fields import WEEKDAY_NAMES
from tompion.spec.calendar.structured import calendar_rule
from tompion.spec.compiler import zone_of
from tompion.spec.datetime_text import first_instant, read_moment
from tompion.spec.explain.days import describe_days, restriction_of
from tompion.spec.explain.rrule import describe_rrule
from tompion.spec.explain.times import describe_excluded_times, describe_times, part_of
from tompion.spec.explain.words import (
    clean_note,
    clock,
    duration,
    every,
    in_zone,
    join_words,
    moment,
    note_suffix,
    sentence,
    short_duration,
    shorten_list,
)
from tompion.spec.zone.dst import DstPolicy, DstRule, dst_policy
from tompion.spec.zone.tables import Zone, load_zone

NEVER = "Never: the spec has no source of ticks."

_GAPS = {
    "catch_up": "times that do not exist fire once, right after the gap",
    "skip": "times that do not exist are skipped",
    "shift": "times that do not exist move later by as much as the clocks do",
}
_OVERLAPS = {
    "first": "times that occur twice fire the first time only",
    "second": "times that occur twice fire the second time only",
    "both": "times that occur twice fire both times",
}


class _Source(NamedTuple):
    """One source of ticks: its clauses, and the zone of its wall times (``None`` if it has instants).

    ``wildcard`` is the DST class, ``None`` for a source without DST effects. ``cadence``: it reads the same in every
    zone, such as "every 15 minutes".
    """

    text: str
    zone: str | None = None
    wildcard: bool | None = None
    cadence: bool = False
    note: str = ""


def describe_cron(text: str, dialect: Dialect = "tompion") -> str:
    """Describe one cron string in a sentence. The zone is mentioned only if the string names one."""
    rule = parse_cron(text, dialect)
    if isinstance(rule, IntervalDocument):
        return sentence(_interval_words(rule))
    described = _rule_words(rule)[0]
    return sentence(f"{described}, {in_zone(rule.zone)}" if rule.zone else described)


def explain(spec: SpecDocument) -> str:
    """Explain a spec: a sentence, or a lead line and a bullet for each source, and the limits."""
    zone = _zone(spec)
    sources = list(_sources(spec, zone))
    if not sources:
        return NEVER
    source_zones = {source.zone for source in sources if source.zone is not None}
    limits = [*_exclusions(spec, zone, source_zones), *_bounds(spec, zone, source_zones)]
    common_zone = next(iter(source_zones)) if len(source_zones) == 1 else ""
    if len(sources) == 1:
        source = sources[0]
        is_zone_omitted = source.zone is None or (
            source.cadence and spec.timezone is None and common_zone == "UTC" and not limits
        )
        lines = [_line(source, "" if is_zone_omitted else common_zone)]
    else:
        lead = "Whenever one of these matches"
        lines = [f"{lead}, {in_zone(common_zone)}:" if common_zone else f"{lead}:"]
        lines += [f"- {_line(source, '' if common_zone else source.zone or '')}" for source in sources]
    return "\n".join([*lines, *limits, *_jitter(spec), *_dst(spec, sources)])


def _line(source: _Source, zone: str) -> str:
    return sentence(f"{source.text}{f', {in_zone(zone)}' if zone else ''}{note_suffix(source.note)}")


def _zone(spec: SpecDocument) -> Zone:
    """Return the zone of a spec. A zone that the time zone data no longer has becomes UTC, as in the engine."""
    try:
        return zone_of(spec)
    except UnknownZone:
        return load_zone(None)


# --- sources ----------------------------------------------------------------------------------------------------


def _sources(spec: SpecDocument, zone: Zone) -> Iterator[_Source]:
    """Yield the sources of ticks in the order of the spec's fields."""
    name = spec.timezone or zone.name
    for text in spec.cron:
        rule = parse_cron(text, spec.dialect)
        if isinstance(rule, IntervalDocument):
            yield _Source(_interval_words(rule))
        else:
            words, cadence = _rule_words(rule)
            yield _Source(words, rule.zone or spec.timezone or "UTC", rule.wildcard, cadence)
    for calendar in spec.calendars:
        rule = calendar_rule(calendar, spec.dialect)
        words, cadence = _rule_words(rule)
        yield _Source(words, name, rule.wildcard, cadence, calendar.comment)
    for interval in spec.intervals:
        yield _Source(_interval_words(interval))
    start = None
    if spec.rrules and spec.start_at is not None:
        instant = first_instant(read_moment(spec.start_at, field="start_at"), zone)
        start = instant + zone.offset_at(instant)
    for text in spec.rrules:
        described = describe_rrule(text, start)
        yield _Source(", ".join(described.clauses), name, described.wildcard, described.cadence)
    yield from _one_shots(spec, zone, name)


def _rule_words(rule: CronRule) -> tuple[str, bool]:
    """Describe a cron string or calendar without its zone. The second value is true for a plain cadence."""
    days = restriction_of(rule)
    times = describe_times(
        part_of(rule.second),
        part_of(rule.minute),
        part_of(rule.hour),
        wildcard=rule.wildcard,
        overnight=days.nothing,
    )
    clauses = describe_days(days)
    if not (days.every_day and times.daily):
        return ", ".join([times.text, *clauses]), times.cadence and not clauses
    comma = "," if times.text.endswith(" id") else ""
    head = f"{times.text}{comma} every day"
    return (f"{head} {', '.join(clauses)}" if clauses else head), False


def _interval_words(interval: IntervalDocument) -> str:
    """Describe an interval with its origin, unless that is obvious."""
    length, offset = interval.every_s, interval.offset_s
    if interval.anchor == "completion":
        return f"{duration(length)} after the previous run has ended"
    at = f"{clock(offset, seconds=bool(offset % 60))} UTC"
    if length == 7 * DAY:
        weekday = WEEKDAY_NAMES[(4 + offset // DAY) % 7].capitalize()
        return f"every week, on {weekday} at {at}"
    if length % DAY == 0:
        origin = "" if length == DAY else f", counted from {wall_datetime(offset).date().isoformat()}"
        return f"{every(length)} at {at}{origin}"
    if offset == 0 and length < 3600 and 3600 % length == 0:
        return every(length)
    if DAY % length == 0:
        return f"{every(length)}, counted from {at}"
    return f"{every(length)}, counted from {wall_datetime(offset).date().isoformat()} {at}"


def _one_shots(spec: SpecDocument, zone: Zone, name: str) -> Iterator[_Source]:
    """Describe one-shot times: wall times together, and instants together."""
    moments = {text: read_moment(text, field="times") for text in spec.times}
    ordered = sorted(moments, key=lambda text: first_instant(moments[text], zone))
    instants = [text for text in ordered if moments[text].kind == "instant"]
    walls = [text for text in ordered if moments[text].kind != "instant"]
    if walls:
        twice = _policy(spec).fixed.overlap == "both" and bool(zone.starts)
        yield _Source(_one_shot_words(walls, twice=twice), name, wildcard=False)
    if instants:
        yield _Source(_one_shot_words(instants, twice=False))


def _one_shot_words(texts: list[str], *, twice: bool) -> str:
    if len(texts) > 1:
        return f"at {shorten_list([_moment_of_day(text) for text in texts], 'times')}"
    when = _moment_of_day(texts[0], between=" at ")
    return f"on {when}" if twice else f"once, on {when}"


def _moment_of_day(text: str, between: str = " ") -> str:
    """Return a moment with its time of day, also for a date."""
    return moment(text if read_moment(text, field="").kind != "day" else f"{text}T00:00", between)


# --- limits -----------------------------------------------------------------------------------------------------


def _exclusions(spec: SpecDocument, zone: Zone, source_zones: set[str]) -> Iterator[str]:
    """Yield the sentences about exclusions. ``source_zones`` are the zones of the sources."""
    exclude = spec.exclude
    in_spec_zone = _zone_clause(spec, zone, source_zones)
    by_source_clock = ", by each source's own clock" if len(source_zones) > 1 else in_spec_zone
    for calendar in exclude.calendars:
        yield f"Except {_excluded_calendar(calendar, spec.dialect)}{by_source_clock}{note_suffix(calendar.comment)}."
    if exclude.dates:
        yield f"Except on {shorten_list(sorted(set(exclude.dates)), 'dates')}{by_source_clock}."
    # A wall time of a window is in the spec's zone. Dates, calendars and holidays follow each source's clock.
    if exclude.windows:
        ends = [end for window in exclude.windows for end in (window.begin, window.end)]
        windows = shorten_list([_window(window) for window in exclude.windows], "windows")
        yield f"Except {windows}{in_spec_zone if _has_wall_time(ends) else ''}."
    for holidays in exclude.holidays:
        yield f"Except on {_holidays(holidays)}{by_source_clock}."
    # No zone: a named calendar may have its own, which only the store knows.
    if exclude.named:
        names = join_words(f'"{clean_note(name)}"' for name in exclude.named)
        yield f"Except the days and times in the named calendar{'s' if len(exclude.named) > 1 else ''} {names}."


def _zone_clause(spec: SpecDocument, zone: Zone, source_zones: set[str]) -> str:
    """Return the zone as a clause if the sentence about the sources has not named it."""
    name = spec.timezone or zone.name
    return "" if source_zones == {name} else f", {in_zone(name)}"


def _has_wall_time(texts: Iterable[str]) -> bool:
    """Return whether one of the texts is a wall time or a date, not an instant."""
    return any(read_moment(text, field="").kind != "instant" for text in texts)


def _excluded_calendar(calendar: CalendarDocument, dialect: Dialect) -> str:
    rule = calendar_rule(calendar, dialect, excluding=True)
    days = restriction_of(rule)
    times = describe_excluded_times(
        part_of(rule.second), part_of(rule.minute), part_of(rule.hour), overnight=days.nothing
    )
    clauses = [times, *describe_days(days)] if times else describe_days(days)
    return ", ".join(clauses) or "at all times, so it never fires"


def _window(window: WindowDocument) -> str:
    begin, end = moment(window.begin), moment(window.end)
    if read_moment(window.end, field="").kind != "day":
        words = f"from {begin} until just before {end}"
    else:
        words = f"on {end}" if begin == end else f"from {begin} to the end of {end}"
    return f"{words}{note_suffix(window.note)}"


def _holidays(holidays: HolidaysDocument) -> str:
    place = clean_note(holidays.country + (f"-{holidays.subdivision}" if holidays.subdivision else ""))
    if not holidays.dates:
        return f"public holidays of {place} (none is known)"
    years = sorted(int(date[:4]) for date in holidays.dates)
    first = holidays.first_year if holidays.first_year is not None else years[0]
    last = holidays.last_year if holidays.last_year is not None else years[-1]
    return f"public holidays of {place} (known for {first}{f' to {last}' if last != first else ''})"


def _bounds(spec: SpecDocument, zone: Zone, source_zones: set[str]) -> Iterator[str]:
    words = []
    if spec.start_at is not None:
        words.append(f"not before {moment(spec.start_at)}")
    if spec.end_at is not None:
        words.append(f"not after {moment(spec.end_at)}")
    if words:
        texts = [text for text in (spec.start_at, spec.end_at) if text is not None]
        in_spec_zone = _zone_clause(spec, zone, source_zones) if _has_wall_time(texts) else ""
        yield sentence(join_words(words) + in_spec_zone)


def _jitter(spec: SpecDocument) -> Iterator[str]:
    if spec.jitter_ms > 0:
        limit = short_duration(spec.jitter_ms)
        how = f"spread by up to ±{limit}" if spec.jitter_mode == "symmetric" else f"delayed by up to {limit}"
        yield f"Fire times are {how}."


# --- changes of the clocks --------------------------------------------------------------------------------------


def _policy(spec: SpecDocument) -> DstPolicy:
    return dst_policy(spec.dst_profile, spec.dst_gap, spec.dst_overlap, spec.dialect)


def _dst(spec: SpecDocument, sources: list[_Source]) -> Iterator[str]:
    """Describe the rules for clock changes, if they differ from those of the dialect."""
    policy, usual = _policy(spec), dst_policy(dialect=spec.dialect)
    classes = {
        source.wildcard for source in sources if source.zone and source.wildcard is not None and _changes(source)
    }
    if all(policy.rule_for(wildcard) == usual.rule_for(wildcard) for wildcard in classes):
        return
    if len({policy.rule_for(wildcard) for wildcard in classes}) == 1:
        yield sentence(_dst_words(policy.rule_for(next(iter(classes)))))
    else:
        yield f"For fixed times: {_dst_words(policy.fixed)}."
        yield f"For times that recur (* in second, minute or hour; rules by the hour): {_dst_words(policy.wildcard)}."


def _changes(source: _Source) -> bool:
    """Return whether the clocks of a source's zone ever change."""
    try:
        return bool(load_zone(source.zone).starts)
    except UnknownZone:
        return False


def _dst_words(rule: DstRule) -> str:
    return f"when clocks go forward, {_GAPS[rule.gap]}; when they go back, {_OVERLAPS[rule.overlap]}"
