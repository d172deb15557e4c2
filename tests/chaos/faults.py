"""The faults, seeded: a trial with the same seed meets the same faults in the same order.

Chance alone would mostly hit workers that do nothing just then.  So half of the faults strike while the ticks of a
second are being fired, and half of them strike the worker that was the last to launch something.

A fault that lasts is begun here and ended later, while others begin, so that they overlap: a worker freezes while the
database restarts and another worker is cut off.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import NamedTuple

import psycopg

from tests.chaos.fleet import Fleet, Worker
from tests.chaos.worker import SETTINGS
from tests.support.servers.postgres import PostgresServer
from tests.support.servers.proxy import TcpProxy

LEASE_S = SETTINGS.lock_ttl_ms / 1000
WEIGHTS = {
    "kill": 20,
    "freeze": 20,
    "terminate": 10,
    "restart fast": 8,
    "restart immediate": 8,
    "cut": 10,
    "refuse": 8,
    "blackhole": 10,
    "latency": 6,
}
WHILE_FIRING_S = 0.06
_TERMINATE = b"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tompion'"


class Ending(NamedTuple):
    """When a fault that lasts is over, and how it is ended."""

    at: float
    end: Callable[[], None]


class FaultInjector:
    """Injects faults until it is stopped. It runs in the thread of the server, which ends with it."""

    def __init__(self, dice: Random, server: PostgresServer, fleet: Fleet, clients: TcpProxy, gap_s: float) -> None:
        self._dice = dice
        self._server = server
        self._fleet = fleet
        self._clients = clients
        self._gap_s = gap_s
        self._endings: list[Ending] = []
        self.counts: Counter[str] = Counter()

    def inject(self, seconds: float, show_progress: Callable[[], None]) -> None:
        """Begin fault after fault: first one of each kind, however long that takes, then by weight."""
        until = time.monotonic() + seconds
        first = self._dice.sample(list(WEIGHTS), len(WEIGHTS))
        while (now := time.monotonic()) < until or first:
            kind = first.pop() if first else self._dice.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
            self._begin(kind)
            self.counts[kind] += 1
            self._wait_until(min(self._moment(now), max(now, until)))
            show_progress()

    def calm(self) -> None:
        """End every lasting fault, so that all processes run again."""
        for ending in sorted(self._endings):
            ending.end()
        self._endings.clear()
        for worker in self._fleet.workers:
            worker.start()

    def _moment(self, now: float) -> float:
        """When to strike next: at random, or just after the beginning of a second."""
        moment = now + self._dice.uniform(self._gap_s / 4, self._gap_s)
        struck_s = self._dice.uniform(0, WHILE_FIRING_S)
        if self._dice.random() < 0.5:
            return moment
        past = (moment + time.time() - time.monotonic()) % 1
        return moment - past + struck_s + (1 if moment - past + struck_s < now else 0)

    def _victim(self) -> Worker:
        """Return a random worker, or the one with the last launch."""
        workers = self._fleet.workers
        random_worker = self._dice.choice(workers)
        return random_worker if self._dice.random() < 0.5 else max(workers, key=Worker.last_launch)

    def _wait_until(self, moment: float) -> None:
        while True:
            now = time.monotonic()
            for ending in [ending for ending in self._endings if ending.at <= now]:
                self._endings.remove(ending)
                ending.end()
            if now >= moment:
                return
            following = min([moment, *(ending.at for ending in self._endings)])
            threading.Event().wait(max(0.0, following - now))

    def _begin(self, kind: str) -> None:
        worker = self._victim()
        # The people's own way to the database suffers as well, though less often.
        proxy = self._clients if self._dice.random() < 0.15 else self._fleet.proxies[worker.index]
        if kind == "kill":
            worker.kill()
            self._later(self._dice.uniform(0, 0.5), worker.start)
        elif kind == "freeze":
            self._freeze(worker)
        elif kind == "terminate":
            with psycopg.connect(self._server.url, autocommit=True) as connection:
                connection.execute(_TERMINATE)
        elif kind == "restart fast":
            self._server.restart("fast")
        elif kind == "restart immediate":
            self._server.restart("immediate")
        elif kind == "cut":
            proxy.cut()
        elif kind == "refuse":
            proxy.refuse()
            proxy.cut()
            self._later(self._dice.uniform(0.5, 1.2 * LEASE_S), lambda: proxy.refuse(False))
        elif kind == "blackhole":
            proxy.blackhole()
            self._later(self._dice.uniform(0.5, 1.5 * LEASE_S), lambda: proxy.blackhole(False))
        else:
            proxy.latency(self._dice.uniform(0.05, 0.4))
            self._later(self._dice.uniform(0.5, 2), lambda: proxy.latency(0))

    def _freeze(self, worker: Worker) -> None:
        """Let a worker lose its leases without knowing, then let it go on as if nothing had happened."""
        frozen = worker.process
        worker.signal(signal.SIGSTOP)

        def thaw() -> None:
            if worker.process is frozen:
                worker.signal(signal.SIGCONT)

        self._later(self._dice.uniform(1.2, 1.8) * LEASE_S, thaw)

    def _later(self, seconds: float, end: Callable[[], None]) -> None:
        self._endings.append(Ending(time.monotonic() + seconds, end))
