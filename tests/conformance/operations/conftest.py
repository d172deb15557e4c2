"""Every story is told on every store."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from foliot.store.base import Store
from foliot.store.postgres.driver import PostgresMigrator, PostgresStore
from foliot.store.sqlite.driver import SqliteStore
from foliot.testing.clock import ManualClock
from tests.conformance.operations.kit import BEGIN, Bench
from tests.servers.postgres import PostgresServer

TEMPLATE = "foliot_operations"


@pytest.fixture(scope="session")
def operations_template(postgres_server: PostgresServer) -> str:
    """A migrated database that nobody uses; copying it is quicker than migrating another."""
    PostgresMigrator(postgres_server.create_database(TEMPLATE)).up()
    return TEMPLATE


@pytest.fixture
def postgres_copy(postgres_server: PostgresServer, operations_template: str) -> Iterator[str]:
    """A migrated PostgreSQL database of the test's own."""
    name = f"test_{uuid.uuid4().hex}"
    yield postgres_server.create_database(name, operations_template)
    postgres_server.drop_database(name)


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands."""
    return ManualClock(BEGIN)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, clock: ManualClock) -> Iterator[Store]:
    """An empty store."""
    made: Store
    if request.param == "postgres":
        made = PostgresStore(request.getfixturevalue("postgres_copy"), clock=clock)
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
def postgres(postgres_copy: str, clock: ManualClock) -> Iterator[Bench]:
    """The same on PostgreSQL alone, for what two open transactions do to each other."""
    store = PostgresStore(postgres_copy, clock=clock)
    made = Bench(store, clock)
    yield made
    made.prove()
    store.close()
