"""PostgreSQL, with a clock that stands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.engine.kit import BEGIN
from tests.conformance.engine.users import JOBS, Scene
from tests.support.databases import owner_url
from tests.support.servers.database_pool import temporary_objects
from tompion.store.postgres.driver import PostgresStore
from tompion.testing.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(BEGIN)


@pytest.fixture
def postgres(migrated_url: str, clock: ManualClock) -> Iterator[PostgresStore]:
    """For whoever owns the database: what is called in a transaction writes to tables of its own, made by the tests."""
    made = PostgresStore(owner_url(migrated_url), clock=clock)
    yield made
    made.close()


@pytest.fixture
def scene(migrated_url: str, postgres: PostgresStore, clock: ManualClock) -> Iterator[Scene]:
    with temporary_objects(owner_url(migrated_url), JOBS, "DROP TABLE jobs"):
        yield Scene(owner_url(migrated_url), postgres, clock)
