"""Fixtures: real servers, started when a test first uses them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers.message_brokers import valkey_server
from tests.support.servers.temporal import temporal_server


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory whose modules can be imported, and are removed from ``sys.modules`` afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture(scope="session")
def valkey_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker for Celery."""
    with valkey_server(tmp_path_factory.mktemp("valkey")) as url:
        yield url


@pytest.fixture(scope="session")
def temporal_address() -> Iterator[str]:
    with temporal_server() as address:
        yield address
