"""The short form of ``python -m tests.load.http``."""

from __future__ import annotations

import asyncio
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.load.many import DOOMED, QUICK_RUNS, Report, load

RUNS = 1_000
MOST_BYTES = 64 * 1024
"""For each run that waits for its answer: its task, its connection and what is known about it."""
pytestmark = pytest.mark.server


def measured(directory: Path) -> Report:
    return asyncio.run(load(RUNS, directory))


def test_many_runs_at_a_slow_target(tmp_path: Path) -> None:
    """Those to another target end while these are held, some are cut off, and all are accounted for."""
    with ProcessPoolExecutor(1, get_context("spawn")) as fresh:  # where no other test has left its memory
        report = fresh.submit(measured, tmp_path).result()
    assert report.held == RUNS
    assert report.cut == RUNS // DOOMED
    assert report.states == {"SUCCESS": RUNS - RUNS // DOOMED + QUICK_RUNS + 1, "CANCELLED": RUNS // DOOMED}
    assert report.bytes_per_run < MOST_BYTES
