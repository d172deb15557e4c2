"""Goes through the orders of a pair: each must leave the rows, and give the answers, of one of the two serial ones."""

from __future__ import annotations

import uuid
from collections import Counter
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, NamedTuple

from tests.interleavings.cast import PARTS, Actor, is_left_out, kind_of, launched, shown
from tests.interleavings.stage import Player, Stage, cursors_of
from tests.interleavings.world import SETTINGS, Kind, World, build, run_of
from tests.support.servers.postgres import PostgresServer
from tompion.errors import TompionError
from tompion.operations.context import OperationContext
from tompion.operations.verify.schedule import verify
from tompion.store.base import Transaction
from tompion.store.postgres.driver import PostgresStore

SECONDS = 120
MOST_REPEATS = 5
TOLD = "told to try again"
"""An answer that leaves to the caller what the store could have done itself."""
Order = tuple[int, ...]


class Ending(NamedTuple):
    """What one order has come to."""

    order: Order
    left: tuple[str, ...]
    answers: tuple[tuple[str, ...], ...]
    blocked: int
    met: Counter[str]
    complaints: list[str]
    turnings: list[Order]

    def equals(self, other: Ending) -> bool:
        """Whether another order has come to the same."""
        return (self.left, self.answers) == (other.left, other.answers)

    def is_made_of(self, others: list[Ending]) -> bool:
        """Whether each run by itself is as in one of others, and so is all the rest together; none is missing."""
        ours, theirs = self._by_run(), [other._by_run() for other in others]
        return all(ours.keys() == each.keys() for each in theirs) and all(
            any(lines == each[run] for each in theirs) for run, lines in ours.items()
        )

    def _by_run(self) -> dict[str, list[tuple[int, str]]]:
        """What is left of each run, and what either was told of it; under no name, what is of no single run."""
        found: dict[str, list[tuple[int, str]]] = {"": []}
        for place, lines in enumerate((self.left, *self.answers)):
            for line in lines:
                found.setdefault(run_of(line), []).append((place, line))
        return found


@dataclass
class Report:
    """What the orders of one pair have come to."""

    pair: tuple[str, str]
    orders: int = 0
    """Without the two serial ones, which all others are compared with."""
    complete: bool = False
    blocked: int = 0
    met: Counter[str] = field(default_factory=Counter)
    mixed: int = 0
    anomalies: list[str] = field(default_factory=list)


class Worlds:
    """Built worlds of one server, each made once, by the first pair that needs it."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._mark = uuid.uuid4().hex[:8]
        self._built: dict[Kind, World] = {}

    def world(self, kind: Kind) -> World:
        """The world of a kind, the same for all pairs that need it."""
        if kind not in self._built:
            name = f"{kind.name}_{self._mark}"
            cast = build(self._server, kind, name)
            self._built[kind] = World(self._server.url_of(name), cast)
        return self._built[kind]

    def close(self) -> None:
        for world in self._built.values():
            world.close()
            self._server.drop_database(world.name)


class Pair:
    """Two transactions, a world, and a stage."""

    def __init__(self, pair: tuple[str, str], world: World, stage: Stage) -> None:
        self.parts = [PARTS[name] for name in pair]
        self._migrates = "migrate" in pair  # which keeps everybody from looking until it has ended
        self._world = world
        self._stage = stage
        self._lengths = [1, 1]
        cast = world.cast
        self._actors = []
        for player, number in zip(stage.players, (cast.first, cast.second), strict=True):
            url = f"{world.url}?application_name={player.name}"
            store = PostgresStore(url, clock=world.clock, pool_size=1)
            self._actors.append(Actor(store, url, player.name, number, cast))
        self._verified: dict[tuple[str, ...], list[str]] = {}

    def close(self) -> None:
        for actor in self._actors:
            actor.store.close()
            actor.threads.close()

    def serial(self, first: int) -> Ending:
        """One after the other."""
        ending = self.play((), Random(0), first)
        self._lengths = [max(1, player.statements) for player in self._stage.players]
        return ending

    def play(self, order: Order, random: Random, always: int | None = None) -> Ending:
        """Follow an order as far as it goes; then draw, so that each merge is equally likely, or prefer one of them."""
        self._world.reset(schema=self._migrates)
        stage = self._stage
        futures = stage.open([partial(part.send, actor) for part, actor in zip(self.parts, self._actors, strict=True)])
        taken: list[int] = []
        turnings: list[Order] = []
        complaints: list[str] = []
        blocked = ended = 0
        while ready := stage.ready():
            chosen = self._choose(ready, order[len(taken) : len(taken) + 1] or (always,), random)
            if len(ready) == 2 and len(taken) >= len(order):
                turnings.append((*taken, 1 - chosen))
            taken.append(chosen)
            stage.step(stage.players[chosen])
            blocked += any(player.waits for player in stage.players)
            if (done := sum(future.done() for future in futures)) > ended:
                ended = done
                complaints += [] if self._migrates else self._world.complaints()
        stage.shut()
        met = stage.players[0].met + stage.players[1].met
        first = [_answer(future) for future in futures]
        met[TOLD] += sum(isinstance(answer, TompionError) and answer.retryable for answer in first)
        answers = self._go_on(first)
        complaints += self._world.complaints()
        left = self._world.left()
        complaints += self._proved(left) + _launched_twice(answers)
        told = tuple(self._world.unnumbered(shown(each)) for each in answers)
        return Ending(tuple(taken), left, told, blocked, met, complaints, turnings)

    def _choose(self, ready: list[Player], wanted: tuple[int | None, ...], random: Random) -> int:
        players = self._stage.players
        if wanted[0] is not None and players[wanted[0]] in ready:
            return wanted[0]
        if len(ready) == 1:
            return players.index(ready[0])
        left = [max(1, length - player.statements) for length, player in zip(self._lengths, players, strict=True)]
        return int(random.random() * sum(left) >= left[0])

    def _go_on(self, answers: list[Any]) -> list[list[Any]]:
        """What the loops of engines, and whoever is told to try again, do next."""
        told = [[answer] for answer in answers]
        for part, actor, answered in zip(self.parts, self._actors, told, strict=True):
            for _ in range(MOST_REPEATS):
                again = part.again if is_left_out(answered) else None
                if again is None:
                    break
                answered.append(_answer(again(actor)))
        return told

    def _proved(self, left: tuple[str, ...]) -> list[str]:
        """Whether every tick is accounted for exactly once; the same rows give the same answer."""
        if left not in self._verified:
            self._verified[left] = [
                f"{name}: {problem}"
                for name in ("report", "other")
                for problem in self._actors[0].store.read(partial(_problems, name)).result(SECONDS)
            ]
        return self._verified[left]


def explore(pair: tuple[str, str], worlds: Worlds, most: int, seed: int, *, enough: bool = False) -> Report:
    """Go through the orders of a pair: all of them, or as many as are asked for, drawn from all over.

    The two serial ones come first, and are not counted.  With ``enough``, up to the first anomaly.
    """
    report = Report(pair)
    random = Random(f"{seed}/{pair}")
    world = worlds.world(kind_of(pair))
    world.reset()
    with closing(Stage(world.url)) as stage, cursors_of(stage), closing(Pair(pair, world, stage)) as played:
        serial = [played.serial(0), played.serial(1)]
        for ending in serial:
            _judge(report, ending, serial)
        unseen, seen = list(serial[0].turnings), {ending.order for ending in serial}
        while unseen and report.orders < most and not (enough and report.anomalies):
            at = random.randrange(len(unseen))
            unseen[at], unseen[-1] = unseen[-1], unseen[at]
            ending = played.play(unseen.pop(), random)
            unseen += ending.turnings
            if ending.order not in seen:
                seen.add(ending.order)
                report.orders += 1
                _judge(report, ending, serial)
    report.complete = not unseen
    return report


def _judge(report: Report, ending: Ending, serial: list[Ending]) -> None:
    report.blocked += ending.blocked > 0
    report.met += ending.met
    told = list(ending.complaints)
    if not any(ending.equals(each) for each in serial):
        if any(PARTS[name].divides for name in report.pair) and ending.is_made_of(serial):
            report.mixed += 1
        else:
            told.append(f"as neither serial order\n{_difference(ending, serial)}")
    report.anomalies += [f"order {order_text(ending.order)}: {text}" for text in told]


def order_text(order: Order) -> str:
    """An order as a word of two letters."""
    return "".join("ab"[each] for each in order)


def _difference(ending: Ending, serial: list[Ending]) -> str:
    parts = []
    for name, each in zip(("first before second", "second before first"), serial, strict=True):
        ours, theirs = ({*end.left, *end.answers[0], *end.answers[1]} for end in (ending, each))
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
    counts = Counter(run[:4] for answered in answers for run in launched(answered))
    return [f"run {run} is launched {count} times" for run, count in counts.items() if count > 1]
