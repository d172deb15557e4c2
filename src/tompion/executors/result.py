"""The outcome of a function: its value, or its error with the traceback of the user's code."""

from __future__ import annotations

import inspect
import traceback
from types import TracebackType

from tompion.encoding.bounded_text import error_text, json_value, truncate
from tompion.executors.base import Completed
from tompion.model.run import RunState

DONE = Completed()
"""The outcome of a function that returns ``None``, as most do."""
_INTERNAL_MODULES = frozenset({"tompion.executors.function", "tompion.runtime.thread_pool", "asyncio.futures"})


def success_result(value: object, limit: int) -> Completed:
    """Return the outcome of a run whose function returned a value."""
    if value is None:
        return DONE
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        return Completed(RunState.FAILED, error=_generator_error(value, limit))
    return Completed(result=json_value(value, limit))


def failure_result(error: BaseException, limit: int) -> Completed:
    """Return the outcome of a run whose function raised an error: the message, then the traceback."""
    error.__traceback__ = _users_traceback(error.__traceback__)
    trace = "".join(traceback.format_tb(error.__traceback__))
    text = f"{type(error).__name__}: {error_text(str, error)}\n{trace}".rstrip()
    return Completed(RunState.FAILED, error=truncate(text, limit), exception=error)


def _generator_error(value: object, limit: int) -> str:
    kind = "an asynchronous generator" if inspect.isasyncgen(value) else "a generator"
    name = str(getattr(value, "__qualname__", ""))
    return truncate(
        f"TypeError: {name} returned {kind}, which was not run; return a list, or do the work in the function", limit
    )


def _users_traceback(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of the executor."""
    while trace is not None and trace.tb_frame.f_globals.get("__name__") in _INTERNAL_MODULES:
        trace = trace.tb_next
    return trace
