"""A whole spec over a walk: the complete list of ticks of a window.

Every rule is one small function here, over plain loops:

* A rule (cron string, calendar) names wall times. Each is resolved to instants by the DST rules below.
* An interval names instants by arithmetic. A one-shot names a wall time, or an instant if it has an offset.
* Calendar and date exclusions use the wall time, windows use the instant.
* `start_at` and `end_at` are inclusive bounds. Equal instants are one tick.

A spec is the JSON form of the arguments of ``tompion.Spec``.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from tests.oracle.cron import Rule, parse_calendar, parse_cron, split_zone
from tests.oracle.walk import DAY, HOUR, Walk, day_of, midnight, moment_of, wall_of

Spec = Mapping[str, Any]

LONGEST_DST_GAP = 3 * HOUR
"""A longer gap is a lost day, not DST: what it swallowed stays lost, whatever the policy."""

PROFILES = {
    "vixie": {"fixed": ("catch_up", "first"), "wildcard": ("skip", "both")},
    "temporal": {"fixed": ("skip", "both"), "wildcard": ("skip", "both")},
    "quartz": {"fixed": ("skip", "second"), "wildcard": ("skip", "second")},
    "airflow": {"fixed": ("shift", "second"), "wildcard": ("skip", "both")},
}
"""profile -> class -> what happens in a gap, what happens in an overlap."""

PROFILE_OF_DIALECT = {"tompion": "vixie", "quartz": "quartz", "temporal": "temporal"}


class Unclear(Exception):
    """The rules do not define this spec at this place, so it is drawn again."""


@dataclass
class Ticks:
    """The ticks of a window in order, and a count of the rules that decided about them."""

    instants: list[int]
    hits: Counter[str] = field(default_factory=Counter)


def ticks_of(spec: Spec, walk: Walk) -> Ticks:
    """All ticks in [walk.start, walk.end)."""
    instants: set[int] = set()
    hits: Counter[str] = Counter()
    exclusions = Exclusions(spec.get("exclude", {}), walk, hits)
    for rule in rules_of(spec, walk):
        instants.update(ticks_of_rule(rule, dst_policy(spec, rule.wildcard), walk, exclusions, hits))
    for instant in instants_of_intervals(spec, walk):
        if not exclusions.wall_excluded(walk.wall_at(instant)):
            instants.add(instant)
    instants.update(ticks_of_times(spec, walk, exclusions, hits))
    inside = {instant for instant in instants if walk.start <= instant < walk.end}
    allowed = {instant for instant in inside if not exclusions.instant_excluded(instant)}
    kept = {instant for instant in allowed if within_start_and_end(spec, instant)}
    hits["cut by start or end"] += len(allowed) - len(kept)
    return Ticks(sorted(kept), hits)


def rules_of(spec: Spec, walk: Walk) -> list[Rule]:
    """The rules of all cron strings and calendars. Each must be in the zone that was walked."""
    rules = []
    crons = spec.get("cron", [])
    for text in [crons] if isinstance(crons, str) else crons:
        own_zone, rest = split_zone(text)
        if rest.startswith("@every"):
            continue
        assert (own_zone or spec.get("timezone") or "UTC") == walk.zone_name
        rules.append(parse_cron(rest, spec.get("dialect", "tompion")))
    for structured in spec.get("calendars", []):
        assert (spec.get("timezone") or "UTC") == walk.zone_name
        rules.append(parse_calendar(structured))
    return rules


# ---------------------------------------------------------------- wall times and daylight saving


def dst_policy(spec: Spec, wildcard: bool) -> tuple[str, str]:
    """The rule of one source for gaps and overlaps."""
    profile = spec.get("dst_profile") or PROFILE_OF_DIALECT[spec.get("dialect", "tompion")]
    gap, overlap = PROFILES[profile]["wildcard" if wildcard else "fixed"]
    if spec.get("dst_gap") is not None:
        gap = spec["dst_gap"]
    if spec.get("dst_overlap") not in (None, "auto"):
        overlap = spec["dst_overlap"]
    return gap, overlap


def walls_named(rule: Rule, walk: Walk) -> Iterator[int]:
    """Every wall second of the walk's dates that the rule names, existing or not."""
    seconds = rule.seconds_of_day()
    if walk.seconds_of_day is not None:
        assert set(seconds) <= set(walk.seconds_of_day), "this walk did not look at all times of the rule"
    for day in walk.days:
        if rule.names_day(day):
            for second in seconds:
                yield midnight(day) + second


def ticks_of_rule(
    rule: Rule, policy: tuple[str, str], walk: Walk, exclusions: "Exclusions", hits: Counter[str]
) -> Iterator[int]:
    for wall in walls_named(rule, walk):
        if not exclusions.wall_excluded(wall):
            yield from resolve(wall, policy, walk, hits)


def resolve(wall: int, policy: tuple[str, str], walk: Walk, hits: Counter[str]) -> list[int]:
    """The instants at which a named wall time ticks: none, one or two."""
    in_gap, in_overlap = policy
    if wall in walk.shown_again:
        hits[f"overlap {in_overlap}"] += 1
        both = [walk.first_shown[wall], walk.shown_again[wall]]
        return {"first": both[:1], "second": both[1:], "both": both}[in_overlap]
    if wall in walk.first_shown:
        return [walk.first_shown[wall]]
    gap = walk.gap_around(wall)
    if gap is None:
        return []  # beyond the walk
    if gap.length > LONGEST_DST_GAP:
        hits["lost day"] += 1
        return []
    hits[f"gap {in_gap}"] += 1
    if in_gap == "skip":
        return []
    if in_gap == "catch_up":
        return [gap.resumes_at]
    assert in_gap == "shift"
    return [gap.resumes_at + wall - gap.lost_from]


# ---------------------------------------------------------------- intervals and one-shot times


def seconds_in(duration: str | int) -> int:
    """`90`, `90s`, `15m`, `1h30m`, `1d` in seconds."""
    if isinstance(duration, int):
        return duration
    units = {"s": 1, "m": 60, "h": HOUR, "d": DAY}
    return sum(int(count) * units[unit] for count, unit in re.findall(r"(\d+)([smhd])", duration))


def intervals_of(spec: Spec) -> Iterator[tuple[int, int]]:
    """(every, offset) of all intervals, in seconds."""
    crons = spec.get("cron", [])
    texts = [crons] if isinstance(crons, str) else crons
    everys = [text.removeprefix("@every ") for text in texts if text.startswith("@every ")]
    for interval in [*everys, *spec.get("intervals", [])]:
        if isinstance(interval, str):
            every, _, offset = interval.partition("/")
            yield seconds_in(every), seconds_in(offset or 0)
        elif isinstance(interval, int):
            yield interval, 0
        else:
            yield seconds_in(interval["every"]), seconds_in(interval.get("offset", 0))


def instants_of_intervals(spec: Spec, walk: Walk) -> Iterator[int]:
    """Pure arithmetic on the epoch: an instant ticks if it is `offset` after a multiple of `every`."""
    for every, offset in intervals_of(spec):
        first = next(instant for instant in range(walk.start, walk.start + every) if (instant - offset) % every == 0)
        yield from range(first, walk.end, every)


def ticks_of_times(spec: Spec, walk: Walk, exclusions: "Exclusions", hits: Counter[str]) -> Iterator[int]:
    """One-shots: a wall time of the zone, of class fixed, or an instant if it has an offset."""
    for text in spec.get("times", []):
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            wall = wall_of(moment)
            instants = resolve(wall, dst_policy(spec, wildcard=False), walk, hits)
        else:
            instants = [int(moment.timestamp())]
            wall = walk.wall_at(instants[0])
        if not exclusions.wall_excluded(wall):
            yield from instants


# ---------------------------------------------------------------- exclusions, start and end


class Exclusions:
    """`exclude`: calendars and dates look at the wall time that a source named, windows at the instant."""

    def __init__(self, exclude: Mapping[str, Any], walk: Walk, hits: Counter[str]) -> None:
        self.hits = hits
        self.rules = [parse_calendar(document, omitted_time="*") for document in exclude.get("calendars", [])]
        self.seconds = [frozenset(rule.seconds_of_day()) for rule in self.rules]
        self.dates = {date.fromisoformat(text) for text in exclude.get("dates", [])}
        self.windows = [window_bounds(document, walk) for document in exclude.get("windows", [])]
        self.known_days: dict[int, tuple[bool, list[bool]]] = {}

    def wall_excluded(self, wall: int) -> bool:
        if not self.rules and not self.dates:
            return False
        second_of_day = wall % DAY
        date_excluded, named_by_rule = self.about_day(wall // DAY)
        if date_excluded:
            self.hits["excluded by date"] += 1
            return True
        if any(named and second_of_day in seconds for named, seconds in zip(named_by_rule, self.seconds, strict=True)):
            self.hits["excluded by calendar"] += 1
            return True
        return False

    def about_day(self, day_number: int) -> tuple[bool, list[bool]]:
        """Is this date listed, and which calendars name it? Remembered, since a day has many seconds."""
        if day_number not in self.known_days:
            day = day_of(day_number * DAY)
            self.known_days[day_number] = (day in self.dates, [rule.names_day(day) for rule in self.rules])
        return self.known_days[day_number]

    def instant_excluded(self, instant: int) -> bool:
        if any(begin <= instant < end for begin, end in self.windows):
            self.hits["excluded by window"] += 1
            return True
        return False


def window_bounds(window: Mapping[str, str], walk: Walk) -> tuple[int, int]:
    """A window as instants [begin, end). A date-only `to` includes that whole day."""
    begin = bound_instant(window["from"], walk)
    if len(window["to"]) == len("2025-03-09"):
        day_after = date.fromisoformat(window["to"]) + timedelta(days=1)
        return begin, bound_instant(day_after.isoformat(), walk)
    return begin, bound_instant(window["to"], walk)


def bound_instant(text: str, walk: Walk) -> int:
    """The instant of a bound. Naive text is a wall time of the zone. A lost or ambiguous one is not judged."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        return int(moment.timestamp())
    wall = wall_of(moment)
    if wall < walk.first_wall:
        return walk.start
    if wall > walk.last_wall:
        return walk.end
    if wall in walk.shown_again:
        raise Unclear(f"{moment_of(wall)} is shown twice")
    if wall in walk.first_shown:
        return walk.first_shown[wall]
    gap = walk.gap_around(wall)
    if gap is None or gap.lost_from != wall:
        raise Unclear(f"{moment_of(wall)} is inside a gap")
    return gap.resumes_at


def within_start_and_end(spec: Spec, instant: int) -> bool:
    """Both ends inclusive."""
    start, end = spec.get("start_at"), spec.get("end_at")
    if start is not None and instant < int(datetime.fromisoformat(start).timestamp()):
        return False
    return end is None or instant <= int(datetime.fromisoformat(end).timestamp())


def iso(instant: int) -> str:
    """An instant as text, in UTC."""
    return datetime.fromtimestamp(instant, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
