"""Clears the caches of the time engine, to measure parsing and compiling without them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Protocol, runtime_checkable

ZONE_TABLES = frozenset({"zone_names", "_load"})
"""Zone tables stay: a process loads each of them once, and the other libraries keep theirs too."""

PER_EXPRESSION = frozenset({"parse_cron", "_compile_text", "_compile_document"})
"""Keyed by a whole expression or spec; all others hold pieces that many expressions share."""

FIELDS = frozenset({"parse_field"})
"""Keyed by the text of one field."""


@runtime_checkable
class Cache(Protocol):
    """A function with a cache."""

    __name__: str
    __module__: str

    def cache_clear(self) -> None: ...

    def __call__(self, *arguments: object) -> object: ...


@cache
def engine_caches() -> dict[str, Cache]:
    """Return every cache of the engine but the zone tables, by the name of its function."""
    modules = {name: module for name, module in sys.modules.items() if name.startswith("tompion.spec.")}
    caches = {
        name: value
        for module_name, module in modules.items()
        for name, value in vars(module).items()
        if isinstance(value, Cache) and value.__module__ == module_name and name not in ZONE_TABLES
    }
    missing = (PER_EXPRESSION | FIELDS) - caches.keys()
    assert not missing, f"the engine has no cache called {', '.join(sorted(missing))} any more: name the new ones here"
    return caches


def clear_all() -> None:
    """Forget everything but the zone tables."""
    for clear in _clearers(frozenset(engine_caches())):
        clear()


def clear_all_but_fields() -> None:
    """Forget everything but the parsed fields: the next expression is a new combination of known fields."""
    for clear in _clearers(frozenset(engine_caches()) - FIELDS):
        clear()


def clear_expressions() -> None:
    """Forget whole expressions. The tables that they share stay."""
    for clear in _clearers(PER_EXPRESSION):
        clear()


@cache
def _clearers(names: frozenset[str]) -> tuple[Callable[[], None], ...]:
    return tuple(engine_caches()[name].cache_clear for name in sorted(names))
