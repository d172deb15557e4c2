"""Databases that the contracts of stores and of operations are tested on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.support.databases import OWNER, TENANT, WORKER

if TYPE_CHECKING:
    from tests.support.servers.database_pool import Recycling
    from tests.support.servers.postgres import PostgresServer

TEMPLATE = "tompion_migrated"


@pytest.fixture(scope="session")
def postgres_template(postgres_server: PostgresServer) -> str:
    """A migrated database without connections. Copying it is faster than migrating another one."""
    from tompion.store.postgres.driver import PostgresMigrator  # here, because the tests of specs need no database

    PostgresMigrator(postgres_server.create_database(TEMPLATE)).up()
    return TEMPLATE


@pytest.fixture(scope="session")
def migrated_databases(postgres_server: PostgresServer, postgres_template: str) -> Recycling:
    """Migrated databases with their roles, each used by one test after the other."""
    from tests.support.servers.database_pool import Recycling  # here, for the same reason
    from tompion.store.postgres.driver import PostgresMigrator

    def roles(url: str) -> str:
        return PostgresMigrator(url).roles(WORKER, TENANT)

    return Recycling(postgres_server, postgres_template, roles)


@pytest.fixture
def migrated_url(migrated_databases: Recycling) -> Iterator[str]:
    """The URL of a migrated PostgreSQL database, with the role of the service's processes.

    That role cannot change the schema, and row security limits its requests to their tenant, so that the tests run
    with the least privileges.  A test that changes tables directly uses the `owner_url` of this URL.
    """
    with migrated_databases.lent() as url:
        yield url.replace(f"://{OWNER}@", f"://{WORKER}@")
