"""Declarations of schedules, by ``@app.schedule(…)`` or in a configuration file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tompion.errors import InvalidField

F = TypeVar("F", bound=Callable[..., Any])
ALIASES = {"overlap": "overlap_policy", "catchup": "catchup_policy"}
"""Short names of fields."""


class Declaration(NamedTuple):
    """A declared schedule and its function."""

    schedule_id: str
    path: str
    function: Callable[..., Any] | None
    fields: dict[str, Any]
    where: str = ""
    """Place of the declaration in a file, for error messages."""


class Declarations:
    """Declared schedules by id. ``queue`` is the default queue of functions."""

    def __init__(self, queue: str) -> None:
        self._queue = queue
        self.declared: dict[str, Declaration] = {}

    def add(self, function: Callable[..., Any], schedule_id: str | None, fields: dict[str, Any]) -> None:
        """Add a function. Its schedule is created when the app is opened."""
        if not callable(function):
            raise InvalidField("schedule", f"{function!r} is not a function; use it as @app.schedule(…)")
        if getattr(function, "__name__", "") == "<lambda>":
            raise InvalidField("schedule", "a lambda has no importable name; declare a function with def")
        module, name = module_of(function), function.__qualname__.replace(".<locals>", "")
        schedule_id = schedule_id or f"{module}.{name}"
        if schedule_id in self.declared:
            raise InvalidField("schedule_id", f"{schedule_id!r} is declared twice; give one another schedule_id")
        path = f"{module}:{name}"
        all_fields = {"queue": self._queue, **_resolve_aliases(fields), "function": path}
        self.declared[schedule_id] = Declaration(schedule_id, path, function, all_fields)

    def add_block(self, schedule_id: str, fields: Mapping[str, Any], where: str) -> None:
        """Add a schedule that a file declares."""
        self.declared[schedule_id] = Declaration(schedule_id, "", None, _resolve_aliases(fields), where)

    def queues(self) -> set[str]:
        """Return the queues of the declared schedules."""
        return {str(declaration.fields.get("queue", "default")) for declaration in self.declared.values()}

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Return the functions by their import path."""
        return {
            declaration.path: declaration.function
            for declaration in self.declared.values()
            if declaration.function is not None
        }


def _resolve_aliases(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {ALIASES.get(name, name): value for name, value in fields.items()}


def module_of(function: Callable[..., Any]) -> str:
    """Return the module name of a function. For a script it is the name of its file."""
    module = function.__module__
    if module != "__main__":
        return module
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name:
        return str(spec.name).removesuffix(".__main__")
    return Path(getattr(main, "__file__", None) or "main").stem
