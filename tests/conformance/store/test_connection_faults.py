"""PostgreSQL restarts, network failures, and values in array parameters."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from threading import Event
from typing import Any

import psycopg
import pytest

from tests.conformance.store.conftest import SECONDS
from tests.support.rows import run, state
from tests.support.servers import LOOPBACK
from tests.support.servers.postgres import PostgresServer
from tests.support.servers.proxy import TcpProxy
from tompion.errors import StoreError, StoreUnavailable
from tompion.model.run import Reason, RunState
from tompion.runtime.clock import SystemClock
from tompion.store.base import Transaction
from tompion.store.postgres import connection
from tompion.store.postgres.binary_arrays import ARRAYS, register
from tompion.store.postgres.connection import MAX_TICKS
from tompion.store.postgres.driver import PostgresMigrator, PostgresStore

pytestmark = pytest.mark.server


class Word(StrEnum):
    """An enumeration of texts."""

    ONE = "one"


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("bigint", []),
        ("bigint", [1]),
        ("bigint", [0, -1, 2**63 - 1, -(2**63), 256]),
        ("bigint", [None, 5, None, -5, 5]),
        ("bigint", [None, None]),
        ("bigint", [7, 7, 7]),
        ("bigint", list(range(-300, 3000))),
        ("boolean", [True, False, None]),
        ("boolean", [False, False]),
        ("text", ["", "ä", "😀" * 100, None, "null", '"', "{}", "\\"]),
        ("text", [Word.ONE, "two"]),
        ("text", [None, None, None]),
        ("text", []),
    ],
)
def test_array_values_round_trip(kind: str, column: list[Any], postgres_server: PostgresServer) -> None:
    with psycopg.connect(postgres_server.url) as connection:
        register(connection.adapters)
        query = f"SELECT %s::{kind}[]"
        assert connection.execute(query, [ARRAYS[kind](tuple(column))]).fetchall() == [(column,)]


def test_enum_values_are_sent_as_text(postgres: PostgresStore) -> None:
    row = run(1, state=RunState.BUFFERED)
    postgres.write(lambda t: t.run_insert([row])).result(SECONDS)
    assert postgres.write(lambda t: t.run_drop_waiting(1, Reason.DELETED, 5)).result(SECONDS) == 1
    stored_row = postgres.read(lambda t: t.run_get(row.id)).result(SECONDS)
    assert stored_row is not None
    assert (stored_row.state, stored_row.reason) == ("SKIPPED", "deleted")


def test_text_that_the_server_rejects_is_a_store_error(postgres: PostgresStore) -> None:
    with pytest.raises(StoreError) as caught:
        postgres.write(lambda t: t.run_insert([run(1, payload="\0")])).result(SECONDS)
    assert not caught.value.retryable


def test_time_is_the_servers_and_constant_within_a_transaction(migrated_url: str) -> None:
    store = PostgresStore(migrated_url)
    first, second = store.write(lambda t: (t.now_ms(), t.now_ms())).result(SECONDS)
    assert first == second
    assert abs(first - SystemClock().now() * 1000) < 60_000
    store.close()


def test_commit_after_a_swallowed_error_fails(postgres: PostgresStore) -> None:
    def work(t: Transaction) -> None:
        t.state_insert(state(1))
        with pytest.raises(psycopg.Error):
            t.state_insert(state(2, in_flight=-1))

    with pytest.raises(StoreError, match="nothing was written"):
        postgres.write(work).result(SECONDS)
    assert postgres.read(lambda t: t.state_get([1])).result(SECONDS) == {}


def test_read_transaction_cannot_write(postgres: PostgresStore) -> None:
    with pytest.raises(StoreError) as caught:
        postgres.read(lambda t: t.state_insert(state(1))).result(SECONDS)
    assert not caught.value.retryable


def test_read_only_server_is_unavailable(postgres: PostgresStore) -> None:
    def work(t: Transaction) -> None:
        t._cursor.execute("SET TRANSACTION READ ONLY")  # type: ignore[attr-defined]  # as a standby has it
        t.state_insert(state(1))

    with pytest.raises(StoreUnavailable):
        postgres.write(work).result(SECONDS)
    assert postgres.read(lambda t: t.state_get([1])).result(SECONDS) == {}


@pytest.fixture
def proxy(postgres_server: PostgresServer) -> Iterator[TcpProxy]:
    with TcpProxy(LOOPBACK, postgres_server.port) as store:
        yield store


@pytest.fixture
def far(proxy: TcpProxy, migrated_url: str) -> Iterator[PostgresStore]:
    """A store behind a network that can fail, with one connection."""
    store = PostgresStore(proxy.reroute(migrated_url), pool_size=1)
    store.write(lambda t: t.state_insert(state(1))).result(SECONDS)
    yield store
    proxy.blackhole(False)
    store.close()


def read(store: PostgresStore) -> object:
    return store.read(lambda t: t.state_get([1])).result(SECONDS)


def test_dead_connection_is_replaced_between_calls(far: PostgresStore, proxy: TcpProxy) -> None:
    for _ in range(3):
        proxy.cut()
        assert read(far) == {1: state(1)}
        assert read(far) == {1: state(1)}


def test_connection_lost_during_a_call_is_a_retryable_error(far: PostgresStore, proxy: TcpProxy) -> None:
    def work(t: Transaction) -> None:
        t.state_update([state(1, 5)])
        proxy.cut()
        t.state_get([1])

    with pytest.raises(StoreUnavailable):
        far.write(work).result(SECONDS)
    assert read(far) == {1: state(1)}


def test_commit_without_a_response_is_an_error(far: PostgresStore, proxy: TcpProxy) -> None:
    calls = []

    def work(t: Transaction) -> None:
        calls.append(t)
        t.state_update([state(1, 5)])
        proxy.cut()

    with pytest.raises(StoreUnavailable):
        far.write(work).result(SECONDS)
    assert len(calls) == 1


def test_calls_fail_immediately_while_the_server_is_down(far: PostgresStore, proxy: TcpProxy) -> None:
    proxy.refuse()
    proxy.cut()
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            read(far)
    proxy.refuse(False)
    assert read(far) == {1: state(1)}


def test_silent_connection_is_closed_by_the_watchdog(far: PostgresStore, proxy: TcpProxy) -> None:
    swallowed = Event()

    def work(t: Transaction) -> None:
        proxy.blackhole()
        swallowed.set()
        t.state_get([1])

    lost = far.write(work)
    assert swallowed.wait(SECONDS)
    for _ in range(MAX_TICKS + 1):
        far._watchdog.tick()
    with pytest.raises(StoreUnavailable):
        lost.result(SECONDS)
    proxy.blackhole(False)
    assert read(far) == {1: state(1)}


def test_server_without_a_first_response_is_given_up_with_a_warning(
    far: PostgresStore, proxy: TcpProxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Regression: a worker waited silently for the schema version without a time limit."""
    for name in ("WARNING_S", "RESPONSE_TIMEOUT_S"):
        monkeypatch.setattr(connection, name, 0.01)

    def swallow(_: object) -> None:
        proxy.blackhole()

    monkeypatch.setattr(connection, "register", swallow)
    with pytest.raises(StoreUnavailable):
        PostgresMigrator(far._url).version()
    where = f"PostgreSQL at {LOOPBACK}:{proxy.port}"
    assert caplog.messages == [
        f"waiting for {where}: it accepted the connection but does not respond",
        f"{where} has not responded for 0.01 seconds: giving up",
    ]


def test_listener_reconnects(far: PostgresStore, proxy: TcpProxy) -> None:
    heard = Event()
    far.subscribe(heard.set)
    assert heard.wait(SECONDS)
    heard.clear()
    proxy.cut()
    assert heard.wait(SECONDS)  # it may have missed something
    heard.clear()
    far.write(lambda t: t.notify()).result(SECONDS)
    assert heard.wait(SECONDS)


def test_close_does_not_wait_for_a_server_that_is_down(far: PostgresStore, proxy: TcpProxy) -> None:
    heard = Event()
    far.subscribe(heard.set)
    assert heard.wait(SECONDS)
    proxy.refuse()
    proxy.cut()
    far.close()


def test_close_does_not_wait_for_a_blocked_listener(far: PostgresStore, proxy: TcpProxy) -> None:
    heard = Event()
    far.subscribe(heard.set)
    assert heard.wait(SECONDS)
    proxy.blackhole()
    far._listener.close()
