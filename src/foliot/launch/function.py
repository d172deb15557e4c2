"""Functions by their import path: ``"package.module:function"``, synchronous in a thread or asynchronous."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib import import_module
from typing import Any

from foliot.errors import LaunchError
from foliot.launch.base import Ended, Launch
from foliot.model.run import RunState


class FunctionExecutor:
    """Calls functions in this process.

    A function that takes no argument is called without the run.  A thread cannot be stopped: a synchronous function
    that is cancelled, or too slow, counts as ended and goes on in vain.
    """

    def __init__(self, max_threads: int = 32, max_result_bytes: int = 16 * 1024) -> None:
        """Take the number of threads for synchronous functions."""
        self._threads: ThreadPoolExecutor | None = None
        self._max_threads = max_threads
        self._max_result_bytes = max_result_bytes

    async def run(self, launch: Launch) -> Ended:
        """Call the function and wait for its end."""
        path = launch.action.function or (launch.document or {}).get("function")
        if not isinstance(path, str):
            raise LaunchError(f"the workflow {launch.action.workflow_id!r} names no function")
        function, takes_run, is_coroutine = resolve(path)
        arguments = (launch,) if takes_run else ()
        try:
            if is_coroutine:
                value = await function(*arguments)
            else:
                value = await asyncio.get_running_loop().run_in_executor(self._pool(), function, *arguments)
                if inspect.isawaitable(value):
                    value = await value
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():  # it is we who are cancelled, not something that the function awaited
                raise
            return Ended(RunState.FAILED, error=self._shortened(_described(error)))
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 - whatever it raises is its outcome
            return Ended(RunState.FAILED, error=self._shortened(_described(error)))
        return Ended(result=None if value is None else self._shortened(_as_json(value)))

    def close(self) -> None:
        """Start nothing more; threads that are running end by themselves."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def _pool(self) -> ThreadPoolExecutor:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._max_threads, "foliot-function")
        return self._threads

    def _shortened(self, text: str) -> str:
        encoded = text.encode(errors="backslashreplace")
        if len(encoded) <= self._max_result_bytes:
            return encoded.decode()
        return encoded[: self._max_result_bytes].decode(errors="ignore") + "…"


@lru_cache(maxsize=4_096)
def resolve(path: str) -> tuple[Callable[..., Any], bool, bool]:
    """Return the function behind an import path, whether it takes the run as its argument, and whether it is async."""
    module_name, colon, name = path.partition(":")
    if not colon or not module_name or not name:
        raise LaunchError(f"{path!r} is not an import path; expected 'package.module:function'")
    try:
        found: Any = import_module(module_name)
        for part in name.split("."):
            found = getattr(found, part)
    except ImportError as error:
        raise LaunchError(f"{path!r} cannot be imported: {error}") from None
    except AttributeError as error:
        raise LaunchError(f"{path!r} cannot be found: {error}") from None
    except Exception as error:  # noqa: BLE001 - a module that raises while it is imported is a launch that fails
        raise LaunchError(f"{path!r} cannot be imported: {type(error).__name__}: {error}") from None
    if not callable(found):
        raise LaunchError(f"{path!r} is not a function")
    return found, _takes_run(found), inspect.iscoroutinefunction(found)


def _takes_run(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    kinds = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.VAR_POSITIONAL,
    )
    return any(parameter.kind in kinds for parameter in parameters)


def _described(error: BaseException) -> str:
    """The error in one line, and below it where in the user's code it was raised."""
    where = "".join(traceback.format_tb(error.__traceback__)[1:]) if error.__traceback__ else ""
    return f"{type(error).__name__}: {error}\n{where}".rstrip()


def _as_json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(repr(value), ensure_ascii=False)


def add_import_path(directory: str) -> None:
    """Let functions be found in a directory, as ``python -m`` would."""
    if directory not in sys.path:
        sys.path.insert(0, directory)
