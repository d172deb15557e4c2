"""cronsim: a careful port of Debian's cron, and where it and Tompion part."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime

from cronsim import CronSim, CronSimError

from tests.conformance.peers.comparing import (
    ENDLESS,
    Answer,
    Change,
    Disagreement,
    Peer,
    Question,
    Reading,
    Slip,
    Spec,
    catches_up_a_lost_day,
    second_pass,
    with_field,
)
from tests.oracle.walk import DAY, load_zone
from tests.support.corpus import Syntax

MOST_STEPS = 100_000
"""More steps than any answer takes: cronsim looks 50 years ahead, day by day."""


class EndlessError(Exception):
    """cronsim walks in circles."""


class CountingCronSim(CronSim):
    """cronsim that notices when it does not get anywhere."""

    steps = 0

    def count(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise EndlessError

    def tick(self, seconds: int = 1) -> None:
        self.count()
        super().tick(seconds)

    def match_day(self, d: date) -> bool:
        self.count()
        return super().match_day(d)

    def names(self, moment: datetime) -> bool:
        """Whether its own fields name a wall time."""
        return (
            moment.month in self.months
            and super().match_day(moment.date())
            and moment.hour in self.hours
            and moment.minute in self.minutes
            and moment.second in self.seconds
        )


def is_accepted(expression: str) -> bool:
    """Whether cronsim is willing to read it."""
    try:
        CronSim(expression, datetime(2025, 1, 1, tzinfo=UTC))
    except CronSimError:
        return False
    return True


def answer(question: Question) -> Answer:
    """What cronsim says."""
    try:
        return int(next(cronsim_at(question)).timestamp())
    except StopIteration:
        return None
    except EndlessError:
        return ENDLESS


def cronsim_at(question: Question) -> CountingCronSim:
    """One that is about to look for the answer."""
    zone = UTC if question.zone == "UTC" else load_zone(question.zone)
    start = datetime.fromtimestamp(question.instant, zone)
    return CountingCronSim(question.expression, start, reverse=question.backwards)


# ---------------------------------------------------------------- readings


def literal_with_seconds(spec: Spec) -> Spec | None:
    """With a seconds field there is no DST rule at all: lost times are lost, repeated ones run twice."""
    return replace(spec, gap="skip", overlap="both") if len(spec.cron.split()) == 6 else None


def open_step_reaches_seven(spec: Spec) -> Spec | None:
    """`1/2` among weekdays goes on to 7, which is Sunday; for Tompion the week ends with 6."""
    weekday = spec.cron.split()[-1]
    match = re.fullmatch(r"(\d)/(\d+)", weekday)
    return with_field(spec, 5, f"{match[1]}-7/{match[2]}") if match else None


READINGS = (
    Reading("cronsim-seconds-literal", literal_with_seconds, at_changes=True),
    Reading("cronsim-weekday-step-to-7", open_step_reaches_seven),
)

# ---------------------------------------------------------------- slips


def is_fixed(question: Question) -> bool:
    """Whether cronsim applies its DST rule."""
    fields = question.expression.split()
    return len(fields) == 5 and not fields[0].startswith("*") and not fields[1].startswith("*")


def forgets_the_pass(case: Disagreement) -> bool:
    """Asked in the second pass of a repeated hour, it answers as if asked in the first: even with the past."""
    change = second_pass(case.question.zone, case.question.instant)
    if change is None or not is_fixed(case.question):
        return False
    return case.theirs == case.ask(case.question.instant - change.length)


def loses_its_place(case: Disagreement, is_odd: Callable[[Change], bool]) -> bool:
    """Near such a change it misses an instant that its own fields name, and the first of its kind."""
    question, expected = case.question, case.expected
    if is_fixed(question) or expected is None:
        return False
    return any(is_odd(change) and first_named(question, expected, change) for change in case.changes())


def first_named(question: Question, tick: int, change: Change) -> bool:
    """Whether by cronsim's own fields the tick is named, and nothing else between the change and the tick."""
    zone, fields = load_zone(question.zone), cronsim_at(question)
    fields.dt = fields.dt.replace(tzinfo=None)
    near = change.instant + (2 * DAY if question.backwards else -2 * DAY)
    start = (min if question.backwards else max)(question.instant, near)
    between = range(tick + 1, start) if question.backwards else range(start + 1, tick)
    moments = (datetime.fromtimestamp(instant, zone) for instant in between if instant % 60 in fields.seconds)
    return fields.names(datetime.fromtimestamp(tick, zone)) and not any(map(fields.names, moments))


def stumbles_within_the_hour(case: Disagreement) -> bool:
    """It counts in whole hours: half an hour at Lord Howe, 02:45 at Chatham, 00:01 at St John's throw it off."""
    return loses_its_place(case, lambda change: not change.on_the_hour)


def stumbles_at_midnight(case: Disagreement) -> bool:
    """It starts each day at 00:00, also where that does not exist or exists twice."""
    return loses_its_place(case, lambda change: change.on_the_hour and change.at_midnight)


SLIPS = (
    Slip("cronsim-which-pass", forgets_the_pass),
    Slip("cronsim-lost-day", catches_up_a_lost_day),
    Slip("cronsim-part-hour", stumbles_within_the_hour),
    Slip("cronsim-midnight", stumbles_at_midnight),
)

CRONSIM = Peer(
    name="cronsim",
    syntax=Syntax(seconds=True, open_steps=True, last_day=True, last_workday=True, nth_weekday=True, last_weekday=True),
    accepts=lambda expressions: list(map(is_accepted, expressions)),
    answers=lambda questions: map(answer, questions),
    readings=READINGS,
    slips=SLIPS,
)
