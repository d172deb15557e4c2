"""croniter, the Python library of many schedulers, and its differences from Tompion."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

from croniter import croniter
from croniter.croniter import CroniterBadCronError, CroniterBadDateError

from tests.conformance.peers.comparison import (
    LONGEST_DST_GAP,
    Answer,
    Change,
    Disagreement,
    Peer,
    Question,
    Reading,
    Slip,
    Spec,
    compile_spec,
    fields_of,
    has_tick,
    steps_are_restrictions,
    tompion_answer,
    with_field,
)
from tests.oracle.walk import DAY, HOUR, load_zone
from tests.support.corpus import Syntax

FIFTY_YEARS = 50 * 366 * DAY


@cache
def parse(expression: str) -> croniter:
    """Return the croniter object of an expression. croniter writes the last Friday of the month as L5."""
    fields = expression.split()
    if len(fields) > 1:
        weekday = 4 if len(fields) == 5 else 5
        fields[weekday] = re.sub(r"(\d)L", r"L\1", fields[weekday])
    return croniter(" ".join(fields), 0, second_at_beginning=True)


def is_accepted(expression: str) -> bool:
    """Return whether croniter accepts an expression."""
    try:
        parse(expression)
    except CroniterBadCronError:
        return False
    return True


def is_too_slow(question: Question) -> bool:
    """Return whether croniter needs seconds: near a lost day it adds minutes to every lost time until it exists."""
    fields = fields_of(Spec(question.expression, question.zone))
    return question.zone == "Pacific/Apia" and fields is not None and not fields[1].isdigit()


def answer(question: Question) -> Answer:
    """Return the answer of croniter, which raises an error if there is no tick."""
    zone = UTC if question.zone == "UTC" else load_zone(question.zone)
    start = datetime.fromtimestamp(question.instant, zone)
    cron = parse(question.expression)
    try:
        tick = cron.get_prev(start_time=start) if question.backwards else cron.get_next(start_time=start)
    except CroniterBadDateError:
        return None
    return int(tick)


# ---------------------------------------------------------------- readings


def repeats_in_the_overlap(spec: Spec) -> Spec | None:
    """A wall time that happens twice runs twice, whatever the rule looks like."""
    return None if spec.overlap == "both" else replace(spec, overlap="both")


def names_every_hour(spec: Spec) -> bool:
    fields = fields_of(spec)
    if fields is None:
        return spec.cron == "@hourly"
    hours = with_field(Spec("0 0 * * *", "UTC"), 2, fields[2])
    return all(has_tick(hours, hour * HOUR, hour * HOUR + 1) for hour in range(24))


def looks_at_the_hour_only(spec: Spec) -> Spec | None:
    """Lost times are caught up unless every hour is named. The minute field and `*/2` do not matter."""
    return None if spec.gap else replace(spec, gap="skip" if names_every_hour(spec) else "catch_up")


def special_day_wins(spec: Spec) -> Spec | None:
    """`5#3` or `5L` overrides the day of the month, `15W` overrides the weekday, and the two are ANDed."""
    fields = fields_of(spec)
    if fields is None or fields[3] in "*?" or fields[5] in "*?":
        return None
    if is_workday(fields[3]):
        return with_field(spec, 5, "+" + fields[5] if is_nth(fields[5]) else "*")
    return with_field(spec, 3, "*") if is_nth(fields[5]) else None


def is_workday(day_of_month: str) -> bool:
    return day_of_month.endswith("W")


def is_nth(day_of_week: str) -> bool:
    return re.search(r"#|\dL", day_of_week) is not None


def workday_of_short_months(spec: Spec) -> Spec | None:
    """In a month without a 31st, `31W` is the last workday. For Tompion such a month has no `31W`."""
    fields = fields_of(spec)
    if fields is None or fields[3] not in ("29W", "30W", "31W"):
        return None
    short = (2, 4, 6, 9, 11) if fields[3] == "31W" else (2,)
    months = [str(month) for month in short if names_month(fields[4], month)]
    return replace(spec, also=with_field(with_field(spec, 3, "LW"), 4, ",".join(months)).cron) if months else None


def names_month(text: str, month: int) -> bool:
    start, end = (int(datetime(2025, month, day, tzinfo=UTC).timestamp()) for day in (1, 2))
    return has_tick(with_field(Spec("0 0 1 * *", "UTC"), 4, text), start, end)


READINGS = (
    Reading("croniter-overlap-twice", repeats_in_the_overlap, at_changes=True),
    Reading("croniter-gap-by-hour", looks_at_the_hour_only, at_changes=True),
    Reading("or-and-star-step", steps_are_restrictions),
    Reading("croniter-special-day-alone", special_day_wins),
    Reading("croniter-workday-of-short-months", workday_of_short_months),
)

# ---------------------------------------------------------------- slips


def finds_nothing(case: Disagreement) -> bool:
    """Two day fields are two searches. If one has no result within 50 years, the result of the other is lost, too."""
    spec = Spec(case.question.expression, case.question.zone)
    spec = steps_are_restrictions(spec) or spec
    fields = fields_of(spec)
    if case.theirs is not None or fields is None or fields[3] in "*?" or fields[5] in "*?":
        return False
    both = with_field(spec, 5, "+" + fields[5])
    by_date = both if is_nth(fields[5]) else with_field(spec, 5, "*")
    by_weekday = both if is_workday(fields[3]) else with_field(spec, 3, "*")
    now = case.question.instant
    start, end = (max(0, now - FIFTY_YEARS), now) if case.question.backwards else (now + 1, now + FIFTY_YEARS)
    return not all(has_tick(half, start, end) for half in (by_date, by_weekday))


def caught_up_at(case: Disagreement, instant: Answer) -> Change | None:
    """Return the gap at whose end croniter runs lost times. It adds minutes, so that the seconds stay."""
    for change in case.changes():
        if isinstance(instant, int) and change.is_gap and 0 <= instant - change.instant < 60:
            second = instant - change.instant
            if any(wall % 60 == second for wall in lost_walls(case, change)):
                return change
    return None


def lost_walls(case: Disagreement, change: Change) -> Iterator[int]:
    """Return the lost wall times that match the expression."""
    return compile_spec(replace(case.understood, zone="UTC")).between_epochs(change.walls[0], change.walls[1] - 1)


def catches_up_a_lost_day(case: Disagreement) -> bool:
    """A whole day that a zone skipped is caught up at its end, like an hour."""
    change = caught_up_at(case, case.theirs)
    return change is not None and change.length > LONGEST_DST_GAP


def keeps_the_seconds(case: Disagreement) -> bool:
    """A lost 02:30:15 becomes 03:00:15: its seconds stay."""
    return isinstance(case.theirs, int) and case.theirs % 60 > 0 and caught_up_at(case, case.theirs) is not None


def passes_over_lost_times(case: Disagreement) -> bool:
    """Backwards from the end of a gap, or the minute after it, croniter skips lost times, of other years too."""
    question = case.question
    for change in case.changes() if question.backwards else ():
        latest = max((wall % 60 for wall in lost_walls(case, change)), default=-1) if change.is_gap else -1
        at_end = question._replace(instant=change.instant)
        if 0 <= question.instant - change.instant <= latest and case.theirs == tompion_answer(
            replace(case.understood, gap="skip"), at_end
        ):
            return True
    return False


def catches_up_now_and_then(case: Disagreement) -> bool:
    """If every hour is named, lost times are not caught up, except from some instants before a gap."""
    return case.understood.gap == "skip" and caught_up_at(case, case.theirs) is not None


def misses_the_other_pass(case: Disagreement) -> bool:
    """Within a repeated hour, croniter may miss the other pass if the overlap is shorter or longer than an hour."""
    only = replace(case.understood, overlap="second" if case.question.backwards else "first")
    return case.theirs == tompion_answer(only, case.question) and any(
        not change.is_gap and -change.length <= case.question.instant - change.instant < change.length
        for change in case.changes()
    )


SLIPS = (
    Slip("croniter-half-fails", finds_nothing),
    Slip("croniter-lost-day", catches_up_a_lost_day),
    Slip("croniter-gap-seconds", keeps_the_seconds),
    Slip("croniter-gap-looking-back", passes_over_lost_times),
    Slip("croniter-gap-now-and-then", catches_up_now_and_then),
    Slip("croniter-other-pass", misses_the_other_pass),
)

CRONITER = Peer(
    name="croniter",
    syntax=Syntax(
        seconds=True,
        years=True,
        wraps=True,
        open_steps=True,
        last_day=True,
        nearest_workday=True,
        nth_weekday=True,
        last_weekday=True,
        question=True,
        shorthands=True,
    ),
    accepts=lambda expressions: list(map(is_accepted, expressions)),
    answers=lambda questions: map(answer, questions),
    readings=READINGS,
    slips=SLIPS,
    is_too_slow=is_too_slow,
)
