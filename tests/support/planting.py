"""Planted defects: patches of modules and SQL statements, and their removal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from tompion.store.sql_loader import load_queries
from tompion.store.sqlite import driver

_MISSING = object()


class Patches:
    """Changes to modules and statements, and how to undo them."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        assert hasattr(owner, name), f"{owner} has no {name!r}: the defect would have no effect"
        before = vars(owner).get(name, _MISSING)
        setattr(owner, name, value)
        self._undo.append(lambda: setattr(owner, name, before) if before is not _MISSING else delattr(owner, name))

    def sql(self, name: str, old: str, new: str) -> None:
        queries = load_queries(driver.PACKAGE)
        before = queries[name]
        assert old in before, f"{name} has no {old!r}"
        queries[name] = before.replace(old, new)
        self._undo.append(lambda: queries.__setitem__(name, before))

    def later(self, step: Callable[[], None]) -> None:
        """Add a step to undo another change."""
        self._undo.append(step)

    def undo(self) -> None:
        for step in reversed(self._undo):
            step()


class Defect(NamedTuple):
    """A planted defect: its name, and the function that plants it."""

    name: str
    plant: Callable[[Patches], None]


DEFECTS: list[Defect] = []


def defect(plant: Callable[[Patches], None]) -> Callable[[Patches], None]:
    """Add a defect to the list."""
    DEFECTS.append(Defect(plant.__name__, plant))
    return plant


@contextmanager
def planted(defect: Defect) -> Iterator[None]:
    """Plant a defect during the block."""
    patches = Patches()
    try:
        defect.plant(patches)
        yield
    finally:
        patches.undo()
