"""A migrated database for the PostgreSQL side."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.support.servers.postgres import PostgresServer
from tompion.store.postgres.driver import PostgresMigrator


@pytest.fixture(scope="module")
def migrated_database(postgres_server: PostgresServer) -> Iterator[str]:
    name = f"differential_{uuid.uuid4().hex}"
    url = postgres_server.create_database(name)
    PostgresMigrator(url).up()
    yield url
    postgres_server.drop_database(name)
