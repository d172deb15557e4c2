"""``@app.schedule(…)``: functions that a program declares as schedules."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tompion.errors import InvalidField

F = TypeVar("F", bound=Callable[..., Any])
SHORT = {"overlap": "overlap_policy", "catchup": "catchup_policy"}
"""Names that a decorator may use for short."""


class Declaration(NamedTuple):
    """A function, where it is found, and the schedule that it is started by."""

    schedule_id: str
    path: str
    function: Callable[..., Any] | None
    fields: dict[str, Any]
    where: str = ""
    """What declares it, if that is not a function."""


class Declarations:
    """The functions of a program that are schedules, by the id of their schedule."""

    def __init__(self, queue: str) -> None:
        """Take the queue of those that name none."""
        self._queue = queue
        self.declared: dict[str, Declaration] = {}

    def add(self, function: Callable[..., Any], schedule_id: str | None, fields: dict[str, Any]) -> None:
        """Remember a function; its schedule is made when the program starts."""
        if not callable(function):
            raise InvalidField("schedule", f"{function!r} is not a function; use it as @app.schedule(…)")
        if getattr(function, "__name__", "") == "<lambda>":
            raise InvalidField("schedule", "a lambda has no name to be found by; declare a function with def")
        module, name = module_of(function), function.__qualname__.replace(".<locals>", "")
        chosen = schedule_id or f"{module}.{name}"
        if chosen in self.declared:
            raise InvalidField("schedule_id", f"{chosen!r} is declared twice; give one of them another schedule_id")
        renamed = {SHORT.get(field, field): value for field, value in fields.items()}
        path = f"{module}:{name}"
        given = {"queue": self._queue, **renamed, "function": path}
        self.declared[chosen] = Declaration(chosen, path, function, given)

    def add_block(self, schedule_id: str, fields: Mapping[str, Any], where: str) -> None:
        """Remember a schedule that a file declares; what it runs is for the file to say."""
        renamed = {SHORT.get(field, field): value for field, value in fields.items()}
        self.declared[schedule_id] = Declaration(schedule_id, "", None, renamed, where)

    def queues(self) -> set[str]:
        """Return the queues that the functions belong to."""
        return {str(each.fields.get("queue", "default")) for each in self.declared.values()}

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Return the functions by the path that schedules know them by."""
        return {each.path: each.function for each in self.declared.values() if each.function is not None}


def module_of(function: Callable[..., Any]) -> str:
    """Return the name of a function's module: a script has that of its file, whoever runs it and how."""
    module = function.__module__
    if module != "__main__":
        return module
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name:
        return str(spec.name).removesuffix(".__main__")
    return Path(getattr(main, "__file__", None) or "main").stem
