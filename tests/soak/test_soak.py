"""The short form: nothing grows in seconds that would not in hours, and what grows is found."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.soak.load import Options, soak
from tests.soak.samples import growing


@pytest.mark.slow
def test_nothing_grows_while_an_engine_works(tmp_path: Path) -> None:
    report = asyncio.run(soak(Options(f"sqlite:///{tmp_path / 'soak.db'}", 8, schedules=20)))
    assert report.violations == [], "\n".join(report.lines())
    assert report.runs > 50
    assert report.calls > 5, "people ask, too; how often depends on how busy the machine is"
    assert any(sample["rows of schedule_runs"] for sample in report.samples)


@pytest.mark.parametrize(
    ("name", "step", "found"),
    [
        ("tasks", 5, True),
        ("threads", 1, True),
        ("rows of schedule_runs", 100, True),
        ("rows of schedule_versions", 100, False),
        ("objects", 10, False),
        ("memory", 2**20, True),
    ],
)
def test_what_grows_is_found(name: str, step: int, found: bool) -> None:
    samples = [
        {"tasks": 9, "threads": 9, "objects": 1_000, "memory": 2**25} | {name: 9 + step * number}
        for number in range(40)
    ]
    assert bool(growing(samples)) == found


def test_a_connection_that_stays_inside_a_transaction_is_found() -> None:
    samples = [{"idle in transaction": int(number == 3)} for number in range(40)]
    assert growing(samples) == ["a connection was left inside a transaction"]
