"""The job of the benchmark: it only records when it ran."""

from __future__ import annotations

from time import time

from tompion.executors.base import RunContext

FUNCTION = "bench.engine.job:noop"

RUNS: list[tuple[RunContext, float]] = []


async def noop(launch: RunContext) -> None:
    """Record the run."""
    RUNS.append((launch, time()))


def ticks() -> list[tuple[float, float]]:
    """Return, for each run so far, when it was due and when it ran."""
    return [(launch.run_at.timestamp(), ran) for launch, ran in RUNS]
