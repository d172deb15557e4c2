"""Checks of search attributes: their names, types and values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from math import isfinite
from typing import Any

from tompion.config.settings import Settings
from tompion.errors import InvalidField, display
from tompion.model.search_attribute import AttributeType
from tompion.operations.validation import is_unicode

MAX_ATTRIBUTES = 100


MAX_ATTRIBUTE_CHARS = 2_048


EXPECTED = "expected {type, value}, with the type one of " + ", ".join(AttributeType)


def check_attribute_name(name: object, settings: Settings) -> str:
    """Return the name of a search attribute."""
    if not isinstance(name, str) or not 1 <= len(name) <= settings.max_name_chars or not name.isprintable():
        raise InvalidField("search_attributes", f"{display(name)} is not the name of a search attribute")
    return name


def read_attributes(value: object, settings: Settings) -> dict[str, Any]:
    """Return search attributes in their stored form, each with its type and a value of that type."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidField("search_attributes", f"{display(value)} is not an object")
    if len(value) > MAX_ATTRIBUTES:
        raise InvalidField("search_attributes", f"{len(value)} search attributes; at most {MAX_ATTRIBUTES} are allowed")
    return {check_attribute_name(name, settings): _read_one(name, attribute) for name, attribute in value.items()}


def _read_one(name: str, attribute: object) -> dict[str, Any]:
    field = f"search_attributes.{name}"
    if not isinstance(attribute, Mapping) or set(attribute) != {"type", "value"}:
        raise InvalidField(field, f"{display(attribute)}; {EXPECTED}")
    kind, value = attribute["type"], attribute["value"]
    if kind not in list(AttributeType):
        raise InvalidField(field, f"{display(kind)} is not a type; {EXPECTED}")
    if not _FITS[AttributeType(kind)](value):
        raise InvalidField(field, f"{display(value)} is not a value of the type {kind}")
    return {"type": str(kind), "value": list(value) if isinstance(value, tuple) else value}


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MAX_ATTRIBUTE_CHARS and "\x00" not in value and is_unicode(value)


def _is_double(value: object) -> bool:
    try:
        return type(value) in (int, float) and isfinite(value)  # type: ignore[arg-type]  # it is an int or a float
    except OverflowError:
        return False


def _is_moment(value: object) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


_FITS: dict[AttributeType, Callable[[Any], bool]] = {
    AttributeType.TEXT: _is_text,
    AttributeType.KEYWORD: _is_text,
    AttributeType.INT: lambda value: type(value) is int and -(1 << 63) <= value < 1 << 63,
    AttributeType.DOUBLE: _is_double,
    AttributeType.BOOL: lambda value: type(value) is bool,
    AttributeType.DATETIME: _is_moment,
    AttributeType.KEYWORD_LIST: lambda value: isinstance(value, list | tuple) and all(map(_is_text, value)),
}
