"""Builds a process from its parts; the only place that knows all of them."""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from importlib.metadata import version
from ipaddress import ip_address
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from foliot.clock import Clock, SystemClock
from foliot.configuration import REQUIRED, Configuration, load
from foliot.engine.delivering import body_of
from foliot.engine.host import Engine
from foliot.engine.outside import Outside
from foliot.engine.probe import Event, Probe
from foliot.errors import InvalidField, InvalidInput, StoreError
from foliot.launch.function import FunctionExecutor, add_import_path
from foliot.launch.registry import build_executors
from foliot.launch.site import Site
from foliot.model.notice import Delivery, NoticeRow, NoticeState, Topic
from foliot.plan.definition import compact
from foliot.settings import Settings
from foliot.store import masking
from foliot.store.base import Store
from foliot.store.migrate import Migrator

if TYPE_CHECKING:
    from fastapi import FastAPI

    from foliot.embedded import Foliot
    from foliot.operations.desk import Desk
    from foliot.operations.proof import Proof

EMBEDDED = "sqlite:"
SERVER = ("postgresql://", "postgres://")
STORES = (EMBEDDED, *SERVER)
MEMORY = ":memory:"
masked = masking.masked
COLLECT_AFTER = (20_000, 20, 20)
"""The thresholds of the garbage collector in a process of our own."""


def open_store(url: str, clock: Clock | None = None) -> Store:
    """Return the store behind a URL: ``sqlite:///file.db``, ``sqlite://`` (in memory) or ``postgresql://…``.

    An embedded store is created and migrated; a server's must have been migrated by ``foliot migrate up``.
    """
    if url.startswith(EMBEDDED):
        from foliot.store.sqlite.driver import SqliteStore

        return SqliteStore(_sqlite_path(url), clock=clock)
    if url.startswith(SERVER):
        from foliot.store.postgres.driver import PostgresStore

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
        from foliot.store.postgres.driver import PostgresMigrator

        yield PostgresMigrator(url)
    else:
        raise unknown_store(url)


@contextmanager
def _sqlite_migrator(path: str, *, create: bool) -> Iterator[Migrator]:
    import sqlite3

    from foliot.store.sqlite.driver import SqliteMigrator, refuse_foreign

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
    from foliot.operations.proof import Proof

    settings = Settings() if retention is None else Settings(retention_ms=_retention_ms(retention))
    if url.startswith(EMBEDDED) and (path := _sqlite_path(url)) != MEMORY:
        _refuse_unmade(path)
    with closing(open_store(url)) as store:
        yield Proof(store, namespace, settings)


def _retention_ms(text: str) -> int:
    from foliot.spec.duration import parse_duration

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
        release=version("foliot"),
        probe=probe,
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
        from foliot.launch.notifier import Notifier, read_receiver

        receivers = [
            read_receiver(f"{where}{name}", {"name": name, **block}, os.environ)
            for name, block in notifications.items()
        ]
        courier = Notifier(receivers, settings.notice_timeout_ms)
    if ping.get("ping_url"):
        from foliot.launch.pinger import HttpPinger

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


def build_foliot(
    told: Configuration, *, listener: Callable[[Event], None] | None = None, engine: bool = True
) -> Foliot:
    """Return what runs schedules as a configuration wants it, with the schedules that its file declares."""
    from foliot.embedded import Foliot

    foliot = Foliot(
        told.get("store"),
        engine=engine,
        queues=told.get("queues"),
        settings=told.settings,
        executors=told.executors,
        public_url=told.get("public_url") or None,
        listener=listener,
    )
    foliot.outside = configured_outside(told)
    for schedule_id, fields in told.schedules:
        foliot.declarations.add_block(schedule_id, fields, f"{told.path}: [[schedule]] {schedule_id}")
    return foliot


def build_service(
    desk: Desk, configuration: Configuration | None = None, problems: Callable[[], Sequence[str]] = tuple
) -> FastAPI:
    """Return the service with its page, as a configuration wants it; ``problems`` are those of the engine beside it."""
    from foliot.api.rest.app import Service, create_app
    from foliot.api.rest.gate import KeyGate, OpenGate
    from foliot.web.app import mount_page

    told = configuration or load({})
    service = Service(
        desk,
        version("foliot"),
        ("127.0.0.1", "localhost", "[::1]", told.get("host"), *told.get("hosts")),
        gate=KeyGate(desk) if told.get("auth") == REQUIRED else OpenGate(),
        read_only=told.get("read_only"),
        max_body_bytes=told.get("max_body_bytes"),
        requests_per_s=told.get("requests_per_s"),
        problems=problems,
    )
    app = create_app(service)
    mount_page(app)
    return app


def refuse_open_doors(configuration: Configuration) -> None:
    """Raise if others could reach a service that lets everybody in, or whose certificate has no key."""
    host = configuration.get("host")
    if configuration.get("auth") != REQUIRED and not _is_loopback(host):
        raise InvalidField(
            "host",
            f"{host}: only a loopback address such as 127.0.0.1, unless auth is '{REQUIRED}' (--auth {REQUIRED})",
        )
    if bool(configuration.get("tls_cert")) != bool(configuration.get("tls_key")):
        raise InvalidField("tls_cert", "a certificate and its key, tls_key, come together")


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


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
