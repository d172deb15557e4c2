"""Bounds JSON and text in size, and makes any text storable."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable
from typing import Any


def json_value(value: object, limit: int) -> str:
    """Return a value as JSON of at most ``limit`` bytes.

    A value that is not JSON becomes ``{"not_json": reason, "text": repr}``. A value that is too long becomes
    ``{"truncated": true, "bytes": size, "text": beginning}``. Readers can recognise both.
    """
    about: dict[str, Any] = {}
    try:
        text = whole = _dump(value)
    except Exception as error:  # noqa: BLE001 - a value may have methods that raise anything
        about["not_json"] = truncate(f"{type(error).__name__}: {error_text(str, error)}", limit // 4)
        text = error_text(repr, value)
        whole = _dump({**about, "text": text})
    size = _size(whole)
    return whole if size <= limit else _truncated_json({**about, "truncated": True, "bytes": size}, text, limit)


def text_as_json(text: str, limit: int) -> str | None:
    """Return the output of a program as JSON. Text that is not JSON becomes a string, empty text ``None``."""
    text = text.strip()
    if not text:
        return None
    try:
        return json_value(json.loads(text), limit)
    except ValueError:
        return json_value(text, limit)


def error_text(show: Callable[[object], str], value: object) -> str:
    """Return ``show(value)``, or a placeholder if that raises."""
    try:
        return show(value)
    except BaseException as error:  # noqa: BLE001 - a user's method may raise anything
        return f"<unprintable {type(value).__name__}: {type(error).__name__}>"


def _dump(value: object) -> str:
    """Return strict JSON without NaN. A lone surrogate is escaped, because no store can hold it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _truncated_json(about: dict[str, Any], text: str, limit: int) -> str:
    """Return JSON with the longest beginning of a text that fits, beside the other fields."""

    def size_of(length: int) -> int:
        return _size(_dump({**about, "text": text[:length]}))

    length = bisect_right(range(1, min(len(text), limit) + 1), limit, key=size_of)
    return _dump({**about, "text": text[:length]})


def truncate(text: str, limit: int) -> str:
    """Return the beginning of a text, cut to at most ``limit`` bytes, with an ellipsis if it was cut."""
    encoded = text.encode(errors="backslashreplace")
    if len(encoded) <= limit:
        return encoded.decode()
    return encoded[:limit].decode(errors="ignore") + "…"


def storable(text: str) -> str:
    """Return text that every store can hold. Surrogates and NUL are escaped, because one would fail a whole batch."""
    if text.isascii() and "\x00" not in text:
        return text
    return text.encode(errors="backslashreplace").decode().replace("\x00", "\\x00")
