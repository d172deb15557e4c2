"""JSON without what other parsers read differently: duplicate names, NaN and Infinity."""

from __future__ import annotations

import json
from typing import Any, NoReturn


class DuplicateName(ValueError):
    """An object has the same name twice."""

    def __init__(self, name: str) -> None:
        super().__init__(f"duplicate key {name!r} in one object")
        self.name = name


def parse_strict_json(text: str | bytes) -> Any:
    """Return the value of a JSON text. Raises ``ValueError``, and ``RecursionError`` if it is nested too deeply."""
    return json.loads(text, object_pairs_hook=_unique_names, parse_constant=_refuse_constant)


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        raise DuplicateName(next(name for name in names if names.count(name) > 1))
    return fields


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")
