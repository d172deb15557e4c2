"""HTTP: what is sent, what answers mean, and what never leaves or enters."""

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
from functools import partial
from hashlib import sha256
from typing import Any

import pytest

from tests.support.executors import CANARY, ReceivedRequest, Server, http_server, launch_of
from tompion.errors import InvalidField, LaunchError, LaunchRefused
from tompion.executors.base import Accepted, Completed
from tompion.executors.http import HttpExecutor
from tompion.executors.options import ExecutorEnv
from tompion.model.run import RunState
from tompion.runtime.clock import pause

SITE = ExecutorEnv(max_result_bytes=200, public_url="https://tompion.example/")
OLD, NEW = bytes(range(32)), bytes(range(1, 33))


def secret(key: bytes) -> str:
    return "whsec_" + base64.b64encode(key).decode()


@pytest.fixture
def server() -> Iterator[Server]:
    with http_server() as made:
        yield made


def called(
    server: Server, options: dict[str, Any], *, dag: Any = None, configured: dict[str, Any] | None = None, **given: Any
) -> Completed | Accepted:
    """Run once."""

    async def call(executor: HttpExecutor) -> Completed | Accepted:
        return await executor.run(dag, launch_of({"url": server.url, **options}, **given))

    ended: Completed | Accepted = with_executor(server, call, configured)
    return ended


def with_executor(
    server: Server, do: Callable[[HttpExecutor], Awaitable[Any]], configured: dict[str, Any] | None = None
) -> Any:
    async def story() -> Any:
        async with aclosing(HttpExecutor({"allow": [server.allow], **(configured or {})}, SITE)) as executor:
            return await do(executor)

    return asyncio.run(story())


def test_what_is_sent(server: Server) -> None:
    ended = called(server, {"headers": {"X-Team": "a"}}, dag={"steps": [1]}, payload={"n": 5})
    assert ended == Completed()
    (seen,) = server.seen
    launch = launch_of({})
    assert seen.json["dag"] == {"steps": [1]}
    assert seen.json["meta"]["payload"] == {"n": 5}
    assert seen.json["meta"]["scheduled_for"] == "2027-01-15T08:01:00+00:00"
    assert (seen.json["meta"]["source"], seen.json["meta"]["user_id"]) == ("schedule", "u1")
    assert seen.json["meta"]["idempotency_key"] == seen.headers["idempotency-key"] == launch.key
    callback = {"url": "https://tompion.example/api/v1/callbacks", "token": launch.token}
    assert seen.json["callback"] == callback
    assert (seen.headers["x-team"], seen.headers["content-type"]) == ("a", "application/json")
    assert "webhook-signature" not in seen.headers


def test_a_signature_for_each_secret(server: Server) -> None:
    called(server, {"secret": "team"}, configured={"secrets": {"team": [secret(OLD), secret(NEW)]}})
    (seen,) = server.seen
    content = f"{seen.headers['webhook-id']}.{seen.headers['webhook-timestamp']}.".encode() + seen.body
    expected = [base64.b64encode(hmac.new(key, content, sha256).digest()).decode() for key in (OLD, NEW)]
    assert seen.headers["webhook-signature"] == " ".join(f"v1,{each}" for each in expected)
    assert seen.headers["webhook-id"] == launch_of({}).key


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
    (503, b"later", LaunchError),
]


@pytest.mark.parametrize(("status", "content", "expected"), ANSWERS)
def test_what_an_answer_means(
    server: Server, status: int, content: bytes, expected: Completed | Accepted | type[LaunchError]
) -> None:
    server.answer = lambda _: (status, {"Location": "/job/5"} if status == 307 else {}, content)
    if not isinstance(expected, type):
        assert called(server, {}) == expected
        return
    with pytest.raises(LaunchError, match=str(status)) as caught:
        called(server, {})
    assert type(caught.value) is expected
    assert caught.value.retryable is (expected is LaunchError)


def redirected(status: int, place: str, canary: str, _seen: ReceivedRequest) -> tuple[int, dict[str, str], bytes]:
    return status, {"Location": place, "Refresh": f"0; url={canary}"}, b""


@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(server: Server, status: int) -> None:
    """Neither to the same target nor to another, whichever way it is said; a canary hears nothing."""
    with http_server() as canary:
        port = canary.url.rpartition(":")[2]
        places = [f"{server.url}/other", canary.url, f"//127.0.0.1:{port}/", f"http://127.1:{port}/", "/other"]
        places += [
            "https://127.0.0.1/",
            "file:///etc/passwd",
            "gopher://127.0.0.1/",
            f"HTTP://[::1]:{port}/",
            "",
            "\\x",
        ]
        for place in places:
            server.answer = partial(redirected, status, place, canary.url)
            with pytest.raises(LaunchRefused, match=r"redirects are not followed|answered 300"):
                called(server, {})
        assert [seen.path for seen in server.seen] == ["/"] * len(places)
        assert canary.seen == []


def test_the_target_says_where_it_keeps_the_run(server: Server) -> None:
    server.answer = lambda _: (202, {"Location": "/jobs/17"}, b"")
    assert called(server, {}) == Accepted("/jobs/17")


def test_an_answer_that_does_not_end_is_cut_off_where_enough_is_known() -> None:
    """It says that ten gigabytes follow, and sends as fast as anybody reads: a fraction is ever sent."""
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

    async def story() -> Completed | Accepted:
        flooding = await asyncio.start_server(flood, "127.0.0.1", 0)
        port = flooding.sockets[0].getsockname()[1]
        async with flooding, aclosing(HttpExecutor({"allow": ["127.0.0.1"]}, SITE)) as executor:
            return await executor.run(None, launch_of({"url": f"http://127.0.0.1:{port}/"}))

    ended = asyncio.run(story())
    assert isinstance(ended, Completed)
    assert ended.state == RunState.SUCCESS
    assert len(str(ended.result)) <= SITE.max_result_bytes
    assert sent < 100_000_000


def test_no_more_of_an_answer_is_kept_than_a_limit(server: Server) -> None:
    server.answer = lambda _: (200, {}, b"x" * 5_000_000)
    ended = called(server, {})
    assert isinstance(ended, Completed)
    assert ended.result is not None
    assert len(ended.result.encode()) <= SITE.max_result_bytes


def test_a_target_that_takes_too_long(server: Server) -> None:
    ended = called(server, {"url": f"{server.url}/hold", "timeout_ms": 50})
    assert ended == Completed(RunState.TIMED_OUT, error="no response within timeout_ms (50)")


def test_being_cancelled_cuts_the_request_off(server: Server) -> None:
    async def call(executor: HttpExecutor) -> None:
        launch = launch_of({"url": f"{server.url}/hold"})
        task = asyncio.create_task(executor.run(None, launch))
        await asyncio.get_running_loop().run_in_executor(None, server.arrived.acquire)
        assert not await executor.cancel(None, launch, None)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with_executor(server, call)


def test_a_target_that_has_accepted_is_told_where_it_wants_to_be(server: Server) -> None:
    async def call(executor: HttpExecutor) -> bool:
        launch = launch_of({"url": server.url, "cancel_url": f"{server.url}/cancel"})
        return await executor.cancel(None, launch, "/jobs/17")

    assert with_executor(server, call) is True
    (seen,) = server.seen
    assert (seen.path, seen.json["execution_id"]) == ("/cancel", "/jobs/17")


def test_nobody_listens() -> None:
    with http_server() as server:
        pass
    with pytest.raises(LaunchError, match=r"cannot reach 127\.0\.0\.1") as caught:
        called(server, {})
    assert caught.value.retryable


def test_a_loopback_address_is_refused_unless_it_is_allowed(server: Server) -> None:
    with pytest.raises(LaunchRefused, match="loopback"):
        called(server, {}, configured={"allow": []})
    assert server.seen == []


@pytest.mark.parametrize("name", ["localhost", "ip6-localhost", "rebinding.test"])
def test_a_name_that_leads_inside_is_refused(server: Server, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a name meant when somebody looked: what counts is the address that is connected to."""

    async def resolved(self: Any, host: str, port: int, **given: Any) -> list[Any]:
        assert host == name
        return [(2, 1, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", resolved)
    port = server.url.rpartition(":")[2]
    with pytest.raises(LaunchRefused, match="loopback"):
        called(server, {"url": f"http://{name}:{port}/"}, configured={"allow": []})
    assert server.seen == []


def test_a_name_that_is_allowed_is_connected_to(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def resolved(self: Any, host: str, port: int, **given: Any) -> list[Any]:
        asked.append(host)
        return [(2, 1, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", resolved)
    port = server.url.rpartition(":")[2]
    assert called(server, {"url": f"http://service.test:{port}/"}) == Completed()
    assert asked == ["service.test"]
    assert server.seen[0].headers["host"] == f"service.test:{port}"


BAD = [
    ({"url": None}, "has no url"),
    ({"method": "GET"}, "'method' is not known"),
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
def test_options_that_cannot_be(server: Server, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(LaunchRefused, match=problem):
        called(server, options)
    assert server.seen == []


@pytest.mark.parametrize(
    ("configured", "problem"),
    [
        ({"allow": ["nonsense"]}, "allow"),
        ({"colour": 1}, "executors.http.colour"),
        ({"timeout_ms": 0}, "executors.http.timeout_ms"),
        ({"secrets": {"a": []}}, "executors.http.secrets.a"),
        ({"secrets": {"a": "short"}}, "secret"),
    ],
)
def test_a_configuration_that_cannot_be(configured: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidField, match=problem):
        HttpExecutor(configured, SITE)


@pytest.mark.parametrize("status", [200, 400, 500])
def test_what_is_sent_is_never_in_an_error_or_a_log(
    server: Server, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.answer = lambda seen: (status, {}, b"no")
    outcome = ""
    try:
        outcome = str(called(server, {"headers": {"Authorization": CANARY}}, dag=CANARY, payload=CANARY))
    except LaunchError as error:
        outcome = f"{error} {error.__cause__} {error.__context__}"
    assert CANARY not in outcome
    assert CANARY not in caplog.text
    assert CANARY in server.seen[0].headers["authorization"]


@pytest.mark.parametrize(
    ("headers", "shown"),
    [
        ({"Authorization": f"Bearer {CANARY}"}, '"Bearer …"'),
        ({"X-Api-Key": CANARY}, '"…"'),
        ({"Cookie": f"a=1; session={CANARY}"}, '"a=1; …"'),
        ({"X-Token": "short"}, '"short"'),
        ({"Accept": "application/json"}, '"application/json"'),
    ],
)
def test_a_target_that_repeats_what_it_was_sent(server: Server, headers: dict[str, str], shown: str) -> None:
    (name,) = headers
    server.answer = lambda seen: (200, {}, seen.headers[name.lower()].encode())
    assert called(server, {"headers": headers}) == Completed(result=shown)
    server.answer = lambda seen: (400, {}, seen.headers[name.lower()].encode())
    with pytest.raises(LaunchRefused) as caught:
        called(server, {"headers": headers})
    assert str(caught.value) == f"the target responded with 400: {shown[1:-1]}"


def test_many_at_once_are_all_answered(server: Server) -> None:
    server.answer = lambda seen: (200, {}, b"1")

    async def call(executor: HttpExecutor) -> list[Any]:
        return await asyncio.gather(*(executor.run(None, launch_of({"url": server.url})) for _ in range(50)))

    assert with_executor(server, call) == [Completed(result="1")] * 50


def test_a_name_that_changes_its_mind_a_thousand_times_leads_inside_never(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resolver that says in turn what is public and what is not, or both at once: the canary hears nothing."""
    public, inside = "192.0.2.1", "127.0.0.1"  # the first is nobody's, and refused in its own way
    turns = itertools.cycle([["93.184.215.14"], [inside], ["93.184.215.14", inside], [inside, public], ["::1"]])
    tried: list[str] = []

    async def resolved(self: Any, host: str, port: int, **given: Any) -> list[Any]:
        return [(10 if ":" in each else 2, 1, 6, "", (each, port)) for each in next(turns)]

    async def connected(*given: Any, **named: Any) -> Any:
        tried.extend(str(info[4][0]) for info in named["addr_infos"])
        raise OSError("no way out of here")

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", resolved)
    monkeypatch.setattr("aiohttp.connector.aiohappyeyeballs.start_connection", connected)
    port = server.url.rpartition(":")[2]

    async def story() -> list[str]:
        refused: list[str] = []
        async with aclosing(HttpExecutor({"allow": []}, SITE)) as executor:
            for _ in range(1_000):
                with pytest.raises(LaunchError) as caught:
                    await executor.run(None, launch_of({"url": f"http://rebinding.test:{port}/"}))
                refused.append(type(caught.value).__name__)
        return refused

    kinds = Counter(asyncio.run(story()))
    assert kinds == {"LaunchError": 200, "LaunchRefused": 800}
    assert set(tried) == {"93.184.215.14"}  # what was looked at is what is connected to
    assert server.seen == []


def test_a_bomb_is_not_unpacked(server: Server) -> None:
    """A hundred megabytes of zeroes in a hundred kilobytes: kept as they came, and no more than the limit of them."""
    bomb = gzip.compress(bytes(100_000_000), 9)
    server.answer = lambda _: (200, {"Content-Encoding": "gzip"}, bomb)
    ended = called(server, {})
    assert isinstance(ended, Completed)
    assert len(str(ended.result)) < 1_000


def test_a_target_that_drips_is_cut_off_in_time(server: Server) -> None:
    """A byte now and then keeps a connection alive, not the run: the limit is for all of it."""

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            while not writer.is_closing():
                writer.write(b"x")
                await writer.drain()
                await pause(0.01)

    async def story() -> Completed | Accepted:
        dripping = await asyncio.start_server(drip, "127.0.0.1", 0)
        port = dripping.sockets[0].getsockname()[1]
        async with dripping, aclosing(HttpExecutor({"allow": ["127.0.0.1"]}, SITE)) as executor:
            return await executor.run(None, launch_of({"url": f"http://127.0.0.1:{port}/", "timeout_ms": 200}))

    ended = asyncio.run(story())
    assert isinstance(ended, Completed)
    assert ended.state == RunState.TIMED_OUT
