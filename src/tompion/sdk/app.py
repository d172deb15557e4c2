"""Tompion inside your own process: the operations as methods, on a store or a service.

:class:`AsyncTompion` is asynchronous, :class:`Tompion` synchronous. Each method is an operation of
:mod:`tompion.operations`, run in one transaction of the store. Entering the context opens the store and starts an
engine in the background, unless ``engine=False``.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import ssl
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack
from weakref import WeakSet

from tompion.bootstrap.engine import Outbound, build_engine, build_notifier
from tompion.bootstrap.store import STORES, open_store, unknown_store
from tompion.bootstrap.targets import TargetChecker
from tompion.bootstrap.telemetry import build_tracing
from tompion.client import AsyncClient, Client
from tompion.config.settings import Settings
from tompion.contract.async_methods import AsyncMethods
from tompion.contract.calls import show_fields
from tompion.contract.fields import ScheduleFields
from tompion.contract.stubs import OperationStub
from tompion.contract.stubs.schedule_stubs import declare
from tompion.contract.sync_methods import SyncMethods
from tompion.engine.engine import Engine
from tompion.engine.health import EngineHealth
from tompion.engine.telemetry.events import EngineEvents, Event
from tompion.errors import InvalidField, InvalidInput, StoreUnavailable, TompionError
from tompion.executors.function import FunctionExecutor
from tompion.model.insight import DeclareResult
from tompion.operations.context import OperationContext, TargetCheck
from tompion.operations.runner import OperationRunner
from tompion.operations.validation import check_name, check_namespace
from tompion.runtime import event_loop
from tompion.runtime.metric_values import Metrics
from tompion.runtime.stop_signals import handle_stop_signals
from tompion.sdk.declarations import Declaration, Declarations, F
from tompion.sdk.engine_thread import EngineThread
from tompion.sdk.remote_worker import RemoteWorker
from tompion.store.base import Store

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor

    from tompion.engine.telemetry.tracing import Tracing

T = TypeVar("T")
SERVICE_SCHEMES = ("http://", "https://")
REMOTE_QUEUE = "remote"
"""Default queue of a program that is connected to a service. The service's own engine serves ``default``."""
EXIT_UNAVAILABLE = 6
"""Exit code of a program whose service or store is unreachable at the start."""
MAX_EXIT_WAIT_S = 5.0
"""Time that the end of the process waits for an engine that is still open."""


class _BaseApp:
    """Common part of both classes: the store, the caller and the parts of an engine.

    ``store`` is a store's URL, or the address of a service. Nothing is opened before ``open()``. ``engine=False`` only
    manages schedules, for a process that leaves firing to workers. ``executors`` configures the executors of this
    process by name. ``public_url`` is the base of callback URLs. ``key`` is the API key of a service, ``tls`` holds its
    client certificate. A service fires by itself, and this process executes the runs of its own ``queues``. ``tracing``
    is ``otlp`` or a span processor. ``notifications`` are the notification rules of the engine, by name.
    """

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
        self._is_remote = str(store).startswith(SERVICE_SCHEMES)
        if not self._is_remote and not str(store).startswith(STORES):
            raise unknown_store(str(store))
        self._executes_runs = engine and (not self._is_remote or queues is not None)
        if queues is None:
            queues = (REMOTE_QUEUE,) if self._is_remote else ("default",)
        if isinstance(queues, str) or not queues:
            raise InvalidField("queues", f"{queues!r} is not a list of queues; expected such as ('default',)")
        for field, name in (("actor", actor), *(("queues", queue) for queue in queues)):
            check_name(field, name, settings or Settings())
        check_namespace(namespace, settings or Settings())
        if self._is_remote and notifications:
            raise InvalidField("notifications", "configure notifications in the service, which sends them")
        self._url = store
        self._key = key
        self._tls = tls
        self._with_engine = engine
        self._namespace = namespace
        self._actor = actor
        self._queues = frozenset(queues)
        self._settings = settings or Settings()
        self._events = EngineEvents(listener, Metrics(self._settings.max_metric_namespaces))
        self._tracing_option = tracing
        self._tracing: Tracing | None = None
        self._executors = executors or {}
        self._public_url = public_url
        self._outbound = Outbound(build_notifier(notifications or {}, self._settings))
        self._declarations = Declarations(queues[0])
        served = self._queues if engine else frozenset()
        self._check_target: TargetCheck | None = TargetChecker(self._executors, self._declarations.functions, served)
        self._opened = False
        self._health: EngineHealth | None = None
        self._store: Store | None = None

    def _needs_worker(self) -> bool:
        """Return whether this process executes runs. With a service, only if it declares functions or queues."""
        return self._executes_runs or (self._with_engine and bool(self._declarations.declared))

    @property
    def namespace(self) -> str:
        """Return the namespace of all operations."""
        return self._namespace

    @property
    def counts(self) -> dict[str, int]:
        """Return the counters of this process's engine, by name."""
        return dict(self._events.counts)

    @property
    def health_problems(self) -> tuple[str, ...]:
        """Return the problems of this process's engine. Empty without an engine."""
        return tuple(self._health.problems()) if self._opened and self._health is not None else ()

    @property
    def _runner(self) -> OperationRunner:
        """The runner of operations on the opened store, for other APIs in the same process."""
        if self._is_remote:
            raise TompionError("no store: this app is connected to a service")
        if self._store is None:
            raise TompionError("not open: use it inside 'with' or 'async with', or between open() and close()")
        traceparent = None if self._tracing is None else self._tracing.worker_traceparent
        return OperationRunner(self._store, self._settings, self._events.metrics, traceparent, self._check_target)

    @show_fields
    def schedule(
        self,
        cron: str | Sequence[str] | None = None,
        /,
        *,
        schedule_id: str | None = None,
        **fields: Unpack[ScheduleFields],
    ) -> Callable[[F], F]:
        """Declare a function as a schedule, which is created when the app is opened.

        >>> @app.schedule("0 9 * * MON-FRI", timezone="America/New_York", overlap="skip", catchup="coalesce")
        ... async def report(run): ...

        The default id is ``module.function``. A restart with the same code changes nothing: changes by operators stay,
        and the listener receives a ``drift`` event.
        """
        declared: dict[str, Any] = dict(fields) if cron is None else {"cron": cron, **fields}

        def decorate(function: F) -> F:
            self._declarations.add(function, schedule_id, declared)
            return function

        return decorate

    def _mark_opened(self) -> None:
        if self._opened:
            raise TompionError("already open: close it first, or create another app")
        self._opened = True

    def _open_store(self) -> None:
        self._store = open_store(self._url)
        self._tracing = build_tracing(self._tracing_option)

    def _close_store(self) -> None:
        """Close the store and the tracing. A span processor of the caller stays open."""
        store, self._store = self._store, None
        tracing, self._tracing = self._tracing, None
        if store is not None:
            store.close()
        if tracing is not None and isinstance(self._tracing_option, str):
            tracing.close()

    def _engine(self) -> Engine:
        """Return the engine of this app."""
        assert self._store is not None
        engine = build_engine(
            self._store,
            settings=self._settings,
            queues=self._queues,
            events=self._events,
            executors=self._executors,
            public_url=self._public_url,
            functions=self._declarations.functions(),
            tracing=self._tracing,
            outbound=self._outbound,
        )
        self._health = engine.health
        return engine

    def _worker(self) -> RemoteWorker:
        """Return the worker that executes runs of the service in this process."""
        executor = FunctionExecutor(self._settings.max_threads, self._settings.max_result_bytes)
        for path, function in self._declarations.functions().items():
            executor.register(path, function)
        return RemoteWorker(self._async_client(), executor, self._queues, self._settings, self._events)

    def _async_client(self) -> AsyncClient:
        return AsyncClient(self._url, key=self._key, namespace=self._namespace, tls=self._tls)

    def _declare(self) -> list[Future[DeclareResult]]:
        """Create the schedules that this program declares."""
        return [
            self._send(partial(_declare_schedule, declaration), writes=True)
            for declaration in self._declarations.declared.values()
        ]

    def _report_declaration(self, result: DeclareResult) -> None:
        """Send an event for a declared schedule that was created, changed or differs from the code."""
        name = result.schedule.schedule_id
        if result.outcome != "unchanged":
            self._events.emit(result.outcome, name, "as declared in the code")
        elif result.drift:
            self._events.emit("drift", name, f"differs from the code: {', '.join(result.drift)}")
        for warning in result.schedule.warnings:
            self._events.warn(f"schedule {name!r}: {warning}")

    def _send(self, operation: Callable[[OperationContext], T], *, writes: bool) -> Future[T]:
        return self._runner.send(operation, namespace=self._namespace, actor=self._actor, writes=writes)


def _declare_schedule(declaration: Declaration, context: OperationContext) -> DeclareResult:
    try:
        return declare(context, declaration.schedule_id, **declaration.fields)
    except InvalidInput as error:
        if not declaration.where:
            raise
        raise InvalidInput(f"{declaration.where}: {error}") from None


class AsyncTompion(_BaseApp, AsyncMethods):
    """Schedules in your own process, asynchronously.

    >>> async with AsyncTompion("sqlite:///tompion.db") as tompion:
    ...     await tompion.create("report", cron="0 9 * * MON-FRI", function="tasks:report")
    """

    _running: Engine | RemoteWorker | None = None
    _client: AsyncClient | None = None
    _loop: asyncio.AbstractEventLoop | None = None

    async def open(self) -> Self:
        """Open the store, migrate an embedded one, and start the engine. ``async with`` calls this."""
        self._mark_opened()
        self._loop = asyncio.get_running_loop()
        try:
            await self._connect()
            if self._needs_worker():
                engine = self._worker() if self._is_remote else self._engine()
                await engine.start()
                self._running = engine
        except BaseException:
            await self.close()
            raise
        return self

    async def _connect(self) -> None:
        """Open the store or a client of the service, and create the declared schedules."""
        if not self._is_remote:
            await asyncio.get_running_loop().run_in_executor(None, self._open_store)
            for future in self._declare():
                self._report_declaration(await asyncio.wrap_future(future))
            return
        self._client = self._async_client()
        for declaration in self._declarations.declared.values():
            self._report_declaration(
                await self._run_operation(declare, (declaration.schedule_id,), declaration.fields, writes=True)
            )

    async def close(self) -> None:
        """Stop the engine gracefully and close the store. Closing twice has no effect.

        It must be called in the event loop in which the app was opened, because the engine runs there.
        """
        if (
            self._running is not None
            and self._is_other_loop()
            and self._loop is not None
            and not self._loop.is_closed()
        ):
            raise TompionError("opened in another event loop: close it there, where its engine runs")
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

    async def _run_operation(self, operation: OperationStub[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        if self._client is not None:
            return await self._client._run_operation(operation, args, kwargs, writes=writes)  # noqa: SLF001 - as its method
        sent = self._send(lambda context: operation(context, *args, **kwargs), writes=writes)
        return await asyncio.wrap_future(sent)

    def _is_other_loop(self) -> bool:
        return self._loop is not asyncio.get_running_loop()

    async def _stop(self, engine: Engine | RemoteWorker) -> None:
        try:
            await engine.stop()
        except RuntimeError:
            if not self._is_other_loop():
                raise
            raise TompionError(
                "closed, but its event loop was closed before: other instances take over its runs when its lease "
                "expires; close the app before its event loop"
            ) from None

    def run(self) -> int:
        """Run until SIGTERM or Ctrl-C, and return the exit code.

        If the store or the service is unreachable at the start, print one line to standard error and exit with 6.
        """
        return _run(self._run_until_stopped())

    async def _run_until_stopped(self) -> int:
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


class Tompion(_BaseApp, SyncMethods):
    """Schedules in your own process, synchronously. The engine runs in a background thread.

    >>> with Tompion("sqlite:///tompion.db") as tompion:
    ...     tompion.create("report", cron="0 9 * * MON-FRI", function="tasks:report")
    """

    _thread: EngineThread | None = None
    _client: Client | None = None
    _process = 0

    def open(self) -> Self:
        """Open the store, migrate an embedded one, and start the engine. ``with`` calls this."""
        self._mark_opened()
        try:
            self._connect()
            self._process = os.getpid()
            _open_apps.add(self)
            if self._needs_worker():
                self._thread = EngineThread(self._worker if self._is_remote else self._engine)
        except BaseException:
            self.close()
            raise
        return self

    def _connect(self) -> None:
        """Open the store or a client of the service, and create the declared schedules."""
        if not self._is_remote:
            self._open_store()
            for future in self._declare():
                self._report_declaration(future.result())
            return
        self._client = Client(self._url, key=self._key, namespace=self._namespace, tls=self._tls)
        for declaration in self._declarations.declared.values():
            self._report_declaration(
                self._run_operation(declare, (declaration.schedule_id,), declaration.fields, writes=True)
            )

    def close(self) -> None:
        """Stop the engine gracefully and close the store. Closing twice has no effect."""
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
            _open_apps.discard(self)

    def _run_operation(self, operation: OperationStub[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        if self._client is not None:
            return self._client._run_operation(operation, args, kwargs, writes=writes)  # noqa: SLF001 - as its method
        return self._send(lambda context: operation(context, *args, **kwargs), writes=writes).result()

    def _close_at_exit(self) -> None:
        """Close at the end of the process: hand back runs, and do not wait for a blocked engine."""
        if self._process != os.getpid():  # this process is a fork of the one that opened it
            return
        thread, self._thread = self._thread, None
        if thread is None or thread.stop(grace_s=0, wait_s=MAX_EXIT_WAIT_S):
            self.close()

    def run(self) -> int:
        """Run until SIGTERM or Ctrl-C, and return the exit code.

        If the store or the service is unreachable at the start, print one line to standard error and exit with 6.
        """
        return _run(self._run_until_stopped())

    async def _run_until_stopped(self) -> int:
        with (
            handle_stop_signals(self._settings.shutdown_grace_ms / 1000) as state,
            self,
        ):  # this event loop only waits for a signal
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
        raise SystemExit(EXIT_UNAVAILABLE) from None


_open_apps: WeakSet[Tompion] = WeakSet()


@atexit.register
def _close_all_at_exit() -> None:
    """Close apps that are still open, ignoring errors."""
    for tompion in list(_open_apps):
        with suppress(Exception):
            tompion._close_at_exit()  # noqa: SLF001 - same module
