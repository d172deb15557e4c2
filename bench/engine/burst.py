"""The load for Tompion: a burst or a steady stream in this process, as the program of each peer does it.

Schedules are created through the operations that every API uses, many in a transaction, and then all become due in one
second.  The engine of the Python API fires, launches and records as in production, with the default settings and the
garbage collector tuned as in ``tompion worker``.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from bench.engine import job
from bench.engine.fill import aim
from tompion.bootstrap.store import open_store, tune_garbage_collector
from tompion.config.settings import Settings
from tompion.operations.context import OperationContext
from tompion.operations.schedules import crud
from tompion.sdk.app import AsyncTompion
from tompion.store.base import Store, Transaction

BURST, STEADY = "burst", "steady"
PER_TRANSACTION = 500
PROBES = 20
LATER = {"cron": "0 0 1 1 *"}
"""The spec until all schedules exist. Their real due time is set afterwards."""
LOOK_S = 0.004
HEAD_START_S = 3.5
READY_S = 1.5
"""How long before the due time the schedules must be ready, because the engine has to start."""
AGAIN_S = 6
"""The seconds until the second burst, which finds the compiled schedules in the cache."""
SINGLES = 200


class Outcome(NamedTuple):
    """The observed ticks and times."""

    begin: float
    ticks: list[tuple[float, float]]
    """When each was due, and when its job ran."""
    settled_s: list[float]
    """For each burst, after how many seconds its last outcome was written; of a steady run, of the last tick."""
    adding_s: float
    counts: dict[str, int]


class Undo(Exception):
    """Rolls a transaction back."""


def run_load(
    url: str, kind: str, count: int, seconds: float, around: Callable[[], AbstractContextManager[None]] = nullcontext
) -> Outcome:
    """Create ``count`` schedules, run them for at most ``seconds`` and return the outcome.

    ``around`` is entered after creating and before the engine starts.
    """
    store = open_store(url)
    try:
        create_many(store, LATER, PROBES, undo=True)  # the first compiles and connects
        adding_s = create_many(store, LATER, count)
    finally:
        store.close()
    begin = 0.0
    while time.time() > begin - READY_S:
        begin = math.ceil(time.time() + HEAD_START_S)
        aim(url, **spec_of(kind, begin))
    with around():
        return asyncio.run(_run_load(url, kind, begin, count, seconds))._replace(adding_s=adding_s)


def spec_of(kind: str, begin: float) -> dict[str, Any]:
    """Return when the schedules are due: once a day in that second and once more, or each second from then on."""
    moment = datetime.fromtimestamp(begin, UTC)
    if kind == STEADY:
        return {"cron": "* * * * * *", "start_at": moment.isoformat()}
    again = moment + timedelta(seconds=AGAIN_S)
    return {"cron": [f"{time_.second} {time_.minute} {time_.hour} * * *" for time_ in (moment, again)]}


def create_many(store: Store, spec: dict[str, Any], count: int, *, undo: bool = False) -> float:
    """Create schedules through the operation, many in a transaction. Return the seconds."""
    start = time.perf_counter()
    for first in range(0, count, PER_TRANSACTION):
        numbers = range(first, min(count, first + PER_TRANSACTION))

        def work(transaction: Transaction, numbers: range = numbers) -> None:
            session = OperationContext(transaction, Settings())
            for number in numbers:
                crud.create(session, f"job-{number}", function=job.FUNCTION, **spec)
            if undo:
                raise Undo

        try:
            store.write(work).result()
        except Undo:
            continue
    return time.perf_counter() - start


def create_singly(url: str, count: int = SINGLES) -> float:
    """Create schedules one by one, as a program with the Python API does. Return the rate per second."""

    async def create() -> float:
        async with AsyncTompion(url, engine=False) as tompion:
            start = time.perf_counter()
            for number in range(count):
                await tompion.create(f"single-{number}", cron="0 0 1 1 *", function=job.FUNCTION)
            return count / (time.perf_counter() - start)

    return asyncio.run(create())


async def _run_load(url: str, kind: str, begin: float, count: int, seconds: float) -> Outcome:
    job.RUNS.clear()
    tune_garbage_collector()
    async with AsyncTompion(url) as tompion:
        if kind == BURST:
            settled_s = [await _watch(tompion, begin, count, seconds)]
            if settled_s[0] < AGAIN_S:
                settled_s.append(await _watch(tompion, begin + AGAIN_S, 2 * count, seconds))
        else:
            settled_s = [await _watch(tompion, begin, count * int(seconds), seconds)]
        counts = tompion.counts
    return Outcome(begin, job.ticks(), settled_s, 0.0, counts)


async def _watch(tompion: AsyncTompion, begin: float, expected: int, seconds: float) -> float:
    """Wait until all outcomes are written or the time is over. Return the seconds."""
    end = begin + seconds
    await asyncio.sleep(max(0.0, begin - time.time()))
    while time.time() < end and tompion.counts.get("runs_settled", 0) < expected:  # noqa: ASYNC110 - a count, no event
        await asyncio.sleep(LOOK_S)
    return time.time() - begin
