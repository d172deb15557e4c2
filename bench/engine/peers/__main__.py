"""Run all peers: ``python -m bench.engine.peers [--quick] [--json] [--only NAME] [--postgres URL] [--valkey URL]``."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from bench.engine.peers.progress import to_stderr
from bench.engine.peers.runner import (
    BURST,
    PEERS,
    POSTGRES,
    SQLITE,
    STEADY,
    VALKEY,
    Peer,
    Result,
    burst,
    failed,
    steady,
)
from bench.engine.peers.valkey import ValkeyServer
from tests.support.servers.postgres import PostgresServer

DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
"""PostgreSQL as it is run where data matter; the tests run it faster."""


class Scale(NamedTuple):
    """The extent of a measurement."""

    burst: int
    timeout_s: float
    steady: int
    seconds: float


FULL = Scale(10_000, 120, 1_000, 20)
QUICK = Scale(500, 30, 500, 5)
"""A short run to check every peer. Its figures are not meaningful."""


class Stores:
    """The URLs of the stores, whose servers are started when they are first needed, and once."""

    def __init__(self, stack: ExitStack, urls: dict[str, str | None]) -> None:
        self._stack = stack
        self._urls = {kind: url for kind, url in urls.items() if url}

    def url(self, kind: str) -> str:
        """Return the URL of a store, for SQLite a new one each time."""
        if kind == SQLITE:
            folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="tompion-peers-"))
            return f"sqlite:///{Path(folder) / 'store.db'}"
        if kind not in self._urls:
            to_stderr(f"starting {kind} …")
            if kind == POSTGRES:
                self._urls[kind] = self._stack.enter_context(PostgresServer(DURABLE)).url
            else:
                self._urls[kind] = self._stack.enter_context(ValkeyServer(to_stderr)).url
        return self._urls[kind]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and return the exit code: 1 if a peer failed."""
    parser = argparse.ArgumentParser(prog="python -m bench.engine.peers", description="Durable schedulers, compared.")
    parser.add_argument("--quick", action="store_true", help="small numbers, to see that it works")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--only", metavar="NAME", help="peers whose name contains this")
    parser.add_argument("--postgres", metavar="URL", help="a PostgreSQL to use (default: one is started)")
    parser.add_argument("--valkey", metavar="URL", help="a Valkey or Redis to use and EMPTY (default: one is started)")
    options = parser.parse_args(arguments)
    chosen = [peer for peer in PEERS if (options.only or "").lower() in peer.name.lower()]
    if not chosen:
        parser.error(f"--only: no such peer; there are {', '.join(peer.name for peer in PEERS)}")
    with ExitStack() as stack:
        stores = Stores(stack, {POSTGRES: options.postgres, VALKEY: options.valkey})
        results = list(measure(chosen, stores, QUICK if options.quick else FULL))
    print(json.dumps([result._asdict() for result in results], indent=2) if options.json else as_text(results))
    return 1 if any(result.error for result in results) else 0


def measure(peers: Sequence[Peer], stores: Stores, scale: Scale) -> Iterator[Result]:
    """Run every peer on each of its stores, one after the other."""
    for peer in peers:
        for kind in peer.stores:
            try:
                first, second = stores.url(kind), stores.url(kind)
            except Exception as error:  # noqa: BLE001 - whatever a server died of, the other peers are to run
                yield failed(peer, kind, BURST, scale.burst, f"no {kind} server: {error}")
                continue
            yield burst(peer, first, scale.burst, scale.timeout_s, to_stderr)
            yield steady(peer, second, scale.steady, scale.seconds, to_stderr)


def as_text(results: Sequence[Result]) -> str:
    """Return the figures as two tables, and below them the notes on single rows."""
    titles = {BURST: "All schedules due in one second", STEADY: "Every schedule due each second"}
    lines: list[str] = []
    for kind, title in titles.items():
        head = f"{title:<34}{'schedules':>9}{'ticks':>8}{'ticks/s':>9}{'p50 late':>10}{'p99 late':>10}{'added/s':>9}"
        lines += ["", head, *(_line(result) for result in results if result.kind == kind)]
    lines += ["", "Counted as a tick:"]
    lines += [
        f"  {name}: {counted}" for name, counted in dict.fromkeys((result.peer, result.counted) for result in results)
    ]
    notes = [f"  {result.peer}, {result.store}, {result.kind}: {result.note}" for result in results if result.note]
    return "\n".join([*lines[1:], *(["", "Notes:", *notes] if notes else [])])


def _line(result: Result) -> str:
    label = f"  {result.peer}, {result.store}"
    if result.error:
        return f"{label:<34}failed: {result.error.splitlines()[-1]}"
    added = "–" if result.added_per_second is None else f"{result.added_per_second:,.0f}"
    late = f"{result.late_p50_s:>8.2f} s{result.late_p99_s:>8.2f} s"
    return f"{label:<34}{result.schedules:>9,}{result.ticks:>8,}{result.per_second:>9,.0f}{late}{added:>9}"


if __name__ == "__main__":
    sys.exit(main())
