"""Settings and servers that every test shares."""

from __future__ import annotations

import gc
import os
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.support.seeds import VARIABLE

if TYPE_CHECKING:
    from tests.support.servers.postgres import PostgresServer

pytest_plugins = ["pytester", "tests.support.browsers", "tests.support.commands", "tests.support.selection"]

# No deadline: a shared machine may stall any single example, and speed is measured by bench/, not here.
# The blob makes a failing example reproducible from the log of another machine.
# The examples are the same in every run, so that a failure is caused by the change under test. A seed draws others.
is_fixed = VARIABLE not in os.environ
settings.register_profile("tompion", deadline=None, print_blob=True, derandomize=is_fixed)
settings.load_profile("tompion")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One PostgreSQL for all tests of this process. The first test that uses it starts it, and no test may stop it."""
    from tests.support.servers.postgres import PostgresServer  # here, because most tests do without a database driver

    with PostgresServer() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """A new, empty database, which is dropped afterwards even if it has connections."""
    name = f"test_{uuid.uuid4().hex}"
    yield postgres_server.create_database(name)
    postgres_server.drop_database(name)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Freeze the objects that live as long as the tests, so that the garbage collector skips them."""
    gc.collect()
    gc.freeze()
