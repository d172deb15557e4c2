"""Functions by their import path: ``"package.module:function"``, synchronous in a thread or asynchronous."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias, cast

from tompion.errors import LaunchError, LaunchRefused
from tompion.executors.base import Completed, Executor, RunContext, ignore_wait
from tompion.executors.options import ExecutorEnv, known_options, only, whole
from tompion.executors.result import raised, returned
from tompion.model.codec import error_text
from tompion.runtime.thread_pool import ThreadPool

Resolved: TypeAlias = tuple[Callable[..., Any], bool, bool]
"""A function, whether it takes the run as its argument, and whether it is asynchronous."""


class FunctionExecutor(Executor):
    """Calls functions in this process.

    A function that takes no argument is called without the run.  A thread cannot be stopped: a synchronous function
    that is cancelled, or too slow, counts as ended and goes on in vain, and its thread is taken until it ends.
    """

    def __init__(self, max_threads: int = 32, max_result_bytes: int = 16 * 1024) -> None:
        """Take the number of threads for synchronous functions."""
        self._threads = ThreadPool(max_threads, "tompion-function")
        self._importing = ThreadPool(1, "tompion-import")
        self._resolved: dict[str, Resolved] = {}
        self._finding: dict[str, Future[Any]] = {}
        self._max_result_bytes = max_result_bytes

    def register(self, path: str, function: Callable[..., Any]) -> None:
        """Let a path mean this very function: one that cannot be imported, such as a script's own."""
        self._resolved[path] = resolved(function)

    async def run(self, dag: Any, meta: RunContext) -> Completed:
        """Call the function and wait for its end."""
        path = meta.action.function or meta.options.get("function")
        if not isinstance(path, str):
            raise LaunchRefused(f"the workflow {meta.action.workflow_id!r} names no function")
        known_options(meta.options, "function")
        function, takes_run, is_coroutine = self._resolved.get(path) or await self._resolve(path)
        arguments = (meta,) if takes_run else ()
        try:
            if is_coroutine:
                value = await function(*arguments)
            else:
                value, error = await self._in_thread(partial(function, *arguments), meta)
                if error is not None:
                    return raised(error, self._max_result_bytes)
            if value is not None and inspect.isawaitable(value):
                value = await value
        except asyncio.CancelledError as cancelled:
            task = asyncio.current_task()
            if task is None or task.cancelling():  # it is we who are cancelled, not something that the function awaited
                raise
            return raised(cancelled, self._max_result_bytes)
        except BaseException as raising:  # noqa: BLE001 - whatever it raises is its outcome
            return raised(raising, self._max_result_bytes)
        return returned(value, self._max_result_bytes)

    async def aclose(self) -> None:
        """Start nothing more; threads that are running end by themselves, or with the process."""
        self._threads.close()
        self._importing.close()

    async def _resolve(self, path: str) -> Resolved:
        """Find a function; a module that takes its time to be imported must not keep others from being launched."""
        if path not in self._finding and _is_imported(path.partition(":")[0]):
            found = resolve(path)
        else:
            found = await self._imported(path)
        self._resolved[path] = found
        return found

    async def _imported(self, path: str) -> Resolved:
        if path not in self._finding:
            self._finding[path] = self._importing.submit(partial(run_function, partial(resolve, path)))
        try:
            found, error = await asyncio.shield(asyncio.wrap_future(self._finding[path]))
        finally:
            self._finding.pop(path, None)
        if error is not None:
            raise error
        return cast("Resolved", found)

    async def _in_thread(self, call: Callable[[], Any], launch: RunContext) -> tuple[Any, BaseException | None]:
        """Call a synchronous function; its deadline, if it has one, begins when a thread is free for it."""
        if launch.traceparent is not None:  # what it traces itself is part of its run
            call = partial(copy_context().run, call)
        if launch.waits is not ignore_wait:
            launch.waits(True)
            call = partial(_begin, asyncio.get_running_loop(), launch, call)
        return await asyncio.wrap_future(self._threads.submit(partial(run_function, call)))


def _is_imported(name: str) -> bool:
    """Whether a module is there, and whole: to ask for one that is being imported waits until it is."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return name in sys.modules and not getattr(spec, "_initializing", False)


def _begin(loop: asyncio.AbstractEventLoop, launch: RunContext, call: Callable[[], Any]) -> Any:
    loop.call_soon_threadsafe(launch.waits, False)
    return call()


def run_function(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """What a call returns, or raises; not raised again, because a future cannot carry every kind of error."""
    try:
        return call(), None
    except BaseException as error:  # noqa: BLE001 - whatever it raises is its outcome
        return None, error


def resolve(path: str) -> Resolved:
    """Return the function behind an import path, whether it takes the run as its argument, and whether it is async."""
    module_name, colon, name = path.partition(":")
    if not colon or not module_name or not name:
        raise LaunchRefused(f"{path!r} is not an import path; expected 'package.module:function'")
    try:
        found: Any = import_module(module_name)
        for part in name.split("."):
            found = getattr(found, part)
    except ImportError as error:
        raise LaunchError(f"{path!r} cannot be imported: {error_text(str, error)}") from None
    except AttributeError as error:
        raise LaunchError(f"{path!r} cannot be found: {error_text(str, error)}") from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a module that raises, or leaves, is a launch that fails
        raise LaunchError(f"{path!r} cannot be imported: {type(error).__name__}: {error_text(str, error)}") from None
    if not callable(found):
        raise LaunchRefused(f"{path!r} is not a function")
    return resolved(found)


def resolved(function: Callable[..., Any]) -> Resolved:
    """Return a function, whether it takes the run as its argument, and whether it is async."""
    return function, _takes_run(function), inspect.iscoroutinefunction(function)


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


def make(configured: Mapping[str, Any], site: ExecutorEnv) -> FunctionExecutor:
    """Return the executor of a process."""
    only(configured, "function", "max_threads")
    return FunctionExecutor(whole(configured, "function", "max_threads", site.max_threads), site.max_result_bytes)


def add_import_path(directory: str) -> None:
    """Let functions be found in a directory, as ``python -m`` would."""
    if directory not in sys.path:
        sys.path.insert(0, directory)
