"""The primary PostgreSQL is killed while workers fire, its standby is promoted, and every tick is accounted for.

``python -m tests.endurance.failover --seconds 300`` repeats this: a killed server returns as the standby of the other.
Replication is synchronous. ``--careless`` cuts it before the kill, and then the check must fail.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random, SystemRandom
from typing import NamedTuple

import psycopg

from tests.chaos import history
from tests.chaos.faults import WHILE_FIRING_S
from tests.chaos.fleet import Fleet
from tests.chaos.reconcile import Evidence, check, expected
from tests.chaos.traffic import Traffic
from tests.chaos.worker import SETTINGS
from tests.chaos.workload import Plan, plans_of
from tests.support.servers.replica import Pair
from tompion.bootstrap.store import open_migrator
from tompion.sdk.app import Tompion

SECONDS = 120
"""After which waiting is arguments up."""
PEACE_S = 8
POLL_S = 0.02
OUTAGE_S = 0.5
"""How long at most there is no server that takes writes, beyond what the promotion itself takes."""
CARELESS_S = 2.5


class Options(NamedTuple):
    """The options of a trial."""

    seed: int
    seconds: float
    workers: int = 3
    careless: bool = False


class Report(NamedTuple):
    """The result of a trial."""

    options: Options
    violations: list[str]
    failovers: int
    away_s: list[float]
    """How long after each kill the first launch came."""
    ticks: int
    runs: int
    launches: int
    relaunched: int
    requests: Counter[str]
    counts: Counter[str]

    def lines(self) -> list[str]:
        """Return the report for a person."""
        away = sorted(self.away_s) or [0.0]
        return [
            f"seed {self.options.seed}, {self.options.seconds:g} s, {self.options.workers} workers",
            f"failovers   {self.failovers}",
            f"away        {away[len(away) // 2]:.2f} s in the median, {away[-1]:.2f} s at most, from kill to launch",
            f"requests    {', '.join(f'{kind} {count}' for kind, count in sorted(self.requests.items()))}",
            f"ticks       {self.ticks} to be problems in the ledger exactly once; with triggers {self.runs} runs",
            f"launches    {self.launches} in the logs; {self.relaunched} runs launched again",
            f"workers     {', '.join(f'{name} {count}' for name, count in sorted(self.counts.items()))}",
            f"violations  {len(self.violations)}",
            *self.violations[:50],
        ]


def run(options: Options, directory: Path, show_progress: Callable[[str], None] = lambda _: None) -> Report:
    """Run one trial. Logs of the workers go to a directory. It stops every process, also after an error."""
    with ExitStack() as stack:
        pair = stack.enter_context(Pair())
        pair.primary.create_database("failover")
        url = pair.url_of("failover")
        with open_migrator(url) as migrator:
            migrator.up()
        history.install(url)
        fleet = stack.enter_context(Fleet(options.workers, None, url, directory))
        tompion = stack.enter_context(Tompion(url, engine=False, settings=SETTINGS))
        trial = _Trial(options, pair, url, fleet, tompion)
        trial.inject(show_progress)
        trial.settle()
        fleet.stop()
        return trial.report()


class _Trial:
    """One trial."""

    def __init__(self, options: Options, pair: Pair, url: str, fleet: Fleet, tompion: Tompion) -> None:
        self._options = options
        self._pair = pair
        self._url = url
        self._fleet = fleet
        self._tompion = tompion
        self._dice = Random(options.seed)
        self._plans: list[Plan] = []
        self._traffic: Traffic | None = None
        self._end_s = 0
        self._away_s: list[float] = []
        self._failovers = 0

    def inject(self, show_progress: Callable[[str], None]) -> None:
        """Create the schedules once all workers are registered, and kill one server after the other."""
        self._until(lambda: self._instances() >= self._options.workers, "the workers did not start")
        self._end_s = int(time.time() + self._options.seconds) + PEACE_S
        self._plans = plans_of(self._dice, self._end_s)
        for plan in self._plans:
            self._tompion.create(plan.schedule_id, request_id=f"create-{plan.schedule_id}", **plan.fields)
        self._traffic = traffic = Traffic(self._tompion, self._plans, Random(self._options.seed + 1))
        traffic.start()
        over = time.monotonic() + self._options.seconds
        try:
            while True:
                self._fail_over()
                show_progress(f"failover {self._failovers}: launching again after {self._away_s[-1]:.2f} s")
                if time.monotonic() > over or self._options.careless:
                    break
                self._pair.rebuild()
        finally:
            traffic.stop(SECONDS)

    def settle(self) -> None:
        """Wait until every tick is decided and every run has ended."""
        self._until(lambda: history.unsettled(self._url) == (0, 0), "not everything has come to its end")

    def report(self) -> Report:
        """Compare the ledger, the launches and the server's data."""
        traffic = self._traffic
        assert traffic is not None
        ledger, lines = history.read_ledger(self._url), self._fleet.lines()
        names = {pid: name for worker in self._fleet.workers for pid, name in worker.names.items()}
        proofs = [self._tompion.schedules.verify(plan.schedule_id) for plan in self._plans]
        evidence = Evidence(self._plans, self._end_s, ledger, lines, names, traffic.accepted, proofs)
        exits = [code for worker in self._fleet.workers for code in worker.exits]
        violations = check(evidence) + traffic.surprises + self._fleet.tracebacks()
        violations += [f"a worker did not exit cleanly: {code}" for code in exits if code]
        return Report(
            self._options,
            violations,
            self._failovers,
            self._away_s,
            ticks=sum(1 for plan in self._plans for _ in expected(evidence, plan)),
            runs=len(ledger.runs),
            launches=len(lines),
            relaunched=sum(count > 1 for count in Counter(line.run_id for line in lines).values()),
            requests=traffic.counts,
            counts=self._fleet.counts(),
        )

    def _fail_over(self) -> None:
        """Kill the primary while it fires the ticks of a second, and promote the standby a little later."""
        turn = threading.Event()
        fired = len(self._fleet.lines())
        self._until(lambda: len(self._fleet.lines()) > fired + 2 * len(self._plans), "nothing was launched")
        if self._options.careless:
            self._cut_replication()
            turn.wait(CARELESS_S)
        turn.wait(1 - time.time() % 1 + self._dice.uniform(0, WHILE_FIRING_S))
        self._pair.kill()
        killed, killed_ms = time.monotonic(), time.time_ns() // 1_000_000
        turn.wait(self._dice.uniform(0, OUTAGE_S))
        self._pair.promote()
        self._failovers += 1
        promoted_ms = time.time_ns() // 1_000_000
        self._until(lambda: any(line.at_ms > promoted_ms for line in self._fleet.lines()), "no worker continues")
        first_ms = min(line.at_ms for line in self._fleet.lines() if line.at_ms > promoted_ms)
        self._away_s.append(max(0.0, min(time.monotonic() - killed, (first_ms - killed_ms) / 1000)))

    def _cut_replication(self) -> None:
        """Let the primary confirm commits that the standby does not have."""
        assert self._pair.standby is not None
        for url, name in (
            (self._pair.primary.url, "synchronous_standby_names"),
            (self._pair.standby.url, "primary_conninfo"),
        ):
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(f"ALTER SYSTEM SET {name} = ''".encode())
                connection.execute("SELECT pg_reload_conf()")

    def _instances(self) -> int:
        with psycopg.connect(self._url) as connection:
            ((count,),) = connection.execute("SELECT count(*) FROM instances").fetchall()
        return int(count)

    def _until(self, happened: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + SECONDS + self._options.seconds / 2
        turn = threading.Event()
        while not happened():
            assert time.monotonic() < deadline, otherwise
            turn.wait(POLL_S)


def show_progress(text: str) -> None:
    """Print a progress message."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    """Run a trial. Return 1 if anything does not add up."""
    parser = argparse.ArgumentParser(prog="python -m tests.endurance.failover", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120, help="how long servers die")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--careless", action="store_true", help="cut replication before the kill: must be problems out")
    arguments = parser.parse_args()
    seed = SystemRandom().randrange(1_000_000) if arguments.seed is None else arguments.seed
    with tempfile.TemporaryDirectory() as directory:
        report = run(
            Options(seed, arguments.seconds, arguments.workers, arguments.careless), Path(directory), show_progress
        )
    for line in report.lines():
        show_progress(line)
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
