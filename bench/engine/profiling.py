"""Where the time of a burst goes: ``python -m bench.engine.profiling [--schedules N] [--functions]``.

The steps of the engine are wrapped by a stopwatch that reads the clock of the wall and that of the thread: the
difference is time spent waiting, for the disk, the server or the interpreter lock.  Steps are nested: that of a whole
transaction contains the others.  The rest of the process time is the event loop.  ``--functions`` runs
cProfile in the threads of the store, too, which is slower but names the functions.
"""

from __future__ import annotations

import argparse
import cProfile
import functools
import io
import pstats
import resource
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from time import perf_counter, thread_time
from typing import Any
from unittest.mock import patch

from bench.engine.burst import BURST, run_load
from bench.engine.measures import percentile
from bench.engine.peers.progress import to_stderr
from bench.engine.stores import KINDS, NAMES, Stores
from tompion.engine import schedule_cache
from tompion.engine.execution import launcher
from tompion.engine.steps import fire, settle
from tompion.store.base import Transaction
from tompion.store.postgres.driver import PostgresStore
from tompion.store.sqlite.driver import SqliteStore

TOP = 30

STEPS: tuple[tuple[str, Any, str], ...] = (
    ("a whole transaction", SqliteStore, "_transact"),
    ("a whole transaction", PostgresStore, "_attempt"),
    ("look for work", Transaction, "work_due"),
    ("fire", fire.FireStep, "_fire"),
    ("  state_claim_due", Transaction, "state_claim_due"),
    ("  rules (fire and settle)", schedule_cache.ScheduleCache, "of"),
    ("  write_decisions", Transaction, "write_decisions"),
    ("    run_insert", Transaction, "run_insert"),
    ("    state_update (fire and settle)", Transaction, "state_update"),
    ("  launches_of", fire, "launches_of"),
    ("settle", settle.SettleStep, "settle"),
    ("  state_lock", Transaction, "state_lock"),
    ("  run_settle", Transaction, "run_settle"),
    ("begin launches, on the loop", launcher.Launcher, "start"),
)
"""What is called once for a batch; what is called for each run is too quick for a stopwatch."""


class Watch:
    """Seconds by step: how often, by the wall, by the thread's own clock."""

    def __init__(self) -> None:
        self.spent: dict[str, list[float]] = {}

    def wrap(self, label: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with a stopwatch around it."""
        spent = self.spent.setdefault(label, [0, 0.0, 0.0])

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            wall, cpu = perf_counter(), thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                spent[0] += 1
                spent[1] += perf_counter() - wall
                spent[2] += thread_time() - cpu

        return timed

    def lines(self) -> list[str]:
        """Return the steps as a table."""
        head = f"  {'step':<34}{'calls':>8}{'wall ms':>9}{'CPU ms':>9}"
        rows = [
            f"  {label:<34}{calls:>8,.0f}{wall * 1000:>9,.0f}{cpu * 1000:>9,.0f}"
            for label, (calls, wall, cpu) in self.spent.items()
            if calls
        ]
        return [head, *rows]


class Profiles:
    """A profile of each thread that runs transactions."""

    def __init__(self) -> None:
        self._own = threading.local()
        self._all: list[cProfile.Profile] = []

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with the profiler switched on inside it."""

        @functools.wraps(function)
        def profiled(*args: Any, **kwargs: Any) -> Any:
            profile: cProfile.Profile | None = getattr(self._own, "profile", None)
            if profile is None:
                profile = self._own.profile = cProfile.Profile()
                self._all.append(profile)
            profile.enable()
            try:
                return function(*args, **kwargs)
            finally:
                profile.disable()

        return profiled

    def lines(self) -> list[str]:
        """Return the functions in which most time was spent."""
        out = io.StringIO()
        stats = pstats.Stats(self._all[0], stream=out)
        for profile in self._all[1:]:
            stats.add(profile)
        stats.strip_dirs().sort_stats("tottime").print_stats(TOP)
        return [line for line in out.getvalue().splitlines() if line.strip()]


@contextmanager
def watched(profiles: Profiles | None = None) -> Iterator[Watch]:
    """Put stopwatches around the steps of every engine in this process."""
    watch = Watch()
    with ExitStack() as stack:
        for label, owner, name in STEPS:
            function = getattr(owner, name)
            if profiles is not None and label == STEPS[0][0]:
                function = profiles.wrap(function)
            stack.enter_context(patch.object(owner, name, watch.wrap(label, function)))
        yield watch


def profile(stores: Stores, kind: str, schedules: int, *, functions: bool) -> list[str]:
    """Run two bursts in this process and return where the time went, without the creation of schedules."""
    url = stores.migrated(kind)
    profiles = Profiles() if functions else None
    lines: list[str] = []

    @contextmanager
    def around() -> Iterator[None]:
        with watched(profiles) as watch:
            used = _cpu_s()
            yield
            lines.append(f"  {'the process':<34}{'':>8}{'':>9}{(_cpu_s() - used) * 1000:>9,.0f}")
        lines[:0] = watch.lines()

    seen = run_load(url, BURST, schedules, 120, around)
    stores.drop(url)
    late = sorted(ran - due for due, ran in seen.ticks)
    title = f"{NAMES[kind]}, two bursts of {schedules:,}: p50 {percentile(late, 50):.2f} s, last {late[-1]:.2f} s late"
    settled = ", ".join(f"{seconds:.2f} s" for seconds in seen.settled_s)
    return [f"{title}; settled after {settled}", *lines, *(profiles.lines() if profiles else [])]


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main(arguments: Sequence[str] | None = None) -> int:
    """Profile a burst on each store and print it."""
    parser = argparse.ArgumentParser(prog="python -m bench.engine.profiling", description="Where a burst's time goes.")
    parser.add_argument("--schedules", type=int, default=10_000, help="how many are due at once (default: 10,000)")
    parser.add_argument("--store", choices=KINDS, help="only this store")
    parser.add_argument("--functions", action="store_true", help="name the functions, with cProfile")
    options = parser.parse_args(arguments)
    with Stores(to_stderr) as stores:
        for kind in [options.store] if options.store else KINDS:
            print("\n".join(profile(stores, kind, options.schedules, functions=options.functions)), end="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
