"""The effect of a noisy tenant on a quiet one, on one store and one engine without limits between them.

Some schedules of one namespace are due each second, alone and then beside twenty times as many of another.  The rounds
alternate, so that other load on the machine affects both.  The quiet schedules are created last, so nothing favours
them.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence
from typing import NamedTuple

from bench.engine import burst, job
from bench.engine.child import in_child
from bench.engine.fill import aim
from bench.engine.measures import Bench, percentile
from bench.engine.report import P50, P99, Row, Section
from bench.engine.stores import KINDS, NAMES
from tompion.bootstrap.store import open_store, tune_garbage_collector
from tompion.config.settings import Settings
from tompion.operations.context import OperationContext
from tompion.operations.schedules import crud
from tompion.sdk.app import AsyncTompion
from tompion.store.base import Store, Transaction

QUIET, NOISY = "quiet", "noisy"
TIMES = 20
"""How many schedules the noisy one has for each of the quiet one's."""
GRACE_S = 5.0
"""How long after the last tick its run is still waited for."""


class Shared(NamedTuple):
    """One turn: how late each tick of the quiet one was, and how many ticks of the noisy one ran."""

    late: list[float]
    others: int


def share(url: str, quiet: int, noisy: int, seconds: float) -> Shared:
    """Run both tenants with schedules that are due every second."""
    store = open_store(url)
    try:
        for namespace, count in ((NOISY, noisy), (QUIET, quiet)):
            _create(store, namespace, count)
    finally:
        store.close()
    begin = 0.0
    while time.time() > begin - burst.READY_S:
        begin = math.ceil(time.time() + burst.HEAD_START_S)
        aim(url, **burst.spec_of(burst.STEADY, begin))
    ran = asyncio.run(_run(url, begin, quiet + noisy, seconds))
    return Shared(sorted(at - due for name, due, at in ran if name == QUIET), sum(name == NOISY for name, _, _ in ran))


def _create(store: Store, namespace: str, count: int) -> None:
    def work(transaction: Transaction) -> None:
        session = OperationContext(transaction, Settings(), namespace)
        for number in range(count):
            crud.create(session, f"{namespace}-{number}", function=job.FUNCTION, overlap_policy="allow", **burst.LATER)

    store.write(work).result()


async def _run(url: str, begin: float, schedules: int, seconds: float) -> list[tuple[str, float, float]]:
    """Return tenant, due time and start of each tick."""
    job.RUNS.clear()
    tune_garbage_collector()
    end, expected = begin + seconds, schedules * int(seconds)

    def seen() -> list[tuple[str, float, float]]:
        runs = [(launch.schedule_id, launch.run_at.timestamp(), at) for launch, at in job.RUNS]
        return [(name.partition("-")[0], due, at) for name, due, at in runs if begin <= due < end]

    async with AsyncTompion(url):
        await asyncio.sleep(max(0.0, end - time.time()))
        while time.time() < end + GRACE_S and len(seen()) < expected:  # noqa: ASYNC110 - a count, no event
            await asyncio.sleep(burst.LOOK_S)
        return seen()


def tenant_sections(bench: Bench) -> list[Section]:
    """Measure each load on each store, in turns."""
    sections = []
    for kind in KINDS:
        rows = []
        for quiet in bench.scale.quiet:
            alone, beside = _turns(bench, kind, quiet)
            rows.append(_row(f"{quiet:,} a second, alone", alone))
            rows.append(_row(f"  beside {quiet * TIMES:,} of another", beside, alone))
        note = f"{bench.scale.rounds} rounds of {bench.scale.share_s:.0f} s in turns; the quiet namespace's lateness"
        sections.append(Section(f"A noisy tenant, {NAMES[kind]}", (P50, P99, "times"), rows, [note]))
    return sections


def _turns(bench: Bench, kind: str, quiet: int) -> tuple[list[float], list[float]]:
    """Return the lateness of the quiet tenant, alone and beside the noisy one."""
    late: tuple[list[float], list[float]] = ([], [])
    for _ in range(bench.scale.rounds):
        for lateness, noisy in zip(late, (0, quiet * TIMES), strict=True):
            bench.progress(f"Tompion on {NAMES[kind]}: {quiet:,} a second beside {noisy:,} …")
            url = bench.stores.migrated(kind)
            seen = Shared(**in_child("share", url=url, quiet=quiet, noisy=noisy, seconds=bench.scale.share_s))
            bench.stores.drop(url)
            lateness.extend(seen.late)
            bench.progress(
                f"  {len(seen.late):,} ticks, p99 {percentile(seen.late, 99):.3f} s, {seen.others:,} of others"
            )
    return sorted(late[0]), sorted(late[1])


def _row(label: str, late: Sequence[float], alone: Sequence[float] | None = None) -> Row:
    figures: dict[str, float | None] = {P50: percentile(late, 50), P99: percentile(late, 99)}
    before = percentile(alone, 99) if alone is not None else 0.0
    return Row(label, {**figures, "times": percentile(late, 99) / before if before else None})
