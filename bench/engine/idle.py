"""The cost of an idle engine with very many schedules, and of its queries for due work.

``rest`` runs in a process of its own, because it measures the process.
"""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tompion.bootstrap.store import open_store
from tompion.engine.schedule_cache import ScheduleCache
from tompion.sdk.app import AsyncTompion
from tompion.store.base import Store, Transaction

PAGE = resource.getpagesize()
LOOK_S = 1.5
QUIET = 0.05
"""An engine that used less than this share of a core for a while has done what it does at the start."""
START_MOST_S = 400
CLAIMED = 100
FAR_MS = 1 << 52
GRACE_MS = 30_000
SMALL, LARGE = "small", "large"


class Rest(NamedTuple):
    """The resources of an idle engine."""

    start_s: float
    """The processor time until the engine came to rest."""
    cpu_share: float
    """Of one core, from then on."""
    before_bytes: int
    """Resident before the store was opened; everything is imported."""
    resident_bytes: int
    remembered: int
    rules_bytes: int
    """The memory of the cached schedules."""


class Undo(Exception):
    """Rolls a transaction back."""


def rest(url: str, seconds: float, remember: int = 0) -> Rest:
    """Run an idle engine for some seconds and measure this process. Then fill its schedule cache."""
    return asyncio.run(_rest(url, seconds, remember))


async def _rest(url: str, seconds: float, remember: int) -> Rest:
    before = resident()
    async with AsyncTompion(url) as tompion:
        begun = _cpu_s()
        for _ in range(int(START_MOST_S / LOOK_S)):
            if await _share_during(LOOK_S) < QUIET:
                break
        started = _cpu_s() - begun
        share = await _share_during(seconds)
        running = resident()
        assert not tompion.counts.get("runs_emitted"), "something was due after all"
    schedules = ScheduleCache()
    remembered = await asyncio.to_thread(_remember, url, schedules, remember)
    return Rest(started, share, before, running, remembered, resident() - running)


async def _share_during(seconds: float) -> float:
    """Return the share of a core that this process uses during some seconds."""
    spent, start = _cpu_s(), time.perf_counter()
    await asyncio.sleep(seconds)
    return (_cpu_s() - spent) / (time.perf_counter() - start)


def _remember(url: str, schedules: ScheduleCache, count: int) -> int:
    """Load compiled schedules into the cache, as firing them does."""
    store = open_store(url)
    done = 0
    try:
        while done < count:
            pairs = [(key + 1_000, 1) for key in range(done, min(count, done + 2_000))]
            definitions = store.read(partial(schedules.of_versions, pairs=pairs)).result()
            done += len(pairs)
            assert len(definitions) == len(pairs), "schedules are missing"
    finally:
        store.close()
    return done


def resident() -> int:
    """Return the bytes of this process that are in memory, on other systems than Linux the maximum so far."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
    except FileNotFoundError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


# --- the cost of the queries -----------------------------------------------------------------------------------------

Look = Callable[[Transaction], Any]


def looks() -> dict[str, Look]:
    """Return the queries of an engine: is anything due, claim nothing, claim some."""

    def due_now(transaction: Transaction) -> Any:
        now_ms = int(time.time() * 1000)
        return transaction.work_due(now_ms, now_ms - GRACE_MS)

    def claim_nothing(transaction: Transaction) -> Any:
        now_ms = int(time.time() * 1000)
        return transaction.state_claim_due(now_ms - GRACE_MS, now_ms, CLAIMED)

    def claim_some(transaction: Transaction) -> Any:
        return transaction.state_claim_due(-1, FAR_MS, CLAIMED)

    return {
        "due_now, nothing is due": due_now,
        "claim_due, nothing is due": claim_nothing,
        f"claim_due of {CLAIMED}": claim_some,
    }


def compare(small: str, large: str, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Query a small and a large store in turns. Return microseconds by query and store."""
    stores = {SMALL: open_store(small), LARGE: open_store(large)}
    spent: dict[str, dict[str, list[float]]] = {name: {size: [] for size in stores} for name in looks()}
    try:
        for number in range(-3, rounds):
            order = list(stores) if number % 2 else list(reversed(stores))
            for name, look in looks().items():
                for size in order:
                    took = ask(stores[size], look)
                    if number >= 0:  # the first few prepare statements and fill caches
                        spent[name][size].append(took)
    finally:
        for store in stores.values():
            store.close()
    return spent


def ask(store: Store, look: Look) -> float:
    """Return the microseconds of a query in a transaction that is rolled back."""
    took = 0.0

    def work(transaction: Transaction) -> None:
        nonlocal took
        start = time.perf_counter()
        look(transaction)
        took = time.perf_counter() - start
        raise Undo

    try:
        store.write(work).result()
    except Undo:
        return took * 1e6
    raise AssertionError("a transaction that is undone raises")
