"""Databases that the contracts of stores and of operations are tested on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.servers.postgres import PostgresServer
    from tests.servers.recycling import Recycling

TEMPLATE = "foliot_migrated"
ROLE_VARIABLE = "FOLIOT_TEST_ROLE"
"""Set to ``worker``, it lets the tests use PostgreSQL as a role that can change no table, behind the tenants' walls."""
WORKER, TENANT = "walled_worker", "walled_tenant"


@pytest.fixture(scope="session")
def postgres_template(postgres_server: PostgresServer) -> str:
    """A migrated database that nobody uses; copying it is quicker than migrating another."""
    from foliot.store.postgres.driver import PostgresMigrator  # here, because the tests of specs need no database

    PostgresMigrator(postgres_server.create_database(TEMPLATE)).up()
    return TEMPLATE


@pytest.fixture(scope="session")
def migrated_databases(postgres_server: PostgresServer, postgres_template: str) -> Recycling:
    """Migrated databases, each used by one test after the other."""
    from tests.servers.recycling import Recycling  # here, for the same reason

    return Recycling(postgres_server, postgres_template)


@pytest.fixture
def migrated_url(migrated_databases: Recycling) -> Iterator[str]:
    """A migrated PostgreSQL database that is the test's own while it runs."""
    with migrated_databases.lent() as url:
        yield worker_url(url) if os.environ.get(ROLE_VARIABLE) == "worker" else url


@pytest.fixture
def walled_url(migrated_databases: Recycling) -> Iterator[str]:
    """The same with its roles, for whoever connects as the one that processes use."""
    with migrated_databases.lent() as url:
        yield worker_url(url)


def worker_url(url: str) -> str:
    """Make the roles of a migrated database; return its URL for the one that processes use."""
    import psycopg

    from foliot.store.postgres.driver import PostgresMigrator

    script = PostgresMigrator(url).roles(WORKER, TENANT)
    with psycopg.connect(url) as connection:
        connection.execute(script.encode())
    return owner_url(url).replace("://postgres@", f"://{WORKER}@")


def owner_url(url: str) -> str:
    """Return the URL of a database for whoever owns its tables."""
    return url.replace(f"://{WORKER}@", "://postgres@")
