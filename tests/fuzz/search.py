"""Numbered and timed cases, each reproducible from (seed, number), up to the first failure."""

from __future__ import annotations

import itertools
import math
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from tests.fuzz.parsers import PARSERS, Broken, FuzzedParser, check_answers, pass_through
from tompion.spec.calendar.days import HORIZON
from tompion.spec.zone.tables import load_zone, zone_names

MEASUREMENTS = 5
"""How often a slow case is measured again, in processor time: a busy machine is slow too, but not in that."""

ROUNDS = 10
"""Number of times the measurement is repeated while its result is above the limit."""

ENDLESS_S = 20.0
"""A case that takes more of a processor than this is broken off: on any machine it is a search without an end."""

KEPT = frozenset({"_load", "zone_names"})
"""The caches that are filled before the search and stay filled, because a process builds a zone table once."""


class Misbehaved(AssertionError):
    """A text for which something else than an answer or ``InvalidSpec`` came out, or came too late."""

    def __init__(self, parser: FuzzedParser, text: str, what: str, case: str) -> None:
        super().__init__(f"parser {parser.name!r}, {case}: {what}\ntext: {text!r}")
        self.parser, self.text = parser, text


@dataclass
class Tally:
    """The counts of a search."""

    cases: int = 0
    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    slowest: dict[str, tuple[float, str, int]] = field(default_factory=dict)


def warm() -> None:
    for name in zone_names():
        load_zone(name)


def forget() -> None:
    """Empty every cache of the engine but the zones', so that a case is measured as if it were the first."""
    for name, module in list(sys.modules.items()):
        if name.startswith("tompion."):
            for attribute, value in list(vars(module).items()):
                if attribute not in KEPT and hasattr(value, "cache_clear"):
                    value.cache_clear()


def measure(
    parser: FuzzedParser, text: str, after: int, clock: Callable[[], float] = time.perf_counter
) -> tuple[float, bool]:
    began = clock()
    accepted = pass_through(parser, text, after)
    return clock() - began, accepted


def best_time(parser: FuzzedParser, text: str, after: int) -> float:
    """Measure a case again, with cold caches. The shortest time counts."""
    times = []
    for _ in range(MEASUREMENTS):
        forget()
        times.append(measure(parser, text, after, time.thread_time)[0])
    return min(times)


def check_time(parser: FuzzedParser, text: str, after: int) -> None:
    """Raise :class:`Broken` if a case is slow in every round. CPU time also grows on a busy machine."""
    best = min_until(parser.limit_s, (best_time(parser, text, after) for _ in range(ROUNDS)))
    if best > parser.limit_s:
        raise Broken(f"took {best * 1000:.1f} ms, more than {parser.limit_s * 1000:.0f}")


def min_until(limit_s: float, times: Iterator[float]) -> float:
    """Return the first time within the limit, or else the shortest."""
    shortest = math.inf
    for seconds in times:
        shortest = min(shortest, seconds)
        if shortest <= limit_s:
            break
    return shortest


@contextmanager
def broken_off_in_the_end() -> Iterator[None]:
    """Raise :class:`Broken` inside the block when it does not end."""

    def stop(_signal: int, frame: FrameType | None) -> None:
        where = f" in {frame.f_code.co_qualname}, line {frame.f_lineno}" if frame is not None else ""
        raise Broken(f"no end after {ENDLESS_S:.0f} s{where}")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, ENDLESS_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def run_case(seed: int, number: int, tally: Tally, only: str = "") -> None:
    draw = random.Random(f"{seed}/{number}")
    parser = draw.choice([parser for name, parser in PARSERS.items() if name.startswith(only)])
    text, after = parser.make(draw), draw.choice((0, -1, 1_767_225_600, HORIZON - 1, draw.randrange(HORIZON)))
    judge(parser, text, after, tally, f"seed {seed}, case {number}", draw)


def judge(parser: FuzzedParser, text: str, after: int, tally: Tally, case: str, draw: random.Random) -> None:
    """Pass one text to a parser and count it. Raises :class:`Misbehaved`."""
    try:
        with broken_off_in_the_end():
            taken, accepted = measure(parser, text, after)
            if taken > parser.limit_s:
                check_time(parser, text, after)
            if accepted and draw.random() < 0.2:
                check_answers(parser, text, draw)
    except Broken as error:
        raise Misbehaved(parser, text, str(error), case) from error
    except Exception as error:
        raise Misbehaved(parser, text, f"{type(error).__name__}: {error}", case) from error
    tally.cases += 1
    (tally.accepted if accepted else tally.refused)[parser.name] += 1
    if taken > tally.slowest.get(parser.name, (0.0, "", 0))[0]:
        tally.slowest[parser.name] = (taken, text, after)


def run_search(seed: int, seconds: float, numbers: Iterable[int] | None = None, only: str = "") -> Tally:
    """Run numbered cases for a while with the parsers whose names start with ``only``."""
    warm()
    tally, began = Tally(), time.monotonic()
    for number in itertools.count() if numbers is None else numbers:
        run_case(seed, number, tally, only)
        if time.monotonic() - began > seconds:
            break
    return tally
