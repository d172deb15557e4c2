"""The load of a soak: schedules that tick each second, runs that fail at first, and a client that changes schedules."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from tests.soak.samples import Sample, growing, of_process, of_store, table
from tompion import AsyncTompion
from tompion.config.settings import Settings
from tompion.executors.base import RunContext
from tompion.runtime.clock import pause

SAMPLES = 40
CALLS_PER_S = 20
WORK = "tests.soak.load:work"
SECONDS = 120
"""After which waiting for the end of what was begun is given up."""


class Options(NamedTuple):
    """The options of a soak test."""

    url: str
    seconds: float
    schedules: int = 100
    seed: int = 1


class Report(NamedTuple):
    """The result of a soak test."""

    violations: list[str]
    samples: list[Sample]
    runs: int
    calls: int

    def lines(self) -> list[str]:
        """Return the report for a person."""
        return [
            *table(self.samples),
            f"{self.runs:,} runs, {self.calls:,} calls, {len(self.samples)} samples",
            f"violations  {len(self.violations)}",
            *self.violations,
        ]


async def work(launch: RunContext) -> str:
    """Fail some first attempts. Return the payload."""
    if launch.attempt == 1 and launch.run_at.timestamp() % 7 < 1:
        raise ValueError("not yet")
    return str(launch.payload)


def settings(seconds: float) -> Settings:
    """Return short times, so that everything that is kept for a while is forgotten several times."""
    kept_ms = max(500, int(seconds * 1000 / 20))
    return Settings(
        retention_ms=kept_ms,
        audit_retention_ms=2 * kept_ms,
        request_retention_ms=kept_ms,
        sweep_ms=max(100, kept_ms // 5),
        audit_seal_ms=200,
        heartbeat_ms=500,
        lock_ttl_ms=60_000,
    )


async def soak(options: Options, show_progress: Callable[[str], None] = lambda _: None) -> Report:
    """Let an engine work for so long, and count what it holds."""
    samples: list[Sample] = []
    async with AsyncTompion(options.url, settings=settings(options.seconds)) as tompion:
        for number in range(options.schedules):
            await tompion.create(f"soak-{number}", payload={"n": 0}, **_fields(number))
        calling = asyncio.ensure_future(_call(tompion, options))
        loop = asyncio.get_running_loop()
        begin = loop.time()
        for number in range(1, SAMPLES + 1):
            await pause(max(0.0, begin + options.seconds * number / SAMPLES - loop.time()))
            samples.append({**of_process(), **await loop.run_in_executor(None, of_store, options.url)})
            if number % (SAMPLES // 4) == 0:
                show_progress(f"{number * 100 // SAMPLES} %: {samples[-1]}")
        calling.cancel()
        calls = (await asyncio.gather(calling, return_exceptions=True))[0]
        counts = tompion._runner.metrics.counts
        violations = growing(samples) + [f"{counts[name]} {name}" for name in BAD if counts[name]]
        if isinstance(calls, BaseException):
            violations.append(f"the client failed: {calls!r}")
        for number in range(options.schedules):
            violations += [str(problem) for problem in (await tompion.schedules.verify(f"soak-{number}")).problems]
        return Report(violations, samples, counts["runs_settled"], calls if isinstance(calls, int) else 0)


BAD = ("unexpected_errors", "store_errors", "zombies_cleaned", "stale_writes_rejected", "leases_lost")


def _fields(number: int) -> dict[str, Any]:
    policies = ("allow", "skip", "queue", "buffer_one")
    return {
        "cron": "* * * * * *",
        "function": WORK,
        "overlap_policy": policies[number % len(policies)],
        "max_attempts": 3,
        "retry_delay_ms": 100,
    }


async def _call(tompion: AsyncTompion, options: Options) -> int:
    """Trigger, edit, pause and resume until it is time to stop. Return how often."""
    dice = Random(options.seed)
    calls = 0
    try:
        while True:
            name = f"soak-{dice.randrange(options.schedules)}"
            request_id = f"call-{options.seed}-{calls}"
            await tompion.trigger(name, request_id=request_id)
            if calls % 5 == 0:
                await tompion.pause(name)
                await tompion.resume(name)
            if calls % 20 == 0:
                await tompion.patch(name, payload={"n": calls})
            calls += 1
            await pause(1 / CALLS_PER_S)
    except asyncio.CancelledError:
        return calls
