"""Measures the executor and the bare library in turns, with the same concurrency."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

from bench.engine.peers.progress import Progress
from bench.engine.report import RATE, Goal, Row, Section
from bench.executors.bare_clients import SETTINGS, Call, Setting
from bench.spec.report import Target

BARE, SHARE = "bare", "of bare"
HTTP_SHARE = Goal(Target("≥", 50), SHARE)
COLUMNS = (RATE, BARE, SHARE)


class Scale(NamedTuple):
    """The extent of a measurement."""

    launches: int
    rounds: int


def sections(scale: Scale, wanted: frozenset[str], folder: Path, progress: Progress) -> list[Section]:
    """Measure the requested executors."""
    rows = [
        _measured(setting, scale, folder / str(number), progress)
        for number, setting in enumerate(SETTINGS)
        if setting.name.partition(",")[0] in wanted
    ]
    note = f"median of {scale.rounds} rounds in turns; the library sends what was prepared, and remembers nothing"
    return [Section("Launches", COLUMNS, rows, [note])]


def _measured(setting: Setting, scale: Scale, folder: Path, progress: Progress) -> Row:
    progress(f"{setting.name} …")
    folder.mkdir()
    rounds = asyncio.run(_rounds(setting, max(1, int(scale.launches * setting.share)), scale.rounds, folder))
    rate, bare = (median(column) for column in zip(*rounds, strict=True))
    share = median(100 * ours / theirs for ours, theirs in rounds)
    goal = HTTP_SHARE if setting.name == "http" else None
    return Row(f"{setting.name} ({setting.library})", {RATE: rate, BARE: bare, SHARE: share}, goal)


async def _rounds(setting: Setting, launches: int, rounds: int, folder: Path) -> list[tuple[float, float]]:
    """Return the rates of each round: the executor's, and the bare library's."""
    numbers = count(1)
    async with setting.opened(folder) as rival:
        for call in rival:  # the first connects and imports
            await rate_of(call, min(launches, 2 * setting.at_once), setting.at_once, numbers)
        return [
            (
                await rate_of(rival.tompion, launches, setting.at_once, numbers),
                await rate_of(rival.bare, launches, setting.at_once, numbers),
            )
            for _ in range(rounds)
        ]


async def rate_of(call: Call, launches: int, at_once: int, numbers: Iterator[int]) -> float:
    """Return launches per second with a number of concurrent ones."""
    left = iter(range(launches))

    async def work() -> None:
        for _ in left:
            await call(next(numbers))

    gc.collect()
    begin = perf_counter()
    await asyncio.gather(*(work() for _ in range(at_once)))
    return launches / (perf_counter() - begin)
