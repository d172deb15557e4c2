"""cronsim, a port of Debian's cron, and its differences from Tompion."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime

from cronsim import CronSim, CronSimError

from tests.conformance.peers.comparison import (
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

MAX_STEPS = 100_000
"""More steps than any search needs. cronsim searches 50 years, day by day."""


class EndlessError(Exception):
    """cronsim is in an endless loop."""


class CountingCronSim(CronSim):
    """cronsim with a limit on the number of steps."""

    steps = 0

    def count(self) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise EndlessError

    def tick(self, seconds: int = 1) -> None:
        self.count()
        super().tick(seconds)

    def match_day(self, d: date) -> bool:
        self.count()
        return super().match_day(d)

    def names(self, moment: datetime) -> bool:
        """Return whether a wall time matches the fields."""
        return (
            moment.month in self.months
            and super().match_day(moment.date())
            and moment.hour in self.hours
            and moment.minute in self.minutes
            and moment.second in self.seconds
        )


def is_accepted(expression: str) -> bool:
    """Return whether cronsim accepts an expression."""
    try:
        CronSim(expression, datetime(2025, 1, 1, tzinfo=UTC))
    except CronSimError:
        return False
    return True


def answer(question: Question) -> Answer:
    """Return the answer of cronsim."""
    try:
        return int(next(cronsim_at(question)).timestamp())
    except StopIteration:
        return None
    except EndlessError:
        return ENDLESS


def cronsim_at(question: Question) -> CountingCronSim:
    """Return a cronsim object that starts at the instant of the question."""
    zone = UTC if question.zone == "UTC" else load_zone(question.zone)
    start = datetime.fromtimestamp(question.instant, zone)
    return CountingCronSim(question.expression, start, reverse=question.backwards)


# ---------------------------------------------------------------- readings


def literal_with_seconds(spec: Spec) -> Spec | None:
    """With a seconds field there is no DST rule at all: lost times are lost, repeated ones run twice."""
    return replace(spec, gap="skip", overlap="both") if len(spec.cron.split()) == 6 else None


def open_step_reaches_seven(spec: Spec) -> Spec | None:
    """`1/2` as a weekday continues to 7, which is Sunday. For Tompion the week ends with 6."""
    weekday = spec.cron.split()[-1]
    match = re.fullmatch(r"(\d)/(\d+)", weekday)
    return with_field(spec, 5, f"{match[1]}-7/{match[2]}") if match else None


READINGS = (
    Reading("cronsim-seconds-literal", literal_with_seconds, at_changes=True),
    Reading("cronsim-weekday-step-to-7", open_step_reaches_seven),
)

# ---------------------------------------------------------------- slips


def is_fixed(question: Question) -> bool:
    """Return whether cronsim applies its DST rule."""
    fields = question.expression.split()
    return len(fields) == 5 and not fields[0].startswith("*") and not fields[1].startswith("*")


def forgets_the_pass(case: Disagreement) -> bool:
    """In the second pass of a repeated hour, cronsim answers as in the first, even with a past time."""
    change = second_pass(case.question.zone, case.question.instant)
    if change is None or not is_fixed(case.question):
        return False
    return case.theirs == case.answer_from(case.question.instant - change.length)


def loses_its_place(case: Disagreement, is_odd: Callable[[Change], bool]) -> bool:
    """Near such a change cronsim misses the first instant that matches its own fields."""
    question, expected = case.question, case.expected
    if is_fixed(question) or expected is None:
        return False
    return any(is_odd(change) and first_named(question, expected, change) for change in case.changes())


def first_named(question: Question, tick: int, change: Change) -> bool:
    """Return whether the tick is the first instant after the change that matches the fields of cronsim."""
    zone, fields = load_zone(question.zone), cronsim_at(question)
    fields.dt = fields.dt.replace(tzinfo=None)
    near = change.instant + (2 * DAY if question.backwards else -2 * DAY)
    start = (min if question.backwards else max)(question.instant, near)
    between = range(tick + 1, start) if question.backwards else range(start + 1, tick)
    moments = (datetime.fromtimestamp(instant, zone) for instant in between if instant % 60 in fields.seconds)
    return fields.names(datetime.fromtimestamp(tick, zone)) and not any(map(fields.names, moments))


def stumbles_within_the_hour(case: Disagreement) -> bool:
    """Cronsim steps by whole hours, and fails at changes within the hour: Lord Howe, Chatham, St John's."""
    return loses_its_place(case, lambda change: not change.on_the_hour)


def stumbles_at_midnight(case: Disagreement) -> bool:
    """Cronsim starts each day at 00:00, even if that time does not exist or happens twice."""
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
