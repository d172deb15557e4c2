"""Regressions at the edges of HTTP: bodies, headers, connections, streams and concurrent requests."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.conformance.api.test_authentication import SecuredService
from tests.conformance.api.test_system_endpoints import HOURLY, Listening, ask
from tests.support.service import SECONDS, Http, Served, runner_of, serve_runner
from tompion.api.rest import app, health_endpoints, sse
from tompion.api.rest.server import slow_clients
from tompion.client import Client
from tompion.errors import InvalidField, StoreError, StoreUnavailable, TompionError
from tompion.operations.insight import change_feed
from tompion.store.base import Store, Transaction, Work
from tompion.store.sqlite.driver import SqliteStore

ONE = "/api/v1/schedules/report"
AT_ONCE = 16


def raw(url: str, text: bytes) -> socket.socket:
    host, port = url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), SECONDS)
    connection.sendall(text)
    return connection


def received(connection: socket.socket) -> bytes:
    """Return the bytes that arrive before the server closes the connection."""
    try:
        return connection.recv(1_000)
    except ConnectionError:
        return b""


def test_a_body_without_a_content_type_is_refused(http: Http) -> None:
    """A page of another site can send such a body to a service on loopback, and it created a schedule."""
    body = json.dumps({"schedule_id": "evil", **HOURLY}).encode()
    for kind in ("", "text/plain", "application/x-www-form-urlencoded"):
        refused = http("POST", "/api/v1/schedules", body, Content_Type=kind)
        assert (refused.status, refused.json["field"]) == (400, "Content-Type")
    assert http("GET", "/api/v1/schedules/evil").status == 404


def test_one_of_many_concurrent_creates_succeeds(url: str) -> None:
    """Regression: on PostgreSQL several creates succeeded, and the last one overwrote the others."""

    def create(number: int) -> int:
        asking = Http(url)
        try:
            created = asking("POST", "/api/v1/schedules", {"schedule_id": "x", **HOURLY, "labels": {"n": str(number)}})
            return created.status
        finally:
            asking.close()

    with ThreadPoolExecutor(AT_ONCE) as threads:
        assert sorted(threads.map(create, range(AT_ONCE))) == [201, *[409] * (AT_ONCE - 1)]


@pytest.mark.parametrize(
    ("path", "document"),
    [("/api/v1/calendars/bank", {"dates": ["2027-01-01"]}), ("/api/v1/workflows/flow", {"function": "tasks:work"})],
)
def test_concurrent_upserts_of_one_document_succeed(url: str, path: str, document: dict[str, Any]) -> None:
    """Regression: on PostgreSQL two writers used the same version, which was an internal error."""

    def put(number: int) -> int:
        asking = Http(url)
        try:
            named = {"dates": [f"2027-01-{number + 1:02}"]} if "dates" in document else {"dag": {"n": number}}
            return asking("PUT", path, {**document, **named}).status
        finally:
            asking.close()

    with ThreadPoolExecutor(AT_ONCE) as threads:
        assert sorted(threads.map(put, range(AT_ONCE))) == [*[200] * (AT_ONCE - 1), 201]


def test_arguments_in_the_query_of_a_change_are_refused(http: Http) -> None:
    """`?dry_run=true` was, and everything was paused."""
    http("PUT", ONE, HOURLY)
    refused = http("POST", "/api/v1/bulk/pause?dry_run=true", {"everything": True})
    assert (refused.status, refused.json["field"]) == (400, "dry_run")
    assert http("GET", ONE).json["status"] == "active"
    assert http("POST", f"{ONE}/pause?namespace=default", {}).status == 200


def test_a_conditional_header_is_honoured_or_refused(http: Http) -> None:
    http("PUT", ONE, HOURLY)
    assert http("POST", f"{ONE}/trigger", {}, If_Match='"99"').json["field"] == "If-Match"
    assert http("PUT", ONE, HOURLY, If_None_Match="*").json["field"] == "If-None-Match"
    assert http("GET", f"{ONE}/runs").json["items"] == []


def test_duplicate_fields_are_refused(http: Http) -> None:
    body = b'{"cron": "@daily", "cron": "@hourly", "function": "tasks:work"}'
    assert http("PUT", ONE, body).json["field"] == "cron"


def test_an_error_can_repeat_text_that_utf8_cannot_encode(http: Http) -> None:
    """Regression: a lone surrogate in a field name was an internal error."""
    http("PUT", ONE, HOURLY)
    for path, body in ((f"{ONE}/pause", b'{"\\ud800": 1}'), ("/api/v1/preview", b'{"cron": "\\ud800"}')):
        assert http("POST", path, body).status == 400


def test_a_body_of_undeclared_length_is_limited(http: Http, url: str) -> None:
    host, port = url.removeprefix("http://").split(":")
    with closing(HTTPConnection(host, int(port), timeout=SECONDS)) as connection:
        chunks: Iterator[bytes] = iter([b'"' + b"x" * 600_000, b"x" * 600_000])
        connection.request("POST", "/api/v1/preview", chunks, {"Content-Type": "application/json"}, encode_chunked=True)
        assert connection.getresponse().status == 413
    assert http("GET", "/healthz").status == 200


def test_an_unknown_method_gets_the_allow_header(http: Http) -> None:
    assert http("TRACE", "/api/v1/schedules").headers["allow"] == "GET, HEAD, POST"


def test_head_of_the_event_stream_returns(http: Http) -> None:
    assert http("HEAD", "/api/v1/events").status == 200


def test_start_run_takes_its_key_from_the_header(http: Http) -> None:
    http("PUT", "/api/v1/workflows/flow", {"function": "tasks:work"})
    for _ in range(2):
        assert http("POST", "/api/v1/workflows/flow/runs", {}, Idempotency_Key="order-1").status == 201
    assert len(http("GET", "/api/v1/schedules/run-launcher%2Fflow/runs").json["items"]) == 1


def test_an_idle_connection_is_closed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand of them kept a service from answering, and its engine from firing."""
    monkeypatch.setattr(slow_clients, "MAX_REQUEST_S", 0.2)
    with serve_runner(runner_of(store)) as url:
        begun = b"POST /api/v1/preview HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"
        for text in (b"", b"GET /he", begun, begun + b"\r\n{"):
            with closing(raw(url, text)) as connection:
                while connection.recv(1_000):
                    pass  # until the other side ends it


def test_the_number_of_connections_is_limited(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_clients, "connection_limit", lambda: 2)
    with serve_runner(runner_of(store)) as url:
        idle = [raw(url, b"") for _ in range(2)]
        with closing(raw(url, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")) as one_too_many:
            assert received(one_too_many) == b""
        idle.pop().close()
        for connection in idle:
            connection.close()


def test_a_stream_ends_when_its_key_is_revoked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: a stream continued after its key was revoked."""
    monkeypatch.setattr(sse, "ACCESS_TTL_S", 0.0)
    service = SecuredService()
    monkeypatch.setattr("tompion.api.auth.api_key_cache.CACHE_TTL_S", 0.0)
    try:
        editor, reader = service.key("editor").secret, service.key("reader")
        listening = Listening(service.served.url, key=reader.secret)
        service.request("PUT", ONE, editor, HOURLY)
        assert listening.until("edit", schedule_id="report")["operation"] == "upsert"
        service.request("DELETE", f"/api/v1/keys/{reader.key.key_id}", service.key("admin").secret)
        service.request("POST", f"{ONE}/pause", editor, {})
        assert listening.answer.read() == b""
        listening.close()
    finally:
        service.close()


def test_the_number_of_streams_per_caller_is_limited(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_LISTENERS_PER_ACTOR", 1)
    listening = Listening(url)
    asking = Http(url)
    assert (asking("GET", "/api/v1/events").status, listening.answer.status) == (422, 200)
    asking.close()
    listening.close()


def test_the_end_of_a_run_from_before_the_first_poll_is_sent(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: behind many newer runs, its end was never sent."""
    from tompion.operations.schedules import control, crud

    monkeypatch.setattr(change_feed, "REREAD_ROWS", 1)
    ask(store, crud.create, "old", **HOURLY)
    ask(store, crud.create, "new", **HOURLY)
    first = ask(store, control.trigger, "old", request_id="r")
    for number in range(5):
        ask(store, control.trigger, "new", request_id=f"r{number}")
    seen = ask(store, change_feed.poll_changes).seen
    ask(store, crud.delete, "old")
    updates = ask(store, change_feed.poll_changes, seen).updates
    assert first.run_id in {getattr(update, "run_id", None) for _, update in updates}


def test_all_credentials_of_one_caller_share_a_rate_limit() -> None:
    """Regression: each spelling of one key, and each unused credential, had a rate limit of its own."""
    from base64 import b64encode

    service = SecuredService(requests_per_s=5)
    try:
        key = service.key("reader").secret
        names = [b64encode(f"user{number}:{key}".encode()).decode() for number in range(40)]
        statuses = [service.http("GET", "/api/v1/schedules", Authorization=f"Basic {name}").status for name in names]
        assert 429 in statuses
        for number in range(3):
            service.http("GET", "/nope", Authorization=f"Bearer made-up-{number}")
        made_up = [service.request("GET", "/api/v1/schedules", f"made-up-{number % 3}").status for number in range(30)]
        assert 429 in made_up
    finally:
        service.close()


def test_a_worker_belongs_to_its_namespace() -> None:
    """Regression: another namespace could deregister a worker by its number, and see its name."""
    service = SecuredService()
    try:
        mine, theirs = service.key("operator", "mine").secret, service.key("operator", "theirs").secret
        worker = service.request("POST", "/api/v1/workers", mine, {"name": "secret-name"}).json["worker_id"]
        assert service.request("DELETE", f"/api/v1/workers/{worker}", theirs).status == 204
        for verb in ("claim", "heartbeat"):
            assert service.request("POST", f"/api/v1/workers/{worker}/{verb}", theirs, {}).status == 404
            assert service.request("POST", f"/api/v1/workers/{worker}/{verb}", mine, {}).status == 200
        assert service.request("GET", "/api/v1/instances", theirs).json == []
        assert [instance["name"] for instance in service.request("GET", "/api/v1/instances", mine).json] == [
            "secret-name"
        ]
    finally:
        service.close()


class Silent(SqliteStore):
    """A store that has stopped to answer."""

    def __init__(self) -> None:
        super().__init__()
        self.silent = Event()

    def read(self, work: Work[Any]) -> Future[Any]:
        return Future() if self.silent.is_set() else super().read(work)


def test_a_request_times_out_when_the_store_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "MAX_STORE_S", 0.1)
    store = Silent()
    with serve_runner(runner_of(store)) as url, closing(Client(url)) as client:
        assert client.schedules.list().items == ()
        store.silent.set()
        with pytest.raises(StoreUnavailable, match="has not answered"):
            client.schedules.list()
    store.close()


class Locked(SqliteStore):
    """A store that another program has locked for writes."""

    locked = False

    def write(self, work: Work[Any]) -> Future[Any]:
        return Future() if self.locked else super().write(work)


def test_a_change_times_out_when_the_store_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: a trigger had no answer within 15 s, and ``/readyz`` was green."""
    monkeypatch.setattr(app, "MAX_WRITE_S", 0.1)
    monkeypatch.setattr(health_endpoints, "MAX_WRITE_PROBE_S", 0.1)
    store = Locked(tmp_path / "jobs.db")
    served = Served(runner_of(store))
    http = Http(served.url)
    assert http("PUT", ONE, HOURLY).status == 201
    assert http("GET", "/readyz").status == 200
    store.locked = True
    assert http("GET", ONE).status == 200
    answer = http("POST", f"{ONE}/trigger", {})
    assert (answer.status, answer.json["code"], answer.json["retryable"]) == (503, "store_unavailable", True)
    ready = http("GET", "/readyz")
    assert (ready.status, ready.json["problems"]) == (
        503,
        ["the store has not accepted a write within 0 s: it is locked or overloaded"],
    )
    assert http("GET", "/healthz").status == 200
    http.close()
    served.close()
    store.close()


def test_a_file_that_was_removed_is_not_written_to(tmp_path: Path) -> None:
    """Regression: acknowledged writes were lost at the next start, and the service reported that it was ready."""
    store = SqliteStore(tmp_path / "jobs.db")
    served = Served(runner_of(store))
    http = Http(served.url)
    assert http("PUT", ONE, HOURLY).status == 201
    (tmp_path / "jobs.db").unlink()
    lost = http("PUT", ONE, {**HOURLY, "description": "another"})
    assert (lost.status, lost.json["code"]) == (500, "store_error")
    assert "removed or replaced" in lost.json["detail"]
    assert http("GET", "/readyz").status == 503
    http.close()
    served.close()
    store.close()


def test_the_client_refuses_values_that_cannot_be_sent(url: str) -> None:
    with closing(Client(url)) as client:
        with pytest.raises(InvalidField, match="request_id"):
            client.pause("report", request_id="a€b")
        with pytest.raises(InvalidField, match="schedule_id"):
            client.get("")


def test_a_server_error_is_not_mapped_to_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    from tompion.client.errors import error_of

    body = json.dumps({"code": "internal_error", "detail": "a bug"}).encode()
    assert type(error_of(500, body)) is TompionError
    assert isinstance(error_of(503, b""), StoreUnavailable)
    assert not isinstance(error_of(500, body), StoreError)


def test_the_store_still_has_its_transactions(store: Store) -> None:
    """A lock of a name ends with its transaction."""

    def twice(transaction: Transaction) -> int:
        transaction.name_lock("schedule", "default", "x")
        transaction.name_lock("schedule", "default", "x")
        return 1

    assert [store.write(twice).result(SECONDS) for _ in range(2)] == [1, 1]


def test_a_listener_that_disconnects_leaves_nothing_behind() -> None:
    """Regression: each closed stream left a pending task, and asyncio warned about it at the end."""

    async def test() -> set[asyncio.Task[Any]]:
        live = sse.ChangeStream(runner_of(SqliteStore()))

        async def listen() -> None:
            async for _ in await live.events("default", "ann", may_still):
                heard.set()

        async def may_still() -> None:
            return None

        heard = asyncio.Event()
        listening = asyncio.create_task(listen())
        await heard.wait()
        await asyncio.sleep(0)
        listening.cancel()
        await asyncio.wait([listening])
        for _ in range(5):
            await asyncio.sleep(0)
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(test()) == set()
