"""Shared code of the peers' programs: read the assignment, count ticks, write the outcome.

A program gets its assignment as JSON in its only argument and writes its outcome as JSON into a file.  It knows nothing
of percentiles: it reports every tick as (schedule, nominal time, time seen), and ``runner`` computes the figures for
all peers in the same way.
"""

from __future__ import annotations

import importlib
import json
import logging
import math
import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

SCHEMA = "tompion_bench_peer"
"""In PostgreSQL everything happens in this schema, which is dropped first."""

PROBES = 50
"""How many schedules are added, and forgotten, to see how long adding will take."""

Run = tuple[int, float]
"""The number of a schedule, and when its job ran."""

Tick = tuple[int, float, float]
"""The number of a schedule, when it was due, and when its job ran."""


class Assignment(NamedTuple):
    """The assignment of a program."""

    kind: str  # "burst" or "steady"
    store: str  # the URL
    schedules: int
    seconds: float  # duration of a steady run, or timeout of a burst
    folder: str  # for files of the peer's own
    outcome: str  # the file to write

    @property
    def is_burst(self) -> bool:
        """Whether every schedule is due once, and all in the same second."""
        return self.kind == "burst"

    @property
    def period(self) -> int:
        """The seconds between two ticks of a schedule. In a burst the second tick is beyond the horizon."""
        return 86_400 if self.is_burst else 1

    @property
    def expected(self) -> int:
        """The number of expected ticks."""
        return self.schedules * (1 if self.is_burst else math.ceil(self.seconds))


def read_assignment() -> Assignment:
    """Return the assignment from the command line. Log only errors, because logging takes time."""
    logging.disable(logging.WARNING)
    return Assignment(**json.loads(sys.argv[1]))


def load(path: str) -> Any:
    """Import ``package.module:name``, which only the peer's environment has."""
    module, _, name = path.partition(":")
    function: Any = importlib.import_module(module)
    return getattr(function, name) if name else function


def begin_after(add: Callable[[int], object], forget: Callable[[], object], schedules: int) -> int:
    """Return a second that comes soon after all schedules will have been added, judging by a few that are added now."""
    count = min(PROBES, schedules)
    add(0)  # the first connects and compiles
    start = time.perf_counter()
    for number in range(1, count + 1):
        add(number)
    seconds_per_schedule = (time.perf_counter() - start) / count
    forget()
    return math.ceil(time.time() + 2.5 + 1.6 * seconds_per_schedule * schedules)


def check_in_time(begin: float) -> None:
    """Fail if adding took so long that the first ticks are overdue before the race begins."""
    if time.time() > begin - 0.5:
        raise SystemExit(f"adding the schedules took {time.time() - begin:.1f} s longer than foreseen; run it again")


def wait_for_end(assignment: Assignment, begin: float, seen: Callable[[], int]) -> None:
    """Return when all ticks were seen, or when the time is over."""
    end = begin + assignment.seconds
    while time.time() < end and (seen() < assignment.expected):
        time.sleep(0.05)


def in_order(runs: Iterable[Run], assignment: Assignment, begin: float) -> list[Tick]:
    """Take the k-th run of a schedule for its k-th tick: for peers that do not report the tick."""
    counts: dict[int, int] = {}
    ticks = []
    for number, at in sorted(runs, key=lambda run: run[1]):
        nth = counts.get(number, 0)
        counts[number] = nth + 1
        ticks.append((number, begin + nth * assignment.period, at))
    return ticks


def report(assignment: Assignment, begin: float, ticks: list[Tick], adding_s: float | None) -> NoReturn:
    """Write the outcome and end at once, whatever threads may still be running."""
    outcome = {"begin": begin, "adding_s": adding_s, "ticks": ticks}
    Path(assignment.outcome).write_text(json.dumps(outcome))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
