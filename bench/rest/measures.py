"""Measures Tompion's service and the bare application in turns, then a long list page by page."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import NamedTuple

from bench.engine.fill import Due, fill
from bench.engine.peers.progress import Progress
from bench.engine.report import RATE, Goal, Row, Section
from bench.engine.stores import KINDS, NAMES, Stores
from bench.spec.report import Target
from tompion.client import Client

BARE, SHARE = "bare", "of bare"
READS = Goal(Target("≥", 40), SHARE)
PAGE = 1_000
LISTED, GREW = "schedules", "grew MiB"
CONNECTIONS = 16


class Scale(NamedTuple):
    """The extent of a measurement."""

    requests: int
    rounds: int
    schedules: int


def sections(scale: Scale, progress: Progress) -> list[Section]:
    """Measure both stores."""
    rows: list[Row] = []
    lists: list[Row] = []
    with Stores(progress) as stores:
        for kind in KINDS:
            progress(f"{NAMES[kind]}: requests …")
            rows += _requests(stores.migrated(kind), NAMES[kind], scale)
            progress(f"{NAMES[kind]}: a list of {scale.schedules:,} …")
            lists.append(_listed(stores.migrated(kind), NAMES[kind], scale))
    note = f"{CONNECTIONS} connections, median of {scale.rounds} rounds in turns"
    return [
        Section("Requests", (RATE, BARE, SHARE), rows, [note]),
        Section(
            f"Listed, {PAGE:,} a page", (RATE, LISTED, GREW), lists, ["what the service's memory grew by meanwhile"]
        ),
    ]


def _requests(url: str, name: str, scale: Scale) -> list[Row]:
    with (
        running("tompion", "serve", "--no-engine", "--port", "0", "--store", url) as ours,
        running("bench.rest.bare_app") as bare,
    ):
        rates_by_request: dict[str, list[tuple[float, float]]] = {"put": [], "get": []}
        for kind in rates_by_request:  # the first round connects, imports, and puts there what is read
            for service in (ours, bare):
                _rate(service, kind, scale.requests // 4)
        for _ in range(scale.rounds):
            for kind, rates in rates_by_request.items():
                rates.append((_rate(ours, kind, scale.requests), _rate(bare, kind, scale.requests)))
    return [
        _row(f"{name}, reads", rates_by_request["get"], READS),
        _row(f"{name}, upserts", rates_by_request["put"], None),
    ]


def _row(label: str, rates: list[tuple[float, float]], goal: Goal | None) -> Row:
    ours, bare = (median(column) for column in zip(*rates, strict=True))
    share = median(100 * mine / theirs for mine, theirs in rates)
    return Row(label, {RATE: ours, BARE: bare, SHARE: share}, goal)


def _rate(url: str, kind: str, requests: int) -> float:
    command = [sys.executable, "-m", "bench.rest.load", url, kind, str(max(requests, 8)), str(CONNECTIONS)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - our own module
    return float(done.stdout)


def _listed(url: str, name: str, scale: Scale) -> Row:
    fill(url, scale.schedules, Due(2_000_000_000, 2_000_100_000))
    with started("tompion", "serve", "--no-engine", "--port", "0", "--store", url) as (address, pid):
        client = Client(address, timeout_s=60)
        client.schedules.list(limit=PAGE)
        before, count, after, begin = _resident_mib(pid), 0, None, time.perf_counter()
        while True:
            page = client.schedules.list(limit=PAGE, after=after)
            count += len(page.items)
            after = page.next_page
            if after is None:
                break
        took, grew = time.perf_counter() - begin, _peak_mib(pid) - before
        client.close()
    return Row(name, {RATE: count / took, LISTED: count, GREW: grew})


def _resident_mib(pid: int) -> float:
    return _status_mib(pid, "VmRSS")


def _peak_mib(pid: int) -> float:
    return _status_mib(pid, "VmHWM")


def _status_mib(pid: int, name: str) -> float:
    with open(f"/proc/{pid}/status", encoding="ascii") as status:  # noqa: PTH123 - no file of ours
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(name))


@contextmanager
def running(module: str, *arguments: str) -> Iterator[str]:
    """Run a service and yield its address."""
    with started(module, *arguments) as (address, _):
        yield address


@contextmanager
def started(module: str, *arguments: str) -> Iterator[tuple[str, int]]:
    """Run a service and yield its address and process id."""
    argv = [sys.executable, "-m", module, *arguments]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own modules
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        yield next(word for word in line.split() if word.startswith("http")), process.pid
    finally:
        process.terminate()
        process.communicate(timeout=60)
