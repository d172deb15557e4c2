"""Which executors there are: whoever installs a package that offers one under ``tompion.executors`` adds it.

An entry point names a callable that takes what the operator has configured for it and the
:class:`~tompion.executors.options.ExecutorEnv`, and returns an :class:`~tompion.executors.base.Executor`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from tompion.errors import InvalidField, display
from tompion.executors.base import Executor
from tompion.executors.options import ExecutorEnv

GROUP = "tompion.executors"
ALWAYS = ("function", "http")
"""Executors that are there without being configured."""

Make = Callable[[Mapping[str, Any], ExecutorEnv], Executor]


def offered() -> dict[str, EntryPoint]:
    """Return the executors that are installed, by name; none of them is imported yet."""
    return {found.name: found for found in entry_points(group=GROUP)}


def build_executors(configured: Mapping[str, Mapping[str, Any]], site: ExecutorEnv) -> dict[str, Executor]:
    """Return the executors of a process: those that are always there, and those that are configured."""
    found = offered()
    executors: dict[str, Executor] = {}
    for name in dict.fromkeys((*ALWAYS, *configured)):
        if name not in found:
            known = ", ".join(sorted(found))
            raise InvalidField(f"executors.{name}", f"there is no such executor; installed are {known}")
        options = configured.get(name, {})
        if not isinstance(options, Mapping):
            raise InvalidField(f"executors.{name}", f"{display(options)}; expected its options by name, such as {{}}")
        executors[name] = _loaded(found[name])(options, site)
    return executors


def _loaded(found: EntryPoint) -> Make:
    try:
        make: Make = found.load()
    except ImportError as error:
        advice = f"it needs {error.name}, which is not installed: pip install 'tompion[{found.name}]'"
        raise InvalidField(f"executors.{found.name}", advice) from None
    return make
