"""PostgreSQL, with a clock that stands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from foliot.store.postgres.driver import PostgresStore
from foliot.testing.clock import ManualClock
from tests.conformance.engine.kit import BEGIN
from tests.conformance.engine.users import Scene


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(BEGIN)


@pytest.fixture
def postgres(migrated_url: str, clock: ManualClock) -> Iterator[PostgresStore]:
    made = PostgresStore(migrated_url, clock=clock)
    yield made
    made.close()


@pytest.fixture
def scene(migrated_url: str, postgres: PostgresStore, clock: ManualClock) -> Scene:
    return Scene(migrated_url, postgres, clock)
