"""The executors of a process, found by the entry points of installed packages (group ``tompion.executors``).

An entry point names a callable that takes the configured settings and the
:class:`~tompion.executors.options.ExecutorEnv`, and returns an :class:`~tompion.executors.base.Executor`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from tompion.errors import InvalidField, display
from tompion.executors.base import Executor
from tompion.executors.options import ExecutorEnv

ENTRY_POINT_GROUP = "tompion.executors"
ALWAYS_AVAILABLE = ("function", "http")
"""Executors that need no configuration."""

ExecutorFactory = Callable[[Mapping[str, Any], ExecutorEnv], Executor]


def installed_executors() -> dict[str, EntryPoint]:
    """Return the entry points of the installed executors by name, without importing them."""
    return {entry_point.name: entry_point for entry_point in entry_points(group=ENTRY_POINT_GROUP)}


def build_executors(configured: Mapping[str, Mapping[str, Any]], env: ExecutorEnv) -> dict[str, Executor]:
    """Return the executors of a process: those that are always available, and those that are configured."""
    installed = installed_executors()
    executors: dict[str, Executor] = {}
    for name in dict.fromkeys((*ALWAYS_AVAILABLE, *configured)):
        if name not in installed:
            names = ", ".join(sorted(installed))
            raise InvalidField(f"executors.{name}", f"there is no such executor; installed are {names}")
        options = configured.get(name, {})
        if not isinstance(options, Mapping):
            raise InvalidField(f"executors.{name}", f"{display(options)}; expected a table of settings, such as {{}}")
        executors[name] = _load_factory(installed[name])(options, env)
    return executors


def _load_factory(entry_point: EntryPoint) -> ExecutorFactory:
    try:
        factory: ExecutorFactory = entry_point.load()
    except ImportError as error:
        advice = f"it needs {error.name}, which is not installed: pip install 'tompion[{entry_point.name}]'"
        raise InvalidField(f"executors.{entry_point.name}", advice) from None
    return factory
