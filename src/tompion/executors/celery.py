"""Runs as tasks of Celery: the key is the task's id, the result backend says how it ended.

Celery does not recognise an id that it has seen.  So the backend is asked before a task is sent again: one that has
begun or ended is followed, not repeated; one of which nothing is known is sent, under the same id.  Another try
after a failure is another task, whose id has the number of failures behind the key.
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

from tompion.errors import InvalidField, LaunchError, LaunchRefused
from tompion.executors.base import Accepted, Completed, Executor, RunContext
from tompion.executors.options import ExecutorEnv, known_options, only, whole
from tompion.executors.queue_message import callback_of, text_option, traced
from tompion.model.codec import json_value, truncate
from tompion.model.run import RunState
from tompion.runtime.clock import pause

T = TypeVar("T")
CONFIGURED = ("app", "broker", "backend", "timeout_ms", "poll_ms", "max_active")
OPTIONS = ("task", "queue", "done")
UNKNOWN = "PENDING"
ENDED = {"SUCCESS": RunState.SUCCESS, "FAILURE": RunState.FAILED, "REVOKED": RunState.CANCELLED}


class CeleryExecutor(Executor):
    """Sends tasks, and follows them."""

    remote = True

    def __init__(self, configured: Mapping[str, Any], site: ExecutorEnv) -> None:
        """Take an app by its import path, or a broker and a backend."""
        only(configured, "celery", *CONFIGURED)
        self._app = _app_of(configured)
        self._poll_s = whole(configured, "celery", "poll_ms", 200) / 1000
        self.max_active = whole(configured, "celery", "max_active", 1_000)
        self._site = site
        self._follows = not isinstance(self._app.backend, DisabledBackend)
        # Celery's connections are not for many threads, and its calls wait: one thread of its own makes them all.
        self._thread = ThreadPoolExecutor(1, "tompion-celery")
        self._followed: dict[str, asyncio.Future[Mapping[str, Any]]] = {}
        self._polling: asyncio.Task[None] | None = None
        self._closed = False

    async def run(self, dag: Any, meta: RunContext) -> Completed | Accepted:
        """Send the task, unless the backend knows it, and wait for its end, if that can be known."""
        known_options(meta.options, *OPTIONS)
        if meta.options.get("queue") is not None:
            text_option(meta, "queue")
        task, done = text_option(meta, "task"), meta.options.get("done", "followed" if self._follows else "taken")
        if done not in ("followed", "reported", "taken"):
            raise LaunchRefused("the workflow's option done is none of 'followed', 'reported' and 'taken'")
        if done == "followed" and not self._follows:
            raise LaunchRefused("the Celery app has no result backend: its tasks cannot be followed")
        await self._call(partial(self._send, task, dag, meta))
        if done == "reported":
            return Accepted(meta.delivery_id)
        if done == "taken":
            return Completed(execution_id=meta.delivery_id)
        return self._ended(meta.delivery_id, await self._end_of(meta.delivery_id))

    async def cancel(self, dag: Any, meta: RunContext, execution_id: str | None) -> bool:
        """Revoke the task; one that has begun is told to end."""
        await self._call(partial(self._app.control.revoke, meta.delivery_id, terminate=True, signal="SIGTERM"))
        return False

    async def terminate(self, dag: Any, meta: RunContext, execution_id: str | None) -> None:
        """Revoke the task, and kill it if it has begun."""
        await self._call(partial(self._app.control.revoke, meta.delivery_id, terminate=True, signal="SIGKILL"))

    async def aclose(self) -> None:
        """Follow nothing more, and close the connections."""
        if self._closed:
            return
        self._closed = True
        if self._polling is not None:
            self._polling.cancel()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._app.close)
        self._thread.shutdown(wait=False)

    def _send(self, task: str, dag: Any, meta: RunContext) -> None:
        if meta.attempt > 1 and self._follows and self._asked(meta.delivery_id)["status"] != UNKNOWN:
            return
        queue = meta.options.get("queue")
        sent = self._app.send_task(
            task,
            kwargs={"dag": dag, "meta": meta.meta, "callback": callback_of(meta, self._site)},
            task_id=meta.delivery_id,
            retry=False,
            headers=traced(meta),
            **({} if queue is None else {"queue": queue}),
        )
        self._app.backend.remove_pending_result(sent)  # it is asked for, not listened to

    async def _call(self, call: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, call)
        except (CeleryError, KombuError, OSError, RuntimeError) as error:  # a backend that gives up raises the last
            raise LaunchError(f"Celery cannot be reached: {type(error).__name__}") from None

    # --- how tasks end --------------------------------------------------------------------------------------------

    async def _end_of(self, task_id: str) -> Mapping[str, Any]:
        """Wait until the backend says that a task has ended."""
        waiting = self._followed.setdefault(task_id, asyncio.get_running_loop().create_future())
        if self._polling is None or self._polling.done():
            self._polling = asyncio.create_task(self._poll(), name="tompion-celery")
        try:
            return await asyncio.shield(waiting)
        finally:
            self._followed.pop(task_id, None)

    async def _poll(self) -> None:
        """Ask for all tasks that somebody waits for, in one go, again and again while there are any."""
        while self._followed:
            try:
                found = await self._call(partial(self._look, list(self._followed)))
            except LaunchError:
                found = {}
            for task_id, said in found.items():
                waiting = self._followed.get(task_id)
                if waiting is not None and not waiting.done():
                    waiting.set_result(said)
            await pause(self._poll_s)

    def _look(self, task_ids: list[str]) -> dict[str, Mapping[str, Any]]:
        """Return what the backend says of tasks that have ended."""
        found = {task_id: self._asked(task_id) for task_id in task_ids}
        return {task_id: said for task_id, said in found.items() if said["status"] in ENDED}

    def _asked(self, task_id: str) -> Mapping[str, Any]:
        """Return what the backend says of a task; an entry that cannot be read is about that task alone."""
        try:
            said: Mapping[str, Any] = self._app.backend.get_task_meta(task_id)
        except (OperationalError, CeleryError, OSError, RuntimeError):  # it is the backend that cannot be asked
            raise
        except Exception as error:  # noqa: BLE001 - whatever a serializer raises about what it finds
            return {"status": "FAILURE", "result": f"its result cannot be read: {type(error).__name__}"}
        return said

    def _ended(self, task_id: str, said: Mapping[str, Any]) -> Completed:
        state, most = ENDED[said["status"]], self._site.max_result_bytes
        if state is RunState.SUCCESS:
            result = None if said["result"] is None else json_value(said["result"], most)
            return Completed(result=result, execution_id=task_id)
        error = said["result"]
        told = f"{type(error).__name__}: {error}" if isinstance(error, BaseException) else str(error)
        if isinstance(error, CeleryError):  # some of Celery's own repeat all arguments, payload and token included
            told = type(error).__name__
        return Completed(state, error=truncate(told, most), execution_id=task_id)


def _impatient(timeout_s: float) -> dict[str, Any]:
    """Return the manners of an app of our own: who waits for a server keeps all others waiting, and is tried again."""
    once = {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}
    timeouts = {"socket_timeout": timeout_s, "socket_connect_timeout": timeout_s}
    return {
        "broker_connection_timeout": timeout_s,
        "broker_transport_options": {**once, **timeouts},
        "redis_socket_timeout": timeout_s,
        "redis_socket_connect_timeout": timeout_s,
        "result_backend_transport_options": {"retry_policy": once},
    }


def _app_of(configured: Mapping[str, Any]) -> Celery:
    path, broker = configured.get("app"), configured.get("broker")
    if (path is None) == (broker is None):
        raise InvalidField("executors.celery.app", "expected either app, an import path, or broker, a URL")
    if path is None:
        app = Celery("tompion", broker=broker, backend=configured.get("backend"), set_as_current=False)
        app.conf.update(_impatient(whole(configured, "celery", "timeout_ms", 5_000) / 1000))
        return app
    module, _, name = str(path).partition(":")
    try:
        app = getattr(import_module(module), name or "app")
    except (ImportError, AttributeError) as error:
        raise InvalidField("executors.celery.app", f"{path!r} cannot be imported: {error}") from None
    if not isinstance(app, Celery):
        raise InvalidField("executors.celery.app", f"{path!r} is not a Celery app")
    return app
