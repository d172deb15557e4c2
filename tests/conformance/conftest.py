"""Databases that the contracts of stores and of operations are tested on."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.servers.postgres import PostgresServer

TEMPLATE = "foliot_migrated"


@pytest.fixture(scope="session")
def postgres_template(postgres_server: PostgresServer) -> str:
    """A migrated database that nobody uses; copying it is quicker than migrating another."""
    from foliot.store.postgres.driver import PostgresMigrator  # here, because the tests of specs need no database

    PostgresMigrator(postgres_server.create_database(TEMPLATE)).up()
    return TEMPLATE


@pytest.fixture
def migrated_url(postgres_server: PostgresServer, postgres_template: str) -> Iterator[str]:
    """A migrated PostgreSQL database of the test's own."""
    name = f"test_{uuid.uuid4().hex}"
    yield postgres_server.create_database(name, postgres_template)
    postgres_server.drop_database(name)
