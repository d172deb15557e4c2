"""The HTTP executor: requests, responses, limits, and protection of internal addresses."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hmac
import itertools
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, closing, suppress
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.support.executors import CANARY, ReceivedRequest, Server, http_server, launch_of
from tompion.errors import InvalidField, LaunchError, LaunchRefused, TargetUnreachable
from tompion.executors.base import Accepted, Completed
from tompion.executors.http import MAX_RETRY_AFTER_S, HttpExecutor
from tompion.executors.options import ExecutorEnv
from tompion.model.run import RunState
from tompion.runtime.clock import Clock, pause
from tompion.testing.clock import ManualClock

SITE = ExecutorEnv(max_result_bytes=200, public_url="https://tompion.example/")
OLD, NEW = bytes(range(32)), bytes(range(1, 33))


def secret(key: bytes) -> str:
    return "whsec_" + base64.b64encode(key).decode()


@pytest.fixture
def server() -> Iterator[Server]:
    with http_server() as running:
        yield running


def call_target(
    server: Server,
    options: dict[str, Any],
    *,
    dag: Any = None,
    configured: dict[str, Any] | None = None,
    clock: Clock | None = None,
    **run: Any,
) -> Completed | Accepted:
    """Call the target once."""

    async def call(executor: HttpExecutor) -> Completed | Accepted:
        return await executor.run(dag, launch_of({"url": server.url, **options}, **run))

    result: Completed | Accepted = with_executor(server, call, configured, clock)
    return result


def with_executor(
    server: Server,
    do: Callable[[HttpExecutor], Awaitable[Any]],
    configured: dict[str, Any] | None = None,
    clock: Clock | None = None,
) -> Any:
    async def scenario() -> Any:
        async with aclosing(HttpExecutor({"allow": [server.allow], **(configured or {})}, SITE, clock)) as executor:
            return await do(executor)

    return asyncio.run(scenario())


def test_request_has_document_metadata_and_callback(server: Server) -> None:
    completed = call_target(server, {"headers": {"X-Team": "a"}}, dag={"steps": [1]}, payload={"n": 5})
    assert completed == Completed()
    (seen,) = server.seen
    launch = launch_of({})
    assert seen.json["dag"] == {"steps": [1]}
    assert seen.json["meta"]["payload"] == {"n": 5}
    assert seen.json["meta"]["scheduled_for"] == "2027-01-15T08:01:00+00:00"
    assert (seen.json["meta"]["source"], seen.json["meta"]["user_id"]) == ("schedule", "u1")
    assert seen.json["meta"]["idempotency_key"] == seen.headers["idempotency-key"] == launch.idempotency_key
    callback = {"url": "https://tompion.example/api/v1/callbacks", "token": launch.token}
    assert seen.json["callback"] == callback
    assert (seen.headers["x-team"], seen.headers["content-type"]) == ("a", "application/json")
    assert "webhook-signature" not in seen.headers


def test_request_has_a_signature_for_each_secret(server: Server) -> None:
    call_target(server, {"secret": "team"}, configured={"secrets": {"team": [secret(OLD), secret(NEW)]}})
    (seen,) = server.seen
    content = f"{seen.headers['webhook-id']}.{seen.headers['webhook-timestamp']}.".encode() + seen.body
    expected = [base64.b64encode(hmac.new(key, content, sha256).digest()).decode() for key in (OLD, NEW)]
    assert seen.headers["webhook-signature"] == " ".join(f"v1,{signature}" for signature in expected)
    assert seen.headers["webhook-id"] == launch_of({}).idempotency_key


def test_secrets_are_read_from_a_variable_and_from_files(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOMPION_TEST_SECRET", secret(OLD))
    for name, key in (("old", OLD), ("new", NEW)):
        (tmp_path / name).write_text(f"{secret(key)}\n")
    files = [str(tmp_path / "old"), str(tmp_path / "new")]
    secrets = {"variable": {"secret_env": "TOMPION_TEST_SECRET"}, "files": {"secret_file": files}}
    for name, keys in (("variable", [OLD]), ("files", [OLD, NEW])):
        call_target(server, {"secret": name}, configured={"secrets": secrets})
        request = server.seen[-1]
        content = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode() + request.body
        signatures = [base64.b64encode(hmac.new(key, content, sha256).digest()).decode() for key in keys]
        assert request.headers["webhook-signature"] == " ".join(f"v1,{text}" for text in signatures)


ANSWERS: list[tuple[int, bytes, Completed | Accepted | type[LaunchError]]] = [
    (200, b"", Completed()),
    (200, b'{"rows": 3}', Completed(result='{"rows": 3}')),
    (201, b"made", Completed(result='"made"')),
    (204, b"", Completed()),
    (202, b"", Accepted("accepted")),
    (301, b"", LaunchRefused),
    (307, b"", LaunchRefused),
    (400, b"bad", LaunchRefused),
    (401, b"", LaunchRefused),
    (404, b"", LaunchRefused),
    (408, b"", LaunchError),
    (425, b"", LaunchError),
    (429, b"slow down", LaunchError),
    (500, b"", LaunchError),
    (502, b"", LaunchError),
    (503, b"later", TargetUnreachable),
    (504, b"", LaunchError),
]


@pytest.mark.parametrize(("status", "content", "expected"), ANSWERS)
def test_status_code_determines_the_outcome(
    server: Server, status: int, content: bytes, expected: Completed | Accepted | type[LaunchError]
) -> None:
    server.answer = lambda _: (status, {"Location": "/job/5"} if status == 307 else {}, content)
    if not isinstance(expected, type):
        assert call_target(server, {}) == expected
        return
    with pytest.raises(LaunchError, match=str(status)) as caught:
        call_target(server, {})
    assert type(caught.value) is expected
    assert caught.value.retryable is (expected is not LaunchRefused)
    assert caught.value.retry_after_s is None


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("0", 0),
        ("120", 120),
        ("9" * 30, MAX_RETRY_AFTER_S),
        ("Fri, 15 Jan 2027 08:00:10 GMT", 10),
        ("Fri, 15 Jan 2027 07:00:00 GMT", 0),
        ("-5", None),
        ("soon", None),
        ("", None),
        ("²", None),
    ],
)
@pytest.mark.parametrize("status", [429, 500, 503])
def test_retry_after_is_read(server: Server, status: int, header: str, expected: float | None) -> None:
    server.answer = lambda _: (status, {"Retry-After": header.encode().decode("latin-1")}, b"")
    with pytest.raises(LaunchError, match=str(status)) as caught:
        call_target(server, {}, clock=ManualClock(datetime(2027, 1, 15, 8, tzinfo=UTC).timestamp()))
    assert caught.value.retry_after_s == expected


def redirect(status: int, location: str, canary: str, _seen: ReceivedRequest) -> tuple[int, dict[str, str], bytes]:
    return status, {"Location": location, "Refresh": f"0; url={canary}"}, b""


@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
def test_redirect_is_not_followed(server: Server, status: int) -> None:
    """Neither to the same target nor to another one, in any form. The canary server receives nothing."""
    with http_server() as canary:
        port = canary.url.rpartition(":")[2]
        locations = [f"{server.url}/other", canary.url, f"//127.0.0.1:{port}/", f"http://127.1:{port}/", "/other"]
        locations += [
            "https://127.0.0.1/",
            "file:///etc/passwd",
            "gopher://127.0.0.1/",
            f"HTTP://[::1]:{port}/",
            "",
            "\\x",
        ]
        for location in locations:
            server.answer = partial(redirect, status, location, canary.url)
            with pytest.raises(LaunchRefused, match=r"redirects are not followed|answered 300"):
                call_target(server, {})
        assert [seen.path for seen in server.seen] == ["/"] * len(locations)
        assert canary.seen == []


def test_location_of_an_accepted_run_is_its_execution_id(server: Server) -> None:
    server.answer = lambda _: (202, {"Location": "/jobs/17"}, b"")
    assert call_target(server, {}) == Accepted("/jobs/17")


def test_endless_response_is_cut_off() -> None:
    """The response announces ten gigabytes. The executor closes the connection after a fraction of them."""
    sent = 0

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        with closing(writer), suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n")
            while not writer.is_closing():
                writer.write(b"x" * 65_536)
                await writer.drain()
                sent += 65_536

    async def scenario() -> Completed | Accepted:
        flooding = await asyncio.start_server(flood, "127.0.0.1", 0)
        port = flooding.sockets[0].getsockname()[1]
        async with flooding, aclosing(HttpExecutor({"allow": ["127.0.0.1"]}, SITE)) as executor:
            return await executor.run(None, launch_of({"url": f"http://127.0.0.1:{port}/"}))

    completed = asyncio.run(scenario())
    assert isinstance(completed, Completed)
    assert completed.state == RunState.SUCCESS
    assert len(str(completed.result)) <= SITE.max_result_bytes
    assert sent < 100_000_000


def test_response_is_truncated_to_the_result_limit(server: Server) -> None:
    server.answer = lambda _: (200, {}, b"x" * 5_000_000)
    completed = call_target(server, {})
    assert isinstance(completed, Completed)
    assert completed.result is not None
    assert len(completed.result.encode()) <= SITE.max_result_bytes


def test_slow_target_times_out(server: Server) -> None:
    completed = call_target(server, {"url": f"{server.url}/hold", "timeout_ms": 50})
    assert completed == Completed(RunState.TIMED_OUT, error="no response within timeout_ms (50)")


def test_cancelled_run_aborts_the_request(server: Server) -> None:
    async def call(executor: HttpExecutor) -> None:
        launch = launch_of({"url": f"{server.url}/hold"})
        task = asyncio.create_task(executor.run(None, launch))
        await asyncio.get_running_loop().run_in_executor(None, server.arrived.acquire)
        assert not await executor.cancel(None, launch, None)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with_executor(server, call)


def test_cancellation_of_an_accepted_run_is_sent_to_the_cancel_url(server: Server) -> None:
    async def call(executor: HttpExecutor) -> bool:
        launch = launch_of({"url": server.url, "cancel_url": f"{server.url}/cancel"})
        return await executor.cancel(None, launch, "/jobs/17")

    assert with_executor(server, call) is True
    (seen,) = server.seen
    assert (seen.path, seen.json["execution_id"]) == ("/cancel", "/jobs/17")


def test_closed_port_is_an_unreachable_target() -> None:
    with http_server() as server:
        pass
    with pytest.raises(TargetUnreachable, match=r"cannot reach 127\.0\.0\.1") as caught:
        call_target(server, {})
    assert caught.value.retryable


def test_loopback_address_is_rejected_unless_allowed(server: Server) -> None:
    with pytest.raises(LaunchRefused, match="loopback"):
        call_target(server, {}, configured={"allow": []})
    assert server.seen == []


@pytest.mark.parametrize("name", ["localhost", "ip6-localhost", "rebinding.test"])
def test_name_that_resolves_to_an_internal_address_is_rejected(
    server: Server, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The executor checks the address that it connects to, not an earlier result of the resolver."""

    async def resolve(self: Any, host: str, port: int, **_: Any) -> list[Any]:
        assert host == name
        return [(2, 1, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", resolve)
    port = server.url.rpartition(":")[2]
    with pytest.raises(LaunchRefused, match="loopback"):
        call_target(server, {"url": f"http://{name}:{port}/"}, configured={"allow": []})
    assert server.seen == []


def test_allowed_address_is_connected_by_name(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts: list[str] = []

    async def resolve(self: Any, host: str, port: int, **_: Any) -> list[Any]:
        hosts.append(host)
        return [(2, 1, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", resolve)
    port = server.url.rpartition(":")[2]
    assert call_target(server, {"url": f"http://service.test:{port}/"}) == Completed()
    assert hosts == ["service.test"]
    assert server.seen[0].headers["host"] == f"service.test:{port}"


BAD = [
    ({"url": None}, "has no url"),
    ({"method": "BREW"}, "method is not one of GET, HEAD"),
    ({"headers": ["a"]}, "headers is not an object"),
    ({"headers": {"Host": "x"}}, "must not set the header 'Host'"),
    ({"headers": {"Webhook-Id": "x"}}, "must not set the header"),
    ({"headers": {"X-A": "b\r\nX-B: c"}}, "an invalid (name|value)"),
    ({"headers": {"X A": "b"}}, "an invalid (name|value)"),
    ({"headers": {"X-A": "b\nX-B: c"}}, "an invalid (name|value)"),
    ({"headers": {"X-A": "b\rX-B: c"}}, "an invalid (name|value)"),
    ({"headers": {"X-A": "b\x00c"}}, "an invalid (name|value)"),
    ({"headers": {"X-A\r\nX-B": "c"}}, "an invalid (name|value)"),
    ({"headers": {"X-A:": "c"}}, "an invalid (name|value)"),
    ({"headers": {"": "c"}}, "an invalid (name|value)"),
    ({"headers": {"X-A": "b\u2028\u560d\u560aX-B: c"}}, "an invalid (name|value)"),
    ({"headers": {"Content-Length": "0"}}, "must not set the header"),
    ({"headers": {"Transfer-Encoding": "chunked"}}, "must not set the header"),
    ({"headers": {"Connection": "upgrade"}}, "must not set the header"),
    ({"secret": "unknown"}, "names a secret that the operator has not configured"),
    ({"timeout_ms": 0}, "timeout_ms"),
]


@pytest.mark.parametrize(("options", "problem"), BAD)
def test_invalid_options_are_rejected(server: Server, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(LaunchRefused, match=problem):
        call_target(server, options)
    assert server.seen == []


@pytest.mark.parametrize(
    ("configured", "problem"),
    [
        ({"allow": ["nonsense"]}, "allow"),
        ({"colour": 1}, "executors.http.colour"),
        ({"timeout_ms": 0}, "executors.http.timeout_ms"),
        ({"secrets": {"a": []}}, "executors.http.secrets.a"),
        ({"secrets": {"a": "short"}}, "secret"),
        ({"secrets": {"a": {"secret_env": "TOMPION_TEST_UNSET"}}}, r"secrets\.a\.secret_env: .* is not set"),
        ({"secrets": {"a": {"secret_file": "no/such/file"}}}, r"secrets\.a\.secret_file: cannot read"),
        ({"secrets": {"a": {"secret": "x"}}}, r"secrets\.a\.secret: there is no such option"),
        ({"secrets": {"a": {}}}, r"secrets\.a\.secret_env: expected either"),
    ],
)
def test_invalid_configuration_is_rejected(configured: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidField, match=problem):
        HttpExecutor(configured, SITE)


@pytest.mark.parametrize("status", [200, 400, 500])
def test_request_content_is_in_no_error_or_log(server: Server, status: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server.answer = lambda seen: (status, {}, b"no")
    outcome = ""
    try:
        outcome = str(call_target(server, {"headers": {"Authorization": CANARY}}, dag=CANARY, payload=CANARY))
    except LaunchError as error:
        outcome = f"{error} {error.__cause__} {error.__context__}"
    assert CANARY not in outcome
    assert CANARY not in caplog.text
    assert CANARY in server.seen[0].headers["authorization"]


@pytest.mark.parametrize(
    ("headers", "result"),
    [
        ({"Authorization": f"Bearer {CANARY}"}, '"Bearer …"'),
        ({"X-Api-Key": CANARY}, '"…"'),
        ({"Cookie": f"a=1; session={CANARY}"}, '"a=1; …"'),
        ({"X-Token": "short"}, '"short"'),
        ({"Accept": "application/json"}, '"application/json"'),
    ],
)
def test_echoed_credentials_are_redacted(server: Server, headers: dict[str, str], result: str) -> None:
    (name,) = headers
    server.answer = lambda seen: (200, {}, seen.headers[name.lower()].encode())
    assert call_target(server, {"headers": headers}) == Completed(result=result)
    server.answer = lambda seen: (400, {}, seen.headers[name.lower()].encode())
    with pytest.raises(LaunchRefused) as caught:
        call_target(server, {"headers": headers})
    assert str(caught.value) == f"the target responded with 400: {result[1:-1]}"


def test_50_concurrent_calls_all_succeed(server: Server) -> None:
    server.answer = lambda seen: (200, {}, b"1")

    async def call(executor: HttpExecutor) -> list[Any]:
        return await asyncio.gather(*(executor.run(None, launch_of({"url": server.url})) for _ in range(50)))

    assert with_executor(server, call) == [Completed(result="1")] * 50


def test_dns_rebinding_never_reaches_an_internal_address(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The resolver returns public and internal addresses in turn, or both. The internal server receives nothing."""
    public, inside = "192.0.2.1", "127.0.0.1"  # the first is reserved for documentation, and is rejected
    turns = itertools.cycle([["93.184.215.14"], [inside], ["93.184.215.14", inside], [inside, public], ["::1"]])
    attempted: list[str] = []

    async def resolve(self: Any, host: str, port: int, **_: Any) -> list[Any]:
        return [(10 if ":" in address else 2, 1, 6, "", (address, port)) for address in next(turns)]

    async def connect(*_: Any, **options: Any) -> Any:
        attempted.extend(str(info[4][0]) for info in options["addr_infos"])
        raise OSError("network unreachable")

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", resolve)
    monkeypatch.setattr("aiohttp.connector.aiohappyeyeballs.start_connection", connect)
    port = server.url.rpartition(":")[2]

    async def scenario() -> list[str]:
        errors: list[str] = []
        async with aclosing(HttpExecutor({"allow": []}, SITE)) as executor:
            for _ in range(1_000):
                with pytest.raises(LaunchError) as caught:
                    await executor.run(None, launch_of({"url": f"http://rebinding.test:{port}/"}))
                errors.append(type(caught.value).__name__)
        return errors

    kinds = Counter(asyncio.run(scenario()))
    assert kinds == {"TargetUnreachable": 200, "LaunchRefused": 800}
    assert set(attempted) == {"93.184.215.14"}  # the executor connects to the address that it has checked
    assert server.seen == []


def test_compressed_response_is_not_decompressed(server: Server) -> None:
    """A hundred kilobytes that decompress to a hundred megabytes are truncated and stay compressed."""
    bomb = gzip.compress(bytes(100_000_000), 9)
    server.answer = lambda _: (200, {"Content-Encoding": "gzip"}, bomb)
    completed = call_target(server, {})
    assert isinstance(completed, Completed)
    assert len(str(completed.result)) < 1_000


def test_timeout_covers_a_response_that_arrives_byte_by_byte(server: Server) -> None:
    """The timeout covers the whole response, even if a byte arrives now and then."""

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            while not writer.is_closing():
                writer.write(b"x")
                await writer.drain()
                await pause(0.01)

    async def scenario() -> Completed | Accepted:
        dripping = await asyncio.start_server(drip, "127.0.0.1", 0)
        port = dripping.sockets[0].getsockname()[1]
        async with dripping, aclosing(HttpExecutor({"allow": ["127.0.0.1"]}, SITE)) as executor:
            return await executor.run(None, launch_of({"url": f"http://127.0.0.1:{port}/", "timeout_ms": 200}))

    completed = asyncio.run(scenario())
    assert isinstance(completed, Completed)
    assert completed.state == RunState.TIMED_OUT
