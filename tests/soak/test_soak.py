"""The short form of the soak test, and a check that growth is detected."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.soak.load import Options, soak
from tests.soak.samples import growing
from tompion.bootstrap.store import open_migrator


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'soak.db'}"
    database_url: str = request.getfixturevalue("postgres_url")
    with open_migrator(database_url) as migrator:
        migrator.up()
    return database_url


@pytest.mark.slow
def test_busy_engine_does_not_grow(url: str) -> None:
    report = asyncio.run(soak(Options(url, 8, schedules=20)))
    assert report.violations == [], "\n".join(report.lines())
    assert report.runs > 50
    assert report.calls > 5, "people ask, too; how often depends on how busy the machine is"
    assert any(sample["rows of schedule_runs"] for sample in report.samples)
    assert url.startswith("sqlite") or all(sample["backends"] for sample in report.samples), "no connection was counted"


@pytest.mark.parametrize(
    ("name", "step", "grows"),
    [
        ("tasks", 5, True),
        ("threads", 1, True),
        ("backends", 1, True),
        ("rows of schedule_runs", 100, True),
        ("rows of schedule_versions", 100, False),
        ("objects", 10, False),
        ("memory", 2**20, True),
    ],
)
def test_growth_is_detected(name: str, step: int, grows: bool) -> None:
    samples = [
        {"tasks": 9, "threads": 9, "backends": 9, "objects": 1_000, "memory": 2**25} | {name: 9 + step * number}
        for number in range(40)
    ]
    assert bool(growing(samples)) == grows


def test_connection_idle_in_a_transaction_is_detected() -> None:
    samples = [{"idle in transaction": int(number == 3)} for number in range(40)]
    assert growing(samples) == ["a connection was left inside a transaction"]
