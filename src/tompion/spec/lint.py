"""The linter: finds specs that are valid but may not do what the author means.

Each finding has a stable code, listed in ``docs/reference/lint.md``. DST findings come from the engine itself: it
computes the wall times that a transition removes or repeats and the resulting ticks, so they always match what will
happen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, pairwise

from tompion.encoding.instant import datetime_s, wall_datetime
from tompion.model.spec import (
    Dialect,
    ExcludeDocument,
    Finding,
    HolidaysDocument,
    NamedCalendar,
    Severity,
    SpecDocument,
)
from tompion.spec.calendar.cron import CronRule
from tompion.spec.calendar.days import DAY, FIRST_YEAR, days_from_civil
from tompion.spec.calendar.fields import DAY_OF_MONTH, DAY_OF_WEEK, HOUR, MINUTE, MONTH, SECOND, Field, Item
from tompion.spec.calendar.structured import calendar_rule
from tompion.spec.calendar.times import bits_of
from tompion.spec.compiler import compile_sources, compile_spec, cron_rules, depends_on_schedule_id
from tompion.spec.datetime_text import read_moment
from tompion.spec.duration import duration_text
from tompion.spec.jitter import jitter_limit_ms
from tompion.spec.occurrence import clock_text, local_datetime
from tompion.spec.rrule.compiler import parse_rrule
from tompion.spec.ticks import Ticks
from tompion.spec.union import BoundedTicks
from tompion.spec.zone.tables import Zone
from tompion.spec.zone.zoned import WallSource

MAX_TRANSITIONS = 2
"""Number of upcoming clock changes that are checked."""

MAX_DENSITY_SAMPLE = 2_000
"""Number of upcoming ticks from which the density is computed."""


def lint(
    spec: SpecDocument,
    *,
    now: int,
    min_interval_s: int | None = None,
    schedule_id: str = "",
    calendars: Iterable[NamedCalendar] = (),
) -> list[Finding]:
    """Return all findings about a spec, most severe first."""
    ticks = compile_spec(spec, schedule_id=schedule_id, calendars=calendars)
    findings = [*_check_ticks_exist(spec, ticks, now)]
    for field, rule in _rules(spec):
        findings += _check_day_fields(field, rule, spec.dialect)
        findings += _check_steps(field, rule)
    findings += _check_clock_changes(spec, now, schedule_id, calendars)
    findings += _check_density(spec, ticks, now, min_interval_s)
    findings += _check_idle_sources(spec, schedule_id, calendars)
    findings += _check_assumptions(spec, schedule_id)
    order = {"error": 0, "warning": 1, "info": 2}
    return sorted(findings, key=lambda finding: order[finding.severity])


def _rules(spec: SpecDocument) -> Iterator[tuple[str, CronRule]]:
    for path, rule in cron_rules(spec):
        if isinstance(rule, CronRule):
            yield path, rule
    for index, calendar in enumerate(spec.calendars):
        yield f"calendars[{index}]", calendar_rule(calendar, spec.dialect)


def _check_ticks_exist(spec: SpecDocument, ticks: Ticks, now: int) -> Iterator[Finding]:
    """Report a spec that never fires, or never again."""
    if not (spec.cron or spec.calendars or spec.intervals or spec.rrules or spec.times):
        yield Finding("no-source", "error", "spec", "never fires: it has no cron, calendar, interval, rrule or time")
    elif ticks.next_epoch(-1) is None:
        hint = "check day, month and year"
        if spec.exclude != ExcludeDocument():
            hint = "the exclusions remove every tick"
        elif spec.start_at is not None or spec.end_at is not None:
            hint = "check start_at and end_at"
        yield Finding("never-fires", "error", "spec", "never fires: no date from 1970 to 2200 matches", hint)
    elif ticks.next_epoch(now) is None:
        last = ticks.prev_epoch(now + 1)
        when = f"; the last tick was {datetime_s(last):%Y-%m-%d %H:%M:%S} UTC" if last is not None else ""
        yield Finding("no-more-ticks", "error", "spec", f"never fires again{when}", "check end_at, times and year")


def _check_day_fields(field: str, rule: CronRule, dialect: Dialect) -> Iterator[Finding]:
    """Warn of cron strings that restrict both the day of month and the weekday."""
    month_day, weekday = rule.day_of_month, rule.day_of_week
    if rule.either_day:
        yield Finding(
            "either-day",
            "warning",
            field,
            f"day of month {month_day.text!r} and day of week {weekday.text!r} are both set: "
            "it fires when either matches",
            f"write '+{weekday.text}' as the weekday to require both",
        )
    for star_field, other_field in ((month_day, weekday), (weekday, month_day)):
        if star_field.starred and not star_field.full and not other_field.unrestricted and dialect == "tompion":
            yield Finding(
                "both-days",
                "info",
                field,
                f"{_day_name(star_field)} {star_field.text!r} begins with '*', "
                f"so it fires only when {_day_name(other_field)} {other_field.text!r} matches too",
            )
    yield from _check_short_months(field, rule, dialect)


def _day_name(part: Field) -> str:
    return part.kind.name.replace("_", " ")


_MIN_MONTH_DAYS = tuple(28 if month == 1 else 30 if month in (3, 5, 8, 10) else 31 for month in range(12))


def _check_short_months(field: str, rule: CronRule, dialect: Dialect) -> Iterator[Finding]:
    days = [day + 1 for day in bits_of(rule.day_of_month.mask)]
    if not days or min(days) <= 28 or rule.day_of_month.rules or rule.either_day:
        return
    skipped = [month for month in bits_of(rule.month.mask) if _MIN_MONTH_DAYS[month] < min(days)]
    if skipped and len(skipped) < len(bits_of(rule.month.mask)):
        day_names = " or ".join(map(str, days))
        hint = "write L for the last day of the month" if dialect != "temporal" else ""
        yield Finding("short-months", "info", field, f"months without a day {day_names} are skipped", hint)


_CYCLE_LENGTHS = {SECOND: 60, MINUTE: 60, HOUR: 24, MONTH: 12, DAY_OF_WEEK: 7}
_UNITS = {SECOND: "second", MINUTE: "minute", HOUR: "hour", MONTH: "month", DAY_OF_WEEK: "day", DAY_OF_MONTH: "day"}
_ENCLOSING_UNITS = {
    SECOND: "a minute",
    MINUTE: "an hour",
    HOUR: "a day",
    MONTH: "a year",
    DAY_OF_WEEK: "a week",
    DAY_OF_MONTH: "a month",
}


def _check_steps(field: str, rule: CronRule) -> Iterator[Finding]:
    """Check steps over a whole field, which are often misread as "every n"."""
    for part in rule.fields[:6]:
        assert isinstance(part, Field)
        for item in part.items:
            covers_field = item.form in ("*", "from") or (item.first, item.last) == (part.kind.low, part.kind.high)
            if item.step > 1 and covers_field and item.form in ("*", "from", "range"):
                yield from _check_step(f"{field}.{part.kind.name}", part, item, rule)


def _check_step(field: str, part: Field, item: Item, rule: CronRule) -> Iterator[Finding]:
    """Warn of a step that does not divide its cycle."""
    unit, enclosing_unit, cycle = _UNITS[part.kind], _ENCLOSING_UNITS[part.kind], _CYCLE_LENGTHS.get(part.kind)
    values = range(item.first, item.last + 1, item.step)
    if len(values) == 1:
        if item.step != cycle:
            message = f"{part.text!r} matches once {enclosing_unit}, not every {item.step} {unit}s"
            yield Finding("step-too-wide", "warning", field, message, _every_n_hint(part, item.step))
    elif _cycle_repeats(part, rule):
        last_gap = cycle - values[-1] + values[0] if cycle else None
        if last_gap != item.step:
            noun = enclosing_unit.split()[1]
            gap = "varies with its length" if last_gap is None else f"is {last_gap} {unit}{'s' if last_gap > 1 else ''}"
            message = f"{part.text!r} is not every {item.step} {unit}s: it restarts each {noun}, and the last gap {gap}"
            yield Finding("uneven-step", "warning", field, message, _every_n_hint(part, item.step))


def _every_n_hint(part: Field, step: int) -> str:
    if part.kind in (MONTH, DAY_OF_WEEK):
        return ""
    if part.kind is DAY_OF_MONTH:
        return f"for every {step} days write an RRULE: FREQ=DAILY;INTERVAL={step}"
    return f"for every {step} {_UNITS[part.kind]}s write '@every {step}{_UNITS[part.kind][0]}' or an interval"


def _cycle_repeats(part: Field, rule: CronRule) -> bool:
    """Return whether the cycle in which a step restarts repeats. ``*/7`` in one hour a day is not a problem."""
    if part.kind is SECOND:
        return len(bits_of(rule.minute.mask)) > 1
    if part.kind is MINUTE:
        return len(bits_of(rule.hour.mask)) > 1
    return True


def _check_clock_changes(
    spec: SpecDocument, now: int, schedule_id: str, calendars: Iterable[NamedCalendar]
) -> Iterator[Finding]:
    """Warn of ticks that the next clock changes move, skip or repeat."""
    sources, bounded = compile_sources(spec, schedule_id=schedule_id, calendars=calendars)
    messages: set[str] = set()
    for path, source in sources:
        if isinstance(source, WallSource):
            first = source.zone.segment_at(now) + 1
            for segment in range(first, min(first + MAX_TRANSITIONS, len(source.zone.offsets))):
                finding = _clock_change_finding(path, source, segment, bounded)
                if finding is not None and finding.message not in messages:
                    messages.add(finding.message)
                    yield finding


def _clock_change_finding(path: str, source: WallSource, segment: int, bounded: BoundedTicks) -> Finding | None:
    """Return a finding if a clock change skips, moves or repeats wall times of a source."""
    change = source.clock_change(segment, MAX_DENSITY_SAMPLE)
    zone, instant = source.zone, source.zone.begin_of(segment)
    if change is None or not bounded.admits(instant):
        return None
    fired = [tick for tick in change.ticks if bounded.next_epoch(tick - 1) == tick]
    if change.ticks and not fired:
        return None
    is_plural = len(change.locals) > 1
    date = f"{local_datetime(instant, zone):%Y-%m-%d} in {zone.name}"
    wall_times = ", ".join(clock_text(wall_datetime(local)) for local in change.locals[:3])
    wall_times += ", …" if len(change.locals) > 3 else ""
    if change.gap:
        if not fired and source.wildcard and _continues_in_real_time(source, instant):
            return None
        outcome = _gap_outcome(zone, segment, fired, is_plural)
        return Finding(
            "dst-gap", "warning", path, f"{date}: {wall_times} do{'' if is_plural else 'es'} not exist; {outcome}"
        )
    fires_first_time = any(tick < instant for tick in fired)
    fires_twice = fires_first_time and any(tick >= instant for tick in fired)
    passes = "both times" if fires_twice else f"the {'first' if fires_first_time else 'second'} time only"
    severity: Severity = "info" if fires_twice and source.wildcard else "warning"
    subject = "they fire" if is_plural else "it fires"
    return Finding(
        "dst-overlap", severity, path, f"{date}: {wall_times} occur{'' if is_plural else 's'} twice; {subject} {passes}"
    )


def _continues_in_real_time(source: WallSource, instant: int) -> bool:
    """Return whether the ticks keep their interval across a gap, so that no tick is lost with the wall times."""
    last = source.prev_epoch(instant)
    following = source.next_epoch(instant - 1)
    earlier = None if last is None else source.prev_epoch(last)
    if last is None or earlier is None or following is None:
        return False
    return following - last <= last - earlier


def _gap_outcome(zone: Zone, segment: int, fired: list[int], is_plural: bool) -> str:
    subject = "they are" if is_plural else "it is"
    if not fired:
        return f"{subject} skipped that day"
    subject = "they fire" if is_plural else "it fires"
    at = clock_text(local_datetime(fired[0], zone))
    if len(fired) == 1:
        return f"{subject} at {at} instead" if not is_plural else f"they fire once, at {at}, instead"
    return f"{subject} {duration_text(zone.offsets[segment] - zone.offsets[segment - 1])} later, from {at} on"


def _check_idle_sources(spec: SpecDocument, schedule_id: str, calendars: Iterable[NamedCalendar]) -> Iterator[Finding]:
    """Report the sources of a union that never fire."""
    sources, _bounded = compile_sources(spec, schedule_id=schedule_id, calendars=calendars)
    for path, source in sources if len(sources) > 1 else ():
        if source.next_epoch(-1) is None:
            yield Finding("never-fires", "warning", path, "never fires: no date from 1970 to 2200 matches")


def _check_density(spec: SpecDocument, ticks: Ticks, now: int, min_interval_s: int | None) -> Iterator[Finding]:
    """Warn of ticks that are closer than the minimum, or too close for the jitter."""
    sample = list(islice(ticks.between_epochs(now + 1, 1 << 62), MAX_DENSITY_SAMPLE))
    gaps = [(later - earlier, earlier) for earlier, later in pairwise(sample)]
    if not gaps:
        return
    smallest, where = min(gaps)
    if min_interval_s is not None and smallest < min_interval_s:
        yield Finding(
            "too-dense",
            "warning",
            "spec",
            f"fires {duration_text(smallest)} apart (at {datetime_s(where):%Y-%m-%d %H:%M:%S} UTC); "
            f"the minimum is {duration_text(min_interval_s)}",
        )
    if spec.jitter_mode != "temporal" and spec.jitter_ms > jitter_limit_ms(smallest):
        yield Finding(
            "jitter-capped",
            "info",
            "jitter_ms",
            f"jitter of {spec.jitter_ms} ms is reduced to less than half of the gap between "
            f"ticks ({duration_text(smallest)})",
        )


def _check_assumptions(spec: SpecDocument, schedule_id: str) -> Iterator[Finding]:
    """Report what the displayed times assume: an id, the ends of runs, known holidays, the start of an RRULE."""
    if not schedule_id and depends_on_schedule_id(spec):
        yield Finding(
            "hash-without-id",
            "info",
            "cron",
            "H depends on the schedule's id: without an id, the times shown are not those of the schedule",
        )
    if any(interval.anchor == "completion" for interval in spec.intervals):
        yield Finding(
            "after-completion",
            "info",
            "intervals",
            "its ticks depend on the ends of runs; the times shown assume that runs take no time",
        )
    for holidays in spec.exclude.holidays:
        if spec.end_at is not None and read_moment(spec.end_at, field="end_at").seconds < _year_end(holidays):
            continue
        part = f"-{holidays.subdivision}" if holidays.subdivision else ""
        yield Finding(
            "holidays-end",
            "info",
            "exclude.holidays",
            f"the holidays of {holidays.country}{part} are known until the end of {holidays.last_year}; "
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
                "add a line 'DTSTART:20260101T090000' before RRULE",
            )


def _year_end(holidays: HolidaysDocument) -> int:
    return days_from_civil((holidays.last_year or FIRST_YEAR) + 1, 1, 1) * DAY
