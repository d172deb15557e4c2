"""Fixtures: stores with a manual clock, a service on each, and every interface to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.conformance.api.plain_requests import PlainRequests
from tests.support.command_line import CommandLine
from tests.support.operations import BEGIN
from tests.support.service import Blocking, BlockingTompion, Direct, Http, runner_of, serve_runner
from tompion import Tompion
from tompion.bootstrap.store import open_store
from tompion.client import Client
from tompion.contract.sync_methods import SyncMethods
from tompion.store.base import Store
from tompion.store.postgres.driver import PostgresStore
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(BEGIN)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, clock: ManualClock) -> Iterator[Store]:
    opened: Store
    if request.param == "postgres":
        opened = PostgresStore(request.getfixturevalue("migrated_url"), clock=clock)
    else:
        opened = SqliteStore(clock=clock)
    yield opened
    opened.close()


@pytest.fixture
def url(store: Store) -> Iterator[str]:
    with serve_runner(runner_of(store)) as address:
        yield address


@pytest.fixture
def http(url: str) -> Iterator[Http]:
    http = Http(url)
    yield http
    http.close()


@pytest.fixture(
    params=["client", "async_client", "command_line", "command_line_on_a_store", "embedded", "embedded_async"]
)
def interface(request: pytest.FixtureRequest, store: Store) -> Iterator[SyncMethods]:
    """An interface to the service, or to its store."""
    opened: Client | Blocking | CommandLine | Tompion | BlockingTompion
    on_a_store: dict[str, Callable[[str], CommandLine | Tompion | BlockingTompion]] = {
        "command_line_on_a_store": partial(CommandLine, "--store"),
        "embedded": lambda where: Tompion(where, engine=False).open(),
        "embedded_async": BlockingTompion,
    }
    if request.param in on_a_store:
        opened = on_a_store[request.param](request.getfixturevalue("store_url"))
    else:
        url = request.getfixturevalue("url")
        opened = {"client": Client, "async_client": Blocking}.get(request.param, partial(CommandLine, "--url"))(url)
    yield opened
    opened.close()


@pytest.fixture
def plain(http: Http) -> PlainRequests:
    """Plain requests, which share no code with the clients."""
    return PlainRequests(http)


@pytest.fixture
def store_url(
    request: pytest.FixtureRequest,
    store: Store,
    clock: ManualClock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """The URL of a store that every command opens again, with a manual clock."""
    monkeypatch.setattr("tompion.sdk.app.open_store", partial(open_store, clock=clock))
    if isinstance(store, PostgresStore):
        url: str = request.getfixturevalue("migrated_url")
        return url
    return f"sqlite:///{tmp_path / 'tompion.db'}"


@pytest.fixture
def direct(clock: ManualClock) -> Iterator[Direct]:
    """The operations without an interface, on a store of their own."""
    store = SqliteStore(clock=clock)
    yield Direct(runner_of(store))
    store.close()
