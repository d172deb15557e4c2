"""Stores that stand still, a service on each, and every way to ask it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from foliot.client import Client
from foliot.methods import SyncMethods
from foliot.store.base import Store
from foliot.store.postgres.driver import PostgresStore
from foliot.store.sqlite.driver import SqliteStore
from foliot.testing.clock import ManualClock
from tests.conformance.api.kit import Blocking, Direct, Http, desk_of, serving
from tests.conformance.operations.kit import BEGIN


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(BEGIN)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, clock: ManualClock) -> Iterator[Store]:
    made: Store
    if request.param == "postgres":
        made = PostgresStore(request.getfixturevalue("migrated_url"), clock=clock)
    else:
        made = SqliteStore(clock=clock)
    yield made
    made.close()


@pytest.fixture
def url(store: Store) -> Iterator[str]:
    with serving(desk_of(store)) as address:
        yield address


@pytest.fixture
def http(url: str) -> Iterator[Http]:
    asking = Http(url)
    yield asking
    asking.close()


@pytest.fixture(params=["client", "async_client"])
def door(request: pytest.FixtureRequest, url: str) -> Iterator[SyncMethods]:
    """A door to the service."""
    made = Client(url) if request.param == "client" else Blocking(url)
    yield made
    made.close()


@pytest.fixture
def direct(clock: ManualClock) -> Iterator[SyncMethods]:
    """The same operations, without a door, on a store of their own."""
    made = SqliteStore(clock=clock)
    yield Direct(desk_of(made))
    made.close()
