"""JSON Schemas of responses, generated from the dataclasses."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from tompion.api.rest.openapi.document_schemas import SCHEDULE_DOCUMENT, STATE_FIELDS
from tompion.model.schedule import Definition, Schedule

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
ALWAYS_PRESENT = ("timezone", "jitter_ms", "overlap_policy", "catchup_policy", "min_interval_ms")
"""Fields of a definition that every schedule document has."""
WALL_TIMES = frozenset({("Run", "local_time"), ("Tick", "wall")})
"""Fields with a wall time. It has no offset, so its format is not ``date-time``."""


class Schemas:
    """Collects the schemas of the types that a document refers to, by name."""

    def __init__(self) -> None:
        self.named: dict[str, Schema] = {}

    def of(self, kind: Any) -> Schema:
        """Return the schema of a type. For a dataclass, it is a reference to its name.

        Raise :class:`TypeError` for a type that has no schema, so that no field of the API is left undescribed.
        """
        if kind in PLAIN:
            return dict(PLAIN[kind])
        if kind is Definition:
            return self._reference("ScheduleDocument", lambda: SCHEDULE_DOCUMENT)
        if kind is Schedule:
            return self._reference("Schedule", self._schedule)
        if isinstance(kind, type) and is_dataclass(kind):
            return self._reference(kind.__name__, lambda: self._object(kind, {}))
        if isinstance(kind, type) and issubclass(kind, Enum):
            return {"type": "string", "enum": [member.value for member in kind]}
        origin, args = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            return _any_of([self.of(member) for member in args])
        if origin is Literal:
            return {"type": "string", "enum": list(args)}
        if origin in (tuple, list, Sequence):
            return {"type": "array", "items": self.of(args[0])}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"type": "object"}
        if isinstance(origin, type) and is_dataclass(origin):
            type_arguments = dict(zip(origin.__parameters__, args, strict=True))  # type: ignore[attr-defined]  # it is generic
            name = "".join(argument.__name__ for argument in args) + origin.__name__
            return self._reference(name, lambda: self._object(origin, type_arguments))
        raise TypeError(f"no JSON Schema for {kind!r}")

    def _reference(self, name: str, build: Callable[[], Schema]) -> Schema:
        """Return a reference to a named schema, which is built on the first use of its name."""
        if name not in self.named:
            self.named[name] = {}  # for types that refer to themselves
            self.named[name] = build()
        return {"$ref": f"{REF}{name}"}

    def _schedule(self) -> Schema:
        """Return the schema of a schedule: the fields of its document, and those that only the service writes."""
        schema = self._object(Schedule, {})
        state = schema["properties"]
        del state["definition"]
        read_only = {
            name: {**field, "readOnly": True} if "$ref" not in field else field
            for name, field in state.items()
            if name not in ("schedule_id", *STATE_FIELDS)
        }
        document = {name: _returned(name, field) for name, field in SCHEDULE_DOCUMENT["properties"].items()}
        properties = {"schedule_id": state["schedule_id"], **document, **read_only}
        del properties["spec"]
        return {**schema, "properties": properties, "required": [*state, *ALWAYS_PRESENT]}

    def _object(self, kind: type, type_arguments: Mapping[Any, Any]) -> Schema:
        """Return the schema of a dataclass."""
        hints = get_type_hints(kind)
        properties = {
            field.name: {"type": ["string", "null"]}
            if (kind.__name__, field.name) in WALL_TIMES
            else self.of(_substitute(hints[field.name], type_arguments))
            for field in fields(kind)
        }
        return {
            "type": "object",
            "description": (kind.__doc__ or "").partition("\n")[0],
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }


def _returned(name: str, field: Schema) -> Schema:
    """Return the schema of a field in a response. Durations are sent as text or numbers, and returned as numbers."""
    if not name.endswith("_ms"):
        return field
    kinds = [kind for kind in field["type"] if kind != "string"]
    return {**field, "type": kinds if len(kinds) > 1 else kinds[0], "examples": [30_000]}


def _substitute(hint: Any, type_arguments: Mapping[Any, Any]) -> Any:
    """Return a type hint with its type variables replaced."""
    if isinstance(hint, TypeVar):
        return type_arguments[hint]
    parameters = getattr(hint, "__parameters__", ())
    return hint[tuple(type_arguments[parameter] for parameter in parameters)] if parameters else hint


def _any_of(schemas: list[Schema]) -> Schema:
    """Return the schema of a union. Simple types are merged into one list."""
    if all(set(schema) == {"type"} for schema in schemas):
        kinds = list(dict.fromkeys(schema["type"] for schema in schemas))
        return {"type": kinds if len(kinds) > 1 else kinds[0]}
    unique: list[Schema] = []
    for schema in schemas:
        if schema not in unique:
            unique.append(schema)
    return {"anyOf": unique} if len(unique) > 1 else unique[0]
