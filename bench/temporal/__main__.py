"""Create and describe schedules through Temporal's SDK, here and there, in one run.

    python -m bench.temporal [schedules]

Both store in a file, and nothing ticks.  The output has calls per second, their ratio, and the memory of each process
after its start.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from temporalio.client import Client, Schedule, ScheduleActionStartWorkflow, ScheduleSpec, ScheduleState

from tests.support.servers import LOOPBACK, free_port
from tests.support.servers.temporal import find_binary

AT_ONCE = 16
SCHEDULE = Schedule(
    action=ScheduleActionStartWorkflow("never", id="never", task_queue="no-worker"),
    spec=ScheduleSpec(cron_expressions=["0 12 * * MON"]),
    state=ScheduleState(paused=True),
)


class Figures(NamedTuple):
    """The figures of one server."""

    creates: float
    describes: float
    memory_mb: float


@contextmanager
def started(argv: list[str], ready: str, folder: str) -> Iterator[int]:
    """Start a server, wait until it is ready, yield its process id, and stop it."""
    process = subprocess.Popen(  # noqa: S603 - one of the two servers, with fixed arguments
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder
    )
    with process:
        assert process.stdout is not None
        try:
            lines = []
            for line in process.stdout:
                lines.append(line)
                if ready in line:
                    break
            else:
                raise RuntimeError("".join(lines))
            yield process.pid
        finally:
            process.kill()


def memory_mb(pid: int) -> float:
    """Return how much memory a process holds."""
    match = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(match[1]) / 1024 if match else 0.0


async def rate(count: int, call: Callable[[int], Awaitable[object]]) -> float:
    """Return how many calls are answered per second."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> None:
        async with turn:
            await call(number)

    began = time.perf_counter()
    await asyncio.gather(*(one(number) for number in range(count)))
    return count / (time.perf_counter() - began)


async def measure(address: str, pid: int, count: int) -> Figures:
    """Measure one of the two."""
    held = memory_mb(pid)
    client = await Client.connect(address)
    creates = await rate(count, lambda number: client.create_schedule(f"s-{number}", SCHEDULE))
    describes = await rate(count, lambda number: client.get_schedule_handle(f"s-{number}").describe())
    return Figures(creates, describes, held)


def main(count: int) -> None:
    """Measure both, and print a table."""
    with tempfile.TemporaryDirectory() as folder:
        here, there = f"{LOOPBACK}:{free_port()}", free_port()
        tompion = [sys.executable, "-m", "tompion", "serve", "--port", "0", "--temporal-address", here]
        with started([*tompion, "--store", "sqlite:///tompion.db"], "running the schedules", folder) as pid:
            ours = asyncio.run(measure(here, pid, count))
        temporal = [str(find_binary()), "server", "start-dev", "--headless", "--log-level", "never"]
        where = ["--ip", LOOPBACK, "--port", str(there), "--db-filename", "temporal.db"]
        with started([*temporal, *where], "Temporal Server:", folder) as pid:
            theirs = asyncio.run(measure(f"{LOOPBACK}:{there}", pid, count))
    print(
        f"{count} schedules, {AT_ONCE} calls at a time\n\n| | Tompion | Temporal's server | ratio |\n|---|---|---|---|"
    )
    for title, mine, other in zip(("creates/s", "describes/s", "memory at start, MB"), ours, theirs, strict=True):
        print(f"| {title} | {mine:.0f} | {other:.0f} | {mine / other:.1f} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
