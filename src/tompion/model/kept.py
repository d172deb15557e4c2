"""What is kept of results and errors: JSON and text within a limit, and fit for any store."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable
from typing import Any


def as_json(value: object, limit: int) -> str:
    """Return a value as JSON of at most so many bytes.

    What is not JSON is kept as ``{"not_json": why, "text": its repr}``, what is too long as ``{"truncated": true,
    "bytes": how long it is, "text": its beginning}``: a reader sees which it is.
    """
    about: dict[str, Any] = {}
    try:
        text = whole = _dumped(value)
    except Exception as error:  # noqa: BLE001 - a value may have methods that raise anything
        about["not_json"] = cut(f"{type(error).__name__}: {said(str, error)}", limit // 4)
        text = said(repr, value)
        whole = _dumped({**about, "text": text})
    size = _size(whole)
    return whole if size <= limit else _fitting({**about, "truncated": True, "bytes": size}, text, limit)


def text_as_json(text: str, limit: int) -> str | None:
    """Return what a program has printed or answered as JSON: as it is, if it is JSON; nothing, if it is empty."""
    text = text.strip()
    if not text:
        return None
    try:
        return as_json(json.loads(text), limit)
    except ValueError:
        return as_json(text, limit)


def said(show: Callable[[object], str], value: object) -> str:
    """Return what a value says of itself, if it can."""
    try:
        return show(value)
    except BaseException as error:  # noqa: BLE001 - the user's method may raise anything, and we are only describing
        return f"<a {type(value).__name__} that cannot be shown: {type(error).__name__}>"


def _dumped(value: object) -> str:
    """JSON as every reader understands it: no NaN; half a surrogate pair is escaped, because no store can hold it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _fitting(about: dict[str, Any], text: str, limit: int) -> str:
    """The longest beginning of a text that fits, beside what is said about it."""

    def size_of(length: int) -> int:
        return _size(_dumped({**about, "text": text[:length]}))

    length = bisect_right(range(1, min(len(text), limit) + 1), limit, key=size_of)
    return _dumped({**about, "text": text[:length]})


def cut(text: str, limit: int) -> str:
    """Return the beginning of a text that has at most so many bytes."""
    encoded = text.encode(errors="backslashreplace")
    if len(encoded) <= limit:
        return encoded.decode()
    return encoded[:limit].decode(errors="ignore") + "…"


def storable(text: str) -> str:
    """Return text that every store can hold: one NUL in a message must not keep a whole batch from being written."""
    if text.isascii() and "\x00" not in text:
        return text
    return text.encode(errors="backslashreplace").decode().replace("\x00", "\\x00")
