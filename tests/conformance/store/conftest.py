"""Every test of the contract runs on every driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.support.rows import NOW_MS
from tompion.store.base import Store, Transaction
from tompion.store.postgres.driver import PostgresStore
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.clock import ManualClock

SECONDS = 120
"""After which a test gives up waiting."""

Write = Callable[[Callable[[Transaction], Any]], Any]
Row = TypeVar("Row")


def each(method: Callable[[Row], object], *rows: Row) -> None:
    """Call a method of a transaction with each of some rows."""
    for row in rows:
        method(row)


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands."""
    return ManualClock(NOW_MS / 1000)


@pytest.fixture(params=["memory", "file", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[Store]:
    """An empty store."""
    opened: Store
    if request.param == "postgres":
        opened = PostgresStore(request.getfixturevalue("migrated_url"), clock=clock)
    else:
        opened = SqliteStore(":memory:" if request.param == "memory" else tmp_path / "tompion.db", clock=clock)
    yield opened
    opened.close()


@pytest.fixture
def postgres(migrated_url: str, clock: ManualClock) -> Iterator[PostgresStore]:
    """An empty PostgreSQL store, for what only that driver has to prove."""
    opened = PostgresStore(migrated_url, clock=clock)
    yield opened
    opened.close()


@pytest.fixture
def write(store: Store) -> Write:
    """Run work in a transaction of its own and wait for it."""
    return lambda work: store.write(work).result(SECONDS)
