"""A plugin for pytest: build the command line's tree of commands once per process.

Typer builds it from the signatures of all commands whenever the application is called. A user's process calls it once.
The tests call it thousands of times, and building took nine tenths of their time.
"""

from __future__ import annotations

from functools import cache

import pytest
import typer.main


def pytest_configure(config: pytest.Config) -> None:
    """Cache the tree of commands of each application."""
    patch = pytest.MonkeyPatch()
    patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
    config.add_cleanup(patch.undo)
