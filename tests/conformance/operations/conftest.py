"""Every story is told on every store."""

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
    """A clock that stands."""
    return ManualClock(BEGIN)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, clock: ManualClock) -> Iterator[Store]:
    """An empty store."""
    made: Store
    if request.param == "postgres":
        made = PostgresStore(request.getfixturevalue("migrated_url"), clock=clock)
    else:
        made = SqliteStore(clock=clock, inline=True)
    yield made
    made.close()


@pytest.fixture
def bench(store: Store, clock: ManualClock) -> Iterator[Bench]:
    """A store, a clock and people; whatever a test did, every tick is accounted for in the end."""
    made = Bench(store, clock)
    yield made
    if not made.damaged:
        made.prove()


@pytest.fixture
def postgres(migrated_url: str, clock: ManualClock) -> Iterator[Bench]:
    """The same on PostgreSQL alone, for what two open transactions do to each other."""
    store = PostgresStore(migrated_url, clock=clock)
    made = Bench(store, clock)
    yield made
    made.prove()
    store.close()
