"""Listing takes the memory of one page for any number of schedules."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path

import pytest

from bench.engine.fill import Due, aim, fill
from tompion import Tompion

FEW, MANY = 5_000, 20_000
PAGE = 500
MOST_GROWTH = 1.25
"""The allowed factor of memory for four times as many schedules. Only one page and caches may grow."""
AHEAD = Due(4_000_000_000, 4_000_003_600)


def count_listed(tompion: Tompion) -> int:
    """Return the number of schedules, read page by page."""
    count, after = 0, None
    while True:
        page = tompion.schedules.list(limit=PAGE, after=after)
        count += len(page.items)
        after = page.next_page
        if after is None:
            return count


def peak_of_listing(home: Path, count: int) -> int:
    """The peak memory of a listing in bytes, after a first one has filled the caches."""
    url = f"sqlite:///{home / f'{count}.db'}"
    fill(url, count, AHEAD)
    aim(url, cron="0 9 * * MON-FRI")  # one spec, because the number of compiled ones is limited separately
    with Tompion(url, engine=False) as tompion:
        assert len(tompion.schedules.list(limit=PAGE).items) == PAGE
        gc.collect()
        tracemalloc.start()
        try:
            assert count_listed(tompion) == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


@pytest.mark.slow
def test_list_memory_is_independent_of_the_number_of_schedules(tmp_path: Path) -> None:
    few, many = peak_of_listing(tmp_path, FEW), peak_of_listing(tmp_path, MANY)
    assert many < MOST_GROWTH * few, (few, many)
