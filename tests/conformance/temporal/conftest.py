"""Fixtures: the stores, and a real Temporal server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers.temporal import temporal_server


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store."""
    if request.param == "postgres":
        return str(request.getfixturevalue("migrated_url"))
    return f"sqlite:///{tmp_path}/tompion.db"


@pytest.fixture(scope="session")
def temporal_address() -> Iterator[str]:
    """Start a Temporal server without workers."""
    with temporal_server() as address:
        yield address
