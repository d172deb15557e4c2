"""Opens the store, the migrator or the verifier behind a URL."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tompion.config.settings import Settings
from tompion.errors import InvalidField, InvalidInput, StoreError
from tompion.runtime.clock import Clock
from tompion.runtime.url_masking import mask_password
from tompion.store.base import Store
from tompion.store.migrate import Migrator

if TYPE_CHECKING:
    from tompion.operations.verify.namespace import NamespaceVerifier

EMBEDDED = "sqlite:"
SERVER = ("postgresql://", "postgres://")
STORES = (EMBEDDED, *SERVER)
MEMORY = ":memory:"
GC_THRESHOLDS = (20_000, 20, 20)
"""Thresholds of the garbage collector in a process that only runs Tompion."""


def open_store(url: str, clock: Clock | None = None) -> Store:
    """Return the store behind a URL: ``sqlite:///file.db``, ``sqlite://`` (in memory) or ``postgresql://…``.

    An embedded store is created and migrated. A PostgreSQL store must have been migrated by ``tompion migrate up``.
    """
    if url.startswith(EMBEDDED):
        from tompion.store.sqlite.driver import SqliteStore

        return SqliteStore(_sqlite_path(url), clock=clock)
    if url.startswith(SERVER):
        from tompion.store.postgres.driver import PostgresStore

        return PostgresStore(url, clock=clock)
    raise unknown_store(url)


def check_store_url(url: str) -> None:
    """Raise if a URL names no store. Nothing is opened."""
    if url.startswith(EMBEDDED):
        _sqlite_path(url)
    elif not url.startswith(SERVER):
        raise unknown_store(url)


def check_store_exists(url: str) -> None:
    """Raise if a URL names an SQLite file that does not exist or is empty. Opening it would create a store."""
    check_store_url(url)
    if not url.startswith(EMBEDDED) or (path := _sqlite_path(url)) == MEMORY:
        return
    remedy = "pass another one with --store, use a service with --url, or create it with 'tompion migrate up'"
    if not Path(path).exists():
        raise InvalidField("store", f"there is no SQLite file {path}; {remedy}")
    if Path(path).stat().st_size == 0:
        raise InvalidField("store", f"the file {path} is empty, it holds no store; {remedy}")


def tune_garbage_collector() -> None:
    """Configure the garbage collector for a process that only runs Tompion.

    Imported modules are never scanned again, and new objects in larger batches: a burst creates tens of thousands of
    short-lived objects without reference cycles.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


@contextmanager
def open_migrator(url: str, *, create: bool = False) -> Iterator[Migrator]:
    """Yield the migrator of the store behind a URL.

    With ``create``, a missing embedded file is created. Without, it counts as empty.
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

    exists = create or Path(path).exists()
    try:
        with closing(sqlite3.connect(path if exists else MEMORY, isolation_level=None)) as connection:
            check_own_database(connection, path)
            yield SqliteMigrator(connection)
    except sqlite3.Error as error:
        raise StoreError(f"cannot use the SQLite file {path}: {error}") from None


@contextmanager
def open_verifier(url: str, namespace: str, retention: str | None = None) -> Iterator[NamespaceVerifier]:
    """Yield the verifier of a namespace. A store that does not exist or is not migrated is an error.

    ``retention`` is the engines' retention of runs, as a duration. ``None`` is the default.
    """
    from tompion.operations.verify.namespace import NamespaceVerifier

    settings = Settings() if retention is None else Settings(retention_ms=_retention_ms(retention))
    check_store_exists(url)
    if url.startswith(EMBEDDED) and (path := _sqlite_path(url)) != MEMORY:
        with _sqlite_migrator(path, create=False) as migrator:
            migrator.reject_older()  # opening the store would migrate it
    with closing(open_store(url)) as store:
        yield NamespaceVerifier(store, namespace, settings)


def _retention_ms(text: str) -> int:
    from tompion.spec.duration import parse_duration

    seconds = parse_duration(text, field="--retention")
    if seconds < 1:
        raise InvalidInput(f"--retention: {text!r} is too short; expected a duration such as 30d")
    return seconds * 1000


def _sqlite_path(url: str) -> str:
    if "?" in url:
        problem = f"{mask_password(url)!r} has a query string, but a SQLite store takes no parameters"
        raise InvalidField("store", f"{problem}; remove the part after '?'")
    path = url.removeprefix(EMBEDDED)
    if path in ("//", "///:memory:"):
        return MEMORY
    name = path.removeprefix("///")
    if name == path or not name.strip("/"):
        raise unknown_store(url)
    return str(Path(name).expanduser())


def unknown_store(url: str) -> InvalidField:
    """Return the error for an unknown URL, with the URL that was probably meant."""
    return InvalidField(
        "store",
        f"{mask_password(url)!r} is not a store; expected {_suggested_url(url)} (four slashes for an absolute path) or postgresql://…",
    )


def _suggested_url(url: str) -> str:
    """Return the SQLite URL of the file that a text seems to name."""
    name = url.removeprefix("file:").removeprefix(EMBEDDED)
    absolute = name.startswith("/") and not name.startswith("//")
    name = name.lstrip("/")
    is_path = url.startswith(EMBEDDED) or "//" not in url
    if not name or "@" in name or not is_path:
        return "sqlite:///file.db"
    return f"sqlite:///{'/' if absolute else ''}{name}"
