"""PostgreSQL with a manual clock."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.engine.kit import START_S
from tests.conformance.engine.users import JOBS, Scene
from tests.support.databases import owner_url
from tests.support.servers.database_pool import temporary_objects
from tompion.store.postgres.driver import PostgresStore
from tompion.testing.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_S)


@pytest.fixture
def postgres(migrated_url: str, clock: ManualClock) -> Iterator[PostgresStore]:
    """Open the store as the owner of the database, because the calls write to tables that the tests create."""
    store = PostgresStore(owner_url(migrated_url), clock=clock)
    yield store
    store.close()


@pytest.fixture
def scene(migrated_url: str, postgres: PostgresStore, clock: ManualClock) -> Iterator[Scene]:
    with temporary_objects(owner_url(migrated_url), JOBS, "DROP TABLE jobs"):
        yield Scene(owner_url(migrated_url), postgres, clock)
