"""How a mistake is planted, and taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from tompion.store.sql_loader import load_queries
from tompion.store.sqlite import driver

_MISSING = object()


class Patches:
    """Changes to modules and statements, undone at the end."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        assert hasattr(owner, name), f"{owner} has no {name!r}: this mistake would be planted nowhere"
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
        """Undo something else too."""
        self._undo.append(step)

    def undo(self) -> None:
        for step in reversed(self._undo):
            step()


class Defect(NamedTuple):
    """A mistake, and how to make it."""

    name: str
    plant: Callable[[Patches], None]


DEFECTS: list[Defect] = []


def defect(plant: Callable[[Patches], None]) -> Callable[[Patches], None]:
    """Put a mistake on the list."""
    DEFECTS.append(Defect(plant.__name__, plant))
    return plant


@contextmanager
def planted(chosen: Defect) -> Iterator[None]:
    """Make a mistake for a while."""
    patches = Patches()
    try:
        chosen.plant(patches)
        yield
    finally:
        patches.undo()
