"""Dataclasses to JSON-ready data and back: how an answer is remembered and sent."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """Return a value as JSON-ready data."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, datetime):
        text = value.isoformat()
        return text.removesuffix("+00:00") + "Z" if value.tzinfo is not None else text
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): to_plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(each) for each in value]
    return value


def from_plain(kind: type[T], data: Any) -> T:
    """Return the dataclass that :func:`to_plain` made the data of."""
    read: T = _read(kind, data)
    return read


def _read(kind: Any, data: Any) -> Any:
    if kind is Any or data is None:
        return data
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _read_union(get_args(kind), data)
    if origin is tuple:
        return _read_tuple(get_args(kind), data)
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _hints(kind)
        return kind(**{name: _read(hints[name], value) for name, value in data.items()})
    if kind is datetime:
        moment = datetime.fromisoformat(data)
        return moment.astimezone(UTC) if data.endswith("Z") else moment
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(data)
    return data


def _read_union(kinds: tuple[Any, ...], data: Any) -> Any:
    for kind in kinds:
        fits = (
            (isinstance(data, list) and get_origin(kind) is tuple)
            or (isinstance(data, dict) and is_dataclass(kind))
            or (isinstance(data, str) and (kind is datetime or (isinstance(kind, type) and issubclass(kind, Enum))))
        )
        if fits:
            return _read(kind, data)
    return data


def _read_tuple(kinds: tuple[Any, ...], data: Any) -> Any:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_read(kinds[0], each) for each in data)
    return tuple(_read(kind, each) for kind, each in zip(kinds, data, strict=True))


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
