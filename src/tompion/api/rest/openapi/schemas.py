"""JSON Schema of what is sent: worked out from the dataclasses themselves, so that it cannot differ from them."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from tompion.api.rest.openapi.document_schemas import SCHEDULE_DOCUMENT
from tompion.model.schedule import Definition

Schema = dict[str, Any]
REF = "#/components/schemas/"
PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    type(None): {"type": "null"},
    Any: {},
    object: {},
}
LOCAL = frozenset({("Run", "local_time"), ("Tick", "wall")})
"""Wall times: they have no offset, which ``date-time`` would promise."""


class Schemas:
    """Schemas by name, gathered while they are referred to."""

    def __init__(self) -> None:
        """Begin with none."""
        self.named: dict[str, Schema] = {}

    def of(self, kind: Any) -> Schema:
        """Return the schema of a type; a dataclass is referred to by its name."""
        if kind in PLAIN:
            return dict(PLAIN[kind])
        if kind is Definition:
            return self._named("ScheduleDocument", lambda: SCHEDULE_DOCUMENT)
        if isinstance(kind, type) and is_dataclass(kind):
            return self._named(kind.__name__, lambda: self._object(kind, {}))
        if isinstance(kind, type) and issubclass(kind, Enum):
            return {"type": "string", "enum": [each.value for each in kind]}
        origin, args = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            return _any_of([self.of(each) for each in args])
        if origin is Literal:
            return {"type": "string", "enum": list(args)}
        if origin in (tuple, list):
            return {"type": "array", "items": self.of(args[0])}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"type": "object"}
        if isinstance(origin, type) and is_dataclass(origin):
            given = dict(zip(origin.__parameters__, args, strict=True))  # type: ignore[attr-defined]  # it is generic
            name = "".join(each.__name__ for each in args) + origin.__name__
            return self._named(name, lambda: self._object(origin, given))
        return {}

    def _named(self, name: str, make: Callable[[], Schema]) -> Schema:
        if name not in self.named:
            self.named[name] = {}  # whoever refers to itself finds the name
            self.named[name] = make()
        return {"$ref": f"{REF}{name}"}

    def _object(self, kind: type, given: Mapping[Any, Any]) -> Schema:
        hints = get_type_hints(kind)
        properties = {
            field.name: {"type": ["string", "null"]}
            if (kind.__name__, field.name) in LOCAL
            else self.of(_bound(hints[field.name], given))
            for field in fields(kind)
        }
        return {
            "type": "object",
            "description": (kind.__doc__ or "").partition("\n")[0],
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }


def _bound(hint: Any, given: Mapping[Any, Any]) -> Any:
    if isinstance(hint, TypeVar):
        return given[hint]
    parameters = getattr(hint, "__parameters__", ())
    return hint[tuple(given[each] for each in parameters)] if parameters else hint


def _any_of(schemas: list[Schema]) -> Schema:
    """Return the schema of a choice; plain types stand in one list."""
    if all(set(each) == {"type"} for each in schemas):
        kinds = list(dict.fromkeys(each["type"] for each in schemas))
        return {"type": kinds if len(kinds) > 1 else kinds[0]}
    unique: list[Schema] = []
    for each in schemas:
        if each not in unique:
            unique.append(each)
    return {"anyOf": unique} if len(unique) > 1 else unique[0]
