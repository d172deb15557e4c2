"""How a function ended: with a value, or with an error and where in the user's code that was."""

from __future__ import annotations

import inspect
import traceback
from types import TracebackType

from tompion.executors.base import Completed
from tompion.model.codec import error_text, json_value, truncate
from tompion.model.run import RunState

DONE = Completed()
"""What most functions have to say."""
_MACHINERY = frozenset({"tompion.executors.function", "tompion.runtime.thread_pool", "asyncio.futures"})


def returned(value: object, limit: int) -> Completed:
    """Return how a run ended whose function returned a value."""
    if value is None:
        return DONE
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        return Completed(RunState.FAILED, error=_unfinished(value, limit))
    return Completed(result=json_value(value, limit))


def raised(error: BaseException, limit: int) -> Completed:
    """Return how a run ended whose function raised an error: one line, and below it where in the user's code."""
    where = "".join(traceback.format_tb(_in_users_code(error.__traceback__)))
    return Completed(
        RunState.FAILED, error=truncate(f"{type(error).__name__}: {error_text(str, error)}\n{where}".rstrip(), limit)
    )


def _unfinished(value: object, limit: int) -> str:
    kind = "an asynchronous generator" if inspect.isasyncgen(value) else "a generator"
    name = str(getattr(value, "__qualname__", ""))
    return truncate(
        f"TypeError: {name} returned {kind}, and nothing of it was run; return a list, or do the work", limit
    )


def _in_users_code(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of those who called the function."""
    while trace is not None and trace.tb_frame.f_globals.get("__name__") in _MACHINERY:
        trace = trace.tb_next
    return trace
