"""Builds a process from its parts; the only place that knows all of them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tompion.config.settings import Settings
from tompion.errors import InvalidField, InvalidInput, StoreError
from tompion.runtime.clock import Clock
from tompion.store.base import Store
from tompion.store.migrate import Migrator

if TYPE_CHECKING:
    from tompion.operations.verify.namespace import NamespaceVerifier
from tompion.bootstrap.service import masked

EMBEDDED = "sqlite:"


SERVER = ("postgresql://", "postgres://")


STORES = (EMBEDDED, *SERVER)


MEMORY = ":memory:"


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


def tune_garbage_collector() -> None:
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

    from tompion.store.sqlite.driver import SqliteMigrator, check_own_database

    there = create or Path(path).exists()
    try:
        with closing(sqlite3.connect(path if there else MEMORY, isolation_level=None)) as connection:
            check_own_database(connection, path)
            yield SqliteMigrator(connection)
    except sqlite3.Error as error:
        raise StoreError(f"cannot use the SQLite file {path}: {error}") from None


@contextmanager
def open_verifier(url: str, namespace: str, retention: str | None = None) -> Iterator[NamespaceVerifier]:
    """Give what checks the schedules of a namespace; a store that is not there or not migrated is refused as it is.

    ``retention`` is how long the engines keep runs, as a duration; without it, as long as by default.
    """
    from tompion.operations.verify.namespace import NamespaceVerifier

    settings = Settings() if retention is None else Settings(retention_ms=_retention_ms(retention))
    if url.startswith(EMBEDDED) and (path := _sqlite_path(url)) != MEMORY:
        _refuse_unmade(path)
    with closing(open_store(url)) as store:
        yield NamespaceVerifier(store, namespace, settings)


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
