"""What is kept of the end of a function: a result as JSON, an error as text; within a limit, and fit for any store."""

from __future__ import annotations

import inspect
import json
import traceback
from bisect import bisect_right
from collections.abc import Callable
from types import TracebackType
from typing import Any

from foliot.launch.base import Ended
from foliot.model.run import RunState

DONE = Ended()
"""What most functions have to say."""
_MACHINERY = frozenset({"foliot.launch.function", "foliot.launch.threads", "asyncio.futures"})


def returned(value: object, limit: int) -> Ended:
    """Return how a run ended whose function returned a value."""
    if value is None:
        return DONE
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        return Ended(RunState.FAILED, error=_unfinished(value, limit))
    return Ended(result=as_json(value, limit))


def raised(error: BaseException, limit: int) -> Ended:
    """Return how a run ended whose function raised an error: one line, and below it where in the user's code."""
    where = "".join(traceback.format_tb(_in_users_code(error.__traceback__)))
    return Ended(RunState.FAILED, error=_cut(f"{type(error).__name__}: {said(str, error)}\n{where}".rstrip(), limit))


def as_json(value: object, limit: int) -> str:
    """Return a value as JSON of at most so many bytes.

    What is not JSON is kept as ``{"not_json": why, "text": its repr}``, what is too long as ``{"truncated": true,
    "bytes": how long it is, "text": its beginning}``: a reader sees which it is.
    """
    about: dict[str, Any] = {}
    try:
        text = whole = _dumped(value)
    except Exception as error:  # noqa: BLE001 - a value may have methods that raise anything
        about["not_json"] = _cut(f"{type(error).__name__}: {said(str, error)}", limit // 4)
        text = said(repr, value)
        whole = _dumped({**about, "text": text})
    size = _size(whole)
    return whole if size <= limit else _fitting({**about, "truncated": True, "bytes": size}, text, limit)


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


def _cut(text: str, limit: int) -> str:
    encoded = text.encode(errors="backslashreplace")
    if len(encoded) <= limit:
        return encoded.decode()
    return encoded[:limit].decode(errors="ignore") + "…"


def _unfinished(value: object, limit: int) -> str:
    kind = "an asynchronous generator" if inspect.isasyncgen(value) else "a generator"
    name = str(getattr(value, "__qualname__", ""))
    return _cut(f"TypeError: {name} returned {kind}, and nothing of it was run; return a list, or do the work", limit)


def _in_users_code(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of those who called the function."""
    while trace is not None and trace.tb_frame.f_globals.get("__name__") in _MACHINERY:
        trace = trace.tb_next
    return trace
