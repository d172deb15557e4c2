"""Tompion inside your own process: the same operations as every other door, over a store of your choice.

:class:`Tompion` is asynchronous, :class:`SyncTompion` its synchronous twin.  Both only send: each method is an operation
of :mod:`tompion.operations`, run in one transaction of the store.  Entering the context opens the store and, unless told
otherwise, runs an engine in the background.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import ssl
import sys
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import WeakSet

from tompion.bootstrap.engine import build_engine, build_notifications
from tompion.bootstrap.store import STORES, open_store, unknown_store
from tompion.bootstrap.telemetry import build_tracing
from tompion.client import AsyncClient, Client
from tompion.config.settings import Settings
from tompion.contract.methods import AsyncMethods, SyncMethods
from tompion.engine.engine import Engine
from tompion.engine.health import EngineHealth
from tompion.engine.telemetry.events import EngineEvents, Event
from tompion.errors import InvalidField, InvalidInput, StoreUnavailable, TompionError
from tompion.executors.function import FunctionExecutor
from tompion.model.metrics import Metrics
from tompion.operations.context import OperationContext
from tompion.operations.runner import OperationRunner
from tompion.operations.schedules import declare
from tompion.operations.validation import check_name, check_namespace
from tompion.runtime import event_loop
from tompion.runtime.signals import handle_stop_signals
from tompion.sdk.declarations import Declaration, Declarations, F
from tompion.sdk.remote_worker import RemoteWorker
from tompion.store.base import Store

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor

    from tompion.engine.telemetry.tracing import Tracing

T = TypeVar("T")
SERVICES = ("http://", "https://")
REMOTE_QUEUE = "remote"
"""The queue of a program that is connected to a service: the service's own engine serves the usual one."""
NOBODY_ANSWERS = 6
"""The exit code of a program whose service or store cannot be reached when it begins."""
LEAVE_S = 5.0
"""How long the end of the process waits for an engine that nobody has closed."""


class _BaseApp:
    """What both twins are made of: a store, who asks, and an engine's ingredients."""

    def __init__(  # noqa: PLR0913 - every part has a default
        self,
        store: str = "sqlite:///tompion.db",
        *,
        engine: bool = True,
        namespace: str = "default",
        actor: str = "local",
        queues: Sequence[str] | None = None,
        settings: Settings | None = None,
        listener: Callable[[Event], None] | None = None,
        executors: Mapping[str, Mapping[str, Any]] | None = None,
        public_url: str | None = None,
        key: str | None = None,
        tls: ssl.SSLContext | None = None,
        tracing: str | SpanProcessor = "off",
        notifications: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Take the store's URL, or the address of a service; nothing is opened yet.

        ``engine=False`` only manages schedules, for a process that leaves firing to workers.  ``executors`` configures
        those that this process has, by name; ``public_url`` is where reports about runs are taken.  A service is shown
        ``key``, or the certificate of ``tls``; its engine fires, and this process executes the runs of its own
        ``queues``.  ``tracing`` is ``otlp``, or the span processor of an OpenTelemetry SDK that this program has
        already.  ``notifications`` says whom the engine notifies of what, by name.
        """
        self._is_remote = str(store).startswith(SERVICES)
        if not self._is_remote and not str(store).startswith(STORES):
            raise unknown_store(str(store))
        self._works = engine and (not self._is_remote or queues is not None)
        if queues is None:
            queues = (REMOTE_QUEUE,) if self._is_remote else ("default",)
        if isinstance(queues, str) or not queues:
            raise InvalidField("queues", f"{queues!r} is not a list of queues; expected such as ('default',)")
        for field, name in (("actor", actor), *(("queues", queue) for queue in queues)):
            check_name(field, name, settings or Settings())
        check_namespace(namespace, settings or Settings())
        if self._is_remote and notifications:
            raise InvalidField("notifications", "a service notifies by itself: say so in its configuration")
        self._url = store
        self._key = key
        self._tls = tls
        self._with_engine = engine
        self._namespace = namespace
        self._actor = actor
        self._queues = frozenset(queues)
        self._settings = settings or Settings()
        self._events = EngineEvents(listener, Metrics(self._settings.max_metric_namespaces))
        self._wanted_tracing = tracing
        self._tracing: Tracing | None = None
        self._executors = executors or {}
        self._public_url = public_url
        self.outbound = build_notifications(notifications or {}, self._settings)
        self.declarations = Declarations(queues[0])
        self._opened = False
        self._health: EngineHealth | None = None
        self._store: Store | None = None

    def _with_worker(self) -> bool:
        """Whether this process executes anything: a service is asked for work only if there are functions for it."""
        return self._works or (self._with_engine and bool(self.declarations.declared))

    @property
    def namespace(self) -> str:
        """Return the namespace that everything here is about."""
        return self._namespace

    @property
    def counts(self) -> dict[str, int]:
        """Return what this process's engine has done so far, by name."""
        return dict(self._events.counts)

    @property
    def health_problems(self) -> tuple[str, ...]:
        """Return what keeps this process's engine from working; nothing, if it works, or there is none."""
        return tuple(self._health.problems()) if self._opened and self._health is not None else ()

    @property
    def runner(self) -> OperationRunner:
        """Return where other doors to the same store hand in what they are asked."""
        if self._is_remote:
            raise TompionError("there is no store here: this is connected to a service")
        if self._store is None:
            raise TompionError("not open: use it inside 'with' or 'async with', or between open() and close()")
        traceparent = None if self._tracing is None else self._tracing.worker_traceparent
        return OperationRunner(self._store, self._settings, self._events.metrics, traceparent)

    @property
    def tracing(self) -> Tracing | None:
        """Return what writes spans, if anything does."""
        return self._tracing

    def schedule(
        self, cron: str | None = None, /, *, schedule_id: str | None = None, **fields: Any
    ) -> Callable[[F], F]:
        """Declare a function as a schedule, which is made when this is opened.

        >>> @app.schedule("0 9 * * MON-FRI", timezone="America/New_York", overlap="skip", catchup="coalesce")
        ... async def report(run): ...

        The id is ``module.function`` unless said otherwise, and stays the same whoever starts the program.  A restart
        with the same code changes nothing: what operators have changed stays, and is told.
        """
        given = fields if cron is None else {"cron": cron, **fields}

        def decorate(function: F) -> F:
            self.declarations.add(function, schedule_id, given)
            return function

        return decorate

    def _claim(self) -> None:
        if self._opened:
            raise TompionError("open already: close it first, or make another one for another 'with'")
        self._opened = True

    def _open_store(self) -> None:
        self._store = open_store(self._url)
        self._tracing = build_tracing(self._wanted_tracing)

    def _close_store(self) -> None:
        """Let go of the store, and send the spans that are left to where this process sends them itself."""
        store, self._store = self._store, None
        tracing, self._tracing = self._tracing, None
        if store is not None:
            store.close()
        if tracing is not None and isinstance(self._wanted_tracing, str):
            tracing.close()

    def _engine(self) -> Engine:
        assert self._store is not None
        engine = build_engine(
            self._store,
            settings=self._settings,
            queues=self._queues,
            events=self._events,
            executors=self._executors,
            public_url=self._public_url,
            functions=self.declarations.functions(),
            tracing=self._tracing,
            outbound=self.outbound,
        )
        self._health = engine.health
        return engine

    def _worker(self) -> RemoteWorker:
        """Return what executes the runs of a service here."""
        calls = FunctionExecutor(self._settings.max_threads, self._settings.max_result_bytes)
        for path, function in self.declarations.functions().items():
            calls.register(path, function)
        return RemoteWorker(self._async_client(), calls, self._queues, self._settings, self._events)

    def _async_client(self) -> AsyncClient:
        return AsyncClient(self._url, key=self._key, namespace=self._namespace, tls=self._tls)

    def _declare(self) -> list[Future[declare.DeclareResult]]:
        """Make the schedules that this program declares."""
        return [self._send(partial(_declared, each), writes=True) for each in self.declarations.declared.values()]

    def _tell(self, found: declare.DeclareResult) -> None:
        """Say what the declaration of a schedule did, and where operators have decided otherwise."""
        name = found.schedule.schedule_id
        if found.outcome != "unchanged":
            self._events.emit(found.outcome, name, "as the code declares it")
        elif found.drift:
            self._events.emit("drift", name, f"not as the code declares it: {', '.join(found.drift)}")

    def _send(self, operation: Callable[[OperationContext], T], *, writes: bool) -> Future[T]:
        return self.runner.send(operation, namespace=self._namespace, actor=self._actor, writes=writes)


def _declared(each: Declaration, session: OperationContext) -> declare.DeclareResult:
    try:
        return declare.declare(session, each.schedule_id, **each.fields)
    except InvalidInput as error:
        if not each.where:
            raise
        raise InvalidInput(f"{each.where}: {error}") from None


def _called(operation: Callable[..., T], args: Any, kwargs: Any, session: OperationContext) -> T:
    return operation(session, *args, **kwargs)


class Tompion(_BaseApp, AsyncMethods):
    """Schedules in your own process, asynchronously.

    >>> async with Tompion("sqlite:///tompion.db") as tompion:
    ...     await tompion.create("report", cron="0 9 * * MON-FRI", function="tasks:report")
    """

    _running: Engine | RemoteWorker | None = None
    _client: AsyncClient | None = None
    _loop: asyncio.AbstractEventLoop | None = None

    async def open(self) -> Self:
        """Open the store, migrating an embedded one, and start the engine; ``async with`` does it for you."""
        self._claim()
        self._loop = asyncio.get_running_loop()
        try:
            await self._connect()
            if self._with_worker():
                engine = self._worker() if self._is_remote else self._engine()
                await engine.start()
                self._running = engine
        except BaseException:
            await self.close()
            raise
        return self

    async def _connect(self) -> None:
        """Open the store, or a connection to the service, and make the schedules that this program declares."""
        if not self._is_remote:
            await asyncio.get_running_loop().run_in_executor(None, self._open_store)
            for answer in self._declare():
                self._tell(await asyncio.wrap_future(answer))
            return
        self._client = self._async_client()
        for each in self.declarations.declared.values():
            self._tell(await self._run_operation(declare.declare, (each.schedule_id,), each.fields, writes=True))

    async def close(self) -> None:
        """Stop the engine gracefully and close the store; whoever is closed already stays so.

        The engine lives in the event loop in which it was opened: that is where it can be stopped.
        """
        if self._running is not None and self._is_elsewhere() and self._loop is not None and not self._loop.is_closed():
            raise TompionError("open in another event loop: close it there, where its engine runs")
        engine, self._running = self._running, None
        try:
            if engine is not None:
                await self._stop(engine)
        finally:
            client, self._client = self._client, None
            await asyncio.get_running_loop().run_in_executor(None, self._close_store)
            if client is not None:
                await client.close()
            self._opened = False

    async def _run_operation(self, operation: Callable[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        if self._client is not None:
            return await self._client._run_operation(operation, args, kwargs, writes=writes)  # noqa: SLF001 - as its method
        return await asyncio.wrap_future(self._send(partial(_called, operation, args, kwargs), writes=writes))

    def _is_elsewhere(self) -> bool:
        return self._loop is not asyncio.get_running_loop()

    async def _stop(self, engine: Engine | RemoteWorker) -> None:
        try:
            await engine.stop()
        except RuntimeError:
            if not self._is_elsewhere():
                raise
            raise TompionError(
                "closed, but its event loop was closed before: the engine has not said goodbye, and others take over "
                "what it held when its lease ends; close it first, in the same event loop"
            ) from None

    def run(self) -> int:
        """Run until SIGTERM or Ctrl-C, and return the exit code: what a program does that does nothing else.

        If nobody answers at the beginning, that is one line on standard error, and the end of the program.
        """
        return _run(self._until_stopped())

    async def _until_stopped(self) -> int:
        with handle_stop_signals(self._settings.shutdown_grace_ms / 1000) as state:
            async with self:
                await state.requested.wait()
        return state.code or 0

    async def __aenter__(self) -> Self:
        """Open."""
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        await self.close()


class SyncTompion(_BaseApp, SyncMethods):
    """Schedules in your own process, synchronously; the engine runs on a thread of its own.

    >>> with SyncTompion("sqlite:///tompion.db") as tompion:
    ...     tompion.create("report", cron="0 9 * * MON-FRI", function="tasks:report")
    """

    _thread: EngineThread | None = None
    _client: Client | None = None
    _process = 0

    def open(self) -> Self:
        """Open the store, migrating an embedded one, and start the engine; ``with`` does it for you."""
        self._claim()
        try:
            self._connect()
            self._process = os.getpid()
            _open.add(self)
            if self._with_worker():
                self._thread = EngineThread(self._worker if self._is_remote else self._engine)
        except BaseException:
            self.close()
            raise
        return self

    def _connect(self) -> None:
        """Open the store, or a connection to the service, and make the schedules that this program declares."""
        if not self._is_remote:
            self._open_store()
            for answer in self._declare():
                self._tell(answer.result())
            return
        self._client = Client(self._url, key=self._key, namespace=self._namespace, tls=self._tls)
        for each in self.declarations.declared.values():
            self._tell(self._run_operation(declare.declare, (each.schedule_id,), each.fields, writes=True))

    def close(self) -> None:
        """Stop the engine gracefully and close the store; whoever is closed already stays so."""
        thread, self._thread = self._thread, None
        try:
            if thread is not None:
                thread.stop()
        finally:
            client, self._client = self._client, None
            self._close_store()
            if client is not None:
                client.close()
            self._opened = False
            _open.discard(self)

    def _run_operation(self, operation: Callable[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        if self._client is not None:
            return self._client._run_operation(operation, args, kwargs, writes=writes)  # noqa: SLF001 - as its method
        return self._send(partial(_called, operation, args, kwargs), writes=writes).result()

    def _leave(self) -> None:
        """Close in a hurry, because the process ends: runs are handed back, and who does not answer is left alone."""
        if self._process != os.getpid():  # a fork of the one that has opened it
            return
        thread, self._thread = self._thread, None
        if thread is None or thread.stop(grace_s=0, wait_s=LEAVE_S):
            self.close()

    def run(self) -> int:
        """Run until SIGTERM or Ctrl-C, and return the exit code: what a program does that does nothing else.

        If nobody answers at the beginning, that is one line on standard error, and the end of the program.
        """
        return _run(self._until_stopped())

    async def _until_stopped(self) -> int:
        with (
            handle_stop_signals(self._settings.shutdown_grace_ms / 1000) as state,
            self,
        ):  # this loop has nothing to do but to wait for a signal
            await state.requested.wait()
        return state.code or 0

    def __enter__(self) -> Self:
        """Open."""
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()


def _run(main: Coroutine[Any, Any, int]) -> int:
    try:
        return event_loop.run(main)
    except StoreUnavailable as error:
        sys.stderr.write(f"tompion: {error}\n")
        raise SystemExit(NOBODY_ANSWERS) from None


class EngineThread:
    """An engine on an event loop of its own, in a thread of its own."""

    def __init__(self, build: Callable[[], Engine | RemoteWorker]) -> None:
        """Start, and return when the engine runs."""
        self._started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = threading.Thread(target=self._run, args=(build,), name="tompion-engine", daemon=True)
        self._grace_s: float | None = None
        self._thread.start()
        self._loop, self._stopped = self._started.result()

    def stop(self, grace_s: float | None = None, wait_s: float | None = None) -> bool:
        """Stop gracefully; return whether it has, which with ``wait_s`` may take too long."""
        self._grace_s = grace_s
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(wait_s)
        return not self._thread.is_alive()

    def _run(self, build: Callable[[], Engine | RemoteWorker]) -> None:
        event_loop.run(self._serve(build))

    async def _serve(self, build: Callable[[], Engine | RemoteWorker]) -> None:
        stopped = asyncio.Event()
        try:
            engine = build()
            await engine.start()
        except BaseException as error:  # noqa: BLE001 - whoever started the thread raises it
            self._started.set_exception(error)
            return
        self._started.set_result((asyncio.get_running_loop(), stopped))
        await stopped.wait()
        await engine.stop(self._grace_s)


_open: WeakSet[SyncTompion] = WeakSet()


@atexit.register
def _leave_all() -> None:
    """Close what nobody has closed, without a word."""
    for tompion in list(_open):
        with suppress(Exception):
            tompion._leave()  # noqa: SLF001 - the last to see it
