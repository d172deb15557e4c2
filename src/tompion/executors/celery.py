"""Runs as tasks of Celery. The key is the id of the task, and the result backend has its outcome.

A task receives the positional and keyword arguments of the workflow, and nothing else.  The run is described in the
message header ``tompion``, which a bound task reads as ``self.request.tompion``.

Celery does not recognise an id that it has seen.  So the executor queries the backend before it sends a task again: a
task that has started or ended is followed, and an unknown one is sent with the same id.  A retry after a failure is
another task, whose id is the key followed by the number of failures.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

from celery import Celery
from celery.backends.base import DisabledBackend
from celery.exceptions import CeleryError
from kombu.exceptions import KombuError, OperationalError

from tompion.encoding.bounded_text import json_value, truncate
from tompion.errors import InvalidField, LaunchError, LaunchRefused, TargetUnreachable
from tompion.executors.base import Accepted, Completed, Executor, RunContext
from tompion.executors.options import ExecutorEnv, check_settings, check_workflow_options, int_setting
from tompion.executors.queue_message import callback_info, run_metadata, text_option, trace_headers
from tompion.model.action_options import EXECUTOR_OPTIONS
from tompion.model.run import RunState
from tompion.runtime.clock import pause

T = TypeVar("T")
SETTINGS = ("app", "broker", "backend", "timeout_ms", "poll_ms", "max_active")
RUN_HEADER = "tompion"
"""The header that describes the run."""
UNKNOWN = "PENDING"
FINAL_STATES = {"SUCCESS": RunState.SUCCESS, "FAILURE": RunState.FAILED, "REVOKED": RunState.CANCELLED}


class CeleryExecutor(Executor):
    """Sends tasks and follows them."""

    remote = True

    def __init__(self, configured: Mapping[str, Any], env: ExecutorEnv) -> None:
        check_settings(configured, "celery", *SETTINGS)
        self._app = _load_app(configured)
        self._poll_s = int_setting(configured, "celery", "poll_ms", 200) / 1000
        self.max_active: int = int_setting(configured, "celery", "max_active", 1_000)
        self._env = env
        self._follows = not isinstance(self._app.backend, DisabledBackend)
        # Celery's connections are not thread-safe and its calls block, so one thread makes all of them.
        self._thread = ThreadPoolExecutor(1, "tompion-celery")
        self._pending: dict[str, asyncio.Future[Mapping[str, Any]]] = {}
        self._polling: asyncio.Task[None] | None = None
        self._closed = False

    async def run(self, dag: Any, run_context: RunContext) -> Completed | Accepted:
        """Send the task, unless the backend has it, and wait for its outcome if the app has a backend."""
        check_workflow_options(run_context.options, *EXECUTOR_OPTIONS["celery"])
        if run_context.options.get("queue") is not None:
            text_option(run_context, "queue")
        for name, kind, expected in (("args", list, "a list"), ("kwargs", dict, "an object")):
            if not isinstance(run_context.options.get(name, kind()), kind):
                raise LaunchRefused(f"the workflow's option {name} is not {expected}")
        task = text_option(run_context, "task")
        done = run_context.options.get("done", "followed" if self._follows else "taken")
        if done not in ("followed", "reported", "taken"):
            raise LaunchRefused("the workflow's option done is not one of 'followed', 'reported' and 'taken'")
        if done == "followed" and not self._follows:
            raise LaunchRefused("the Celery app has no result backend, so its tasks cannot be followed")
        await self._call(partial(self._send, task, dag, run_context))
        if done == "reported":
            return Accepted(run_context.delivery_id)
        if done == "taken":
            return Completed(execution_id=run_context.delivery_id)
        return self._outcome(run_context.delivery_id, await self._wait_for_end(run_context.delivery_id))

    async def cancel(self, dag: Any, run_context: RunContext, execution_id: str | None) -> bool:
        """Revoke the task. A running one gets SIGTERM."""
        await self._call(partial(self._app.control.revoke, run_context.delivery_id, terminate=True, signal="SIGTERM"))
        return False

    async def terminate(self, dag: Any, run_context: RunContext, execution_id: str | None) -> None:
        """Revoke the task. A running one gets SIGKILL."""
        await self._call(partial(self._app.control.revoke, run_context.delivery_id, terminate=True, signal="SIGKILL"))

    async def aclose(self) -> None:
        """Stop following tasks and close the connections."""
        if self._closed:
            return
        self._closed = True
        if self._polling is not None:
            self._polling.cancel()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._app.close)
        self._thread.shutdown(wait=False)

    def _send(self, task: str, dag: Any, run_context: RunContext) -> None:
        """Send the task of a run, unless an earlier attempt has sent it."""
        if run_context.attempt > 1 and self._follows and self._task_meta(run_context.delivery_id)["status"] != UNKNOWN:
            return
        queue = run_context.options.get("queue")
        sent = self._app.send_task(
            task,
            args=run_context.options.get("args", []),
            kwargs=run_context.options.get("kwargs", {}),
            task_id=run_context.delivery_id,
            retry=False,
            headers={RUN_HEADER: self._header(dag, run_context), **trace_headers(run_context)},
            **({} if queue is None else {"queue": queue}),
        )
        self._app.backend.remove_pending_result(sent)  # results are polled, not subscribed to

    def _header(self, dag: Any, run_context: RunContext) -> dict[str, Any]:
        """Return the run as a header. It has a payload and a DAG only if there are any."""
        callback = {f"callback_{name}": value for name, value in callback_info(run_context, self._env).items()}
        inputs = {"payload": run_context.payload, "dag": dag}
        return {
            **run_metadata(run_context),
            **callback,
            **{name: value for name, value in inputs.items() if value is not None},
        }

    async def _call(self, call: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, call)
        except (CeleryError, KombuError, OSError, RuntimeError) as error:  # RuntimeError: a backend that has given up
            has_reached = isinstance(error, CeleryError | KombuError) and not isinstance(error, OperationalError)
            kind = LaunchError if has_reached else TargetUnreachable
            raise kind(f"cannot reach Celery: {type(error).__name__}") from None

    # --- outcomes --------------------------------------------------------------------------------------------

    async def _wait_for_end(self, task_id: str) -> Mapping[str, Any]:
        """Wait until a task has ended and return its entry in the backend."""
        waiting = self._pending.setdefault(task_id, asyncio.get_running_loop().create_future())
        if self._polling is None or self._polling.done():
            self._polling = asyncio.create_task(self._poll(), name="tompion-celery")
        try:
            return await asyncio.shield(waiting)
        finally:
            self._pending.pop(task_id, None)

    async def _poll(self) -> None:
        """Query the backend for all pending tasks as long as there are any."""
        while self._pending:
            try:
                ended = await self._call(partial(self._ended_tasks, list(self._pending)))
            except LaunchError:
                ended = {}
            for task_id, task_meta in ended.items():
                waiting = self._pending.get(task_id)
                if waiting is not None and not waiting.done():
                    waiting.set_result(task_meta)
            await pause(self._poll_s)

    def _ended_tasks(self, task_ids: list[str]) -> dict[str, Mapping[str, Any]]:
        """Return the entries of the tasks that have ended."""
        entries = {task_id: self._task_meta(task_id) for task_id in task_ids}
        return {task_id: entry for task_id, entry in entries.items() if entry["status"] in FINAL_STATES}

    def _task_meta(self, task_id: str) -> Mapping[str, Any]:
        """Return the entry of a task. An entry that cannot be read fails that task only."""
        try:
            entry: Mapping[str, Any] = self._app.backend.get_task_meta(task_id)
        except (OperationalError, CeleryError, OSError, RuntimeError):  # the backend itself is not available
            raise
        except Exception as error:  # noqa: BLE001 - any error of the serializer
            return {"status": "FAILURE", "result": f"its result cannot be read: {type(error).__name__}"}
        return entry

    def _outcome(self, task_id: str, task_meta: Mapping[str, Any]) -> Completed:
        state, max_bytes = FINAL_STATES[task_meta["status"]], self._env.max_result_bytes
        if state is RunState.SUCCESS:
            result = None if task_meta["result"] is None else json_value(task_meta["result"], max_bytes)
            return Completed(result=result, execution_id=task_id)
        error = task_meta["result"]
        text = f"{type(error).__name__}: {error}" if isinstance(error, BaseException) else str(error)
        if isinstance(error, CeleryError):  # some of them repeat all arguments
            text = type(error).__name__
        return Completed(state, error=truncate(text, max_bytes), execution_id=task_id)


def _short_timeouts(timeout_s: float) -> dict[str, Any]:
    """Return settings with short timeouts and one retry, because a blocked call delays all others."""
    once = {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}
    timeouts = {"socket_timeout": timeout_s, "socket_connect_timeout": timeout_s}
    return {
        "broker_connection_timeout": timeout_s,
        "broker_transport_options": {**once, **timeouts},
        "redis_socket_timeout": timeout_s,
        "redis_socket_connect_timeout": timeout_s,
        "result_backend_transport_options": {"retry_policy": once},
    }


def _load_app(configured: Mapping[str, Any]) -> Celery:
    """Return the configured Celery app, or a new one on the configured broker."""
    path, broker = configured.get("app"), configured.get("broker")
    if (path is None) == (broker is None):
        raise InvalidField("executors.celery.app", "expected either app, an import path, or broker, a URL")
    if path is None:
        app = Celery("tompion", broker=broker, backend=configured.get("backend"), set_as_current=False)
        app.conf.update(_short_timeouts(int_setting(configured, "celery", "timeout_ms", 5_000) / 1000))
        return app
    module, _, name = str(path).partition(":")
    try:
        app = getattr(import_module(module), name or "app")
    except (ImportError, AttributeError) as error:
        raise InvalidField("executors.celery.app", f"{path!r} cannot be imported: {error}") from None
    if not isinstance(app, Celery):
        raise InvalidField("executors.celery.app", f"{path!r} is not a Celery app")
    return app
