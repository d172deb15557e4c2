"""PostgreSQL, with a clock that stands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from foliot.store.postgres.driver import PostgresStore
from foliot.testing.clock import ManualClock
from tests.conformance.engine.kit import BEGIN


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(BEGIN)


@pytest.fixture
def postgres(migrated_url: str, clock: ManualClock) -> Iterator[PostgresStore]:
    made = PostgresStore(migrated_url, clock=clock)
    yield made
    made.close()
