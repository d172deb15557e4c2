"""Converts dataclasses to JSON-ready data and back."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import cache, partial
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")
Form = tuple[Callable[[Any], Any], Callable[[Any], Any]]
"""A writer and a reader for a dataclass that is not converted field by field."""
Forms = Mapping[type, Form]
NO_FORMS: Forms = {}
_PLAIN = frozenset({str, int, float, bool, type(None)})


def to_plain(value: Any, forms: Forms = NO_FORMS) -> Any:
    """Return a value as JSON-ready data."""
    kind: type = type(value)
    if kind in _PLAIN:  # the most frequent types
        return value
    if kind in forms:
        return forms[kind][0](value)
    return _writer(kind)(value, forms)


@cache
def _writer(kind: type) -> Callable[[Any, Forms], Any]:
    """Return the function that converts values of a type."""
    if is_dataclass(kind):
        return partial(_fields, tuple(field.name for field in fields(kind)))
    if issubclass(kind, datetime):
        return _datetime_text
    if issubclass(kind, Enum):
        return lambda value, _: value.value
    if issubclass(kind, Mapping):
        return lambda value, forms: {str(key): to_plain(item, forms) for key, item in value.items()}
    if issubclass(kind, list | tuple):
        return lambda value, forms: [to_plain(item, forms) for item in value]
    return lambda value, _: value


def _fields(names: tuple[str, ...], value: Any, forms: Forms) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for name in names:
        item = getattr(value, name)
        data[name] = item if type(item) in _PLAIN else to_plain(item, forms)
    return data


def _datetime_text(value: datetime, _: Forms) -> str:
    text = value.isoformat()
    return f"{text[:-6]}Z" if text.endswith("+00:00") else text


def from_plain(kind: type[T], data: Any, forms: Forms = NO_FORMS) -> T:
    """Return the dataclass from which :func:`to_plain` made the data."""
    result: T = _read(kind, data, forms)
    return result


def from_fields(kind: type[T], data: Mapping[str, Any], forms: Forms, **members: Any) -> T:
    """Return a dataclass from the data of some fields, and the values of the others."""
    hints = _hints(cast(type, kind))
    return kind(**{name: _read(hints[name], value, forms) for name, value in data.items()}, **members)


def _read(kind: Any, data: Any, forms: Forms) -> Any:
    """Return JSON data as a value of a type."""
    if kind is Any or data is None:
        return data
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _read_union(get_args(kind), data, forms)
    if origin is tuple:
        return _read_tuple(get_args(kind), data, forms)
    if isinstance(kind, type) and is_dataclass(kind):
        if kind in forms:
            return forms[kind][1](data)
        hints = _hints(kind)
        return kind(**{name: _read(hints[name], value, forms) for name, value in data.items() if name in hints})
    if isinstance(origin, type) and is_dataclass(origin):
        return _read_generic(origin, get_args(kind), data, forms)
    if kind is datetime:
        moment = datetime.fromisoformat(data)
        return moment.astimezone(UTC) if data.endswith("Z") else moment
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(data)
    return data


def _read_generic(kind: type, args: tuple[Any, ...], data: Any, forms: Forms) -> Any:
    """Read a dataclass with parameters, such as ``Page[Run]``."""
    arguments = dict(zip(kind.__parameters__, args, strict=True))  # type: ignore[attr-defined]  # generic classes have it
    hints = {name: _bound(hint, arguments) for name, hint in _hints(kind).items()}
    return kind(**{name: _read(hints[name], value, forms) for name, value in data.items() if name in hints})


def _bound(hint: Any, arguments: Mapping[Any, Any]) -> Any:
    parameters = getattr(hint, "__parameters__", ())
    return hint[tuple(arguments[parameter] for parameter in parameters)] if parameters else arguments.get(hint, hint)


def _read_union(kinds: tuple[Any, ...], data: Any, forms: Forms) -> Any:
    """Read data as the first type of a union that has its JSON shape. Data without such a type is returned as it is."""
    for kind in kinds:
        if _has_shape(kind, data):
            return _read(kind, data, forms)
    return data


def _has_shape(kind: Any, data: Any) -> bool:
    """Return whether JSON data has the shape of a type that it must be converted to."""
    if isinstance(data, list):
        return get_origin(kind) is tuple
    if isinstance(data, dict):
        return is_dataclass(kind)
    if isinstance(data, str):
        return kind is datetime or (isinstance(kind, type) and issubclass(kind, Enum))
    return False


def _read_tuple(kinds: tuple[Any, ...], data: Any, forms: Forms) -> Any:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_read(kinds[0], item, forms) for item in data)
    return tuple(_read(kind, item, forms) for kind, item in zip(kinds, data, strict=True))


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
