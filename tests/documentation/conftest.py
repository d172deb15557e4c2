"""Real servers for the pages that need them, each started by the first test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.small import valkey_server
from tests.servers.temporal import temporal_server


@pytest.fixture(scope="session")
def valkey_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker for Celery."""
    with valkey_server(tmp_path_factory.mktemp("valkey")) as url:
        yield url


@pytest.fixture(scope="session")
def temporal_address() -> Iterator[str]:
    with temporal_server() as address:
        yield address
