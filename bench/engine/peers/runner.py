"""Runs one peer with one load and computes figures from its report.

All peers get the same figures.  Lateness is the time of the run minus the nominal time of its tick.  A burst
lasts from the second in which everything is due until the last run.  In a steady run the ticks count that were both due
and run within its seconds. A peer that falls behind is judged by the ticks that it managed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.engine.peers.environments import ROOT, InstallFailed, python_of
from bench.engine.peers.progress import Progress, silent

BURST, STEADY = "burst", "steady"
SQLITE, POSTGRES, VALKEY = "sqlite", "postgres", "valkey"

RAN = "the job ran"
PUBLISHED = "published to the broker; no worker runs"
DEFERRED = "deferred, a row in the queue; no worker runs"

START_SECONDS = 60.0
SECONDS_PER_SCHEDULE = 0.02
"""The time that a peer may take to start and to add a schedule."""


class Peer(NamedTuple):
    """A scheduler that Tompion is compared with."""

    name: str
    stores: tuple[str, ...]
    environment: str
    script: str
    counted: str
    most: Mapping[str, int] = {}
    """By store, the most schedules whose burst ends within about a minute, where that is fewer than 10,000."""


PEERS: tuple[Peer, ...] = (
    Peer("APScheduler 3", (SQLITE, POSTGRES), "apscheduler3", "apscheduler_3", RAN),
    Peer(
        "APScheduler 4 alpha",
        (SQLITE, POSTGRES),
        "apscheduler4",
        "apscheduler_4",
        RAN,
        {SQLITE: 2_000, POSTGRES: 4_000},
    ),
    Peer("Celery beat", (VALKEY,), "celery", "celery_beat", PUBLISHED, {VALKEY: 4_000}),
    Peer("RedBeat", (VALKEY,), "celery", "redbeat", PUBLISHED),
    Peer("Procrastinate", (POSTGRES,), "procrastinate", "procrastinate", DEFERRED),
)


class Work(NamedTuple):
    """The load of a peer."""

    kind: str
    url: str
    requested: int
    schedules: int
    seconds: float


class Result(NamedTuple):
    """The figures of a peer. Without ticks they are zero, and ``error`` may have the reason."""

    peer: str
    store: str
    kind: str
    requested: int
    """The schedules that the caller wanted."""
    schedules: int
    """The schedules that there were: fewer where more would take too long, see ``note``."""
    expected: int
    ticks: int
    seconds: float
    per_second: float
    late_p50_s: float
    late_p99_s: float
    added_per_second: float | None
    """``None`` where schedules are part of a program or its configuration."""
    counted: str
    note: str = ""
    error: str = ""


class PeerFailed(Exception):
    """A peer failed before its report. The message is the end of its output."""


def burst(
    peer: Peer, store_url: str, schedules: int = 10_000, timeout_s: float = 120.0, progress: Progress = silent
) -> Result:
    """Let schedules be due all in the same second, once each, and count until the last has run or time is over."""
    used = min(schedules, peer.most.get(store_of(store_url), schedules))
    return _run_peer(peer, Work(BURST, store_url, schedules, used, timeout_s), progress)


def steady(
    peer: Peer, store_url: str, schedules: int = 1_000, seconds: float = 20.0, progress: Progress = silent
) -> Result:
    """Let schedules be due every second, for some seconds."""
    return _run_peer(peer, Work(STEADY, store_url, schedules, schedules, seconds), progress)


def store_of(url: str) -> str:
    """Return the kind of store behind a URL."""
    kinds = {"sqlite": SQLITE, "postgres": POSTGRES, "postgresql": POSTGRES, "redis": VALKEY, "valkey": VALKEY}
    scheme = url.partition(":")[0].partition("+")[0]
    if scheme not in kinds:
        raise ValueError(f"'{scheme}' is no store that a peer could use: write one of {', '.join(kinds)}")
    return kinds[scheme]


def failed(peer: Peer, store: str, kind: str, requested: int, error: str) -> Result:
    """Return the result of a peer that did not run."""
    return Result(peer.name, store, kind, requested, requested, 0, 0, 0.0, 0.0, 0.0, 0.0, None, peer.counted, "", error)


def _run_peer(peer: Peer, work: Work, progress: Progress) -> Result:
    kind, requested, used = work.kind, work.requested, work.schedules
    store = store_of(work.url)
    if store not in peer.stores:
        return failed(peer, store, kind, requested, f"{peer.name} stores in {' or '.join(peer.stores)}, not in {store}")
    progress(f"{peer.name} on {store}: {kind}, {used:,} schedules …")
    try:
        outcome = _run(peer, work, python_of(peer.environment, progress))
        result = _figures(failed(peer, store, kind, requested, "")._replace(schedules=used), outcome, work.seconds)
    except (InstallFailed, PeerFailed, OSError, ValueError, KeyError) as error:
        result = failed(peer, store, kind, requested, str(error) or type(error).__name__)
        progress(f"  failed: {result.error.splitlines()[-1]}")
        return result
    progress(f"  {result.ticks:,} of {result.expected:,} ticks, {result.per_second:,.0f}/s")
    return result


def _run(peer: Peer, work: Work, python: Path) -> dict[str, Any]:
    """Run the peer's program and return the outcome that it wrote."""
    patience = START_SECONDS + SECONDS_PER_SCHEDULE * work.schedules + work.seconds
    with tempfile.TemporaryDirectory(prefix="tompion-peer-") as name:
        folder = Path(name)
        assignment = {
            "kind": work.kind,
            "store": work.url,
            "schedules": work.schedules,
            "seconds": work.seconds,
            "folder": name,
            "outcome": str(folder / "outcome.json"),
        }
        command = [str(python), "-m", f"bench.engine.peers.scripts.{peer.script}", json.dumps(assignment)]
        output = _wait(command, folder, patience)
        try:
            outcome: dict[str, Any] = json.loads((folder / "outcome.json").read_text())
        except FileNotFoundError:
            raise PeerFailed(output or "it ended without any output") from None
        return outcome


def _wait(command: Sequence[str], folder: Path, patience: float) -> str:
    """Wait for a program, and end it with all its children if it takes too long. Return the end of its output."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "TZ": "UTC"}
    log = folder / "output.txt"
    with log.open("wb") as file:
        process = subprocess.Popen(  # noqa: S603 - the peer's own interpreter, with our script
            command,
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            raise PeerFailed(f"no report after {patience:.0f} s") from None
        finally:
            _end(process)
    return log.read_text(errors="replace").strip()[-600:]


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _figures(result: Result, outcome: Mapping[str, Any], seconds: float) -> Result:
    begin = float(outcome["begin"])
    end = begin + seconds
    is_burst = result.kind == BURST
    ticks = [(due, ran) for _number, due, ran in outcome["ticks"] if begin <= due < end and ran <= end]
    expected = result.schedules * (1 if is_burst else int(seconds))
    late = sorted(ran - due for due, ran in ticks)
    lasted = max((ran for _due, ran in ticks), default=end) - begin if is_burst else seconds
    adding_s = outcome["adding_s"]
    return result._replace(
        expected=expected,
        ticks=len(ticks),
        seconds=lasted,
        per_second=len(ticks) / lasted if lasted > 0 else 0.0,
        late_p50_s=_percentile(late, 50),
        late_p99_s=_percentile(late, 99),
        added_per_second=result.schedules / adding_s if adding_s else None,
        note=_note(result, len(ticks), expected, seconds),
    )


def _note(result: Result, ticks: int, expected: int, seconds: float) -> str:
    notes = []
    if result.schedules < result.requested:
        notes.append(f"{result.schedules:,} instead of {result.requested:,} schedules, to end in a minute")
    if result.kind == BURST and ticks < expected:
        notes.append(f"stopped after {seconds:.0f} s with {expected - ticks:,} ticks to go")
    return "; ".join(notes)


def _percentile(ordered: Sequence[float], percent: int) -> float:
    """Return a percentile of sorted values, or 0 if there are no values."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else 0.0
