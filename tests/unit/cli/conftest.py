"""Fixtures for the tests of the command line."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tompion.engine.telemetry.events import RUNS_LOGGER


@pytest.fixture(autouse=True)
def _log_settings() -> Iterator[None]:
    """Restore the loggers. A command that runs an engine sets them for its process."""
    root, runs = logging.getLogger(), logging.getLogger(RUNS_LOGGER)
    handlers, levels = list(root.handlers), (root.level, runs.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    runs.setLevel(levels[1])
