"""A plugin for pytest: mark the tests that start servers or processes, and choose the number of test processes.

`make test-fast` leaves out everything that is marked `server`, `slow` or `browser`. Most marks are not written at the
tests: a test that uses the fixture of a server, or is a case for PostgreSQL, is marked here, and so is every test in a
directory in which nearly all tests start processes.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
SERVERS = frozenset(
    {
        "postgres_server", "postgres_url", "migrated_url", "migrated_databases", "nats_url", "valkey_url", "celery_url",
        "temporal_address",
    }
)  # fmt: skip
"""Fixtures that start a server."""
POSTGRES = frozenset({"postgres", "walled"})
"""Parameters that choose PostgreSQL."""
SERVER_DIRECTORIES = (
    "chaos", "conformance/executor", "conformance/temporal", "documentation", "e2e", "endurance", "interleavings",
    "load", "migration", "servers", "soak", "support/servers", "unit/bench", "web",
)  # fmt: skip
SLOW_DIRECTORIES = ("conformance/peers", "differential", "models", "simulation")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return one process more than there are cores, because a third of the time a test waits for a server or a process.

    The tests that start neither do not wait.
    """
    is_linux = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if is_linux else os.cpu_count() or 1
    return cores if is_fast(config) else cores + 1


def is_fast(config: pytest.Config) -> bool:
    """Return whether only tests run that start no server."""
    return "not server" in config.getoption("markexpr")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import the directories in which every test is deselected."""
    if is_fast(config) and collection_path.is_relative_to(TESTS):
        directory = collection_path.relative_to(TESTS).as_posix()
        return True if directory in (*SERVER_DIRECTORIES, *SLOW_DIRECTORIES) else None
    return None


def directory_of(item: pytest.Item) -> str:
    """Return the directory of a test, relative to the directory of all tests."""
    parent = item.path.parent
    return parent.relative_to(TESTS).as_posix() if parent.is_relative_to(TESTS) else ""


def starts_server(item: pytest.Item) -> bool:
    """Return whether a test starts a server or another process."""
    parameters = getattr(getattr(item, "callspec", None), "params", {}).values()
    return (
        directory_of(item).startswith(SERVER_DIRECTORIES)
        or not SERVERS.isdisjoint(getattr(item, "fixturenames", ()))
        or any(isinstance(value, str) and value in POSTGRES for value in parameters)
    )


@pytest.hookimpl(tryfirst=True)  # before pytest deselects by -m
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests."""
    for item in items:
        if starts_server(item):
            item.add_marker(pytest.mark.server)
        if directory_of(item).startswith(SLOW_DIRECTORIES):
            item.add_marker(pytest.mark.slow)
