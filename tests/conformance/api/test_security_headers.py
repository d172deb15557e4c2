"""Security headers of every response."""

from __future__ import annotations

import asyncio
import random
import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.api.test_authentication import SecuredService
from tests.support.service import SECONDS, Http, Response, serve_runner
from tompion.api.auth import api_key_cache
from tompion.api.rest.middleware.allowed_hosts import AllowedHostsMiddleware
from tompion.contract.routes import ROUTES, SYSTEM_ROUTES
from tompion.operations.runner import OperationRunner
from tompion.web.app import CACHE_IMMUTABLE, CACHE_ONE_DAY

CLOSED = {"default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"}
PAGE = {"Accept": "text/html,application/xhtml+xml"}
TEXTS = ("application/json", "application/problem+json", "text/plain", "text/calendar", "text/event-stream")
"""Media types of API responses. A browser shows them as text, or not at all."""


@pytest.fixture(scope="module")
def service() -> Iterator[SecuredService]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api_key_cache, "CACHE_TTL_S", 60.0)
        service = SecuredService(max_body_bytes=1_000)
        yield service
        service.close()


def check(answer: Response, *about: object) -> None:
    """Look at the headers that every answer has."""
    headers = answer.headers
    assert headers["x-content-type-options"] == "nosniff", about
    assert headers["x-frame-options"] == "DENY", about
    assert headers["referrer-policy"] == "no-referrer", about
    policy = {part.strip() for part in headers["content-security-policy"].split(";")}
    assert policy >= CLOSED, about
    assert not any("unsafe" in part or "*" in part or "http" in part for part in policy), about
    kind = headers.get("content-type", "")
    if not kind.startswith("text/html"):
        assert policy == CLOSED, about
        kept = (
            CACHE_IMMUTABLE
            if "/assets/" in str(about[:1])
            else CACHE_ONE_DAY
            if about[:1] == ("/favicon.svg",)
            else "no-store"
        )
        assert headers["cache-control"] == kept, about
    assert not {"server", "x-powered-by"} & headers.keys(), about


def test_every_route_and_refusal_has_security_headers(service: SecuredService) -> None:
    admin, reader, stranger = (service.key(role).secret for role in ("admin", "reader", "admin"))
    seen: set[int] = set()
    for route in (*ROUTES, *SYSTEM_ROUTES):
        path = re.sub(r"{\w+}", "1", route.full_path)
        if path.endswith("/events"):
            continue  # an endless stream, whose headers are checked below
        body: object = None if route.method in ("GET", "DELETE") else {}
        for key, more in ((admin, ""), (reader, ""), (None, ""), (stranger, "?namespace=other"), (admin, "?x=y")):
            answer = service.request(route.method, path + more, key, body)
            check(answer, route.method, path, answer.status)
            kind = answer.headers.get("content-type", "").partition(";")[0]
            assert kind in TEXTS or not answer.body or path == "/docs/errors", (route.method, path, kind)
            seen.add(answer.status)
    assert {200, 400, 401, 403, 404} <= seen


def test_refusals_before_routing_have_security_headers(service: SecuredService) -> None:
    key = service.key("admin").secret
    headers = {"Authorization": f"Bearer {key}"}
    hostile = "/<script>alert(1)</script>"
    refusals: list[tuple[int, Response]] = [
        (404, service.request("GET", "/nowhere", key)),
        (404, service.request("GET", hostile, None)),
        (404, service.request("GET", f"/api/v1/schedules/{hostile}", key)),
        (405, service.request("TRACE", "/api/v1/schedules", key)),
        (405, service.request("PUT", "/healthz", key, {})),
        (413, service.request("PUT", "/api/v1/schedules/1", key, {"payload": "x" * 2_000})),
        (400, service.http("GET", "/api/v1/schedules", Host="evil.example", **headers)),
        (403, service.http("PUT", "/api/v1/schedules/1", {}, Origin="https://evil.example", **headers)),
        (400, service.http("PUT", "/api/v1/schedules/1", b"{", **headers)),
        (404, service.request("GET", "/assets/nothing.js", None)),
        (404, service.request("GET", "/assets/..%2f..%2fapp.py", None)),
    ]
    for status, answer in refusals:
        assert answer.status == status, answer.body
        check(answer, status, answer.body)
        assert b"<script" not in answer.body or answer.headers["content-type"].startswith("application/problem+json")


def test_internal_errors_and_rate_limits_have_security_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    service = SecuredService(requests_per_s=3)
    try:
        key = service.key("reader").secret
        answers = [service.request("GET", "/api/v1/schedules", key) for _ in range(20)]
        check(next(answer for answer in answers if answer.status == 429))
    finally:
        service.close()

    def mistaken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("<script>alert(1)</script>")

    service = SecuredService()
    try:
        key = service.key("editor").secret
        service.request("GET", "/api/v1/schedules", key)
        monkeypatch.setattr(OperationRunner, "send", mistaken)
        answer = service.request("PUT", "/api/v1/schedules/1", key, {"cron": "@daily", "function": "a:b"})
        assert answer.status == 500
        assert b"script" not in answer.body
        check(answer)
    finally:
        service.close()


def test_web_ui_assets_and_streams_have_security_headers(service: SecuredService) -> None:
    for path in ("/", "/schedules", "/schedules/x/edit", "/%3Cscript%3E", "/keys?x=<script>"):
        answer = service.http("GET", path, **PAGE)
        assert answer.status == 200, "the page has not been built: python hatch_build.py"
        check(answer, path)
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self';" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert b"<script>" not in answer.body, "nothing of the address is on the page"
    index = service.http("GET", "/", **PAGE).body.decode()
    for path in {*re.findall(r"(/assets/[\w.-]+)", index), "/favicon.svg"}:
        check(service.http("GET", path), path)
    listening = Http(service.served.url)
    check(listening("HEAD", "/api/v1/events", Authorization=f"Bearer {service.key('reader').secret}"))
    listening.close()


def test_each_response_has_a_new_nonce(service: SecuredService) -> None:
    nonces = {
        re.findall(r"'nonce-([\w-]+)'", service.http("GET", "/", **PAGE).headers["content-security-policy"])[0]
        for _ in range(20)
    }
    assert len(nonces) == 20


# --- hosts ------------------------------------------------------------------------------------------------------------

OURS = ("127.0.0.1", "localhost", "[::1]")
LETTERS = "abcl.o127-_:[]@/\\%#? \t*,;'\"<>\x7fé\xa0"


def drawn_hosts(seed: int, count: int) -> Iterator[str]:
    """Names that look like ours, and are not: with something before, behind, in between, or changed."""
    draw = random.Random(seed)
    for _ in range(count):
        host = draw.choice(OURS)
        for _ in range(draw.randint(0, 3)):
            at, piece = draw.randint(0, len(host)), "".join(draw.choices(LETTERS, k=draw.randint(1, 3)))
            host = host[:at] + piece + host[at + draw.randint(0, 1) :]
        yield draw.choice([host, draw.choice(OURS)]) + draw.choice(["", ":8640", ":", ".evil.example", ":80:80", ":8o"])


def is_ours(host: str) -> bool:
    """Whether it is one of ours, and perhaps a port."""
    return any(re.fullmatch(rf"{re.escape(name)}(:[0-9]*)?", host, re.IGNORECASE | re.ASCII) for name in OURS)


def raw_status(url: str, head: bytes) -> int:
    """Return the status of the response to exactly these lines, or 0 if the server closes the connection."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), SECONDS) as connection:
        connection.sendall(head + b"Connection: close\r\n\r\n")
        try:
            reply = connection.recv(1_000)
        except ConnectionError:
            return 0
    return int(reply.split()[1]) if reply.startswith(b"HTTP/1.1 ") else 0


def test_ten_thousand_unknown_hosts_are_refused() -> None:
    """DNS rebinding: a foreign name that points to the service is refused, and own names are accepted."""
    reached: list[bool] = []

    async def app(*_: Any) -> None:
        reached.append(True)

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            reached.append(message["status"] != 400)

    async def send_all() -> tuple[int, int]:
        hosts = AllowedHostsMiddleware(app, hosts=OURS)
        drawn = list(drawn_hosts(21, 10_000))
        for host in drawn:
            await hosts({"type": "http", "headers": [(b"host", host.encode("latin-1"))]}, None, send)
            assert reached.pop() == is_ours(host), host
        return len(drawn), sum(map(is_ours, drawn))

    total, ours = asyncio.run(send_all())
    assert total // 10 < ours < total // 2, "many look like ours, and most are not"


def test_a_second_host_header_or_absolute_url_is_refused(service: SecuredService) -> None:
    """A proxy and the service must not see different hosts."""
    line = b"GET /healthz HTTP/1.1\r\n"
    ours, evil = b"Host: localhost\r\n", b"Host: evil.example\r\n"
    url = service.served.url
    assert raw_status(url, line + ours) == 200
    for head in (
        line + ours + evil,
        line + evil + ours,
        line,
        line + b"Host: localhost\x00.evil.example\r\n",
        line + b"Host : localhost\r\n",
        line + b"X: y\r\n Host: localhost\r\n",
        b"GET http://evil.example/healthz HTTP/1.1\r\n" + evil,
        b"GET http://localhost/healthz HTTP/1.1\r\n" + evil,
    ):
        assert raw_status(url, head) in (0, 400), head


def test_the_service_is_closed_at_the_end(service: SecuredService) -> None:
    """On a service without authentication, a host that is accepted by accident would get 200."""
    with serve_runner(service.runner) as url:
        http = Http(url)
        for host in ("evil.example", "localhost.evil.example", "127.0.0.1.nip.example", "[::]", "127.1", "0"):
            assert http("GET", "/api/v1/schedules", Host=host).status == 400, host
        http.close()
