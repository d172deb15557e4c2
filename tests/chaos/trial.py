"""One trial: a server, a fleet, traffic and faults, then a quiet phase and the check."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import NamedTuple

import psycopg

from tests.chaos import history
from tests.chaos.faults import FaultInjector
from tests.chaos.fleet import Fleet
from tests.chaos.reconcile import Evidence, check, expected
from tests.chaos.traffic import Traffic
from tests.chaos.worker import SETTINGS
from tests.chaos.workload import Plan, plans_of
from tests.support.servers import LOOPBACK
from tests.support.servers.postgres import CRASH_SAFE, PostgresServer
from tests.support.servers.proxy import TcpProxy
from tompion.bootstrap.store import open_migrator
from tompion.model.run import RunState
from tompion.sdk.app import Tompion

SECONDS_TO_BEGIN = 60
SECONDS_TO_SETTLE = 60
PEACE_S = 2
POLL_S = 0.05
PROGRESS_S = 10.0
OVERLAPPED = frozenset({RunState.SKIPPED, RunState.CANCELLED, RunState.TERMINATED})


class Options(NamedTuple):
    """The options of a trial."""

    seed: int
    seconds: float
    workers: int = 3
    gap_s: float = 1.5


class Report(NamedTuple):
    """The result of a trial."""

    options: Options
    violations: list[str]
    faults: Counter[str]
    requests: Counter[str]
    counts: Counter[str]
    ticks: int
    runs: int
    launches: int
    relaunched: int
    superseded_launches: int
    ended: Counter[str]
    lateness_ms: tuple[int, int, int]
    settled_s: float

    def lines(self) -> list[str]:
        """Return the report for a person."""
        p50, p99, most = self.lateness_ms
        faults = ", ".join(f"{kind} {count}" for kind, count in sorted(self.faults.items()))
        requests = ", ".join(f"{kind} {count}" for kind, count in sorted(self.requests.items()))
        counts = ", ".join(f"{name} {count}" for name, count in sorted(self.counts.items()))
        ended = ", ".join(f"{kind} {count}" for kind, count in sorted(self.ended.items()))
        return [
            f"seed {self.options.seed}, {self.options.seconds:g} s, {self.options.workers} workers",
            f"faults      {self.faults.total()}: {faults}",
            f"requests    {requests}",
            f"ticks       {self.ticks} to be problems in the ledger exactly once; with triggers {self.runs} runs",
            f"launches    {self.launches} in the logs",
            f"relaunched  {self.relaunched} runs; {self.superseded_launches} launches came after a later attempt's",
            f"overlaps    {ended}",
            f"lateness    p50 {p50} ms, p99 {p99} ms, max {most} ms (first launch after the tick)",
            f"settled     {self.settled_s:.1f} s after the last tick",
            f"workers     {counts}",
            f"violations  {len(self.violations)}",
            *self.violations[:50],
        ]


def run(options: Options, directory: Path, show_progress: Callable[[str], None] = lambda _: None) -> Report:
    """Run one trial. Logs of the workers go to a directory. Nothing is left running, whatever happens."""
    with ExitStack() as stack:
        server = stack.enter_context(PostgresServer(CRASH_SAFE))
        url = server.create_database("chaos")
        with open_migrator(url) as migrator:
            migrator.up()
        history.install(url)
        clients = stack.enter_context(TcpProxy(LOOPBACK, server.port))
        fleet = stack.enter_context(Fleet(options.workers, server.port, url, directory))
        way = clients.reroute(url) + "?connect_timeout=2"
        tompion = stack.enter_context(Tompion(way, engine=False, settings=SETTINGS))
        trial = _Trial(options, server, url, fleet, clients, show_progress)
        trial.inject(tompion)
        settled_s = trial.settle()
        fleet.stop()
        return trial.reckon(tompion, settled_s)


class _Trial:
    """One trial. Lives only as long as that takes."""

    def __init__(
        self,
        options: Options,
        server: PostgresServer,
        url: str,
        fleet: Fleet,
        clients: TcpProxy,
        show_progress: Callable[[str], None],
    ) -> None:
        self._options = options
        self._url = url
        self._fleet = fleet
        self._show_progress = show_progress
        self._dice = Random(options.seed)
        self._faults = FaultInjector(Random(options.seed + 1), server, fleet, clients, options.gap_s)
        self._plans: list[Plan] = []
        self._traffic: Traffic | None = None
        self._end_s = 0
        self._progress_at = self._begun = time.monotonic()
        self._violations: list[str] = []

    def inject(self, tompion: Tompion) -> None:
        """Create the schedules once all workers are there, and break things while they tick."""
        self._until(lambda: self._instances() >= self._options.workers, SECONDS_TO_BEGIN, "the workers did not start")
        self._end_s = int(time.time() + self._options.seconds) + PEACE_S
        self._plans = plans_of(self._dice, self._end_s)
        for plan in self._plans:
            tompion.create(plan.schedule_id, request_id=f"create-{plan.schedule_id}", **plan.fields)
        self._traffic = traffic = Traffic(tompion, self._plans, Random(self._options.seed + 2))
        traffic.start()
        self._progress_at = self._begun = time.monotonic()
        try:
            self._faults.inject(self._options.seconds, self._progress)
        finally:
            self._faults.calm()
            traffic.stop(SECONDS_TO_BEGIN)

    def settle(self) -> float:
        """Wait until every tick is decided and every run is over. Return how long after the last tick that was."""
        backlog_s = self._options.seconds / 2  # of runs that wait for one another
        limit = max(0.0, self._end_s - time.time()) + SECONDS_TO_SETTLE + backlog_s
        self._until(lambda: history.unsettled(self._url) == (0, 0), limit, "not everything has come to its end")
        return max(0.0, time.time() - self._end_s)

    def reckon(self, tompion: Tompion, settled_s: float) -> Report:
        """Compare everything with everything."""
        traffic = self._traffic
        assert traffic is not None
        ledger = history.read_ledger(self._url)
        lines = self._fleet.lines()
        names = {pid: name for worker in self._fleet.workers for pid, name in worker.names.items()}
        proofs = [tompion.schedules.verify(plan.schedule_id) for plan in self._plans]
        evidence = Evidence(self._plans, self._end_s, ledger, lines, names, traffic.accepted, proofs)
        violations = self._violations + check(evidence) + traffic.surprises + self._processes()
        calm = {plan.schedule_id for plan in self._plans if plan.overlap == "allow" and not plan.pausable}
        return Report(
            self._options,
            violations,
            self._faults.counts,
            traffic.counts,
            self._fleet.counts(),
            ticks=sum(1 for plan in self._plans for _ in expected(evidence, plan)),
            runs=len(ledger.runs),
            launches=len(lines),
            relaunched=sum(count > 1 for count in Counter(line.run_id for line in lines).values()),
            superseded_launches=_superseded(evidence),
            ended=Counter(f"{run.state} {run.reason}" for run in ledger.runs.values() if run.state in OVERLAPPED),
            lateness_ms=_lateness(evidence, calm),
            settled_s=settled_s,
        )

    def _processes(self) -> list[str]:
        """Return the problems of the processes themselves."""
        exits = [code for worker in self._fleet.workers for code in worker.exits]
        problems = [] if exits == [0] * self._options.workers else [f"workers did not exit cleanly: {exits}"]
        if self._fleet.counts()["unexpected_errors"]:
            problems.append("an engine met an error that it does not know")
        return problems + self._fleet.tracebacks()

    def _instances(self) -> int:
        with psycopg.connect(self._url) as connection:
            ((count,),) = connection.execute("SELECT count(*) FROM instances").fetchall()
        return int(count)

    def _until(self, happened: Callable[[], bool], seconds: float, otherwise: str) -> None:
        deadline = time.monotonic() + seconds
        while not happened():
            if time.monotonic() > deadline:
                self._violations.append(f"{otherwise} within {seconds:.0f} s")
                return
            threading.Event().wait(POLL_S)

    def _progress(self) -> None:
        now = time.monotonic()
        if now - self._progress_at >= PROGRESS_S:
            self._progress_at = now
            launches = len(self._fleet.lines())
            self._show_progress(
                f"{now - self._begun:5.0f} s  {self._faults.counts.total()} faults, {launches} launches"
            )


def _superseded(evidence: Evidence) -> int:
    """Return how many launches came from a frozen process after another one had taken over the run."""
    highest: dict[str, int] = {}
    late = 0
    for line in sorted(evidence.lines):
        late += line.attempt < highest.get(line.run_id, 0)
        highest[line.run_id] = max(line.attempt, highest.get(line.run_id, 0))
    return late


def _lateness(evidence: Evidence, schedules: set[str]) -> tuple[int, int, int]:
    """The median, 99th percentile and maximum of how long after a tick its first launch was logged."""
    first: dict[str, int] = {}
    for line in sorted(evidence.lines):
        if line.schedule_id in schedules and line.run_id.endswith("-0"):
            first.setdefault(line.run_id, line.at_ms - line.nominal_s * 1000)
    late = sorted(first.values()) or [0]
    return late[len(late) // 2], late[len(late) * 99 // 100], late[-1]
