"""Speed: one next(), parse and first next, and a million of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from random import Random
from statistics import fmean, median
from time import perf_counter_ns

from cronsim import CronSim

import tompion
from bench.spec.caches import clear_all, clear_all_but_fields, clear_expressions
from bench.spec.libraries import reusable
from bench.spec.report import Row, Section, Target
from bench.spec.timing import Rounds, Spread, Turn, contest, cpu_ns, no_garbage_collection, spread
from bench.spec.workload import ZONES, Case, Workload, draw_instant

TOMPION, CRONSIM, CRONITER = "Tompion", "cronsim", "croniter"
COLD = "cold: all caches empty"
PIECES = "fields known, combination new"
WARM = "warm: parts known, text new"
KNOWN = "compiled before: a cache hit"

BATCH = 20_000
"""The number of prepared calls that are repeated up to a million."""


def measure_next(work: Workload) -> Section:
    """One next() from a random instant.  Tompion's and croniter's objects are reused. Cronsim's cannot be.

    The other libraries compute the cases of the round, Tompion all cases in each round.  So its turns are about as long
    as theirs, and the first calls after a change of turn, when the processor still has the other's code, weigh alike.
    """
    ours = [(tompion.compile_spec(case.expression, case.zone), case.after) for cases in work.rounds for case in cases]
    iterators = [
        [(iterator, case.moment) for case in cases if (iterator := reusable(case.expression))] for cases in work.rounds
    ]

    def turn_of_tompion(_round: int) -> float:
        begin = cpu_ns()
        for ticks, after in ours:
            ticks.next_epoch(after)
        return (cpu_ns() - begin) / len(ours)

    def turn_of_cronsim(number: int) -> float:
        return _pass_of_cronsim(work.rounds[number])

    def turn_of_croniter(number: int) -> float:
        cases = iterators[number]
        begin = cpu_ns()
        for iterator, moment in cases:
            iterator.set_current(moment)
            iterator.get_next(datetime)
        return (cpu_ns() - begin) / len(cases)

    turns: dict[str, Turn] = {TOMPION: turn_of_tompion, CRONSIM: turn_of_cronsim, CRONITER: turn_of_croniter}
    rounds = contest(turns, len(work.rounds))
    return Section(
        "One next() from a random instant",
        [
            Row("Tompion", rounds.microseconds(TOMPION), "µs"),
            _compared("cronsim (has to parse each time)", rounds, CRONSIM, Target("≥", 25)),
            _compared("croniter (object reused)", rounds, CRONITER, Target("≥", 40)),
        ],
    )


def measure_parse(work: Workload, rounds: int) -> Section:
    """Parse, compile and first next, with more and more known beforehand."""
    cases = _one_case_each(work)
    states: dict[str, Callable[[], None]] = {
        COLD: clear_all,
        PIECES: clear_all_but_fields,
    }
    per_operation = _single_operations(cases, states, rounds)
    theirs = per_operation[CRONSIM]
    rows = [Row("cronsim", _typical(theirs), "µs")]
    for label in states:
        ours = per_operation[label]
        ratio = _typical_ratio(ours, theirs)
        rows.append(Row(label, _typical(ours), "µs", ratio, Target(">", 1) if label == COLD else None))
    whole = _whole_passes(cases, rounds)
    for label, target in ((WARM, Target("≥", 5)), (KNOWN, None)):
        rows.append(Row(label, whole.microseconds(label), "µs", whole.times_faster(label, CRONSIM), target))
    return Section("Parse, compile and first next()", rows)


def measure_million(work: Workload, seed: int, calls: int) -> Section:
    """Very many calls in one process, one at a time and as a batch."""
    random = Random(seed)
    compiled = [tompion.compile_spec(expression, zone) for expression in work.expressions for zone in ZONES]
    batch = min(calls, BATCH)
    questions = [(random.choice(compiled), draw_instant(random)) for _question in range(batch)]
    schedules = [random.choice(compiled) for _schedule in range(calls)]
    now = draw_instant(random)
    with no_garbage_collection():
        begin = cpu_ns()
        for _time in range(calls // batch):
            for ticks, after in questions:
                ticks.next_epoch(after)
        one_by_one = (cpu_ns() - begin) / 1e9
        begin = cpu_ns()
        tompion.next_many(schedules, now)
        together = (cpu_ns() - begin) / 1e9
    return Section(
        f"{calls:,} next() in one process",
        [
            Row("next_epoch(), random instants", one_by_one, "s", note=f"{one_by_one / calls * 1e6:.2f} µs each"),
            Row(
                f"next_many(), {len(compiled):,} distinct specs",
                together,
                "s",
                note=f"{together / calls * 1e6:.2f} µs each",
            ),
        ],
    )


def _compared(label: str, rounds: Rounds, name: str, target: Target) -> Row:
    return Row(label, rounds.microseconds(name), "µs", rounds.times_faster(TOMPION, name), target)


def _one_case_each(work: Workload) -> list[Case]:
    """Return the first case of every expression that was drawn at all."""
    first: dict[str, Case] = {}
    for cases in work.rounds:
        for case in cases:
            first.setdefault(case.expression, case)
    return list(first.values())


def _single_operations(
    cases: list[Case], states: dict[str, Callable[[], None]], rounds: int
) -> dict[str, list[list[int]]]:
    """Time every operation by itself, because caches are emptied before each. The result is by round and case.

    Here the turns are single operations.  Each state takes from its predecessor what it may know of an expression.
    """
    spent: dict[str, list[list[int]]] = {name: [[] for _round in range(rounds)] for name in (CRONSIM, *states)}
    with no_garbage_collection():
        for number in range(rounds):
            for case in cases:
                for name, clear in states.items():
                    spent[name][number].append(_time_tompion(case, clear))
                spent[CRONSIM][number].append(_time_cronsim(case))
    return spent


def _time_tompion(case: Case, clear: Callable[[], None]) -> int:
    expression, zone, after, _moment = case
    clear()
    begin = perf_counter_ns()
    ticks = tompion.compile_spec(expression, zone)
    ticks.next_epoch(after)
    return perf_counter_ns() - begin


def _time_cronsim(case: Case) -> int:
    expression, _zone, _after, moment = case
    begin = perf_counter_ns()
    simulation = CronSim(expression, moment)
    next(simulation)
    return perf_counter_ns() - begin


def _typical(by_round: list[list[int]]) -> float:
    """Return the microseconds of an operation: for each case the median over the rounds, and the mean of those.

    A single operation that another program interrupted would weigh as much as a hundred others in the sum over a
    round. In the median of its case it weighs nothing.
    """
    return fmean(median(by_case) for by_case in zip(*by_round, strict=True)) / 1000


def _typical_ratio(ours: list[list[int]], theirs: list[list[int]]) -> Spread:
    """Return the ratio of the typical times. The quartiles are those of the rounds."""
    by_round = spread([sum(other) / sum(own) for own, other in zip(ours, theirs, strict=True)])
    return Spread(_typical(theirs) / _typical(ours), by_round.low, by_round.high)


def _whole_passes(cases: list[Case], rounds: int) -> Rounds:
    """Time passes over all expressions. In a pass each comes once, so emptying between passes is enough."""

    def warm(_round: int) -> float:
        clear_expressions()
        return _pass_of_tompion(cases)

    def known(_round: int) -> float:
        _pass_of_tompion(cases)
        return _pass_of_tompion(cases)

    _pass_of_tompion(cases)  # so that the parts are known in the first round, too
    turns: dict[str, Turn] = {WARM: warm, KNOWN: known, CRONSIM: lambda _round: _pass_of_cronsim(cases)}
    return contest(turns, rounds)


def _pass_of_tompion(cases: list[Case]) -> float:
    begin = cpu_ns()
    for expression, zone, after, _moment in cases:
        tompion.compile_spec(expression, zone).next_epoch(after)
    return (cpu_ns() - begin) / len(cases)


def _pass_of_cronsim(cases: list[Case]) -> float:
    begin = cpu_ns()
    for expression, _zone, _after, moment in cases:
        next(CronSim(expression, moment))
    return (cpu_ns() - begin) / len(cases)
