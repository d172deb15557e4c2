"""Rate limits: an authenticated caller has one limit for all its credentials."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tompion.api.rest.credentials import PEER_CERTIFICATE
from tompion.api.rest.middleware.request_limits import AUTHENTICATED_ACTORS, RequestLimitsMiddleware

MANY = 1_000
CLIENT = ("192.0.2.1", 4711)
ANN: dict[str, Any] = {"headers": [(b"cookie", b"other=1; tompion_session=ann")]}
BOB: dict[str, Any] = {"headers": [(b"cookie", b"tompion_session=bob")]}
ROBOT: dict[str, Any] = {PEER_CERTIFICATE: {"serialNumber": "01", "notAfter": "Jan  1 00:00:00 2030 GMT"}}
WORKER: dict[str, Any] = {PEER_CERTIFICATE: {"serialNumber": "02", "notAfter": "Jan  1 00:00:00 2030 GMT"}}
KEY: dict[str, Any] = {"headers": [(b"authorization", b"Bearer tpn_1")], **ROBOT}
ANONYMOUS: dict[str, Any] = {}
EMPTY: dict[str, Any] = {"headers": [(b"cookie", b"tompion_session=")]}


class Service:
    """An application that accepts every credential, behind the middleware."""

    def __init__(self, *, is_open: bool = False) -> None:
        self.is_open = is_open
        self.limits = RequestLimitsMiddleware(self._respond, max_body_bytes=1_000, requests_per_s=3)

    async def _respond(self, scope: Any, _receive: Any, send: Any) -> None:
        credential = scope["headers"] or scope.get(PEER_CERTIFICATE)
        if credential or self.is_open:
            scope[AUTHENTICATED_ACTORS].append(repr(credential))
        await send({"type": "http.response.start", "status": 200 if credential else 401, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def request(self, caller: dict[str, Any]) -> int:
        statuses: list[int] = []

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        scope = {"type": "http", "scheme": "http", "method": "GET", "path": "/", "client": CLIENT, "headers": []}
        await self.limits({**scope, **caller}, None, send)
        return statuses[0]

    async def is_exhausted(self, caller: dict[str, Any]) -> bool:
        """Send requests until the limit is reached."""
        return 429 in [await self.request(caller) for _ in range(MANY)]


@pytest.mark.parametrize("caller", [ANN, ROBOT, KEY], ids=["cookie", "certificate", "key"])
def test_unauthenticated_requests_do_not_exhaust_an_authenticated_caller(caller: dict[str, Any]) -> None:
    async def scenario() -> None:
        service = Service()
        assert await service.request(caller) == 200
        assert await service.is_exhausted(ANONYMOUS)
        assert await service.request(caller) == 200

    asyncio.run(scenario())


@pytest.mark.parametrize(("greedy", "modest"), [(ANN, BOB), (ROBOT, WORKER), (KEY, ROBOT)])
def test_two_authenticated_callers_have_separate_limits(greedy: dict[str, Any], modest: dict[str, Any]) -> None:
    async def scenario() -> None:
        service = Service()
        assert [await service.request(caller) for caller in (greedy, modest)] == [200, 200]
        assert await service.is_exhausted(greedy)
        assert await service.request(modest) == 200

    asyncio.run(scenario())


@pytest.mark.parametrize("caller", [ANONYMOUS, EMPTY], ids=["nothing", "an empty cookie"])
def test_requests_without_credentials_share_the_limit_of_their_address(caller: dict[str, Any]) -> None:
    """An open service accepts them, and they share the limit of their address."""

    async def scenario() -> None:
        service = Service(is_open=True)
        await service.request(caller)
        assert await service.is_exhausted(caller)
        elsewhere = {**caller, "client": ("192.0.2.2", 1)}
        assert await service.request(elsewhere) != 429

    asyncio.run(scenario())
