"""Compare the answers of Tompion and a peer to the same questions, and explain every disagreement.

There are two kinds of documented differences:

* A :class:`Reading`: the peer gives the expression another meaning. The difference *restates* the spec with the meaning
  of the peer, and Tompion's answer to the restated spec must be the peer's answer, to the second.
* A :class:`Slip`: the peer breaks its own rule in some cases. The difference defines these cases, and the peer's answer
  as exactly as possible.

If several readings apply to one expression, all of them together must give the peer's answer. A disagreement that no
difference predicts fails the test.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from itertools import combinations
from typing import Literal, NamedTuple

import tompion
from tests.oracle.walk import DAY, HOUR, load_zone, offset_at
from tests.support.corpus import Syntax, draw_places, expressions
from tompion import Ticks

LONGEST_DST_GAP = 3 * HOUR
HORIZON = int(datetime(2201, 1, 1, tzinfo=UTC).timestamp())


class Question(NamedTuple):
    """A query for the first tick after an instant, or for the last tick before it."""

    expression: str
    zone: str
    instant: int
    backwards: bool = False


class Endless:
    """The answer of a peer that never ends its search."""

    def __repr__(self) -> str:
        return "an endless loop"


ENDLESS = Endless()

Answer = int | None | Endless


@dataclass(frozen=True)
class Spec:
    """The parts of a spec that peers read differently."""

    cron: str
    zone: str
    also: str | None = None  # a second expression, whose ticks are added
    gap: Literal["catch_up", "skip", "shift"] | None = None
    overlap: Literal["auto", "first", "second", "both"] = "auto"


class Reading(NamedTuple):
    """A difference in the meaning of an expression.

    ``restate`` returns the spec with the meaning of the peer, or None if the meaning is the same. With ``at_changes``,
    the reading applies only at clock changes.
    """

    code: str
    restate: Callable[[Spec], Spec | None]
    at_changes: bool = False


class Slip(NamedTuple):
    """A case in which the peer breaks its own rule."""

    code: str
    holds: Callable[[Disagreement], bool]


class Disagreement(NamedTuple):
    """Both answers to a question, and Tompion's answer to the spec restated by all readings of the peer."""

    question: Question
    ours: int | None
    theirs: Answer
    understood: Spec
    expected: int | None

    def answer_from(self, instant: int) -> int | None:
        """Return the answer that follows from the readings of the peer, from another instant."""
        return tompion_answer(self.understood, self.question._replace(instant=instant))

    def changes(self) -> list[Change]:
        """Return the offset changes of the zone within two days of the question or of an answer."""
        zone, answers = self.question.zone, (self.ours, self.theirs, self.expected)
        instants = {self.question.instant, *(at for at in answers if isinstance(at, int))}
        return sorted({change for at in instants for change in changes(zone, at - 2 * DAY, at + 2 * DAY)})

    def __str__(self) -> str:
        question = self.question
        direction = "before" if question.backwards else "after"
        return (
            f"{question.expression!r} in {question.zone} {direction} {format_answer(question.instant, question.zone)}: "
            f"Tompion {format_answer(self.ours, question.zone)}, the peer {format_answer(self.theirs, question.zone)}, "
            f"understood as {self.understood}: {format_answer(self.expected, question.zone)}"
        )


@dataclass(frozen=True)
class Peer:
    """Another implementation: its syntax, its answers, and its documented differences."""

    name: str
    syntax: Syntax
    accepts: Callable[[list[str]], list[bool]]
    answers: Callable[[list[Question]], Iterable[Answer]]
    readings: tuple[Reading, ...]
    slips: tuple[Slip, ...]
    is_too_slow: Callable[[Question], bool] = lambda _: False

    @property
    def codes(self) -> list[str]:
        """Return the codes of all differences of the peer."""
        readings, slips = (reading.code for reading in self.readings), (slip.code for slip in (*self.slips, *COMMON))
        return [*readings, *slips]

    def select_accepted(self, candidates: list[str]) -> list[str]:
        """Return the expressions that the peer accepts."""
        return [expression for expression, accepts in zip(candidates, self.accepts(candidates), strict=True) if accepts]


@dataclass
class Outcome:
    """The result of a comparison."""

    questions: int = 0
    agreed: int = 0
    codes: Counter[tuple[str, ...]] = field(default_factory=Counter)
    unexplained: list[Disagreement] = field(default_factory=list)


# ---------------------------------------------------------------- Tompion's answers


@cache
def compile_spec(spec: Spec) -> Ticks:
    """Return Tompion's compiled form of a spec."""
    crons = [spec.cron] if spec.also is None else [spec.cron, spec.also]
    return tompion.Spec(cron=crons, timezone=spec.zone, dst_gap=spec.gap, dst_overlap=spec.overlap).compile()


def tompion_answer(spec: Spec, question: Question) -> int | None:
    """Return Tompion's answer to a question about a spec."""
    ticks = compile_spec(spec)
    return ticks.prev_epoch(question.instant) if question.backwards else ticks.next_epoch(question.instant)


def has_tick(spec: Spec, start: int, end: int) -> bool:
    """Return whether there is a tick in [start, end)."""
    tick = compile_spec(spec).next_epoch(start - 1)
    return tick is not None and tick < end


# ---------------------------------------------------------------- comparing


def compare(peer: Peer, questions: list[Question]) -> Outcome:
    """Compare the answers to all questions, and explain every disagreement."""
    outcome = Outcome(questions=len(questions))
    for question, theirs in zip(questions, peer.answers(questions), strict=True):
        ours = tompion_answer(Spec(question.expression, question.zone), question)
        if ours == theirs:
            outcome.agreed += 1
            continue
        codes = explain(peer, question, theirs)
        if codes:
            outcome.codes[codes] += 1
        else:
            outcome.unexplained.append(disagreement(peer, question, theirs))
    return outcome


def draw_questions(rng: random.Random, peer: Peer, count: int, places_each: int) -> list[Question]:
    """Draw expressions, and for each some queries in both directions. Tompion's answer starts a second query."""
    questions = []
    for expression in peer.select_accepted(expressions(rng, peer.syntax, count)):
        for place in draw_places(rng, places_each):
            question = Question(expression, place.zone, place.instant, rng.random() < 0.4)
            tick = tompion_answer(Spec(expression, place.zone), question)
            questions.append(question)
            if tick is not None:
                questions.append(question._replace(instant=tick))
    return [question for question in questions if not peer.is_too_slow(question)]


def explain(peer: Peer, question: Question, theirs: Answer) -> tuple[str, ...]:
    """Return the codes of the fewest differences that predict the peer's answer, or no code."""
    plain = Spec(question.expression, question.zone)
    candidates = [reading for reading in peer.readings if restate_by([reading], plain) is not None]
    for count in range(1, len(candidates) + 1):
        for readings in combinations(candidates, count):
            understood = restate_by(readings, plain)
            if (
                understood is not None
                and tompion_answer(understood, question) == theirs
                and may_explain(readings, question, theirs)
            ):
                return tuple(reading.code for reading in readings)
    case = disagreement(peer, question, theirs)
    return next(((slip.code,) for slip in (*COMMON, *peer.slips) if slip.holds(case)), ())


def may_explain(readings: tuple[Reading, ...], question: Question, theirs: Answer) -> bool:
    """Return whether readings about clock changes apply: an answer with or without them is at a clock change."""
    if not any(reading.at_changes for reading in readings):
        return True
    others = (reading for reading in readings if not reading.at_changes)
    without = restate_by(others, Spec(question.expression, question.zone))
    answers = (theirs, None if without is None else tompion_answer(without, question))
    return any(isinstance(at, int) and is_at_change(question.zone, at) for at in answers)


def disagreement(peer: Peer, question: Question, theirs: Answer) -> Disagreement:
    """Return a disagreement with the answers and the restated spec."""
    plain = Spec(question.expression, question.zone)
    understood = plain
    for reading in peer.readings:
        understood = reading.restate(understood) or understood
    return Disagreement(
        question, tompion_answer(plain, question), theirs, understood, tompion_answer(understood, question)
    )


def restate_by(readings: Iterable[Reading], spec: Spec) -> Spec | None:
    """Restate a spec by all the readings. Return None if one of them does not apply."""
    for reading in readings:
        other = reading.restate(spec)
        if other is None:
            return None
        spec = other
    return spec


def fields_of(spec: Spec) -> list[str] | None:
    """Return the fields including the seconds, or None for a shorthand."""
    fields = spec.cron.split()
    return None if len(fields) == 1 else ["0", *fields] if len(fields) == 5 else fields


def with_field(spec: Spec, index: int, text: str) -> Spec:
    """Return the spec with one field replaced. Index 0 is the seconds, even if the expression has none."""
    fields = spec.cron.split()
    fields[index - 1 if len(fields) == 5 else index] = text
    return replace(spec, cron=" ".join(fields))


# ---------------------------------------------------------------- shared differences


def steps_are_restrictions(spec: Spec) -> Spec | None:
    """Only a bare `*` leaves a day field open. `*/2` is a restriction, and two restrictions are ORed."""
    fields = fields_of(spec)
    if fields is None or not (fields[3].startswith("*/") or fields[5].startswith("*/")):
        return None
    if fields[3] in "*?" or fields[5] in "*?":
        return None
    spec = with_field(spec, 3, re.sub(r"^\*/", "1-31/", fields[3]))
    return with_field(spec, 5, re.sub(r"^\*/", "0-6/", fields[5]))


def is_out_of_range(case: Disagreement) -> bool:
    """Return whether the peer's answer is outside of Tompion's range, 1970 to 2200."""
    return case.ours is None and isinstance(case.theirs, int) and not 0 <= case.theirs < HORIZON


def catches_up_a_lost_day(case: Disagreement) -> bool:
    """Return whether the peer catches up a whole day that a zone skipped, at the end of that day."""
    if not isinstance(case.theirs, int):
        return False
    walls = replace(case.understood, zone="UTC")
    return any(
        change.is_gap and change.length > LONGEST_DST_GAP and has_tick(walls, *change.walls)
        for change in changes(case.question.zone, case.theirs - 1, case.theirs)
    )


COMMON = (Slip("range-1970-2200", is_out_of_range),)

# ---------------------------------------------------------------- clocks


class Change(NamedTuple):
    """An instant at which the offset of a zone changes."""

    instant: int
    before: int
    after: int

    @property
    def is_gap(self) -> bool:
        """Return whether wall times are lost. Otherwise some happen twice."""
        return self.after > self.before

    @property
    def length(self) -> int:
        """Return the number of seconds by which the offset changes."""
        return abs(self.after - self.before)

    @property
    def walls(self) -> tuple[int, int]:
        """Return the range of wall times, in seconds, that are lost or happen twice. The end is exclusive."""
        low, high = sorted((self.before, self.after))
        return self.instant + low, self.instant + high

    @property
    def on_the_hour(self) -> bool:
        """Return whether the wall clock moves from a whole hour to a whole hour."""
        return all(wall % HOUR == 0 for wall in self.walls)

    @property
    def at_midnight(self) -> bool:
        """Return whether the range of wall times contains or touches midnight."""
        first, last = self.walls
        return first // DAY != last // DAY or first % DAY == 0


def changes(zone_name: str, start: int, end: int) -> list[Change]:
    """Return the offset changes at instants in (start, end]."""
    zone = load_zone(zone_name)
    offset_changes = []
    for begin in range(start, end, 6 * HOUR):
        low, high = begin, min(begin + 6 * HOUR, end)
        before, after = offset_at(low, zone), offset_at(high, zone)
        while before != after and high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if offset_at(middle, zone) == after else (middle, high)
        if before != after:
            offset_changes.append(Change(high, before, after))
    return offset_changes


def second_pass(zone: str, instant: int) -> Change | None:
    """Return the change that makes the wall time of an instant happen for the second time."""
    for change in changes(zone, instant - DAY, instant):
        if not change.is_gap and instant < change.instant + change.length:
            return change
    return None


def is_at_change(zone: str, instant: int) -> bool:
    """Return whether an instant is the first after a gap, or in the second pass of an overlap."""
    gaps = [change for change in changes(zone, instant - 1, instant) if change.is_gap]
    return bool(gaps) or second_pass(zone, instant) is not None


def format_answer(answer: Answer, zone: str = "UTC") -> str:
    """Format an answer as wall time with its offset."""
    if not isinstance(answer, int):
        return str(answer)
    return datetime.fromtimestamp(answer, load_zone(zone) if zone != "UTC" else UTC).isoformat()
