"""What may not be meant: a spec that is valid and still a surprise.

Each finding has a stable code; ``docs/reference/lint.md`` lists them.  The DST findings are found by asking the engine
itself what it would do, once as the spec says and once with every lost and repeated wall time made visible, so that
they can never disagree with what is going to happen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, pairwise

from foliot.model.finding import Finding, Severity
from foliot.model.spec import NamedCalendar, SpecDocument
from foliot.spec.calendar import calendar_rule
from foliot.spec.compiled import compile_spec, depends_on_id, zone_of
from foliot.spec.cron import CronRule, parse_cron
from foliot.spec.daytimes import bits_of
from foliot.spec.duration import duration_text
from foliot.spec.fields import DAY_OF_MONTH, DAY_OF_WEEK, HOUR, MINUTE, MONTH, SECOND, Field
from foliot.spec.occurrence import local_datetime, utc_datetime, wall_datetime
from foliot.spec.rrule import parse_rrule
from foliot.spec.ticks import Ticks
from foliot.spec.zone import Zone, load_zone

TRANSITIONS_AHEAD = 2
"""How many coming clock changes are looked at."""

DENSITY_SAMPLE = 2_000
"""How many coming ticks the density is judged by."""


def lint(
    spec: SpecDocument, ticks: Ticks, *, now: int, min_interval_s: int | None = None, schedule_id: str = ""
) -> list[Finding]:
    """Return all findings about a spec, the gravest first."""
    findings = [*_lifetime(spec, ticks, now)]
    for field, rule in _rules(spec):
        findings += _day_fields(field, rule)
        findings += _steps(field, rule)
    findings += _clock_changes(spec, now, schedule_id)
    findings += _density(spec, ticks, now, min_interval_s)
    findings += _loose_ends(spec, schedule_id)
    order = {"error": 0, "warning": 1, "info": 2}
    return sorted(findings, key=lambda finding: order[finding.severity])


def _rules(spec: SpecDocument) -> Iterator[tuple[str, CronRule]]:
    for index, text in enumerate(spec.cron):
        rule = parse_cron(text, spec.dialect)
        if isinstance(rule, CronRule):
            yield (f"cron[{index}]" if len(spec.cron) > 1 else "cron"), rule
    for index, calendar in enumerate(spec.calendars):
        yield f"calendars[{index}]", calendar_rule(calendar, spec.dialect)


def _lifetime(spec: SpecDocument, ticks: Ticks, now: int) -> Iterator[Finding]:
    if not (spec.cron or spec.calendars or spec.intervals or spec.rrules or spec.times):
        yield Finding("no-source", "error", "spec", "never fires: no cron, calendar, interval, rrule or time is given")
    elif ticks.next_epoch(-1) is None:
        hint = "the exclusions leave nothing" if spec.exclude != type(spec.exclude)() else "check day, month and year"
        yield Finding("never-fires", "error", "spec", "never fires: no date from 1970 to 2200 matches", hint)
    elif ticks.next_epoch(now) is None:
        last = ticks.prev_epoch(now + 1)
        when = f"; the last tick was {utc_datetime(last):%Y-%m-%d %H:%M:%S} UTC" if last is not None else ""
        yield Finding("no-more-ticks", "error", "spec", f"never fires again{when}", "check end_at, times and year")


def _day_fields(field: str, rule: CronRule) -> Iterator[Finding]:
    month_day, weekday = rule.day_of_month, rule.day_of_week
    if rule.either_day:
        yield Finding(
            "either-day",
            "warning",
            field,
            f"day of month {month_day.text!r} and day of week {weekday.text!r} are both given: "
            "it fires when either matches",
            f"write '+{weekday.text}' as the weekday to demand both",
        )
    elif month_day.starred and month_day.text != "*" and not weekday.unrestricted:
        yield Finding(
            "both-days",
            "info",
            field,
            f"day of month {month_day.text!r} begins with '*', so it fires only when the weekday matches too",
        )
    missing = [day + 1 for day in bits_of(month_day.mask) if day >= 28]
    if missing and not month_day.full and not month_day.starred and len(bits_of(month_day.mask)) <= 3:
        yield Finding(
            "short-months",
            "info",
            field,
            f"months without a day {', '.join(map(str, missing))} are skipped",
            "write L for the last day of the month",
        )


_CYCLES = {SECOND: 60, MINUTE: 60, HOUR: 24, MONTH: 12, DAY_OF_WEEK: 7}
_UNITS = {SECOND: "second", MINUTE: "minute", HOUR: "hour", MONTH: "month", DAY_OF_WEEK: "day", DAY_OF_MONTH: "day"}
_COARSER = {SECOND: "minute", MINUTE: "hour", HOUR: "day", MONTH: "year", DAY_OF_WEEK: "week", DAY_OF_MONTH: "month"}


def _steps(field: str, rule: CronRule) -> Iterator[Finding]:
    for part in rule[:6]:
        assert isinstance(part, Field)
        for item in part.items:
            if item.form in ("*", "from") and item.step > 1:
                span = item.last - item.first + 1
                if item.step >= span:
                    yield _too_wide(field, part, item.step)
                elif item.form == "*" and _repeats(part, rule):
                    yield from _uneven(field, part, item.step)


def _repeats(part: Field, rule: CronRule) -> bool:
    """Whether the cycle that a step restarts in follows upon itself: ``*/7`` of one hour a day surprises nobody."""
    if part.kind is SECOND:
        return len(bits_of(rule.minute.mask)) > 1
    if part.kind is MINUTE:
        return len(bits_of(rule.hour.mask)) > 1
    return True


def _too_wide(field: str, part: Field, step: int) -> Finding:
    unit, coarser = _UNITS[part.kind], _COARSER[part.kind]
    hint = ""
    if part.kind in (SECOND, MINUTE, HOUR):
        hint = f"for every {step} {unit}s write '@every {step}{unit[0]}' or an interval"
    return Finding(
        "step-too-wide",
        "warning",
        f"{field}.{part.kind.name}",
        f"{part.text!r} steps over the whole {coarser}: it matches once a {coarser}, not every {step} {unit}s",
        hint,
    )


def _uneven(field: str, part: Field, step: int) -> Iterator[Finding]:
    unit, coarser = _UNITS[part.kind], _COARSER[part.kind]
    cycle = _CYCLES.get(part.kind)
    if cycle is not None and cycle % step == 0:
        return
    last = "the gap at the end varies with the month's length"
    if cycle is not None:
        last = f"the last gap of each {coarser} is {cycle % step} {unit}{'s' if cycle % step > 1 else ''}"
    hint = f"for an even cadence write '@every {step}{unit[0]}' or an interval" if part.kind.high >= 23 else ""
    if part.kind is DAY_OF_MONTH:
        hint = f"for every {step} days write '@every {step}d' or an RRULE"
    yield Finding(
        "uneven-step",
        "warning",
        f"{field}.{part.kind.name}",
        f"{part.text!r} is not every {step} {unit}s: it starts anew each {coarser}, and {last}",
        hint,
    )


def _zones(spec: SpecDocument) -> list[Zone]:
    named = {rule.zone for _field, rule in _rules(spec) if rule.zone is not None}
    return [zone_of(spec), *(zone for name in sorted(named) if (zone := load_zone(name)) is not zone_of(spec))]


def _clock_changes(spec: SpecDocument, now: int, schedule_id: str) -> Iterator[Finding]:
    calendars = [NamedCalendar(name) for name in spec.exclude.named]
    ticks = compile_spec(spec, schedule_id=schedule_id, calendars=calendars)
    bare = replace(spec, dst_gap="shift", dst_overlap="both")
    shown = compile_spec(bare, schedule_id=schedule_id, calendars=calendars)
    for zone in _zones(spec):
        first = zone.segment_at(now)
        for segment in range(first, min(first + TRANSITIONS_AHEAD, len(zone.starts))):
            yield from _clock_change(zone, segment, ticks, shown)


def _clock_change(zone: Zone, segment: int, ticks: Ticks, shown: Ticks) -> Iterator[Finding]:
    """Say what one change of offset does to the ticks, if it touches any."""
    instant, before, after = zone.starts[segment], zone.offsets[segment], zone.offsets[segment + 1]
    width = abs(after - before)
    wanted = "gap" if after > before else "second_pass"
    hit = [
        tick
        for tick in islice(shown.between_epochs(instant, instant + width - 1), DENSITY_SAMPLE)
        if (trace := shown.trace(tick)) is not None and trace.moved == wanted
    ]
    if not hit:
        return
    walls = [wall_datetime(tick + (before if wanted == "gap" else after)) for tick in hit]
    named = ", ".join(f"{wall:%H:%M:%S}".removesuffix(":00") for wall in walls[:3]) + (", …" if len(walls) > 3 else "")
    date = f"{local_datetime(instant, zone):%Y-%m-%d} in {zone.name}"
    if wanted == "gap":
        yield Finding(
            "dst-gap", "warning", "timezone", f"{date}: {named} does not exist; {_in_gap(zone, instant, width, ticks)}"
        )
    else:
        firsts = any(ticks.next_epoch(tick - width - 1) == tick - width for tick in hit)
        seconds = any(ticks.next_epoch(tick - 1) == tick for tick in hit)
        outcome = (
            "it fires both times" if firsts and seconds else f"it fires the {'first' if firsts else 'second'} time only"
        )
        severity: Severity = "info" if firsts and seconds and len(hit) > 1 else "warning"
        yield Finding("dst-overlap", severity, "timezone", f"{date}: {named} occurs twice; {outcome}")


def _in_gap(zone: Zone, instant: int, width: int, ticks: Ticks) -> str:
    moved = [
        tick
        for tick in islice(ticks.between_epochs(instant, instant + width - 1), DENSITY_SAMPLE)
        if (trace := ticks.trace(tick)) is not None and trace.moved == "gap"
    ]
    if not moved:
        return "it is skipped that day"
    at = f"{local_datetime(moved[0], zone):%H:%M:%S}".removesuffix(":00")
    return (
        f"it fires at {at} instead" if len(moved) == 1 else f"they fire later by {duration_text(width)}, from {at} on"
    )


def _density(spec: SpecDocument, ticks: Ticks, now: int, min_interval_s: int | None) -> Iterator[Finding]:
    sample = list(islice(ticks.between_epochs(now + 1, 1 << 62), DENSITY_SAMPLE))
    gaps = [(later - earlier, earlier) for earlier, later in pairwise(sample)]
    if not gaps:
        return
    smallest, where = min(gaps)
    if min_interval_s is not None and smallest < min_interval_s:
        yield Finding(
            "too-dense",
            "warning",
            "spec",
            f"fires {duration_text(smallest)} apart (at {utc_datetime(where):%Y-%m-%d %H:%M:%S} UTC); "
            f"the minimum is {duration_text(min_interval_s)}",
        )
    if spec.jitter_ms > smallest * 500:
        yield Finding(
            "jitter-capped",
            "info",
            "jitter_ms",
            f"jitter of {spec.jitter_ms} ms is cut to less than half the gap between ticks ({duration_text(smallest)})",
        )


def _loose_ends(spec: SpecDocument, schedule_id: str) -> Iterator[Finding]:
    if not schedule_id and depends_on_id(spec) and any(rule.hashed for _field, rule in _rules(spec)):
        yield Finding(
            "hash-without-id",
            "info",
            "cron",
            "H depends on the schedule's id: without one the times shown are not its own",
        )
    for holidays in spec.exclude.holidays:
        yield Finding(
            "holidays-end",
            "info",
            "exclude.holidays",
            f"the holidays of {holidays.country} are written down until the end of {holidays.last_year}; "
            "later ones are not excluded",
        )
    for index, text in enumerate(spec.rrules):
        rule = parse_rrule(text, start=0 if spec.start_at is not None else None)
        if not rule.anchored and spec.start_at is None:
            yield Finding(
                "rrule-anchor",
                "info",
                f"rrules[{index}]",
                "no DTSTART and no start_at: the rule is counted from Thursday, 1970-01-01 00:00",
                "put 'DTSTART:20260101T090000' on a line before RRULE",
            )
