"""Fixtures: every test runs on every store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.operations import BEGIN, Bench
from tompion.store.base import Store
from tompion.store.postgres.driver import PostgresStore
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    """A clock that moves only when a test sets it."""
    return ManualClock(BEGIN)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, clock: ManualClock) -> Iterator[Store]:
    """An empty store."""
    new_store: Store
    if request.param == "postgres":
        new_store = PostgresStore(request.getfixturevalue("migrated_url"), clock=clock)
    else:
        new_store = SqliteStore(clock=clock, inline=True)
    yield new_store
    new_store.close()


@pytest.fixture
def bench(store: Store, clock: ManualClock) -> Iterator[Bench]:
    """A store, a clock and callers. At the end the fixture checks that every tick is accounted for."""
    new_bench = Bench(store, clock)
    yield new_bench
    if not new_bench.damaged:
        new_bench.prove()


@pytest.fixture
def postgres(migrated_url: str, clock: ManualClock) -> Iterator[Bench]:
    """The same on PostgreSQL only, for tests of two concurrent transactions."""
    store = PostgresStore(migrated_url, clock=clock)
    new_bench = Bench(store, clock)
    yield new_bench
    new_bench.prove()
    store.close()
