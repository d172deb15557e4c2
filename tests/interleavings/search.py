"""Runs the orders of a pair. The rows and answers of each must equal those of one of the two serial orders."""

from __future__ import annotations

import uuid
from collections import Counter
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, NamedTuple

from tests.interleavings.initial_database import SETTINGS, InitialState, RestorableDatabase, build, run_of
from tests.interleavings.stepper import SteppedThread, Stepper, stepped_cursors
from tests.interleavings.transactions import (
    TRANSACTION_TYPES,
    Participant,
    answer_lines,
    initial_state_of,
    launches,
    needs_repeat,
)
from tests.support.servers.postgres import PostgresServer
from tompion.errors import TompionError
from tompion.operations.context import OperationContext
from tompion.operations.verify.schedule import verify
from tompion.store.base import Transaction
from tompion.store.postgres.driver import PostgresStore

SECONDS = 120
MAX_REPEATS = 5
RETRY_LEFT_TO_CALLER = "retry left to the caller"
"""A retryable error that reaches the caller, although the store could have retried."""
Order = tuple[int, ...]


class OrderResult(NamedTuple):
    """The result of one order."""

    order: Order
    rows: tuple[str, ...]
    answers: tuple[tuple[str, ...], ...]
    blocked: int
    errors: Counter[str]
    violations: list[str]
    branches: list[Order]

    def equals(self, other: OrderResult) -> bool:
        """Return whether the rows and answers are those of another order."""
        return (self.rows, self.answers) == (other.rows, other.answers)

    def is_mix_of(self, others: list[OrderResult]) -> bool:
        """Return whether each run, and everything else together, is as in one of the others. No line may be missing."""
        ours, theirs = self._by_run(), [other._by_run() for other in others]
        return all(ours.keys() == lines.keys() for lines in theirs) and all(
            any(lines == other[run] for other in theirs) for run, lines in ours.items()
        )

    def _by_run(self) -> dict[str, list[tuple[int, str]]]:
        """Return the rows and answers of each run. The key "" has the lines that are not about a single run."""
        lines_by_run: dict[str, list[tuple[int, str]]] = {"": []}
        for place, lines in enumerate((self.rows, *self.answers)):
            for line in lines:
                lines_by_run.setdefault(run_of(line), []).append((place, line))
        return lines_by_run


@dataclass
class Report:
    """The results of the orders of one pair."""

    pair: tuple[str, str]
    orders: int = 0
    """Without the two serial orders, which are the reference."""
    complete: bool = False
    blocked: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    mixed: int = 0
    anomalies: list[str] = field(default_factory=list)


class Databases:
    """One database for each initial state, built by the first pair that needs it."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._mark = uuid.uuid4().hex[:8]
        self._built: dict[InitialState, RestorableDatabase] = {}

    def database(self, initial_state: InitialState) -> RestorableDatabase:
        """Return the database of an initial state, the same for all pairs that need it."""
        if initial_state not in self._built:
            name = f"{initial_state.name}_{self._mark}"
            fixture = build(self._server, initial_state, name)
            self._built[initial_state] = RestorableDatabase(self._server.url_of(name), fixture)
        return self._built[initial_state]

    def close(self) -> None:
        for database in self._built.values():
            database.close()
            self._server.drop_database(database.name)


class Pair:
    """Two transactions on one database, and their stepper."""

    def __init__(self, pair: tuple[str, str], database: RestorableDatabase, stepper: Stepper) -> None:
        self.types = [TRANSACTION_TYPES[name] for name in pair]
        self._migrates = "migrate" in pair  # its locks block the checks until it has ended
        self._database = database
        self._stepper = stepper
        self._lengths = [1, 1]
        fixture = database.fixture
        self._participants = []
        for thread, number in zip(stepper.threads, (fixture.first, fixture.second), strict=True):
            url = f"{database.url}?application_name={thread.name}"
            store = PostgresStore(url, clock=database.clock, pool_size=1)
            self._participants.append(Participant(store, url, thread.name, number, fixture))
        self._verified: dict[tuple[str, ...], list[str]] = {}

    def close(self) -> None:
        for participant in self._participants:
            participant.store.close()
            participant.thread_pool.close()

    def serial(self, first: int) -> OrderResult:
        """Run one transaction after the other."""
        result = self.run((), Random(0), first)
        self._lengths = [max(1, thread.statements) for thread in self._stepper.threads]
        return result

    def run(self, order: Order, random: Random, always: int | None = None) -> OrderResult:
        """Follow an order to its end. Then draw, with each merge equally likely, or always prefer one side."""
        self._database.restore(schema=self._migrates)
        stepper = self._stepper
        sides = zip(self.types, self._participants, strict=True)
        futures = stepper.start([partial(side.send, participant) for side, participant in sides])
        steps: list[int] = []
        branches: list[Order] = []
        violations: list[str] = []
        blocked = ended = 0
        while ready := stepper.ready():
            chosen = self._choose(ready, order[len(steps) : len(steps) + 1] or (always,), random)
            if len(ready) == 2 and len(steps) >= len(order):
                branches.append((*steps, 1 - chosen))
            steps.append(chosen)
            stepper.step(stepper.threads[chosen])
            blocked += any(thread.waits for thread in stepper.threads)
            if (done := sum(future.done() for future in futures)) > ended:
                ended = done
                violations += [] if self._migrates else self._database.violations()
        stepper.stop_stepping()
        errors = stepper.threads[0].errors + stepper.threads[1].errors
        first = [_answer(future) for future in futures]
        errors[RETRY_LEFT_TO_CALLER] += sum(isinstance(answer, TompionError) and answer.retryable for answer in first)
        answers = self._repeat(first)
        violations += self._database.violations()
        rows = self._database.rows()
        violations += self._tick_problems(rows) + _launched_twice(answers)
        lines = tuple(self._database.with_request_ids(answer_lines(side)) for side in answers)
        return OrderResult(tuple(steps), rows, lines, blocked, errors, violations, branches)

    def _choose(self, ready: list[SteppedThread], wanted: tuple[int | None, ...], random: Random) -> int:
        threads = self._stepper.threads
        if wanted[0] is not None and threads[wanted[0]] in ready:
            return wanted[0]
        if len(ready) == 1:
            return threads.index(ready[0])
        left = [max(1, length - thread.statements) for length, thread in zip(self._lengths, threads, strict=True)]
        return int(random.random() * sum(left) >= left[0])

    def _repeat(self, first: list[Any]) -> list[list[Any]]:
        """Repeat the steps of the engines' loops and of callers with a retryable error. Return all answers."""
        answers = [[answer] for answer in first]
        for side, participant, side_answers in zip(self.types, self._participants, answers, strict=True):
            for _ in range(MAX_REPEATS):
                repeat = side.repeat if needs_repeat(side_answers) else None
                if repeat is None:
                    break
                side_answers.append(_answer(repeat(participant)))
        return answers

    def _tick_problems(self, rows: tuple[str, ...]) -> list[str]:
        """Return the ticks that are not accounted for exactly once. The same rows give the same answer."""
        if rows not in self._verified:
            self._verified[rows] = [
                f"{name}: {problem}"
                for name in ("report", "other")
                for problem in self._participants[0].store.read(partial(_problems, name)).result(SECONDS)
            ]
        return self._verified[rows]


def explore(pair: tuple[str, str], databases: Databases, limit: int, seed: int, *, stop_early: bool = False) -> Report:
    """Run the orders of a pair: all of them, or at most the limit, drawn from all over.

    The two serial ones run first and are not counted.  With ``stop_early`` the first anomaly ends the search.
    """
    report = Report(pair)
    random = Random(f"{seed}/{pair}")
    database = databases.database(initial_state_of(pair))
    database.restore()
    with (
        closing(Stepper(database.url)) as stepper,
        stepped_cursors(stepper),
        closing(Pair(pair, database, stepper)) as runner,
    ):
        serial = [runner.serial(0), runner.serial(1)]
        for result in serial:
            _judge(report, result, serial)
        unseen, seen = list(serial[0].branches), {result.order for result in serial}
        while unseen and report.orders < limit and not (stop_early and report.anomalies):
            at = random.randrange(len(unseen))
            unseen[at], unseen[-1] = unseen[-1], unseen[at]
            result = runner.run(unseen.pop(), random)
            unseen += result.branches
            if result.order not in seen:
                seen.add(result.order)
                report.orders += 1
                _judge(report, result, serial)
    report.complete = not unseen
    return report


def _judge(report: Report, result: OrderResult, serial: list[OrderResult]) -> None:
    report.blocked += result.blocked > 0
    report.errors += result.errors
    anomalies = list(result.violations)
    if not any(result.equals(reference) for reference in serial):
        if any(TRANSACTION_TYPES[name].divides for name in report.pair) and result.is_mix_of(serial):
            report.mixed += 1
        else:
            anomalies.append(f"as neither serial order\n{_difference(result, serial)}")
    report.anomalies += [f"order {order_text(result.order)}: {text}" for text in anomalies]


def order_text(order: Order) -> str:
    """Return an order as a word of the letters a and b."""
    return "".join("ab"[side] for side in order)


def _difference(result: OrderResult, serial: list[OrderResult]) -> str:
    parts = []
    for name, reference in zip(("first before second", "second before first"), serial, strict=True):
        ours, theirs = ({*order.rows, *order.answers[0], *order.answers[1]} for order in (result, reference))
        parts.append(f"  not as {name}:")
        parts += [f"    only here:  {line}" for line in sorted(ours - theirs)]
        parts += [f"    only there: {line}" for line in sorted(theirs - ours)]
    return "\n".join(parts)


def _problems(schedule_id: str, transaction: Transaction) -> list[str]:
    return [str(problem) for problem in verify(OperationContext(transaction, SETTINGS), schedule_id).problems]


def _answer(future: Future[Any]) -> Any:
    try:
        return future.result(SECONDS)
    except TompionError as error:
        return error


def _launched_twice(answers: list[list[Any]]) -> list[str]:
    counts = Counter(run[:4] for side in answers for run in launches(side))
    return [f"run {run} is launched {count} times" for run, count in counts.items() if count > 1]
