"""Builds a process from its parts; the only place that knows all of them."""

from __future__ import annotations

import asyncio
import gc
import os
import platform
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from tompion.clock import Clock, SystemClock
from tompion.configuration import REQUIRED, Configuration, load
from tompion.disclosure import shown_configuration
from tompion.engine.delivering import body_of
from tompion.engine.host import Engine
from tompion.engine.outside import Outside
from tompion.engine.probe import Event, Probe
from tompion.engine.pulse import Pinging
from tompion.errors import InvalidField, InvalidInput, StoreError
from tompion.launch.function import FunctionExecutor, add_import_path
from tompion.launch.registry import build_executors
from tompion.launch.site import Site
from tompion.model.moved import Moved
from tompion.model.notice import Delivery, NoticeRow, NoticeState, Topic
from tompion.plan.definition import compact
from tompion.settings import Settings
from tompion.store import masking
from tompion.store.base import Store
from tompion.store.migrate import Migrator

if TYPE_CHECKING:
    from fastapi import FastAPI
    from opentelemetry.sdk.trace import SpanProcessor

    from tompion.api.metrics import Metrics
    from tompion.api.rest.watching import Answered
    from tompion.embedded import Tompion
    from tompion.engine.tracing import Tracing
    from tompion.operations.desk import Desk
    from tompion.operations.proof import Proof

EMBEDDED = "sqlite:"
SERVER = ("postgresql://", "postgres://")
STORES = (EMBEDDED, *SERVER)
MEMORY = ":memory:"
OFF = "off"
masked = masking.masked
COLLECT_AFTER = (20_000, 20, 20)
"""The thresholds of the garbage collector in a process of our own."""


def open_store(url: str, clock: Clock | None = None) -> Store:
    """Return the store behind a URL: ``sqlite:///file.db``, ``sqlite://`` (in memory) or ``postgresql://…``.

    An embedded store is created and migrated; a server's must have been migrated by ``tompion migrate up``.
    """
    if url.startswith(EMBEDDED):
        from tompion.store.sqlite.driver import SqliteStore

        return SqliteStore(_sqlite_path(url), clock=clock)
    if url.startswith(SERVER):
        from tompion.store.postgres.driver import PostgresStore

        return PostgresStore(url, clock=clock)
    raise unknown_store(url)


def settle_in() -> None:
    """Tell the interpreter that this process does nothing but run an engine.

    What was imported is never looked at for garbage again, and what is new only in larger portions: a burst makes tens
    of thousands of short-lived objects, none of them garbage that only a collector could find.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


@contextmanager
def open_migrator(url: str, *, create: bool = False) -> Iterator[Migrator]:
    """Give what migrates the store behind a URL.

    Only with ``create`` is an embedded file made where there is none; without, it counts as an empty one.
    """
    if url.startswith(EMBEDDED):
        with _sqlite_migrator(_sqlite_path(url), create=create) as migrator:
            yield migrator
    elif url.startswith(SERVER):
        from tompion.store.postgres.driver import PostgresMigrator

        yield PostgresMigrator(url)
    else:
        raise unknown_store(url)


@contextmanager
def _sqlite_migrator(path: str, *, create: bool) -> Iterator[Migrator]:
    import sqlite3

    from tompion.store.sqlite.driver import SqliteMigrator, refuse_foreign

    there = create or Path(path).exists()
    try:
        with closing(sqlite3.connect(path if there else MEMORY, isolation_level=None)) as connection:
            refuse_foreign(connection, path)
            yield SqliteMigrator(connection)
    except sqlite3.Error as error:
        raise StoreError(f"cannot use the SQLite file {path}: {error}") from None


@contextmanager
def open_proof(url: str, namespace: str, retention: str | None = None) -> Iterator[Proof]:
    """Give what checks the schedules of a namespace; a store that is not there or not migrated is refused as it is.

    ``retention`` is how long the engines keep runs, as a duration; without it, as long as by default.
    """
    from tompion.operations.proof import Proof

    settings = Settings() if retention is None else Settings(retention_ms=_retention_ms(retention))
    if url.startswith(EMBEDDED) and (path := _sqlite_path(url)) != MEMORY:
        _refuse_unmade(path)
    with closing(open_store(url)) as store:
        yield Proof(store, namespace, settings)


def _retention_ms(text: str) -> int:
    from tompion.spec.duration import parse_duration

    seconds = parse_duration(text, field="--retention")
    if seconds < 1:
        raise InvalidInput(f"--retention: {text!r} keeps nothing; expected a duration such as 30d")
    return seconds * 1000


def _refuse_unmade(path: str) -> None:
    """Raise unless an embedded file holds a store of this release: opening it would make or migrate one."""
    if not Path(path).exists():
        raise InvalidField("store", f"there is no file {path}")
    if Path(path).stat().st_size == 0:
        raise InvalidField("store", f"the file {path} is empty: there is no store in it; nothing was written")
    with _sqlite_migrator(path, create=False) as migrator:
        migrator.refuse_older()


def find_functions_in(directory: Path) -> None:
    """Let the functions of schedules be found in a directory: ``tasks:report`` in its ``tasks.py``."""
    if not directory.is_dir():
        raise InvalidInput(f"--app-dir {directory}: there is no such directory")
    add_import_path(str(directory.resolve()))


def build_engine(  # noqa: PLR0913 - every part has a default
    store: Store,
    *,
    settings: Settings | None = None,
    queues: frozenset[str] = frozenset({"default"}),
    probe: Probe | None = None,
    executors: Mapping[str, Mapping[str, Any]] | None = None,
    public_url: str | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    tracing: Tracing | None = None,
    outside: Outside | None = None,
) -> Engine:
    """Return an engine on a store, with the executors that are always there and those that are configured."""
    settings = settings or Settings()
    site = Site(settings.max_threads, settings.max_result_bytes, public_url)
    built = build_executors(executors or {}, site)
    calls = built["function"]
    assert isinstance(calls, FunctionExecutor)
    for path, function in (functions or {}).items():
        calls.register(path, function)
    return Engine(
        store,
        built,
        clock=SystemClock(),
        settings=settings,
        queues=queues,
        name=f"{socket.gethostname()}:{os.getpid()}",
        release=version("tompion"),
        probe=probe,
        tracing=tracing,
        outside=outside,
    )


def build_outside(
    notifications: Mapping[str, Mapping[str, Any]],
    ping: Mapping[str, Any],
    settings: Settings,
    public_url: str | None = None,
    where: str = "notifications.",
) -> Outside:
    """Return whom an engine tells something outside; ``where`` is what the name of a notification comes after."""
    courier = pinger = None
    if notifications:
        from tompion.launch.notifier import Notifier, read_receiver

        receivers = [
            read_receiver(f"{where}{name}", {"name": name, **block}, os.environ)
            for name, block in notifications.items()
        ]
        courier = Notifier(receivers, settings.notice_timeout_ms)
    if ping.get("ping_url"):
        from tompion.launch.pinger import HttpPinger

        pinger = HttpPinger(ping)
    return Outside(courier, pinger, public_url)


def configured_outside(told: Configuration) -> Outside:
    """Return whom a configuration wants to be told something."""
    ping = {name: told.get(name) for name in ("ping_url", "ping_fail_url", "ping_every_s", "ping_method")}
    where = f"{told.path}: [[notification]] "
    return build_outside(told.notifications, ping, told.settings, told.get("public_url") or None, where)


async def send_test_notice(told: Configuration, name: str) -> Delivery:
    """Send a notice that says nothing but that it is a test; return what became of it."""
    courier = configured_outside(told).courier
    if courier is None or name not in told.notifications:
        known = ", ".join(told.notifications) or "none"
        raise InvalidField(
            "name", f"there is no [[notification]] {name!r} in {told.path or 'a file'}; there is {known}"
        )
    now_ms = int(SystemClock().now() * 1000)
    row = NoticeRow(
        f"msg_{token_hex(20)}", name, Topic.TEST, "default", "", compact({"notification": name}),
        NoticeState.PENDING, 1, None, now_ms, None, None, None,
    )  # fmt: skip
    try:
        return await courier.send(name, row.notice_id, body_of(row))
    finally:
        await courier.aclose()


def build_tompion(
    told: Configuration, *, listener: Callable[[Event], None] | None = None, engine: bool = True
) -> Tompion:
    """Return what runs schedules as a configuration wants it, with the schedules that its file declares."""
    from tompion.embedded import Tompion

    tompion = Tompion(
        told.get("store"),
        engine=engine,
        queues=told.get("queues"),
        settings=told.settings,
        executors=told.executors,
        public_url=told.get("public_url") or None,
        listener=listener,
        tracing=told.get("tracing"),
    )
    tompion.outside = configured_outside(told)
    for schedule_id, fields in told.schedules:
        tompion.declarations.add_block(schedule_id, fields, f"{told.path}: [[schedule]] {schedule_id}")
    return tompion


def check_schedules(told: Configuration) -> None:
    """Raise if a schedule that the file declares cannot be right; which calendars there are is for a store to say."""
    from tompion.declaring import Declarations
    from tompion.operations.drafting import check_name, draft
    from tompion.spec.compiled import compile_spec

    declared = Declarations("default")
    for schedule_id, fields in told.schedules:
        declared.add_block(schedule_id, fields, f"{told.path}: [[schedule]] {schedule_id}")
    for each in declared.declared.values():
        try:
            check_name("schedule_id", each.schedule_id, told.settings)
            spec = draft(each.fields, told.settings).definition.spec
            if not spec.exclude.named:
                compile_spec(spec, schedule_id=each.schedule_id)
        except InvalidInput as error:
            raise InvalidInput(f"{each.where}: {error}") from None


def build_tracing(wanted: str | SpanProcessor) -> Tracing | None:
    """Return what writes spans: ``otlp`` sends them to a collector, and a processor takes them as they are.

    Which traces are wanted, and what is said of this process, the variables ``OTEL_…`` tell.
    """
    if wanted == OFF:
        return None
    try:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        from tompion.engine.tracing import Tracing

        if isinstance(wanted, str):
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            wanted = BatchSpanProcessor(OTLPSpanExporter())
    except ImportError:
        raise InvalidField("tracing", "it needs OpenTelemetry: install tompion[tracing]") from None
    told = TracerProvider(shutdown_on_exit=False)  # it reads the variables; nobody else asks it for anything
    resource = told.resource
    if str(resource.attributes.get("service.name", "")).startswith("unknown_service"):
        resource = resource.merge(Resource({"service.name": "tompion"}))
    return Tracing(wanted, told.sampler, resource, SystemClock())


def build_metrics(desk: Desk) -> Metrics:
    """Return the numbers of this process."""
    from tompion.api.metrics import Metrics
    from tompion.authoring import TZDATA_VERSION

    return Metrics(desk, {"version": version("tompion"), "tzdata": TZDATA_VERSION, "python": platform.python_version()})


@contextmanager
def serve_metrics(desk: Desk, configuration: Configuration) -> Iterator[str | None]:
    """Show the metrics of a process at a port of their own, if it is told one; give the address."""
    host, port = configuration.get("metrics_host"), configuration.get("metrics_port")
    if not port:
        yield None
        return
    from prometheus_client import start_http_server

    try:
        server, thread = start_http_server(port, host, build_metrics(desk).registry)
    except OSError as error:
        raise InvalidField("metrics_port", f"cannot listen on {host}:{port}: {error.strerror}") from None
    try:
        yield f"http://{host}:{port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@asynccontextmanager
async def pinging(tompion: Tompion, *, listener: Callable[[Event], None] | None = None) -> AsyncIterator[None]:
    """Tell the monitor of a service that has no engine, which would do it, as long as the store answers."""
    pinger = tompion.outside.pinger
    if pinger is None:
        yield
        return
    stopping, probe = asyncio.Event(), Probe(listener, tompion.desk.tally)
    task = asyncio.create_task(Pinging(tompion.desk.store, tuple, pinger, probe, stopping).ping(), name="tompion-ping")
    try:
        yield
    finally:
        stopping.set()
        task.cancel()
        await asyncio.wait([task])
        await pinger.aclose()


@asynccontextmanager
async def serve_temporal(
    find_desk: Callable[[], Desk],
    told: Configuration,
    *,
    clock: Clock | None = None,
    mistakes: Callable[[BaseException], None],
) -> AsyncIterator[str | None]:
    """Let Temporal's SDKs in, if a configuration says where; give the address.  ``mistakes`` is told of our own."""
    address = told.get("temporal_address")
    if not address:
        yield None
        return
    try:
        from tompion.api.temporal.door import Door, House, read_namespaces
        from tompion.api.temporal.server import TemporalServer, Tls
        from tompion.api.temporal.system import METHODS
    except ImportError:
        raise InvalidField("temporal_address", "it needs gRPC: install tompion[temporal]") from None
    from tompion.api.rates import Neighbours
    from tompion.securing import gate_of

    desk, namespaces = find_desk(), read_namespaces(told.get("temporal_namespaces"))
    house = House(
        desk,
        version("tompion"),
        namespaces,
        gate_of(desk, told, clock),
        told.get("read_only"),
        mistakes,
        Neighbours(told.get("namespace_requests_per_s")),
    )
    demanded = told.get("tls_client_ca") if told.get("tls_client") == REQUIRED else ""
    tls = Tls(told.get("tls_cert"), told.get("tls_key"), demanded) if told.get("tls_cert") else None
    server = TemporalServer(Door(house, METHODS), address, tls)
    listening = await server.start()
    try:
        yield listening
    finally:
        await server.stop()


async def import_temporal(
    home: Tompion, source: Mapping[str, Any], *, shadow: bool, dry_run: bool = False, clock: Clock | None = None
) -> AsyncIterator[Moved]:
    """Copy the schedules of a Temporal cluster to a store or a service, and tell of each."""
    try:
        from tompion.api.temporal.moving import Mover, source_of
    except ImportError:
        raise InvalidInput("this needs Temporal's SDK: install tompion[temporal]") from None
    now_s = int((clock or SystemClock()).now())
    async with home:
        async for moved in Mover(home, source_of(source), shadow, dry_run).move(now_s):
            yield moved


def build_service(  # noqa: PLR0913 - every part has a default
    desk: Desk,
    configuration: Configuration | None = None,
    *,
    clock: Clock | None = None,
    tracing: Tracing | None = None,
    requests: Callable[[str, str, int, float], None] | None = None,
    problems: Callable[[], Sequence[str]] = tuple,
) -> FastAPI:
    """Return the service with its page, as a configuration wants it.

    ``requests`` is who may be told of each; ``problems`` are those of the engine beside it.
    """
    from tompion.api.rates import Neighbours
    from tompion.api.rest.app import Service, create_app
    from tompion.securing import cookies_of, gate_of, hosts_of
    from tompion.web.app import mount_page

    told = configuration or load({})
    cookies = cookies_of(desk, told, clock)
    service = Service(
        desk,
        version("tompion"),
        hosts_of(told),
        gate=gate_of(desk, told, clock, cookies),
        cookies=cookies,
        public_url=told.get("public_url"),
        read_only=told.get("read_only"),
        max_body_bytes=told.get("max_body_bytes"),
        requests_per_s=told.get("requests_per_s"),
        neighbours=Neighbours(told.get("namespace_requests_per_s")),
        configuration=shown_configuration(told),
        metrics=build_metrics(desk),
        listener=_access_log(requests) if requests is not None and told.get("access_log") else None,
        triggered=None if tracing is None else tracing.triggered,
        problems=problems,
    )
    app = create_app(service)
    mount_page(app)
    return app


def _access_log(requests: Callable[[str, str, int, float], None]) -> Callable[[Answered], None]:
    return lambda each: requests(each.method, each.path, each.status, each.seconds)


def _sqlite_path(url: str) -> str:
    if "?" in url:
        problem = f"{masked(url)!r} has a query string, and a SQLite store takes no parameters"
        raise InvalidField("store", f"{problem}; leave out what begins with '?'")
    path = url.removeprefix(EMBEDDED)
    if path in ("//", "///:memory:"):
        return MEMORY
    name = path.removeprefix("///")
    if name == path or not name.strip("/"):
        raise unknown_store(url)
    return str(Path(name).expanduser())


def unknown_store(url: str) -> InvalidField:
    """Return the error that says what a store's URL looks like, and what was probably meant."""
    return InvalidField(
        "store",
        f"{masked(url)!r} is not a store; expected {_meant(url)} (four slashes for an absolute path) or postgresql://…",
    )


def _meant(url: str) -> str:
    """The file that a URL seems to name, in the right form; a relative one, unless it says otherwise."""
    name = url.removeprefix("file:").removeprefix(EMBEDDED)
    absolute = name.startswith("/") and not name.startswith("//")
    name = name.lstrip("/")
    looks_like_one = url.startswith(EMBEDDED) or "//" not in url
    if not name or "@" in name or not looks_like_one:
        return "sqlite:///file.db"
    return f"sqlite:///{'/' if absolute else ''}{name}"
