"""Real targets. Each is started by the first test that uses it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers.message_brokers import dying_with_us, nats_server, valkey_server
from tests.support.servers.temporal import temporal_server

ROOT = Path(__file__).parents[3]
TASKS = "tests.conformance.executor.celery_tasks"
SECONDS_TO_STOP = 120


@pytest.fixture(scope="session")
def nats_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start NATS with JetStream."""
    with nats_server(tmp_path_factory.mktemp("nats")) as url:
        yield url


@pytest.fixture(scope="session")
def valkey_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start Valkey, which is compatible with Redis."""
    with valkey_server(tmp_path_factory.mktemp("valkey")) as url:
        yield url


@pytest.fixture(scope="session")
def celery_url(valkey_url: str) -> Iterator[str]:
    """Start a Celery worker on a broker, and yield the URL of the broker."""
    argv = [sys.executable, "-m", "celery", "-A", TASKS, "worker", "-c", "2", "--loglevel", "ERROR",
            "--without-gossip", "--without-mingle", "--without-heartbeat"]  # fmt: skip
    environment = {**os.environ, "TOMPION_TEST_REDIS": valkey_url, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(dying_with_us(argv), cwd=ROOT, env=environment) as worker:
        try:
            yield valkey_url
        finally:
            worker.terminate()
            worker.wait(SECONDS_TO_STOP)


@pytest.fixture(scope="session")
def temporal_address() -> Iterator[str]:
    """Start a Temporal server without workers."""
    with temporal_server() as address:
        yield address
