"""A plugin for pytest: skip the tests of the web UI if there is no browser, or abort the run if one is required.

Every test that uses the fixture `browser`, or has the marker of that name, needs one. The skip is raised at one place,
so that the summary shows one line for all of them.
"""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import pytest

_INSTALLER = runpy.run_path(str(Path(__file__).parents[2] / "requirements" / "browser.py"), run_name="browser")
NO_BROWSER: str = _INSTALLER["NO_BROWSER"]
REQUIRED: str = _INSTALLER["REQUIRED"]


def browser_path() -> str | None:
    """Return the browser of this machine, or the one that `TOMPION_TEST_BROWSER` names."""
    path: str | None = _INSTALLER["browser_path"]()
    return path


def needs_browser(item: pytest.Item) -> bool:
    """Return whether a test opens a browser."""
    return "browser" in getattr(item, "fixturenames", ()) or item.get_closest_marker("browser") is not None


def pytest_configure(config: pytest.Config) -> None:
    """Abort the test run if a browser is required but not installed."""
    config.addinivalue_line("markers", "browser: opens a browser")
    if os.environ.get(REQUIRED) and browser_path() is None:
        raise pytest.UsageError(f"{REQUIRED} is set, but {NO_BROWSER}")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that needs a browser if no browser is installed."""
    if needs_browser(item) and browser_path() is None:
        pytest.skip(NO_BROWSER)
