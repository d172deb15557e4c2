"""The cases for all libraries: (expression, zone, instant), drawn with a seed.

All libraries agree on every case, so that none is timed on a wrong result.  An expression that one of them rejects or
interprets differently is left out, and so is a single case on which they differ (usually next to a clock change).
"""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import NamedTuple

import tompion
from bench.spec.expressions import distinct_expressions
from bench.spec.libraries import croniter_next, cronsim_next, moment_of, reusable

ZONES = (
    "UTC",
    "America/New_York",
    "Europe/Berlin",
    "Australia/Lord_Howe",
    "Pacific/Chatham",
    "America/Sao_Paulo",
    "Asia/Kathmandu",
    "Europe/London",
    "Australia/Sydney",
    "Asia/Tokyo",
)
UTC_SHARE = 0.5
FIRST_INSTANT = int(datetime(2015, 1, 1, tzinfo=UTC).timestamp())
LAST_INSTANT = int(datetime(2035, 1, 1, tzinfo=UTC).timestamp())
PROBES = 4
"""How many instants in UTC decide whether an expression means the same to all."""


class Case(NamedTuple):
    """One case, with its instant in both forms."""

    expression: str
    zone: str
    after: int
    moment: datetime


class Workload(NamedTuple):
    """The cases by round."""

    expressions: list[str]
    rounds: list[list[Case]]
    expressions_left_out: int
    cases_left_out: int

    @property
    def cases(self) -> int:
        """The number of cases."""
        return sum(len(cases) for cases in self.rounds)


def build_workload(seed: int, expressions: int, rounds: int, cases: int) -> Workload:
    """Draw rounds of cases, with about as many expressions as requested."""
    random = Random(seed)
    drawn = distinct_expressions(random, expressions)
    kept = [expression for expression in drawn if _means_the_same(expression, random)]
    drawn_rounds: list[list[Case]] = []
    left_out = 0
    for _round in range(rounds):
        agreed: list[Case] = []
        while len(agreed) < cases:
            case = _draw_case(random, kept)
            if agree(case):
                agreed.append(case)
            else:
                left_out += 1
        drawn_rounds.append(agreed)
    return Workload(kept, drawn_rounds, len(drawn) - len(kept), left_out)


def agree(case: Case) -> bool:
    """Whether all libraries accept an expression and give the same answer."""
    iterator = reusable(case.expression)
    if iterator is None:
        return False
    own = tompion.compile_spec(case.expression, case.zone).next_epoch(case.after)
    return (
        own is not None
        and own == cronsim_next(case.expression, case.moment)
        and own == croniter_next(iterator, case.moment)
    )


def draw_zone(random: Random) -> str:
    """Return UTC half of the time, else one of the other nine."""
    return "UTC" if random.random() < UTC_SHARE else random.choice(ZONES[1:])


def draw_instant(random: Random) -> int:
    """Return an instant of the years 2015 to 2034."""
    return random.randrange(FIRST_INSTANT, LAST_INSTANT)


def _draw_case(random: Random, expressions: list[str]) -> Case:
    zone, after = draw_zone(random), draw_instant(random)
    return Case(random.choice(expressions), zone, after, moment_of(after, zone))


def _means_the_same(expression: str, random: Random) -> bool:
    instants = [draw_instant(random) for _probe in range(PROBES)]
    return all(agree(Case(expression, "UTC", after, moment_of(after, "UTC"))) for after in instants)
