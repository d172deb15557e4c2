"""Fair timing on a machine that others use too.

Contenders take turns, and the first one changes from round to round.  A ratio is taken within a round, where all ran
under the same conditions, and the median over the rounds is what counts. The quartiles beside it show the noise.

Turns are measured in the thread's own CPU time where the system counts it finely, so that the time of other programs
is not counted.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from statistics import median, quantiles
from typing import NamedTuple

Turn = Callable[[int], float]
"""What a contender does in the round of that number; returns the nanoseconds that one operation took."""

cpu_ns = time.thread_time_ns if time.get_clock_info("thread_time").resolution <= 1e-6 else time.perf_counter_ns
"""The clock for a whole turn; a reading of it costs nearly a microsecond."""


class Spread(NamedTuple):
    """A median with its quartiles."""

    middle: float
    low: float
    high: float


class Rounds:
    """The time of each contender per operation and round."""

    def __init__(self, spent: dict[str, list[float]]) -> None:
        self.spent = spent

    def microseconds(self, name: str) -> float:
        """Return what one operation of a contender takes in the median round."""
        return median(self.spent[name]) / 1000

    def times_faster(self, winner: str, loser: str) -> Spread:
        """Return how many times as long the one took as the other."""
        pairs = zip(self.spent[winner], self.spent[loser], strict=True)
        return spread([slow / fast for fast, slow in pairs])


def spread(values: list[float]) -> Spread:
    """Return the median of some values, and where the middle half of them lies."""
    if len(values) < 2:
        return Spread(values[0], values[0], values[0])
    low, middle, high = quantiles(values, n=4, method="inclusive")
    return Spread(middle, low, high)


def contest(contenders: Mapping[str, Turn], rounds: int) -> Rounds:
    """Run the contenders in turns for some rounds."""
    names = list(contenders)
    spent: dict[str, list[float]] = {name: [] for name in names}
    with no_garbage_collection():
        for number in range(rounds):
            first = number % len(names)
            for name in names[first:] + names[:first]:
                spent[name].append(contenders[name](number))
    return Rounds(spent)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Disable the garbage collector during a turn."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
