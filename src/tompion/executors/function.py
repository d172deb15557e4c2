"""Python functions by their import path ``"package.module:function"``, async or synchronous in a thread."""

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

from tompion.encoding.bounded_text import error_text
from tompion.errors import LaunchError, LaunchRefused
from tompion.executors.base import Completed, Executor, RunContext, ignore_wait
from tompion.executors.options import ExecutorEnv, check_settings, check_workflow_options, int_setting
from tompion.executors.result import failure_result, success_result
from tompion.runtime.thread_pool import ThreadPool

ResolvedFunction: TypeAlias = tuple[Callable[..., Any], bool, bool]
"""A function, whether it takes the run as its argument, and whether it is asynchronous."""


class FunctionExecutor(Executor):
    """Calls functions in this process.

    A function without parameters is called without the run.  A thread cannot be stopped: a synchronous function that
    is cancelled or times out is recorded as ended, but it keeps running and occupies its thread until it returns.

    ``max_threads`` is the number of threads for synchronous functions.
    """

    def __init__(self, max_threads: int = 32, max_result_bytes: int = 16 * 1024) -> None:
        self._threads = ThreadPool(max_threads, "tompion-function")
        self._importing = ThreadPool(1, "tompion-import")
        self._resolved: dict[str, ResolvedFunction] = {}
        self._imports: dict[str, Future[Any]] = {}
        self._max_result_bytes = max_result_bytes

    def register(self, path: str, function: Callable[..., Any]) -> None:
        """Register a function that cannot be imported by its path, such as one of a script."""
        self._resolved[path] = inspect_function(function)

    async def run(self, dag: Any, run_context: RunContext) -> Completed:
        """Call the function and wait until it returns."""
        path = run_context.action.function or run_context.options.get("function")
        if not isinstance(path, str):
            raise LaunchRefused(f"the workflow {run_context.action.workflow_id!r} names no function")
        check_workflow_options(run_context.options, "function")
        function, takes_run, is_coroutine = self._resolved.get(path) or await self._resolve(path)
        arguments = (run_context,) if takes_run else ()
        try:
            if is_coroutine:
                value = await function(*arguments)
            else:
                value, error = await self._in_thread(partial(function, *arguments), run_context)
                if error is not None:
                    return failure_result(error, self._max_result_bytes)
            if value is not None and inspect.isawaitable(value):
                value = await value
        except asyncio.CancelledError as cancelled:
            task = asyncio.current_task()
            if task is None or task.cancelling():  # this task was cancelled, not something that the function awaited
                raise
            return failure_result(cancelled, self._max_result_bytes)
        except BaseException as error:  # noqa: BLE001 - any error of the function is its outcome
            return failure_result(error, self._max_result_bytes)
        return success_result(value, self._max_result_bytes)

    async def aclose(self) -> None:
        """Start no more functions. Running threads end by themselves or with the process."""
        self._threads.close()
        self._importing.close()

    async def _resolve(self, path: str) -> ResolvedFunction:
        """Import a function, in a thread because a slow import must not delay other launches."""
        if path not in self._imports and _is_imported(path.partition(":")[0]):
            function = resolve(path)
        else:
            function = await self._import(path)
        self._resolved[path] = function
        return function

    async def _import(self, path: str) -> ResolvedFunction:
        if path not in self._imports:
            self._imports[path] = self._importing.submit(partial(call_safely, partial(resolve, path)))
        try:
            function, error = await asyncio.shield(asyncio.wrap_future(self._imports[path]))
        finally:
            self._imports.pop(path, None)
        if error is not None:
            raise error
        return cast("ResolvedFunction", function)

    async def _in_thread(self, call: Callable[[], Any], run_context: RunContext) -> tuple[Any, BaseException | None]:
        """Call a synchronous function in a thread. Its deadline starts when a thread is free."""
        call = partial(copy_context().run, call)  # log records and spans of the function belong to the run
        if run_context.on_wait is not ignore_wait:
            run_context.on_wait(True)
            call = partial(_start_in_thread, asyncio.get_running_loop(), run_context, call)
        return await asyncio.wrap_future(self._threads.submit(partial(call_safely, call)))


def _is_imported(name: str) -> bool:
    """Return whether a module is fully imported. Importing one that is still loading would block."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return name in sys.modules and not getattr(spec, "_initializing", False)


def _start_in_thread(loop: asyncio.AbstractEventLoop, run_context: RunContext, call: Callable[[], Any]) -> Any:
    loop.call_soon_threadsafe(run_context.on_wait, False)
    return call()


def call_safely(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """Return the value or the error of a call. A future cannot carry every kind of error."""
    try:
        return call(), None
    except BaseException as error:  # noqa: BLE001 - any error of the function is its outcome
        return None, error


def resolve(path: str) -> ResolvedFunction:
    """Return the function behind an import path, whether it takes the run as its argument, and whether it is async."""
    module_name, colon, name = path.partition(":")
    if not colon or not module_name or not name:
        raise LaunchRefused(f"{path!r} is not an import path; expected 'package.module:function'")
    try:
        function: Any = import_module(module_name)
        for part in name.split("."):
            function = getattr(function, part)
    except ImportError as error:
        raise LaunchError(f"{path!r} cannot be imported: {error_text(str, error)}") from error
    except AttributeError as error:
        raise LaunchError(f"{path!r} does not exist: {error_text(str, error)}") from None
    except (Exception, SystemExit) as error:
        raise LaunchError(f"{path!r} cannot be imported: {type(error).__name__}: {error_text(str, error)}") from error
    if not callable(function):
        raise LaunchRefused(f"{path!r} is not a function")
    return inspect_function(function)


def inspect_function(function: Callable[..., Any]) -> ResolvedFunction:
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


def make(configured: Mapping[str, Any], env: ExecutorEnv) -> FunctionExecutor:
    """Return the executor of a process."""
    check_settings(configured, "function", "max_threads")
    return FunctionExecutor(int_setting(configured, "function", "max_threads", env.max_threads), env.max_result_bytes)


def add_import_path(directory: str) -> None:
    """Add a directory to the import path, as ``python -m`` does."""
    if directory not in sys.path:
        sys.path.insert(0, directory)
