"""Ask Tompion and a peer the same questions, and account for every disagreement.

A documented difference is one of two kinds:

* a :class:`Reading`: the peer understands something else than Tompion. The difference *restates* the spec so that it
  says in Tompion's words what the peer understood, and Tompion's answer to that must be the peer's, to the second;
* a :class:`Slip`: the peer contradicts its own rule in some corner. The difference says in which, and as exactly as
  can be said what the peer answers there.

Several readings may meet in one expression; then all of them together must give the peer's answer. A disagreement that
nothing predicts fails the test.
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
    """The first tick after an instant, or the last one before it."""

    expression: str
    zone: str
    instant: int
    backwards: bool = False


class Endless:
    """What a peer answers that never answers."""

    def __repr__(self) -> str:
        return "an endless loop"


ENDLESS = Endless()

Answer = int | None | Endless


@dataclass(frozen=True)
class Spec:
    """As much of a spec as peers see differently."""

    cron: str
    zone: str
    also: str | None = None  # a second expression, whose ticks come on top
    gap: Literal["catch_up", "skip", "shift"] | None = None
    overlap: Literal["auto", "first", "second", "both"] = "auto"


class Reading(NamedTuple):
    """A difference in what an expression means: how to say it in Tompion's words, or None where it means the same.

    With `at_changes` it is about clock changes only, and explains nothing away from them.
    """

    code: str
    restate: Callable[[Spec], Spec | None]
    at_changes: bool = False


class Slip(NamedTuple):
    """A corner in which the peer is at odds with its own rule."""

    code: str
    holds: Callable[[Disagreement], bool]


class Disagreement(NamedTuple):
    """Both answers to a question, and what Tompion says to all of the peer's readings together."""

    question: Question
    ours: int | None
    theirs: Answer
    understood: Spec
    expected: int | None

    def ask(self, instant: int) -> int | None:
        """What the peer should say by its own reading, asked from another instant."""
        return ask(self.understood, self.question._replace(instant=instant))

    def changes(self) -> list[Change]:
        """The changes of the zone's offset within two days of the question or of an answer to it."""
        zone, answers = self.question.zone, (self.ours, self.theirs, self.expected)
        instants = {self.question.instant, *(at for at in answers if isinstance(at, int))}
        return sorted({change for at in instants for change in changes(zone, at - 2 * DAY, at + 2 * DAY)})

    def __str__(self) -> str:
        question = self.question
        direction = "before" if question.backwards else "after"
        return (
            f"{question.expression!r} in {question.zone} {direction} {show(question.instant, question.zone)}: "
            f"Tompion {show(self.ours, question.zone)}, the peer {show(self.theirs, question.zone)}, "
            f"understood as {self.understood}: {show(self.expected, question.zone)}"
        )


@dataclass(frozen=True)
class Peer:
    """Another implementation: what it can read, what it answers, and how that is known to differ."""

    name: str
    syntax: Syntax
    accepts: Callable[[list[str]], list[bool]]
    answers: Callable[[list[Question]], Iterable[Answer]]
    readings: tuple[Reading, ...]
    slips: tuple[Slip, ...]
    takes_ages: Callable[[Question], bool] = lambda _: False

    @property
    def codes(self) -> list[str]:
        """The codes of all its differences."""
        readings, slips = (reading.code for reading in self.readings), (slip.code for slip in (*self.slips, *COMMON))
        return [*readings, *slips]

    def accepted(self, candidates: list[str]) -> list[str]:
        """Those expressions that it is willing to read."""
        return [each for each, accepts in zip(candidates, self.accepts(candidates), strict=True) if accepts]


@dataclass
class Outcome:
    """What a comparison came to."""

    questions: int = 0
    agreed: int = 0
    codes: Counter[tuple[str, ...]] = field(default_factory=Counter)
    unexplained: list[Disagreement] = field(default_factory=list)


# ---------------------------------------------------------------- asking Tompion


@cache
def compiled(spec: Spec) -> Ticks:
    """Tompion's compiled form of a spec."""
    crons = [spec.cron] if spec.also is None else [spec.cron, spec.also]
    return tompion.Spec(cron=crons, timezone=spec.zone, dst_gap=spec.gap, dst_overlap=spec.overlap).compile()


def ask(spec: Spec, question: Question) -> int | None:
    """Tompion's answer to a question about a spec."""
    ticks = compiled(spec)
    return ticks.prev_epoch(question.instant) if question.backwards else ticks.next_epoch(question.instant)


def has_tick(spec: Spec, start: int, end: int) -> bool:
    """Whether there is a tick in [start, end)."""
    tick = compiled(spec).next_epoch(start - 1)
    return tick is not None and tick < end


# ---------------------------------------------------------------- comparing


def compare(peer: Peer, questions: list[Question]) -> Outcome:
    """Ask both, and account for every disagreement."""
    outcome = Outcome(questions=len(questions))
    for question, theirs in zip(questions, peer.answers(questions), strict=True):
        ours = ask(Spec(question.expression, question.zone), question)
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
    """So many expressions at some places, forwards or back; from Tompion's own answer on for a second tick."""
    questions = []
    for expression in peer.accepted(expressions(rng, peer.syntax, count)):
        for place in draw_places(rng, places_each):
            question = Question(expression, place.zone, place.instant, rng.random() < 0.4)
            tick = ask(Spec(expression, place.zone), question)
            questions.append(question)
            if tick is not None:
                questions.append(question._replace(instant=tick))
    return [question for question in questions if not peer.takes_ages(question)]


def explain(peer: Peer, question: Question, theirs: Answer) -> tuple[str, ...]:
    """The codes of the differences that predict the peer's answer: as few as possible, none if nothing does."""
    plain = Spec(question.expression, question.zone)
    candidates = [reading for reading in peer.readings if restated([reading], plain) is not None]
    for count in range(1, len(candidates) + 1):
        for chosen in combinations(candidates, count):
            understood = restated(chosen, plain)
            if understood is not None and ask(understood, question) == theirs and may_explain(chosen, question, theirs):
                return tuple(reading.code for reading in chosen)
    case = disagreement(peer, question, theirs)
    return next(((slip.code,) for slip in (*COMMON, *peer.slips) if slip.holds(case)), ())


def may_explain(readings: tuple[Reading, ...], question: Question, theirs: Answer) -> bool:
    """Whether readings about clock changes have one to talk about: at the peer's answer, or at the one it avoids."""
    if not any(reading.at_changes for reading in readings):
        return True
    others = (reading for reading in readings if not reading.at_changes)
    without = restated(others, Spec(question.expression, question.zone))
    answers = (theirs, None if without is None else ask(without, question))
    return any(isinstance(at, int) and is_at_change(question.zone, at) for at in answers)


def disagreement(peer: Peer, question: Question, theirs: Answer) -> Disagreement:
    """A disagreement with all that is known about it."""
    plain = Spec(question.expression, question.zone)
    understood = plain
    for reading in peer.readings:
        understood = reading.restate(understood) or understood
    return Disagreement(question, ask(plain, question), theirs, understood, ask(understood, question))


def restated(readings: Iterable[Reading], spec: Spec) -> Spec | None:
    """The spec in the words of all these readings; None if one of them has nothing to say."""
    for reading in readings:
        other = reading.restate(spec)
        if other is None:
            return None
        spec = other
    return spec


def fields_of(spec: Spec) -> list[str] | None:
    """The fields with seconds in front; None for a shorthand."""
    fields = spec.cron.split()
    return None if len(fields) == 1 else ["0", *fields] if len(fields) == 5 else fields


def with_field(spec: Spec, index: int, text: str) -> Spec:
    """The spec with one field exchanged; 0 is the seconds, whether written or not."""
    fields = spec.cron.split()
    fields[index - 1 if len(fields) == 5 else index] = text
    return replace(spec, cron=" ".join(fields))


# ---------------------------------------------------------------- what several peers share


def steps_are_restrictions(spec: Spec) -> Spec | None:
    """Only a bare `*` leaves a day field open; `*/2` is a restriction, and two restrictions are ORed."""
    fields = fields_of(spec)
    if fields is None or not (fields[3].startswith("*/") or fields[5].startswith("*/")):
        return None
    if fields[3] in "*?" or fields[5] in "*?":
        return None
    spec = with_field(spec, 3, re.sub(r"^\*/", "1-31/", fields[3]))
    return with_field(spec, 5, re.sub(r"^\*/", "0-6/", fields[5]))


def is_out_of_range(case: Disagreement) -> bool:
    """Tompion's ticks lie in 1970 to 2200; the peers know other years too."""
    return case.ours is None and isinstance(case.theirs, int) and not 0 <= case.theirs < HORIZON


def catches_up_a_lost_day(case: Disagreement) -> bool:
    """Whether the peer catches up a whole day that a zone skipped, at its end, as if it were an hour."""
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
    """At an instant the clocks of a zone go from one offset to another."""

    instant: int
    before: int
    after: int

    @property
    def is_gap(self) -> bool:
        """Whether wall times are lost; otherwise some happen twice."""
        return self.after > self.before

    @property
    def length(self) -> int:
        """By how many seconds the clocks are moved."""
        return abs(self.after - self.before)

    @property
    def walls(self) -> tuple[int, int]:
        """The first wall time, as seconds, that is lost or happens twice, and the first that is not any more."""
        low, high = sorted((self.before, self.after))
        return self.instant + low, self.instant + high

    @property
    def on_the_hour(self) -> bool:
        """Whether the wall clock moves from a whole hour to a whole hour."""
        return all(wall % HOUR == 0 for wall in self.walls)

    @property
    def at_midnight(self) -> bool:
        """Whether midnight is among those wall times or at one of their ends."""
        first, last = self.walls
        return first // DAY != last // DAY or first % DAY == 0


def changes(zone_name: str, start: int, end: int) -> list[Change]:
    """The changes of offset at instants in (start, end]."""
    zone = load_zone(zone_name)
    found = []
    for begin in range(start, end, 6 * HOUR):
        low, high = begin, min(begin + 6 * HOUR, end)
        before, after = offset_at(low, zone), offset_at(high, zone)
        while before != after and high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if offset_at(middle, zone) == after else (middle, high)
        if before != after:
            found.append(Change(high, before, after))
    return found


def second_pass(zone: str, instant: int) -> Change | None:
    """The change by which the wall time of an instant happens for the second time."""
    for change in changes(zone, instant - DAY, instant):
        if not change.is_gap and instant < change.instant + change.length:
            return change
    return None


def is_at_change(zone: str, instant: int) -> bool:
    """Whether an instant is the first after a gap, or in the second pass of an overlap."""
    gaps = [change for change in changes(zone, instant - 1, instant) if change.is_gap]
    return bool(gaps) or second_pass(zone, instant) is not None


def show(answer: Answer, zone: str = "UTC") -> str:
    """An answer as wall time with its offset."""
    if not isinstance(answer, int):
        return str(answer)
    return datetime.fromtimestamp(answer, load_zone(zone) if zone != "UTC" else UTC).isoformat()
